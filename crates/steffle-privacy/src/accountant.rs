//! Accountants: each reads the same events and says what they cost.

use serde::{Deserialize, Serialize};

use crate::error::{PrivacyError, Result};
use crate::event::{Event, Sampling};
use crate::quantity::Delta;
use crate::{event, gdp, paper, pld, rdp};

/// Who does the sums. They may disagree; [`Accountant::reason`] says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Accountant {
    /// The Gaussian closed form, see [`gdp`].
    Gdp,
    /// Privacy-loss distributions, see [`pld`].
    Pld,
    /// Renyi moments, see [`rdp`].
    Rdp,
    /// The formula of Theorem 3.2, see [`paper`]. Not a guarantee.
    Paper,
}

/// What an accountant says, and how far it may be trusted.
///
/// An upper bound says so.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Reading {
    /// Whose number this is.
    pub accountant: Accountant,
    /// The number. Rounded up where it is an upper bound.
    pub epsilon: f64,
    /// Whether the exact epsilon is proven to be no larger.
    pub upper_bound: bool,
    /// By how much the exact value of the model can be smaller, discretisation and rounding
    /// together; none if that is not known.
    pub error: Option<f64>,
}

impl Accountant {
    /// All of them, from the sharpest for full batches to the least trustworthy.
    pub const ALL: [Self; 4] = [Self::Gdp, Self::Pld, Self::Rdp, Self::Paper];

    /// The one to trust for such rounds: exact, or nearly so.
    pub fn best_for(sampling: Sampling) -> Self {
        match sampling {
            Sampling::FullBatch => Self::Gdp,
            Sampling::Poisson(_) | Sampling::WithoutReplacement(_) => Self::Pld,
        }
    }

    /// Its name in commands and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gdp => "gdp",
            Self::Pld => "pld",
            Self::Rdp => "rdp",
            Self::Paper => "paper",
        }
    }

    /// Why its number differs from the others'.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Gdp => {
                "exact for full batches; for sampled rounds it makes no use of the sampling, as if \
                 every batch had been announced"
            }
            Self::Pld => {
                "follows the whole distribution of the privacy loss; exact up to the stated error"
            }
            Self::Rdp => {
                "keeps one moment of the privacy loss and converts it at the end; always an upper \
                 bound, some percent above the exact value"
            }
            Self::Paper => {
                "the formula of Theorem 3.2, one message at a time; not an upper bound, for \
                 reproduction only"
            }
        }
    }

    /// Epsilon of all events together.
    ///
    /// ```
    /// use steffle_privacy::{Accountant, Event};
    /// let event = Event::full_batch(20.0.try_into()?, 200.try_into()?);
    /// let reading = Accountant::Gdp.epsilon(&[event], 1e-9.try_into()?)?;
    /// assert!((reading.epsilon - 4.225_940_543).abs() < 1e-9);
    /// # Ok::<(), steffle_privacy::PrivacyError>(())
    /// ```
    pub fn epsilon(self, events: &[Event], delta: Delta) -> Result<Reading> {
        event::check(events)?;
        let (epsilon, upper_bound, error) = match self {
            Self::Gdp => {
                let epsilon = gdp::epsilon(gdp::total(events)?, delta);
                let full = events.iter().all(|event| event.sampling.rate() >= 1.0);
                (epsilon, true, full.then_some(epsilon * 1e-10))
            }
            Self::Pld => {
                let bounded = pld::epsilon(events, delta)?;
                (bounded.epsilon, true, bounded.error)
            }
            Self::Rdp => (rdp::epsilon(events, delta)?, true, None),
            Self::Paper => (paper::claimed_epsilon(events, delta), false, None),
        };
        if !epsilon.is_finite() {
            return Err(PrivacyError::NoFiniteBound);
        }
        Ok(Reading { accountant: self, epsilon, upper_bound, error })
    }
}
