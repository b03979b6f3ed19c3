//! `steffle choose RUN... --on FILE... --epsilon E`: the best of several models by private metrics.
//!
//! # What a choice costs
//! A choice is a function of what it is made from. Here that is one message of noisy counts per store
//! and model: all candidates are measured, all of them are paid for, each with an equal part of mu^2,
//! and the rule, like everything else, is post-processing of what was released. So the choice is
//! (epsilon, delta)-private however many candidates there are; more of them share the same budget, and
//! each is known less well. (A rule that releases the winner alone would cost less, and would leave the
//! winner's own metrics to be bought again.)

use std::path::{Path, PathBuf};

use serde::Serialize;
use steffle_data::Dialect;
use steffle_front::{Bought, Model, NoisyGap, NoisyReport, Privacy};

use super::buying::Buying;
use super::train::LedgerReport;
use crate::args::ChooseArgs;
use crate::config::{Check, Origins, dialect};
use crate::failure::Failure;
use crate::ui::{Output, Progress, Rows, percent, wrap};

/// What `choose --json` prints.
#[derive(Serialize)]
struct Choice<'a> {
    chosen: &'a Path,
    /// Which gap the choice is about.
    gap: &'a str,
    target_gap: f64,
    /// Whether the chosen one's gap, as it was measured, is at most that.
    reached: bool,
    candidates: Vec<Candidate<'a>>,
    /// What all of them cost together.
    privacy: &'a Privacy,
    #[serde(skip_serializing_if = "Option::is_none")]
    spent_mu: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ledger: Option<LedgerReport>,
}

/// One of the models, as it was measured.
#[derive(Serialize)]
struct Candidate<'a> {
    run: &'a Path,
    lambda: f64,
    error: f64,
    /// Absent where there is not enough evidence.
    gap: Option<NoisyGap>,
}

pub(crate) fn choose(args: &ChooseArgs, output: Output) -> Result<(), Failure> {
    if !(0.0..=1.0).contains(&args.target_gap) {
        let message = format!("--target-gap {} is refused: a share from 0 to 1", args.target_gap);
        return Err(Failure::usage("config::target_gap", message));
    }
    let buying = Buying {
        ledger: args.ledger.as_deref(),
        sensitive: &args.sensitive,
        epsilon: args.epsilon,
        delta: args.delta,
        noise: &args.noise,
        seed: args.seed,
    };
    buying.check()?;
    let progress = Progress::start("Counting decisions");
    let models =
        args.runs.iter().map(|run| Ok(Model::load(run)?)).collect::<Result<Vec<_>, Failure>>()?;
    let first = alike(&args.runs, &models)?;
    buying.admits(first.schema())?;
    let dialect = dialect(Dialect::default(), &args.text, Check(&Origins::default()))?;
    let testing = first.testing(args.on.clone(), args.attributes.clone(), &dialect)?;
    let asked: Vec<&Model> = models.iter().collect();
    let purchase = buying.purchase(&asked, &testing, output)?;
    let run = purchase.run;
    let bought = testing.buy(&asked, args.min_group, purchase)?;
    drop(progress);
    let mut choice = choice(args, &models, &bought)?;
    choice.ledger = buying.report(run)?;
    let text = text(&choice, output);
    output.result(&choice, &text)
}

/// The first of models that can be measured by one question; refuses others.
fn alike<'a>(runs: &[PathBuf], models: &'a [Model]) -> Result<&'a Model, Failure> {
    let Some(first) = models.first() else { return Err(Failure::bug("a choice of nothing")) };
    let other = |model: &Model| {
        model.schema().hash() != first.schema().hash() || model.kind() != first.kind()
    };
    match models.iter().position(other) {
        None => Ok(first),
        Some(at) => {
            let message = format!(
                "{} was trained on other columns, or is another kind of model, than {}",
                runs[at].display(),
                runs[0].display()
            );
            let help = "choose among runs on the same data that differ in method, lambda or seed";
            Err(Failure::data("choose::models", message).help(help))
        }
    }
}

/// The least error among models whose gap is at most the target, or else the smallest gap.
fn choice<'a>(
    args: &'a ChooseArgs,
    models: &[Model],
    bought: &'a Bought,
) -> Result<Choice<'a>, Failure> {
    let gap = |report: &NoisyReport| match args.gap.as_str() {
        "equalized-odds" => report.equalized_odds,
        "equal-opportunity" => report.equal_opportunity,
        "accuracy-parity" => report.accuracy_parity,
        _ => report.demographic_parity,
    };
    let all = args.runs.iter().zip(models).zip(&bought.reports);
    let candidates: Vec<Candidate<'_>> = all
        .map(|((run, model), report)| Candidate {
            run,
            lambda: model.lambda(),
            error: report.error,
            gap: gap(report),
        })
        .collect();
    let measured = || candidates.iter().filter_map(|own| Some((own, own.gap?.value)));
    let fair = measured().filter(|(_, gap)| *gap <= args.target_gap);
    let best = fair.min_by(|(a, _), (b, _)| a.error.total_cmp(&b.error));
    let (reached, best) = (best.is_some(), best.or(measured().min_by(|a, b| a.1.total_cmp(&b.1))));
    let Some((chosen, _)) = best else {
        let message = "there is not enough evidence to compare any of the models";
        let help = "a larger --epsilon, fewer models, or more records";
        return Err(Failure::data("choose::evidence", message).help(help));
    };
    Ok(Choice {
        chosen: chosen.run,
        gap: &args.gap,
        target_gap: args.target_gap,
        reached,
        privacy: &bought.privacy,
        spent_mu: bought.spent_mu,
        ledger: None,
        candidates,
    })
}

fn text(choice: &Choice<'_>, output: Output) -> String {
    let gap_name = format!("{} gap", choice.gap);
    let mut rows = Rows::new(&["run", "lambda", "error", &gap_name, "95 % interval", ""]);
    for own in &choice.candidates {
        let interval = own.gap.map_or_else(
            || "not enough evidence".to_owned(),
            |NoisyGap { interval: [low, high], .. }| {
                format!("{:.2} to {:.2} %", 100.0 * low, 100.0 * high)
            },
        );
        let chosen = if own.run == choice.chosen { "chosen" } else { "" };
        rows.push(vec![
            own.run.display().to_string(),
            own.lambda.to_string(),
            percent(Some(own.error)),
            percent(own.gap.map(|gap| gap.value)),
            interval,
            chosen.to_owned(),
        ]);
    }
    let (count, target) = (choice.candidates.len(), 100.0 * choice.target_gap);
    let why = if choice.reached {
        format!("it errs least of those whose gap was measured to be at most {target} points")
    } else {
        format!("no gap was measured to be at most {target} points, and its gap is the smallest")
    };
    let mut text = format!("{}\n", rows.render());
    text += &wrap(&format!(
        "{} {}: {why}. All {count} models were measured, and all of them are paid for: each has 1/{count} \
         of the budget (in mu^2). Intervals are of each model by itself; that of the chosen one has also \
         been lucky.",
        output.strong("Chosen:"),
        choice.chosen.display()
    ));
    let title = output.strong(&format!("Privacy ({}):", choice.privacy.kind));
    text += &wrap(&format!("{title} {}", choice.privacy.statement));
    if let Some(ledger) = &choice.ledger {
        text += &wrap(&ledger.text(output));
    }
    text
}
