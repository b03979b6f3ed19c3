//! An audit as rows of a table, and as a page.

use steffle_audit::Finding;
use steffle_privacy::explain::TradeOff;
use steffle_privacy::{Epsilon, Mu, PrivacyError};
use steffle_report::{AuditPage, ErrorCurves, Table, audit_html};

use super::{name, shown, summary};
use crate::args::{Attacked, AuditArgs};
use crate::failure::Failure;

/// Points of the promise's curve.
const POINTS: u32 = 200;

/// Name, claim, estimate and bound of everything that was measured.
pub(super) fn rows(finding: &Finding) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    if let (Some(claimed), Some(estimated), Some(lower)) =
        (finding.claimed_mu, finding.estimated_mu, finding.lower_mu)
    {
        rows.push(vec!["mu".to_owned(), shown(claimed), shown(estimated), shown(lower)]);
        rows.push(vec![
            format!("epsilon at delta {:e}, by mu", finding.delta),
            shown(finding.claimed_epsilon),
            shown(finding.estimated_epsilon),
            shown(finding.lower_epsilon),
        ]);
        let counts = format!("epsilon at delta {:e}, by counts alone", finding.delta);
        let bound = shown(finding.clopper_pearson_epsilon);
        rows.push(vec![counts, shown(finding.claimed_epsilon), "-".to_owned(), bound]);
    } else {
        rows.push(vec![
            "epsilon".to_owned(),
            shown(finding.claimed_epsilon),
            shown(finding.estimated_epsilon),
            shown(finding.lower_epsilon),
        ]);
    }
    rows
}

/// The page.
pub(super) fn page(args: &AuditArgs, finding: &Finding) -> Result<String, Failure> {
    let method = name(&args.method);
    let found = summary(finding);
    let lead = if finding.violation {
        format!("The promise is broken: {found}.")
    } else {
        format!("The promise held against this attack: {found}.")
    };
    let mut facts = vec![("method".to_owned(), method.clone())];
    if args.method == Attacked::Steffle {
        facts.push(("server".to_owned(), name(&args.server)));
    }
    if args.method != Attacked::RandomisedResponse {
        facts.push(("notion".to_owned(), name(&args.notion)));
    }
    let noise = args.seed.map_or_else(
        || "secret, from the operating system".to_owned(),
        |seed| format!("seed {seed}: the same numbers every time"),
    );
    facts.extend([
        ("classes".to_owned(), args.classes.to_string()),
        ("runs".to_owned(), format!("{} in each of two worlds", finding.runs)),
        ("to fit the test".to_owned(), format!("{} in each", finding.calibration_runs)),
        ("noise".to_owned(), noise),
    ]);
    let heads = ["", "claimed", "estimated", "at least"];
    let numbers = Table {
        title: "What the messages tell about one person".to_owned(),
        columns: heads.map(str::to_owned).to_vec(),
        rows: rows(finding),
        caption: format!("All bounds hold together with probability {}.", finding.confidence),
    };
    let page = AuditPage {
        title: format!("Audit of {method}"),
        lead,
        violation: finding.violation,
        facts,
        numbers,
        errors: errors(finding).map_err(|error| Failure::bug(error.to_string()))?,
        says: SAYS.map(str::to_owned).to_vec(),
    };
    audit_html(&page).map_err(|error| Failure::bug(error.to_string()))
}

fn errors(finding: &Finding) -> Result<ErrorCurves, PrivacyError> {
    let mu = finding.claimed_mu.map(Mu::try_from).transpose()?;
    let promise = TradeOff::new(Epsilon::try_from(finding.claimed_epsilon)?, finding.delta, mu);
    let promised = promise.points(POINTS).into_iter();
    Ok(ErrorCurves {
        promised: promised
            .map(|point| [point.false_alarm, point.missed_gaussian.unwrap_or(point.missed)])
            .collect(),
        measured: finding.curve.clone(),
        most: finding
            .thresholds
            .iter()
            .map(|at| [at.highest_false_alarm, at.highest_missed])
            .collect(),
    })
}

/// What an audit shows and what it cannot.
const SAYS: [&str; 4] = [
    "Two worlds differ in the sensitive class of one person; everything else is the same and known to the \
     attacker. The method is played many times in both, and a test reads the bytes that leave the nodes \
     and says which world it was. It cries a false alarm when it says the second world of the first, and \
     misses a case when it says the first of the second.",
    "A promise of privacy is a curve: no test may make fewer errors. If the most errors that the attack \
     can really have made lie below that curve, the code that was run does not keep its promise, whatever \
     was proved about it.",
    "The other way round it shows little: an attack that fails does not prove that none succeeds. Only \
     the question, the person and the test at hand were tried; the proofs stand beside the code that \
     they are about.",
    "The people are generated. Nothing here is about your data, and nothing of your budget was spent. \
     Side channels such as time, memory and the network are not looked at.",
];
