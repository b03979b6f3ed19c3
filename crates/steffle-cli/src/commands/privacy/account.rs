//! `steffle privacy account`: noise in, epsilon out.

use serde_json::json;
use steffle_privacy::{Accountant, Reading};

use super::{Asked, describe_readings, error, kind, quantity, rounds, up};
use crate::args::AccountArgs;
use crate::failure::Failure;
use crate::ui::{Output, Rows};

pub(super) fn account(args: &AccountArgs, output: Output) -> Result<(), Failure> {
    let z = quantity("noise-multiplier", args.noise_multiplier)?;
    let (event, delta) = rounds::event(&args.rounds, z)?;
    let asked = Asked::new(args.accountant, Accountant::best_for(event.sampling));
    let readings: Vec<(Accountant, Reading)> = asked
        .accountants()
        .into_iter()
        .map(|accountant| Ok((accountant, accountant.epsilon(&[event], delta)?)))
        .collect::<Result<_, Failure>>()?;

    let mut value = rounds::json(&args.rounds, &event, delta);
    value["noise_multiplier"] = json!(z);
    value["epsilon"] = asked.by_name(&readings, |reading| json!(reading.epsilon));
    describe_readings(&mut value, &asked, &readings);
    let mut table = Rows::new(&["accountant", "epsilon", "", "exact value at most lower by"]);
    for (accountant, reading) in &readings {
        let name = accountant.name().to_owned();
        table.push(vec![name, up(reading.epsilon), kind(reading), error(reading)]);
    }
    let text = format!("{}\n{}", rounds::text(&event, delta), table.render());
    output.result(&value, &text)
}
