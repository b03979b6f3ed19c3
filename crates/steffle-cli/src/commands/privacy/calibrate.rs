//! `steffle privacy calibrate`: epsilon in, noise out.

use serde_json::json;
use steffle_privacy::calibrate::{Calibration, noise_multiplier};
use steffle_privacy::{Accountant, Epsilon, NoiseMultiplier, Reading};

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
    let text = format!("{}\n{}", rounds::text(&event, delta), table.render());
    output.result(&value, &text)
}
