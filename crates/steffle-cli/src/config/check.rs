//! Checks of single settings. Each refusal says what was given, where, and what is allowed.

use std::fmt::Display;
use std::ops::RangeBounds;
use std::str::FromStr;

use super::Origins;
use crate::failure::Failure;

/// Checks settings and knows where they came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Check<'a>(pub(crate) &'a Origins);

impl Check<'_> {
    /// One of a few words; their list is the error of parsing.
    pub(crate) fn word<T>(self, key: &str, given: Option<&str>) -> Result<Option<T>, Failure>
    where
        T: FromStr<Err = String>,
    {
        let parse = |word: &str| {
            word.parse().map_err(|allowed| self.0.refuse(key, word, &format!("one of {allowed}")))
        };
        given.map(parse).transpose()
    }

    /// A finite number in a range that `allowed` describes.
    pub(crate) fn number(
        self,
        key: &str,
        given: Option<f64>,
        range: impl RangeBounds<f64>,
        allowed: &str,
    ) -> Result<Option<f64>, Failure> {
        match given {
            Some(number) if !number.is_finite() || !range.contains(&number) => {
                Err(self.0.refuse(key, number, allowed))
            }
            _ => Ok(given),
        }
    }

    /// A count that is not zero.
    pub(crate) fn count<N>(self, key: &str, given: Option<N>) -> Result<Option<N>, Failure>
    where
        N: Default + PartialEq + Display,
    {
        match given {
            Some(zero) if zero == N::default() => {
                Err(self.0.refuse(key, zero, "a whole number, 1 or more"))
            }
            given => Ok(given),
        }
    }

    /// A seed that TOML can hold.
    pub(crate) fn seed(self, given: Option<u64>) -> Result<u64, Failure> {
        let seed = given.unwrap_or(0);
        if i64::try_from(seed).is_ok() {
            return Ok(seed);
        }
        let allowed = format!("a whole number from 0 to {}", i64::MAX);
        Err(self.0.refuse("seed", seed, &allowed))
    }
}
