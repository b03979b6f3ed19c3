//! `steffle audit`: attacks on the promise.

mod page;
mod transcript;

use std::ops::ControlFlow;

use serde_json::{Value, json};
use steffle_audit::{
    AuditError, Finding, Interactive, Mechanism, OneShot, Response, Server, Settings,
    SharedOneShot, SharedRounds,
};
use steffle_front::NotionName;
use steffle_privacy::{Delta, Epsilon, Mu, NoiseShares, discrete, rounding};

use super::sweep::{threads, write};
use crate::args::{Asking, Attacked, AuditArgs, AuditCommand, AuditWhat, AuditedNotion};
use crate::failure::{Failure, Status};
use crate::ui::{Output, Progress, Rows, number, wrap};

pub(crate) fn audit(command: &AuditCommand, output: Output) -> Result<(), Failure> {
    match &command.what {
        None => attack(&command.args, output),
        Some(AuditWhat::Transcript(args)) => transcript::transcript(args, output),
    }
}

/// What is claimed.
#[derive(Clone, Copy)]
struct Claim {
    epsilon: Epsilon,
    delta: Delta,
}

fn attack(args: &AuditArgs, output: Output) -> Result<(), Failure> {
    let Claim { epsilon, delta } = claim(args)?;
    let threads = threads(args.threads)?;
    if args.silos.is_some()
        && (args.method == Attacked::RandomisedResponse || args.server == Asking::Honest)
    {
        let allowed = "left out: silos share the noise of steffle, which the static server asks here, and of \
                       one-shot";
        return Err(refuse("silos", "", allowed));
    }
    let finding = match (args.method, args.server) {
        (Attacked::Steffle, _) if args.silos.is_some() => {
            let (shares, known) = shares(args)?;
            let notion = notion(args);
            let audited = SharedRounds::new(epsilon, delta, args.classes, &notion, shares, known);
            play(args, threads, audited)
        }
        (Attacked::Steffle, asking) => {
            let server = match asking {
                Asking::Static => Server::Static,
                Asking::Honest => Server::Honest,
            };
            play(
                args,
                threads,
                Interactive::new(epsilon, delta, args.classes, &notion(args), server),
            )
        }
        (_, Asking::Honest) => Err(refuse(
            "server",
            "honest",
            "static where all is released at once: whoever asks, the answer is the same",
        )),
        (Attacked::OneShot, _) if args.silos.is_some() => {
            let (shares, known) = shares(args)?;
            let notion = notion(args);
            let audited = SharedOneShot::new(epsilon, delta, args.classes, &notion, shares, known);
            play(args, threads, audited)
        }
        (Attacked::OneShot, _) => {
            play(args, threads, OneShot::new(epsilon, delta, args.classes, &notion(args)))
        }
        (Attacked::RandomisedResponse, _) => {
            play(args, threads, Response::new(epsilon, args.classes))
        }
    }?;
    let mut value = json!({
        "method": name(&args.method),
        "server": name(&args.server),
        "classes": args.classes,
        "notion": (args.method != Attacked::RandomisedResponse).then(|| name(&args.notion)),
        "seed": args.seed,
    });
    if let Some(silos) = args.silos {
        value["silos"] = json!(silos);
        value["subtracted"] = json!(args.subtracted.or(args.colluders));
    }
    if let (Value::Object(value), Value::Object(found)) = (&mut value, json!(finding)) {
        value.extend(found);
    }
    if let Some(path) = &args.html {
        write(path, page::page(args, &finding)?.as_bytes())?;
        value["html"] = json!(path);
    }
    output.result(&value, &text(args, &finding, output))?;
    verdict(args, &finding)
}

/// How silos share noise, and how many silos' shares the attacker knows.
fn shares(args: &AuditArgs) -> Result<(NoiseShares, u32), Failure> {
    let silos = args.silos.unwrap_or_default();
    let shares = match args.colluders {
        Some(colluders) => NoiseShares::new(silos, colluders),
        None => NoiseShares::usual(silos),
    };
    let shares = shares.map_err(|error| Failure::usage("config::silos", error.to_string()))?;
    let known = args.subtracted.unwrap_or(shares.colluders());
    if known >= shares.sites() {
        let allowed = "less than --silos: one of them has the person who is attacked";
        return Err(refuse("subtracted", &known.to_string(), allowed));
    }
    Ok((shares, known))
}

/// A broken promise is how the command ends, after its result.
fn verdict(args: &AuditArgs, finding: &Finding) -> Result<(), Failure> {
    if !finding.violation {
        return Ok(());
    }
    if let (Some(silos), Some(subtracted)) = (args.silos, args.subtracted)
        && NoiseShares::usual(silos)
            .is_ok_and(|usual| subtracted > args.colluders.unwrap_or(usual.colluders()))
    {
        let message = format!(
            "the shares of {subtracted} silos are subtracted, more than the claim is against: {}",
            summary(finding)
        );
        let help = "this is what the claim does not cover; the epsilon that a plan prints for the case that \
                    all other silos help is what is left then";
        return Err(Failure::new(Status::Threshold, "audit::violation", message).help(help));
    }
    let message = format!("{} tells more than it claims: {}", name(&args.method), summary(finding));
    let help = "stop private runs with this build and report it: see SECURITY.md; a build that keeps its \
                promise is accused by chance in at most one of as many audits as the confidence says";
    Err(Failure::new(Status::Threshold, "audit::violation", message).help(help))
}

