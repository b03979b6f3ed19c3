//! What was typed about rounds, as an event.

use serde_json::{Value, json};
use steffle_privacy::{
    Delta, Event, FixedBatch, Neighbours, NoiseMultiplier, Rounds, SampleRate, Sampling,
};

use super::{count, quantity, up};
use crate::args::{Adjacency, Contributions, Mechanism, RoundsArgs};
use crate::config::Origins;
use crate::failure::Failure;

/// The event, and the delta to account for it at.
pub(super) fn event(
    args: &RoundsArgs,
    noise_multiplier: NoiseMultiplier,
) -> Result<(Event, Delta), Failure> {
    let sampling = sampling(args)?;
    let neighbours = match (args.adjacency, args.contributions) {
        (Adjacency::AddRemove, _) => Neighbours::AddRemove,
        (Adjacency::Replace, Contributions::Centred) => Neighbours::ReplaceCentred,
        (Adjacency::Replace, Contributions::Any) => Neighbours::Replace,
    };
    let rounds: Rounds = count("rounds", args.rounds)?;
    let delta = quantity("delta", args.delta)?;
    Ok((Event { sampling, neighbours, noise_multiplier, rounds }, delta))
}

/// What the event is, for the JSON of a command.
pub(super) fn json(args: &RoundsArgs, event: &Event, delta: Delta) -> Value {
    let mechanism = match event.sampling {
        Sampling::FullBatch => "gaussian",
        Sampling::Poisson(_) => "poisson",
        Sampling::WithoutReplacement(_) => "without-replacement",
    };
    let mut json = json!({
        "mechanism": mechanism,
        "rate": event.sampling.rate(),
        "rounds": event.rounds,
        "delta": delta,
        "adjacency": match args.adjacency {
            Adjacency::Replace => "replace",
            Adjacency::AddRemove => "add-remove",
        },
    });
    if event.neighbours != Neighbours::AddRemove && mechanism == "poisson" {
        let centred = event.neighbours == Neighbours::ReplaceCentred;
        json["contributions"] = json!(if centred { "centred" } else { "any" });
    }
    if let (Some(batch), Some(records)) = (args.batch, args.records) {
        json["batch"] = json!(batch);
        json["records"] = json!(records);
    }
    json
}

/// One line about the event.
pub(super) fn text(event: &Event, delta: Delta) -> String {
    let who = match event.sampling {
        Sampling::FullBatch => "on all records".to_owned(),
        Sampling::Poisson(rate) => {
            format!("on secret Poisson batches of rate {}", up(rate.value()))
        }
        Sampling::WithoutReplacement(fixed) => {
            format!("on secret batches of {} of {} records", fixed.batch(), fixed.records())
        }
    };
    let neighbours = match (event.sampling, event.neighbours) {
        (_, Neighbours::AddRemove) => "one record present or absent",
        (Sampling::Poisson(_), Neighbours::ReplaceCentred) => {
            "one attribute replaced, contributions centred"
        }
        _ => "one attribute replaced",
    };
    let (rounds, delta) = (event.rounds, delta.value());
    format!("{rounds} rounds {who}; neighbours: {neighbours}; delta {delta:e}\n")
}

fn sampling(args: &RoundsArgs) -> Result<Sampling, Failure> {
    let conflict = |key: &str, message: &str| Origins::default().conflict(key, message);
    let fixed = match (args.batch, args.records) {
        (Some(batch), Some(records)) => Some(fixed_batch(batch, records)?),
        _ => None,
    };
    match (args.mechanism, args.rate, fixed) {
        (Mechanism::Gaussian, None, None) => Ok(Sampling::FullBatch),
        (Mechanism::Gaussian, ..) => {
            let message = "--mechanism gaussian takes all records in every round";
            let help = "leave out --rate, --batch and --records, or choose another --mechanism";
            Err(conflict("mechanism", message).help(help))
        }
        (Mechanism::Poisson, Some(rate), _) => Ok(Sampling::Poisson(quantity("rate", rate)?)),
        (Mechanism::Poisson, None, Some(fixed)) => {
            Ok(Sampling::Poisson(SampleRate::try_from(fixed.rate())?))
        }
        (Mechanism::Poisson, None, None) => {
            let message = "--mechanism poisson needs --rate, or --batch and --records";
            Err(Failure::usage("usage::missing", message))
        }
        (Mechanism::WithoutReplacement, None, Some(fixed)) => {
            Ok(Sampling::WithoutReplacement(fixed))
        }
        (Mechanism::WithoutReplacement, ..) => {
            let message = "--mechanism without-replacement needs --batch and --records";
            Err(Failure::usage("usage::missing", message))
        }
    }
}

/// Refuses a batch of none, or of more than there are.
pub(super) fn fixed_batch(batch: u64, records: u64) -> Result<FixedBatch, Failure> {
    FixedBatch::new(batch, records).map_err(|_| {
        let allowed = format!("a whole number from 1 to the {records} records it is drawn from");
        Origins::default().refuse("batch", batch, &allowed)
    })
}
