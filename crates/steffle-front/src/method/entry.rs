//! What is the same for all settings of a method.

use std::sync::Arc;

use steffle_privacy::explain::Scope;

use super::{Given, Method, Mode, Value};
use crate::Error;
use crate::methods::METHODS;

/// A method before anything is said about its settings.
///
/// Everything that other parts of the program know about a method.
#[derive(Debug)]
pub struct Entry {
    /// What users call it.
    pub name: &'static str,
    /// What it is, in a few words that stand after its name.
    pub about: &'static str,
    /// The settings that it takes, beside those that all methods take.
    pub settings: &'static [&'static str],
    /// Settings that it has no choice about, with their values.
    pub pins: &'static [(&'static str, &'static str)],
    /// Modes that it has, where it takes the setting.
    pub modes: &'static [Mode],
    /// Whether one curator, whom all trust, has all records and classes in one place.
    pub central: bool,
    /// What its models are trained for besides accuracy.
    pub goal: Goal,
    /// Whether it is nothing without a notion of fairness.
    pub needs_notion: bool,
    /// The number of labels that it is defined for, if not for any.
    pub labels: Option<usize>,
    /// Whether attributes holders answer by record id, so that they need not see features.
    pub answers_by_id: bool,
    /// What it protects where it claims something, and who must be trusted.
    pub protects: &'static Protects,
    /// Introduces the table of what leaves a silo: who computes it, and why without noise.
    pub without_noise: &'static str,
    /// How its curves look.
    pub look: Look,
    /// Why it does not have a setting, in a mode.
    pub reason: fn(entry: &Entry, key: &str, mode: Mode) -> Reason,
    /// Makes it of settings.
    pub build: fn(&Given) -> Result<Arc<dyn Method>, Error>,
}

/// Why a setting is refused, and what to do.
///
/// A method gives one for every setting that means nothing to it.
pub type Reason = (String, &'static str);

/// What a model is trained for besides accuracy.
///
/// It decides which axis a sweep has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Goal {
    /// Decisions that depend little on the sensitive attribute.
    Groups,
    /// Equal losses in all silos; the sensitive attribute is never read.
    Silos,
    /// Nothing; the sensitive attribute is never read.
    Nothing,
}

/// What a claim is about and against whom, in a few words.
///
/// Reports and model cards print it beside epsilon.
#[derive(Debug)]
pub struct Protects {
    /// What is protected.
    pub what: &'static str,
    /// Who must be trusted.
    pub trusted: &'static str,
    /// The same in sentences.
    pub scope: Scope,
}

impl Protects {
    /// The sensitive attribute, against everybody outside the silo.
    pub const ATTRIBUTE: Self = Self {
        what: "the sensitive attribute of a record",
        trusted: "the own silo",
        scope: Scope::ATTRIBUTE,
    };
    /// The sensitive attribute, against everybody but a curator.
    pub const CURATOR: Self = Self {
        what: "the sensitive attribute of a record",
        trusted: "a curator who has all data",
        scope: Scope::CURATOR,
    };
    /// The sensitive attribute, against everybody.
    pub const ANSWERS: Self = Self {
        what: "the sensitive attribute of a record",
        trusted: "nobody",
        scope: Scope::ANSWERS,
    };
    /// Whole records, against everybody outside the silo.
    pub const RECORD: Self =
        Self { what: "a whole record", trusted: "the own silo", scope: Scope::RECORD };
}

/// The colour and the marker of a method's curves, by their names in `steffle-report`. Methods that
/// are one idea share a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// `blue`, `vermillion`, ...
    pub colour: &'static str,
    /// `circle`, `square`, ...
    pub marker: &'static str,
}

/// Settings that only some methods have, in the order in which they are complained about.
const KEYS: [&str; 31] = [
    "sign",
    "row-cap",
    "noise-shape",
    "accounting",
    "clip",
    "diameter",
    "delta",
    "epsilon",
    "noise",
    "mode",
    "target-gap",
    "max-excess",
    "pool",
    "secure-aggregation",
    "noise-shares",
    "colluders",
    "server",
    "rounds",
    "epochs",
    "batch",
    "lr-theta",
    "lr-dual",
    "output",
    "local-epochs",
    "lambda",
    "surrogate-sharpness",
    "l2",
    "silos",
    "heterogeneity",
    "partition-by",
    "centralisation",
];

/// All settings that can be said about a method.
pub(crate) fn keys() -> Vec<&'static str> {
    KEYS.into_iter().chain(["model", "notion"]).collect()
}

