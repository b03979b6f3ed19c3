//! `steffle privacy calibrate`: epsilon in, noise out.

use serde_json::json;
use steffle_privacy::calibrate::{Calibration, noise_multiplier};
use steffle_privacy::{Accountant, Epsilon, Event, Neighbours, NoiseMultiplier, Reading, Sampling};

use super::{Asked, describe_readings, kind, quantity, rounds, up};
use crate::args::CalibrateArgs;
use crate::failure::Failure;
use crate::ui::{Output, Progress, Rows};

pub(super) fn calibrate(args: &CalibrateArgs, output: Output) -> Result<(), Failure> {
    let target: Epsilon = quantity("epsilon", args.epsilon)?;
    // Any noise: the search replaces it.
    let (event, delta) = rounds::event(&args.rounds, NoiseMultiplier::try_from(1.0)?)?;
    let asked = Asked::new(args.accountant, Accountant::best_for(event.sampling));
    let progress = Progress::start("Calibrating");
    let found: Vec<(Accountant, Calibration)> = asked
        .accountants()
        .into_iter()
        .map(|accountant| Ok((accountant, noise_multiplier(accountant, event, target, delta)?)))
        .collect::<Result<_, Failure>>()?;
    drop(progress);

    let mut value = rounds::json(&args.rounds, &event, delta);
    value["target_epsilon"] = json!(target);
    value["noise_multiplier"] = asked.by_name(&found, |found| json!(found.noise_multiplier));
    value["epsilon"] = asked.by_name(&found, |found| json!(found.reading.epsilon));
    let readings: Vec<(Accountant, Reading)> =
        found.iter().map(|(accountant, found)| (*accountant, found.reading)).collect();
    describe_readings(&mut value, &asked, &readings);
    let mut table = Rows::new(&["accountant", "noise multiplier", "epsilon", ""]);
    for (accountant, Calibration { noise_multiplier, reading }) in &found {
        let (name, z) = (accountant.name().to_owned(), noise_multiplier.to_string());
        table.push(vec![name, z, up(reading.epsilon), kind(reading)]);
    }
    let mut text = format!("{}\n{}", rounds::text(&event, delta), table.render());
    let command = train_command(args, &event);
    value["train"] = json!(command);
    text += &match command {
        Some(command) => format!(
            "\nThe run that it belongs to; it finds its own noise, for all its messages:\n  {command}\n"
        ),
        None => {
            "\nNo mode of train samples this way: see --mechanism gaussian and poisson.\n".into()
        }
    };
    output.result(&value, &text)
}

/// The command that trains under this promise, where there is one.
fn train_command(args: &CalibrateArgs, event: &Event) -> Option<String> {
    if event.neighbours == Neighbours::AddRemove {
        return None;
    }
    let (epsilon, delta, rounds) = (args.epsilon, args.rounds.delta, event.rounds);
    let promise = format!("--epsilon {epsilon} --delta {delta:e} --rounds {rounds}");
    match event.sampling {
        Sampling::FullBatch => Some(format!("steffle train {promise}")),
        Sampling::Poisson(rate) => {
            let batch = match args.rounds.batch {
                Some(batch) => batch.to_string(),
                None => format!("(records of a silo x {})", rate.value()),
            };
            Some(format!("steffle train --mode poisson --batch {batch} {promise}"))
        }
        Sampling::WithoutReplacement(_) => None,
    }
}
