//! `steffle privacy add`: what several runs about the same people cost together.

use std::path::Path;

use serde_json::{Value, json};
use steffle_privacy::{Delta, Mu, Promise, together};

use super::{metrics, promise, quantity, up};
use crate::args::AddArgs;
use crate::failure::Failure;
use crate::ui::{Output, Rows, wrap};

/// A run directory and what it promises.
struct Run {
    name: String,
    promise: Promise,
    simulated: bool,
}

pub(super) fn add(args: &AddArgs, output: Output) -> Result<(), Failure> {
    let runs = args.runs.iter().map(|run| read(run)).collect::<Result<Vec<_>, _>>()?;
    let at: Option<Delta> = args.delta.map(|delta| quantity("delta", delta)).transpose()?;
    let promises: Vec<Promise> = runs.iter().map(|run| run.promise).collect();
    let sum = together(&promises, at)?;
    let mut entries: Vec<Value> = Vec::new();
    let mut table = Rows::new(&["run", "epsilon", "delta", "mu"]);
    for Run { name, promise, simulated } in &runs {
        let mu = promise.mu()?.map(Mu::value);
        let (epsilon, delta) = (promise.epsilon.value(), promise.delta.map_or(0.0, Delta::value));
        entries.push(json!({
            "run": name, "epsilon": epsilon, "delta": delta, "mu": mu, "simulation": simulated
        }));
        let name = if *simulated { format!("{name} (simulation)") } else { name.clone() };
        let mu = mu.map_or_else(|| "-".into(), |mu| format!("{mu:.4}"));
        table.push(vec![name, epsilon.to_string(), format!("{delta:e}"), mu]);
    }
    let mut value = json!(sum);
    value["runs"] = json!(entries);
    table.push(vec![
        "together".into(),
        up(sum.epsilon),
        format!("{:e}", sum.delta),
        sum.mu.map_or_else(|| "-".into(), |mu| format!("{mu:.4}")),
    ]);
    let why = why(&runs, sum.sum_of_epsilons, sum.epsilon);
    output.result(&value, &format!("{}\n{}", table.render(), wrap(&why)))
}

/// Why the sum of the epsilons is not it.
fn why(runs: &[Run], plain: f64, epsilon: f64) -> String {
    let mut text = format!(
        "If the runs are about the same people and were settled before the first result, they cost \
         epsilon {} together, where the epsilons alone sum to {plain}.",
        up(epsilon)
    );
    if runs.iter().filter(|run| run.promise.gaussian).count() > 1 {
        text += " Epsilon is a worst case. With Gaussian noise the bad luck of one run seldom meets that \
                 of another, so what adds up is the square of mu (the signal about one person over the \
                 noise): four equal runs cost twice the mu of one, not four times.";
    }
    if runs.iter().any(|run| !run.promise.gaussian) {
        text += " Runs on secret batches and randomised answers are added by their epsilons and deltas.";
    }
    if runs.iter().any(|run| run.simulated) {
        text += " Simulations protect nobody and spend nothing: they count as if their noise had been \
                 secret.";
    }
    text += " A run that is decided on after a result needs a budget that was fixed before: a ledger keeps \
             one, and this sum, for every person (steffle ledger show).";
    text
}

/// What a run directory promises.
fn read(directory: &Path) -> Result<Run, Failure> {
    let run = metrics(directory)?;
    let name = directory.display().to_string();
    let Some(promise) = promise(&run) else {
        let message =
            format!("{name}: the run makes no promise that holds, so nothing bounds a sum");
        let help = "steffle privacy explain RUN says what it does promise";
        return Err(Failure::data("privacy::no_claim", message).help(help));
    };
    Ok(Run { name, promise, simulated: run["privacy"]["kind"] != "private" })
}
