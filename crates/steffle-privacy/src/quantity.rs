//! The quantities of a privacy statement, each with the range it must lie in.
//!
//! A bare number can be an epsilon, a delta or a noise scale; mixing them up is the usual way to
//! publish a wrong guarantee. These types parse once with `TryFrom` and are right from then on.

use serde::{Deserialize, Serialize};

use crate::error::{PrivacyError, Result};

/// Defines a checked `f64`: the type, its name in messages, the test and what is allowed.
macro_rules! quantity {
    ($(#[$doc:meta])* $type:ident, $name:literal, $ok:expr, $allowed:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(try_from = "f64", into = "f64")]
        pub struct $type(f64);

        impl $type {
            /// The number itself.
            pub fn value(self) -> f64 {
                self.0
            }
        }

        impl TryFrom<f64> for $type {
            type Error = PrivacyError;

            fn try_from(given: f64) -> Result<Self> {
                let ok: fn(f64) -> bool = $ok;
                if ok(given) {
                    Ok(Self(given))
                } else {
                    Err(PrivacyError::OutOfRange { name: $name, given, allowed: $allowed })
                }
            }
        }

        impl From<$type> for f64 {
            fn from(quantity: $type) -> f64 {
                quantity.0
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

quantity!(
    /// The privacy loss that is agreed: odds about one person's attribute move by at most
    /// e^epsilon, except with probability [`Delta`].
    Epsilon,
    "epsilon",
    |x| x.is_finite() && x > 0.0,
    "positive and finite (0.1 to 10 is usual)"
);

quantity!(
    /// The probability with which the promise of [`Epsilon`] may fail.
    Delta,
    "delta",
    |x| x > 0.0 && x < 1.0,
    "strictly between 0 and 1 (below one over the number of records is usual)"
);

quantity!(
    /// z: the standard deviation of the noise over the **full replacement distance**, that is the
    /// distance between the noise-free messages of two adjacent stores.
    ///
    /// Some libraries divide by the norm bound C of one contribution, where a replacement moves
    /// the sum by 2C: their number is twice ours. [`NoiseMultiplier::from_norm_bound`] converts.
    NoiseMultiplier,
    "noise multiplier",
    |x| x.is_finite() && x > 0.0,
    "positive and finite (sigma divided by the full replacement distance)"
);

quantity!(
    /// q: the probability that a record takes part in a round.
    SampleRate,
    "sampling rate",
    |x| x > 0.0 && x <= 1.0,
    "above 0 and at most 1 (a batch of 256 among 7500 records is 0.0341)"
);

quantity!(
    /// mu of Gaussian differential privacy: telling two adjacent stores apart is at least as hard
    /// as telling N(0, 1) from N(mu, 1). Zero when nothing was sent.
    Mu,
    "mu",
    |x| x.is_finite() && x >= 0.0,
    "zero or positive, and finite"
);

quantity!(
    /// rho: the share of the rarest sensitive class, at least.
    GroupFraction,
    "smallest group fraction rho",
    |x| x > 0.0 && x <= 1.0,
    "above 0 and at most 1 (the share of the rarest sensitive class)"
);

impl Mu {
    /// Nothing was sent.
    pub const ZERO: Self = Self(0.0);
}

impl NoiseMultiplier {
    /// Of several Gaussian messages of one round taken together: `z^-2 = sum of z_i^-2`, rounded
    /// down. No message at all has no multiplier.
    pub fn joint(messages: &[Self]) -> Option<Self> {
        let cost: f64 = messages.iter().map(|z| z.0.powi(-2)).sum();
        Self::try_from(cost.sqrt().recip() * (1.0 - 1e-12)).ok()
    }

    /// From sigma over the norm bound C of one record's contribution, as Opacus and the PLD
    /// accountant of dp_accounting (replace-one) write it: there a replacement moves the sum by 2C.
    pub fn from_norm_bound(sigma_over_bound: f64) -> Result<Self> {
        Self::try_from(sigma_over_bound / 2.0)
    }
}

/// The number of rounds, T: how many times the mechanism is run.
///
/// At least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Rounds(u64);

impl Rounds {
    /// One single release.
    pub const ONE: Self = Self(1);
    const MOST: u64 = 1_000_000_000_000;

    /// The number of rounds.
    pub fn count(self) -> u64 {
        self.0
    }

    /// The number of rounds, for formulas.
    pub fn value(self) -> f64 {
        self.0 as f64
    }
}

impl TryFrom<u64> for Rounds {
    type Error = PrivacyError;

    fn try_from(given: u64) -> Result<Self> {
        if (1..=Self::MOST).contains(&given) {
            Ok(Self(given))
        } else {
            Err(PrivacyError::OutOfRange {
                name: "number of rounds",
                given: given as f64,
                allowed: "at least 1 and at most 1e12",
            })
        }
    }
}

impl From<Rounds> for u64 {
    fn from(rounds: Rounds) -> u64 {
        rounds.0
    }
}

impl std::fmt::Display for Rounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn z(value: f64) -> NoiseMultiplier {
        NoiseMultiplier::try_from(value).unwrap()
    }

    #[test]
    fn two_messages_have_the_joint_multiplier() {
        let joint = NoiseMultiplier::joint(&[z(20.0), z(40.0)]).unwrap().value();
        assert!(joint <= 17.888_543_819_998_32 && joint > 17.888_543_819_9);
        assert_eq!(NoiseMultiplier::joint(&[]), None);
    }

    #[test]
    fn a_norm_bound_is_half_the_replacement_distance() {
        assert_eq!(NoiseMultiplier::from_norm_bound(4.0).unwrap(), z(2.0));
    }

    #[test]
    fn what_is_out_of_range_does_not_parse() {
        let none = [f64::NAN, f64::INFINITY, -1.0];
        assert!(none.iter().all(|&x| Epsilon::try_from(x).is_err()));
        assert!(none.iter().chain(&[0.0, 1.0]).all(|&x| Delta::try_from(x).is_err()));
        assert!(none.iter().chain(&[0.0, 1.1]).all(|&x| SampleRate::try_from(x).is_err()));
        assert!(Rounds::try_from(0).is_err() && Rounds::try_from(u64::MAX).is_err());
        assert!(serde_json::from_str::<Delta>("1.5").is_err());
        assert_eq!(serde_json::from_str::<Delta>("0.5").unwrap().value(), 0.5);
        let error = SampleRate::try_from(1.5).unwrap_err();
        assert_eq!(error.code(), "steffle::privacy::out_of_range");
        assert!(error.to_string().contains("1.5") && error.to_string().contains("at most 1"));
    }
}