impl Entry {
    /// The method of a name; refuses others with the list of all.
    pub fn of(name: &str) -> Result<&'static Self, Error> {
        METHODS.iter().copied().find(|entry| entry.name == name).ok_or_else(|| {
            let names: Vec<&str> = METHODS.iter().map(|entry| entry.name).collect();
            Error::value("method", name, format!("it must be one of {}", names.join(", ")))
        })
    }

    /// Whether a setting means anything to the method.
    pub fn takes(&self, key: &str) -> bool {
        !KEYS.contains(&key) || self.settings.contains(&key)
    }

    /// Whether a mode means anything to the method: those that go to an optimum have none.
    pub fn has_mode(&self) -> bool {
        self.settings.contains(&"mode") || self.pins("mode")
    }

    /// What was said, with what the method has no choice about; refuses what contradicts that.
    pub fn pinned(&self, given: &Given) -> Result<Given, Error> {
        let mut pinned = given.clone();
        for (key, own) in self.pins {
            if let Some(given) = given.value(key).filter(|given| given.to_string() != *own) {
                let message = format!("method {} has {key} {own}, not {given}", self.name);
                let help = format!("leave <{key}> out, or use <method steffle>");
                return Err(Error::conflict(key, message).with_help(help));
            }
            pinned.set_as_written(key, number(own));
        }
        Ok(pinned)
    }

    /// Whether the setting is one that the method has no choice about.
    fn pins(&self, key: &str) -> bool {
        self.pins.iter().any(|(own, _)| *own == key)
    }
}

/// A pin as the value it stands for.
fn number(word: &str) -> Value {
    word.parse().map_or_else(|_| Value::from(word), Value::Whole)
}

/// Refuses settings that the method does not have. Written settings are complete, so that they may
/// say of such a setting that it does nothing.
pub(crate) fn refuse_foreign(entry: &Entry, given: &Given, mode: Mode) -> Result<(), Error> {
    let idle = |key: &str| match key {
        "mode" => mode == Mode::None && !given.said("mode"),
        // The aim looks at the values of the first two; where rows are is not a method's business,
        // unless it has no choice.
        "lambda"
        | "surrogate-sharpness"
        | "silos"
        | "heterogeneity"
        | "partition-by"
        | "centralisation" => true,
        _ => entry.pins(key),
    };
    let foreign = |key: &&&str| given.has(key) && !entry.takes(key) && !idle(key);
    match KEYS.iter().find(foreign) {
        Some(key) => {
            let (message, help) = (entry.reason)(entry, key, mode);
            Err(Error::conflict(key, message).with_help(help))
        }
        None => Ok(()),
    }
}

/// Why a method does not have a setting of other methods.
pub(crate) fn usual_reason(entry: &Entry, key: &str) -> Reason {
    let name = entry.name;
    match key {
        "sign" => (
            format!("sign means nothing to {name}, which is not pf-ld"),
            "leave it out, or use <method pf-ld>",
        ),
        "secure-aggregation" => (
            format!(
                "secure-aggregation is for sums over silos of runs that claim privacy: method {name} \
                 claims none, or its silos send other things"
            ),
            "use <method steffle>, <method one-shot> or <method randomised-response>, or leave it out",
        ),
        "target-gap" | "pool" => (
            format!("{key} means nothing to {name}, which is not one-shot"),
            "add <method one-shot>, or leave it out",
        ),
        "noise-shares" | "colluders" => (
            format!(
                "{key} means nothing to {name}: silos share the noise of steffle and one-shot alone"
            ),
            "use <method steffle> or <method one-shot>, with <secure-aggregation>, or leave it out",
        ),
        "max-excess" if entry.settings.contains(&"epsilon") => (
            format!(
                "max-excess tries several lambdas, and every one that {name} tries is a run of its \
                 own, which costs its epsilon again"
            ),
            "use <method one-shot> or <method randomised-response>, whose search costs nothing, or \
             give <lambda>",
        ),
        "l2" => (
            format!(
                "l2 means nothing to {name}, whose networks are not found by passes of the silos"
            ),
            "leave it out, or use <method one-shot>",
        ),
        "local-epochs" => (
            format!("method {name} has no local-epochs: its silos send sums"),
            "leave it out, or use <method fedavg>",
        ),
        _ => (format!("{key} means nothing to {name}"), "leave it out, or use steffle"),
    }
}
