//! `steffle privacy compare`: all accountants side by side.

use serde_json::{Value, json};
use steffle_privacy::{Accountant, Reading};

use super::{error, kind, quantity, rounds, up};
use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::ui::{Output, Rows, wrap};

pub(super) fn compare(args: &CompareArgs, output: Output) -> Result<(), Failure> {
    let z = quantity("noise-multiplier", args.noise_multiplier)?;
    let (event, delta) = rounds::event(&args.rounds, z)?;
    let best = Accountant::best_for(event.sampling);
    let readings: Vec<Reading> = Accountant::ALL
        .into_iter()
        .map(|accountant| Ok(accountant.epsilon(&[event], delta)?))
        .collect::<Result<_, Failure>>()?;

    let entry = |reading: &Reading| {
        json!({
            "accountant": reading.accountant,
            "epsilon": reading.epsilon,
            "upper_bound": reading.upper_bound,
            "error": reading.error,
            "reason": reading.accountant.reason(),
        })
    };
    let mut value = rounds::json(&args.rounds, &event, delta);
    value["noise_multiplier"] = json!(z);
    value["trust"] = json!(best);
    value["accountants"] = readings.iter().map(entry).collect::<Vec<Value>>().into();

    let trusted = readings.iter().find(|reading| reading.accountant == best);
    let mut table =
        Rows::new(&["accountant", "epsilon", "relative", "", "exact value at most lower by"]);
    for reading in &readings {
        let share = trusted
            .filter(|trusted| trusted.epsilon > 0.0)
            .map_or_else(String::new, |best| format!("{:.3}", reading.epsilon / best.epsilon));
        let name = reading.accountant.name();
        let mark = if reading.accountant == best { " *" } else { "" };
        let name = format!("{name}{mark}");
        table.push(vec![name, up(reading.epsilon), share, kind(reading), error(reading)]);
    }
    let mut text = format!("{}\n{}\n", rounds::text(&event, delta), table.render());
    text +=
        &format!("* the one to trust for such rounds\n\n{}\n", output.strong("Why they differ"));
    for reading in &readings {
        let (name, reason) = (reading.accountant.name(), reading.accountant.reason());
        text += &wrap(&format!("{name}: {reason}."));
    }
    output.result(&value, &text)
}
