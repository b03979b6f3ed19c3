//! What was said about a method, key by key, and the checks of single values.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::ops::RangeBounds;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::BatchSize;
use crate::Error;

/// The value of a setting.
///
/// It is checked when a method is made of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A number.
    Number(f64),
    /// A whole number.
    Whole(u64),
    /// Yes or no.
    Flag(bool),
    /// A word, or several.
    Word(String),
}

/// Settings of a method by their keys, unchecked. The keys are the flags of the command line.
///
/// ```
/// use steffle_front::{Given, method};
/// let mut given = Given::default();
/// given.set("epsilon", 0.5);
/// given.set("notion", "equalized-odds");
/// let method = method("one-shot", &given)?;
/// assert_eq!(method.label(), "one-shot");
/// # Ok::<(), steffle_front::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Given {
    values: BTreeMap<String, Entered>,
}

/// A value and where it was entered.
#[derive(Debug, Clone, PartialEq)]
struct Entered {
    value: Value,
    /// Whether it was read from settings that were written down, which are complete: they say
    /// `mode = "none"` of methods without modes.
    written: bool,
}

impl Given {
    /// Says something about a setting.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        let entered = Entered { value: value.into(), written: false };
        self.values.insert(key.to_owned(), entered);
    }

    /// The same, read from settings that were written down.
    pub fn set_as_written(&mut self, key: &str, value: impl Into<Value>) {
        let entered = Entered { value: value.into(), written: true };
        self.values.insert(key.to_owned(), entered);
    }

    /// Whether something was said about a setting.
    pub fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// What was said about a setting.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.values.get(key).map(|entered| &entered.value)
    }

    /// All keys that something was said about.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Whether it was said here and now, not in settings that were written down.
    pub(crate) fn said(&self, key: &str) -> bool {
        self.values.get(key).is_some_and(|entered| !entered.written)
    }

    /// One of a few words; their list is the error of parsing.
    pub(crate) fn word<T>(&self, key: &str) -> Result<Option<T>, Error>
    where
        T: FromStr<Err = String>,
    {
        let parse = |word: String| {
            let refuse = |allowed| Error::value(key, &word, format!("it must be one of {allowed}"));
            word.parse().map_err(refuse)
        };
        self.value(key).map(|value| parse(value.to_string())).transpose()
    }

    /// Anything whose parser explains itself.
    pub(crate) fn explained<T>(&self, key: &str) -> Result<Option<T>, Error>
    where
        T: FromStr,
        T::Err: Display,
    {
        let parse = |word: String| {
            word.parse().map_err(|why: T::Err| Error::value(key, &word, why.to_string()))
        };
        self.value(key).map(|value| parse(value.to_string())).transpose()
    }

    /// A finite number in a range that `allowed` describes.
    pub(crate) fn number(
        &self,
        key: &str,
        range: impl RangeBounds<f64>,
        allowed: &str,
    ) -> Result<Option<f64>, Error> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match value.as_number() {
            Some(number) if number.is_finite() && range.contains(&number) => Ok(Some(number)),
            _ => Err(Error::value(key, value, format!("it must be {allowed}"))),
        }
    }

    /// A finite number above zero.
    pub(crate) fn positive(&self, key: &str) -> Result<Option<f64>, Error> {
        self.number(key, f64::MIN_POSITIVE.., "a finite number above 0")
    }

    /// A number strictly between 0 and 1.
    pub(crate) fn delta(&self) -> Result<Option<f64>, Error> {
        self.number("delta", f64::MIN_POSITIVE..1.0, "a number in (0, 1), ends excluded")
    }

    /// An epsilon that leaves something after the slack of integer noise is paid (2e-6).
    pub(crate) fn paid_epsilon(&self) -> Result<Option<f64>, Error> {
        self.number("epsilon", 1e-5.., "a finite number, 0.00001 or more")
    }

    /// A count that is not zero.
    pub(crate) fn count(&self, key: &str) -> Result<Option<u32>, Error> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let count = value.as_whole().and_then(|count| u32::try_from(count).ok());
        let refuse = || Error::value(key, value, "it must be a whole number, 1 or more");
        count.filter(|&count| count > 0).map(Some).ok_or_else(refuse)
    }

    /// Yes or no.
    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, Error> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Flag(flag)) => Ok(Some(*flag)),
            Some(other) => Err(Error::value(key, other, "it must be true or false")),
        }
    }

    /// Records per round; not 0.
    pub(crate) fn batch(&self) -> Result<Option<BatchSize>, Error> {
        let Some(value) = self.value("batch") else { return Ok(None) };
        match value.to_string().parse() {
            Ok(BatchSize::Records(0)) | Err(_) => {
                Err(Error::value("batch", value, "it must be all, or a whole number, 1 or more"))
            }
            Ok(batch) => Ok(Some(batch)),
        }
    }
}

impl Value {
    fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Whole(number) => Some(*number as f64),
            Self::Flag(_) | Self::Word(_) => None,
        }
    }

    fn as_whole(&self) -> Option<u64> {
        match self {
            Self::Whole(number) => Some(*number),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Whole(number) => number.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
            Self::Word(word) => word.fmt(f),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Whole(number) => serializer.serialize_u64(*number),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Word(word) => serializer.serialize_str(word),
        }
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Whole(number.into())
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Whole(number as u64)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<&str> for Value {
    fn from(word: &str) -> Self {
        Self::Word(word.to_owned())
    }
}

impl From<String> for Value {
    fn from(word: String) -> Self {
        Self::Word(word)
    }
}

impl From<BatchSize> for Value {
    fn from(batch: BatchSize) -> Self {
        match batch {
            BatchSize::All => Self::from("all"),
            BatchSize::Records(records) => Self::from(records),
        }
    }
}