fn play<M: Mechanism>(
    args: &AuditArgs,
    threads: usize,
    mechanism: Result<M, AuditError>,
) -> Result<Finding, Failure> {
    let mechanism = mechanism.map_err(|error| failure(&error))?;
    let usual = if args.server == Asking::Honest { 10_000 } else { 100_000 };
    let settings =
        Settings { runs: args.runs.unwrap_or(usual), confidence: args.confidence, seed: args.seed };
    let progress = Progress::start("Attacking");
    progress.steps("Attacking", settings.all_runs() as usize);
    let observe = |done: u64, _: u64| {
        progress.reach(done);
        ControlFlow::Continue(())
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Failure::bug(format!("cannot start threads: {error}")))?;
    let finding = pool.install(|| steffle_audit::audit(&mechanism, settings, observe));
    finding.map_err(|error| failure(&error))
}

/// The promise that was typed, or the usual one.
fn claim(args: &AuditArgs) -> Result<Claim, Failure> {
    let wrong = |key: &str| {
        let key = key.to_owned();
        move |error: steffle_privacy::PrivacyError| {
            Failure::usage(&format!("config::{key}"), format!("--{key}: {error}"))
        }
    };
    let delta = Delta::try_from(args.delta).map_err(wrong("delta"))?;
    let epsilon = match (args.epsilon, args.mu) {
        (Some(epsilon), _) => epsilon,
        (None, Some(_)) if args.method == Attacked::RandomisedResponse => {
            return Err(refuse(
                "mu",
                "",
                "left out: randomised response has none; name an --epsilon",
            ));
        }
        (None, None) if args.method == Attacked::RandomisedResponse => 1.0,
        (None, mu) => {
            let mu = Mu::try_from(mu.unwrap_or(1.0)).map_err(wrong("mu"))?;
            discrete::epsilon(mu, delta).map_err(wrong("mu"))?
        }
    };
    Ok(Claim { epsilon: Epsilon::try_from(epsilon).map_err(wrong("epsilon"))?, delta })
}

fn refuse(key: &str, given: &str, allowed: &str) -> Failure {
    let given = if given.is_empty() { String::new() } else { format!(" {given}") };
    let message = format!("--{key}{given} is refused: it must be {allowed}");
    Failure::usage(&format!("config::{key}"), message)
}

fn failure(error: &AuditError) -> Failure {
    let code = match error {
        AuditError::Privacy(_) | AuditError::Response(_) => "config::epsilon",
        AuditError::Classes(_) => "config::classes",
        AuditError::Runs(_) => "config::runs",
        AuditError::Confidence(_) => "config::confidence",
        _ => return Failure::bug(error.to_string()),
    };
    Failure::usage(code, error.to_string())
}

fn notion(args: &AuditArgs) -> NotionName {
    match args.notion {
        AuditedNotion::DemographicParity => NotionName::DemographicParity,
        AuditedNotion::EqualizedOdds => NotionName::EqualizedOdds,
    }
}

/// A choice as it is typed.
fn name(choice: &impl clap::ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// The finding in a line.
fn summary(finding: &Finding) -> String {
    let Finding { confidence, claimed_epsilon, lower_epsilon, .. } = *finding;
    let percent = rounding::down(100.0 * confidence, 6);
    match (finding.claimed_mu, finding.lower_mu) {
        (Some(claimed), Some(lower)) => format!(
            "mu is at least {lower:.4} with {percent} % confidence, and {claimed:.4} is claimed"
        ),
        _ => format!(
            "epsilon is at least {lower_epsilon:.4} with {percent} % confidence, and \
             {claimed_epsilon} is claimed"
        ),
    }
}

fn text(args: &AuditArgs, finding: &Finding, output: Output) -> String {
    let heading = if finding.violation {
        "The promise is broken"
    } else {
        "The promise held against this attack"
    };
    let mut text = format!("{}\n", output.strong(heading));
    text += &wrap(&format!("{}.", summary(finding)));
    text.push('\n');
    let mut table = Rows::new(&["", "claimed", "estimated", "at least"]);
    for row in page::rows(finding) {
        table.push(row);
    }
    text += &table.render();
    text += &wrap(&format!(
        "{} runs in each of two worlds that differ in one person's class ({}, {} classes, {} server), and \
         {} to fit the test; all bounds hold together with probability {}.",
        finding.runs,
        name(&args.method),
        args.classes,
        name(&args.server),
        finding.calibration_runs,
        finding.confidence
    ));
    if let Some(path) = &args.html {
        text += &format!("page: {}\n", path.display());
    }
    text
}

/// A number of the table.
fn shown(value: f64) -> String {
    number(Some(value))
}

#[cfg(test)]
mod tests;
