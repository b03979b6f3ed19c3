//! `steffle privacy add`: what several runs about the same people cost together.

use std::path::Path;

use serde_json::{Value, json};
use steffle_privacy::{Delta, Epsilon, Mu, discrete};

use super::{metrics, quantity, up};
use crate::args::AddArgs;
use crate::failure::Failure;
use crate::ui::{Output, Rows, wrap};

/// What one run promises.
struct Promise {
    name: String,
    epsilon: f64,
    delta: f64,
    kind: Kind,
    simulated: bool,
}

/// How a run's promise is kept, which decides how it adds up.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Gaussian messages: squares of mu add up.
    Gaussian(f64),
    /// Anything else: epsilons and deltas add up.
    Other,
}

pub(super) fn add(args: &AddArgs, output: Output) -> Result<(), Failure> {
    let runs = args.runs.iter().map(|run| promise(run)).collect::<Result<Vec<_>, _>>()?;
    let asked: Option<Delta> = args.delta.map(|delta| quantity("delta", delta)).transpose()?;
    let gaussian: Vec<&Promise> =
        runs.iter().filter(|run| matches!(run.kind, Kind::Gaussian(_))).collect();
    let squared = gaussian.iter().fold(0.0, |sum, run| match run.kind {
        Kind::Gaussian(mu) => sum + mu * mu * (1.0 + f64::EPSILON),
        Kind::Other => sum,
    });
    let mu = squared.sqrt() * (1.0 + f64::EPSILON);
    // At the largest delta of them, unless another is asked for: the sum is read at one delta.
    let largest = gaussian.iter().map(|run| run.delta).fold(0.0, f64::max);
    let gaussian_delta = asked.map_or(largest, Delta::value);
    let gaussian_epsilon = if gaussian.is_empty() {
        0.0
    } else {
        discrete::epsilon(Mu::try_from(mu)?, quantity("delta", gaussian_delta)?)?
    };
    let others = || runs.iter().filter(|run| run.kind == Kind::Other);
    let epsilon = others().fold(gaussian_epsilon, |sum, run| sum + run.epsilon);
    let delta = others()
        .fold(if gaussian.is_empty() { 0.0 } else { gaussian_delta }, |sum, run| sum + run.delta);
    let plain: f64 = runs.iter().map(|run| run.epsilon).sum();
    let entry = |run: &Promise| {
        let mu = if let Kind::Gaussian(mu) = run.kind { Some(mu) } else { None };
        json!({"run": run.name, "epsilon": run.epsilon, "delta": run.delta, "mu": mu, "simulation": run.simulated})
    };
    let value = json!({
        "runs": runs.iter().map(entry).collect::<Vec<Value>>(),
        "mu": (!gaussian.is_empty()).then_some(mu),
        "epsilon": epsilon,
        "delta": delta,
        "sum_of_epsilons": plain,
    });
    let mut table = Rows::new(&["run", "epsilon", "delta", "mu"]);
    for run in &runs {
        let mu = if let Kind::Gaussian(mu) = run.kind { format!("{mu:.4}") } else { "-".into() };
        let name =
            if run.simulated { format!("{} (simulation)", run.name) } else { run.name.clone() };
        table.push(vec![name, run.epsilon.to_string(), format!("{:e}", run.delta), mu]);
    }
    table.push(vec![
        "together".into(),
        up(epsilon),
        format!("{delta:e}"),
        if gaussian.is_empty() { "-".into() } else { format!("{mu:.4}") },
    ]);
    let text = format!("{}\n{}", table.render(), wrap(&why(&runs, plain, epsilon)));
    output.result(&value, &text)
}

/// Why the sum of the epsilons is not it.
fn why(runs: &[Promise], plain: f64, epsilon: f64) -> String {
    let mut text = format!(
        "If the runs are about the same people, they cost epsilon {} together, where the epsilons alone \
         sum to {plain}.",
        up(epsilon)
    );
    if runs.iter().filter(|run| run.kind != Kind::Other).count() > 1 {
        text += " Epsilon is a worst case. With Gaussian noise the bad luck of one run seldom meets that \
                 of another, so what adds up is the square of mu (the signal about one person over the \
                 noise): four equal runs cost twice the mu of one, not four times.";
    }
    if runs.iter().any(|run| run.kind == Kind::Other) {
        text += " Runs on secret batches and randomised answers are added by their epsilons and deltas, \
                 which is never too little.";
    }
    if runs.iter().any(|run| run.simulated) {
        text += " Simulations protect nobody and spend nothing: they count as if their noise had been \
                 secret.";
    }
    text += " A ledger keeps this sum by itself, for every person: steffle ledger show.";
    text
}

/// What a run directory promises.
fn promise(directory: &Path) -> Result<Promise, Failure> {
    let run = metrics(directory)?;
    let privacy = &run["privacy"];
    let name = directory.display().to_string();
    let holds = privacy["holds"].as_bool().unwrap_or(false);
    let (Some(epsilon), Some(delta), true) =
        (privacy["epsilon"].as_f64(), privacy["delta"].as_f64(), holds)
    else {
        let message =
            format!("{name}: the run makes no promise that holds, so nothing bounds a sum");
        let help = "steffle privacy explain RUN says what it does promise";
        return Err(Failure::data("privacy::no_claim", message).help(help));
    };
    let gaussian = delta > 0.0 && run["mode"] != "poisson" && run["method"] != "fedfdp";
    let kind = if gaussian {
        let (epsilon, delta) = (Epsilon::try_from(epsilon)?, Delta::try_from(delta)?);
        Kind::Gaussian(discrete::budget(epsilon, delta)?.value())
    } else {
        Kind::Other
    };
    Ok(Promise { name, epsilon, delta, kind, simulated: privacy["kind"] != "private" })
}
