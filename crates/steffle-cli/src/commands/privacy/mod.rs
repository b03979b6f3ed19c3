//! `steffle privacy account|add|calibrate|compare|explain|paper|sheet`.

mod account;
mod add;
mod calibrate;
mod compare;
mod explain;
mod paper;
mod rounds;
mod sheet;

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use steffle_front::Model;
use steffle_privacy::{Accountant, PrivacyError, Promise, Reading, rounding};

use crate::args::{PrivacyCommand, WhichAccountant};
use crate::config::Origins;
use crate::failure::Failure;
use crate::ui::Output;

pub(crate) fn privacy(command: &PrivacyCommand, output: Output) -> Result<(), Failure> {
    match command {
        PrivacyCommand::Account(args) => account::account(args, output),
        PrivacyCommand::Add(args) => add::add(args, output),
        PrivacyCommand::Calibrate(args) => calibrate::calibrate(args, output),
        PrivacyCommand::Compare(args) => compare::compare(args, output),
        PrivacyCommand::Explain(args) => explain::explain(args, output),
        PrivacyCommand::Paper(args) => paper::paper(args, output),
        PrivacyCommand::Sheet(args) => sheet::sheet(args, output),
    }
}

/// A number that was typed after `--key`, as the quantity it stands for.
fn quantity<Q>(key: &str, given: f64) -> Result<Q, Failure>
where
    Q: TryFrom<f64, Error = PrivacyError>,
{
    Q::try_from(given).map_err(|error| refused(key, given, error))
}

/// The same for whole numbers.
fn count<Q>(key: &str, given: u64) -> Result<Q, Failure>
where
    Q: TryFrom<u64, Error = PrivacyError>,
{
    Q::try_from(given).map_err(|error| refused(key, given, error))
}

/// What `train --json` printed, from a run directory that can be read.
pub(super) fn metrics(directory: &Path) -> Result<Value, Failure> {
    Model::load(directory)?;
    let path = directory.join("metrics.json");
    let text = fs::read_to_string(&path).map_err(|error| Failure::at(&path, &error))?;
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("{}: not what train wrote: {error}", path.display());
        Failure::data("run::damaged", message)
    })
}

/// What a run promises, by the JSON of `train`; nothing where no promise holds.
pub(super) fn promise(run: &Value) -> Option<Promise> {
    let privacy = &run["privacy"];
    if !privacy["holds"].as_bool()? {
        return None;
    }
    let delta = privacy["delta"].as_f64()?;
    Some(Promise {
        epsilon: privacy["epsilon"].as_f64()?.try_into().ok()?,
        delta: if delta > 0.0 { Some(delta.try_into().ok()?) } else { None },
        gaussian: delta > 0.0 && run["mode"] != "poisson" && run["method"] != "fedfdp",
    })
}

/// Names the flag where the library only knows the quantity.
fn refused(key: &str, given: impl std::fmt::Display, error: PrivacyError) -> Failure {
    match error {
        PrivacyError::OutOfRange { allowed, .. } => Origins::default().refuse(key, given, allowed),
        other => other.into(),
    }
}

/// One accountant, or several.
enum Asked {
    One(Accountant),
    All,
}

impl Asked {
    /// What was typed, or the accountant to trust.
    fn new(typed: Option<WhichAccountant>, best: Accountant) -> Self {
        match typed {
            None => Self::One(best),
            Some(WhichAccountant::Gdp) => Self::One(Accountant::Gdp),
            Some(WhichAccountant::Pld) => Self::One(Accountant::Pld),
            Some(WhichAccountant::Rdp) => Self::One(Accountant::Rdp),
            Some(WhichAccountant::Paper) => Self::One(Accountant::Paper),
            Some(WhichAccountant::All) => Self::All,
        }
    }

    fn accountants(&self) -> Vec<Accountant> {
        match self {
            Self::One(one) => vec![*one],
            Self::All => Accountant::ALL.to_vec(),
        }
    }

    /// A value per accountant: the value itself for one, an object by name for all.
    fn by_name<T>(&self, found: &[(Accountant, T)], value: impl Fn(&T) -> Value) -> Value {
        if let (Self::One(_), [(_, only)]) = (self, found) {
            return value(only);
        }
        let entry = |(who, found): &(Accountant, T)| (who.name().to_owned(), value(found));
        Value::Object(found.iter().map(entry).collect::<Map<_, _>>())
    }

    /// Its name, or `all`.
    fn name(&self) -> &'static str {
        match self {
            Self::One(one) => one.name(),
            Self::All => "all",
        }
    }
}

/// Adds what is known about readings to the JSON of a command.
fn describe_readings(json: &mut Value, asked: &Asked, readings: &[(Accountant, Reading)]) {
    json["accountant"] = json!(asked.name());
    json["upper_bound"] = asked.by_name(readings, |reading| json!(reading.upper_bound));
    json["error"] = asked.by_name(readings, |reading| json!(reading.error));
}

/// Six digits, never below the value.
fn up(value: f64) -> String {
    rounding::up(value, 6).to_string()
}

/// Whether an accountant's number is a promise, in two words.
fn kind(reading: &Reading) -> String {
    (if reading.upper_bound { "upper bound" } else { "no guarantee" }).to_owned()
}

/// How far above the exact value a reading can be.
fn error(reading: &Reading) -> String {
    reading.error.map_or_else(|| "not known".to_owned(), |error| format!("{error:.1e}"))
}
