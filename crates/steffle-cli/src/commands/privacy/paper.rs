//! `steffle privacy paper`: what the theorem's noise gives.

use serde_json::{Value, json};
use steffle_privacy::paper::{Analysis, Cost, Experiment, Needed, Setting, rounds_of_epochs};
use steffle_privacy::{Epsilon, rounding};

use super::{count, quantity, rounds, up};
use crate::args::{PaperArgs, PaperData};
use crate::config::Origins;
use crate::failure::Failure;
use crate::ui::{Output, Progress, Rows, wrap};

/// The place of the theorem's condition on rounds, and short names of all that have numbers.
const ROUNDS: usize = 1;
const SHORT: [&str; 4] = ["e", "T", "z", "q"];

/// One line of the table.
struct Line {
    name: &'static str,
    analysis: Analysis,
    needed: Option<Needed>,
}

pub(super) fn paper(args: &PaperArgs, output: Output) -> Result<(), Failure> {
    let settings = settings(args)?;
    let progress = Progress::start("Accounting");
    let lines = settings
        .into_iter()
        .map(|(name, setting)| {
            let analysis = Analysis::of(setting)?;
            let needed = if args.needed { Some(analysis.needed()?) } else { None };
            Ok(Line { name, analysis, needed })
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    drop(progress);
    let entry = |line: &Line| {
        let mut value =
            serde_json::to_value(&line.analysis).map_err(|e| Failure::bug(e.to_string()))?;
        value["data"] = json!(line.name);
        value["statement"] = json!(line.analysis.statement());
        if let Some(needed) = &line.needed {
            value["needed"] = json!(needed);
        }
        Ok(value)
    };
    let analyses = lines.iter().map(entry).collect::<Result<Vec<Value>, Failure>>()?;
    output.result(&json!({"analyses": analyses}), &text(&lines, output))
}

/// What was typed, as settings with a name.
fn settings(args: &PaperArgs) -> Result<Vec<(&'static str, Setting)>, Failure> {
    let asked = if args.epsilon.is_empty() { vec![1.0, 3.0, 9.0] } else { args.epsilon.clone() };
    let epsilons: Vec<Epsilon> =
        asked.into_iter().map(|epsilon| quantity("epsilon", epsilon)).collect::<Result<_, _>>()?;
    let bases = match (args.records, args.data) {
        (Some(records), _) => vec![("custom", own(args, records)?)],
        (None, Some(data)) => vec![named(data)?],
        (None, None) => [PaperData::CreditCard, PaperData::Adult, PaperData::RetiredAdult]
            .into_iter()
            .map(named)
            .collect::<Result<_, _>>()?,
    };
    let mut settings = Vec::new();
    for (name, base) in bases {
        let base = changed(args, base)?;
        settings.extend(epsilons.iter().map(|&epsilon| (name, Setting { epsilon, ..base })));
    }
    Ok(settings)
}

fn named(data: PaperData) -> Result<(&'static str, Setting), Failure> {
    let (name, experiment) = match data {
        PaperData::Adult => ("adult", Experiment::Adult),
        PaperData::CreditCard => ("credit-card", Experiment::CreditCard),
        PaperData::RetiredAdult => ("retired-adult", Experiment::RetiredAdult),
    };
    Ok((name, Setting::of(experiment, Epsilon::try_from(1.0)?)?))
}

/// Silos of the user's own size, otherwise as in the paper.
fn own(args: &PaperArgs, silo_records: usize) -> Result<Setting, Failure> {
    let positive = |key: &str, given: usize| match given {
        0 => Err(Origins::default().refuse(key, given, "a whole number, 1 or more")),
        _ => Ok(given),
    };
    let silo_records = positive("records", silo_records)?;
    let silos = positive("silos", args.silos.unwrap_or(3))?;
    let (_, paper) = named(PaperData::Adult)?;
    let all = silos as f64 * silo_records as f64;
    Ok(Setting {
        silo_records,
        silos,
        // One record in one silo would make delta 1.
        delta: quantity("delta", args.delta.unwrap_or_else(|| all.max(2.0).powi(-2)))?,
        rho: quantity("rho", args.rho.unwrap_or(0.5))?,
        ..paper
    })
}

/// What was typed beyond the size of a silo.
fn changed(args: &PaperArgs, base: Setting) -> Result<Setting, Failure> {
    let batch = args.batch.unwrap_or(base.batch);
    rounds::fixed_batch(batch as u64, base.silo_records as u64)?;
    let rounds = match (args.rounds, args.epochs.unwrap_or(40)) {
        (Some(rounds), _) => count("rounds", rounds)?,
        (None, 0) => {
            return Err(Origins::default().refuse("epochs", 0, "a whole number, 1 or more"));
        }
        (None, epochs) => rounds_of_epochs(epochs, base.silo_records, batch)?,
    };
    let delta = args.delta.map_or(Ok(base.delta), |delta| quantity("delta", delta))?;
    Ok(Setting { batch, rounds, delta, ..base })
}

fn text(lines: &[Line], output: Output) -> String {
    let short = |value: f64| rounding::up(value, 4).to_string();
    let mut table = Rows::new(&[
        "data",
        "claimed",
        "rounds",
        "needed",
        "z",
        "z both",
        "fails",
        "add/remove",
        "centred",
        "fixed size",
        "revealed",
    ]);
    let costs = |cost: &Cost| -> Vec<String> {
        let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), short);
        vec![
            cell(cost.poisson_add_remove),
            cell(cost.poisson_centred),
            cell(cost.without_replacement),
            short(cost.batch_revealed),
        ]
    };
    for line in lines {
        let Analysis { setting, conditions, .. } = &line.analysis;
        let rounds = &conditions[ROUNDS];
        let z = [line.analysis.noise_multiplier, line.analysis.noise_multiplier_both];
        let mut cells = vec![
            line.name.to_owned(),
            setting.epsilon.to_string(),
            setting.rounds.to_string(),
            rounds.needed.map_or_else(String::new, |needed| format!("{:.0}", needed.ceil())),
        ];
        cells.extend(z.map(|z| format!("{:.4}", z.value())));
        let failing = conditions.iter().zip(SHORT).filter(|(condition, _)| !condition.holds);
        cells.push(failing.map(|(_, short)| short).collect::<Vec<_>>().join(" "));
        cells.extend(costs(&line.analysis.both_messages));
        table.push(cells);
        let mut one = vec![String::new(); 7];
        "  one message alone".clone_into(&mut one[0]);
        one.extend(costs(&line.analysis.one_message));
        table.push(one);
    }
    let mut text = format!(
        "{}\n{}\n{}",
        output.strong("What the noise of Theorem 3.2 gives: epsilon of both messages of a round"),
        table.render(),
        wrap(
            "needed: rounds the theorem asks for. fails: conditions not met, of the theorem (e: \
             epsilon <= 2 ln(1/delta), T: rounds) and of the lemma it cites (z: z >= 1, q: \
             q <= 1/(16z)). add/remove, centred, fixed size: if batches stay secret, drawn by \
             Poisson sampling (contributions not centred, centred) or with fixed size. revealed: \
             what Algorithm 1 gives, because it sends the exact loss gradient of the same batch."
        )
    );
    if lines.iter().any(|line| line.needed.is_some()) {
        text += &format!("\n{}", noise_needed(lines, output));
    }
    for line in lines.iter().filter(|_| lines.len() <= 3) {
        let title = format!("{}, epsilon {}", line.name, line.analysis.setting.epsilon);
        text += &format!("\n{}\n{}", output.strong(&title), wrap(&line.analysis.statement()));
    }
    text
}

fn noise_needed(lines: &[Line], output: Output) -> String {
    let mut table = Rows::new(&[
        "data",
        "epsilon",
        "has",
        "add/remove",
        "centred",
        "fixed size",
        "revealed",
        "all, T=50",
        "T=100",
        "T=200",
        "T=500",
    ]);
    for line in lines {
        let Some(needed) = &line.needed else { continue };
        let mut cells = vec![
            line.name.to_owned(),
            line.analysis.setting.epsilon.to_string(),
            format!("{:.4}", line.analysis.noise_multiplier_both.value()),
        ];
        let sampled = [
            needed.poisson_add_remove,
            needed.poisson_centred,
            needed.without_replacement,
            needed.batch_revealed,
        ];
        let full = needed.full_batch.iter().map(|full| full.noise_multiplier);
        cells.extend(sampled.into_iter().chain(full).map(|z| up(z.value())));
        table.push(cells);
    }
    format!("{}\n{}", output.strong("Noise multiplier needed for both messages"), table.render())
}
