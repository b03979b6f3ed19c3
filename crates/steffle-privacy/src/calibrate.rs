//! How much noise a target needs.
//!
//! # Claim
//! The noise multiplier returned by [`noise_multiplier`] costs, by the same accountant, at most the
//! target: that reading was taken and comes with the result. It is at most about [`WIDTH`]
//! (relatively) larger than the smallest that would do.
//!
//! # Proof
//! The search keeps a multiplier that was read within the target and one that was read above it,
//! and returns the first kind. No monotonicity is assumed.
//!
//! The test that fails when costs are halved: `calibration_never_overspends` in
//! `tests/properties.rs`.

use crate::accountant::{Accountant, Reading};
use crate::error::{PrivacyError, Result};
use crate::event::Event;
use crate::quantity::{Delta, Epsilon, NoiseMultiplier};
use crate::{gdp, rounding};

/// Relative width at which the search ends.
pub const WIDTH: f64 = 2e-5;
/// Multipliers are rounded up to this many digits, so that what is written down is what was read.
const DIGITS: u32 = 6;
const SMALLEST: f64 = 1e-4;
const LARGEST: f64 = 1e12;

/// Enough noise, and what the accountant says about it.
///
/// Fed back to the accountant, it never overspends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// z: sigma over the full replacement distance, rounded up.
    pub noise_multiplier: NoiseMultiplier,
    /// What it costs: at most the target.
    pub reading: Reading,
}

/// The least noise, up to [`WIDTH`], with which `event` (its own noise is ignored) costs at most
/// `epsilon` at `delta`. Refuses targets that no multiplier up to 1e12 reaches.
///
/// ```
/// use steffle_privacy::{Accountant, Event, calibrate};
/// let event = Event::full_batch(1.0.try_into()?, 100.try_into()?);
/// let found =
///     calibrate::noise_multiplier(Accountant::Gdp, event, 1.0.try_into()?, 1.975e-9.try_into()?)?;
/// assert!(found.reading.epsilon <= 1.0);
/// assert!((found.noise_multiplier.value() - 53.81).abs() < 0.01);
/// # Ok::<(), steffle_privacy::PrivacyError>(())
/// ```
pub fn noise_multiplier(
    accountant: Accountant,
    event: Event,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<Calibration> {
    let read = |log_z: f64| -> Result<Calibration> {
        let z = rounding::up(log_z.exp().clamp(SMALLEST, LARGEST), DIGITS);
        let noise_multiplier = NoiseMultiplier::try_from(z)?;
        let reading = accountant.epsilon(&[event.with_noise(noise_multiplier)], delta)?;
        Ok(Calibration { noise_multiplier, reading })
    };
    let overspent = |found: &Calibration| (found.reading.epsilon / epsilon.value()).ln();

    // Without sampling this much is enough, with it at least about the rate of it.
    let unsampled = (event.rounds.value().sqrt() / gdp::mu(epsilon, delta).value()).ln();
    let mut high = read(unsampled)?;
    for _ in 0..64 {
        if overspent(&high) <= 0.0 {
            break;
        }
        if high.noise_multiplier.value() >= LARGEST {
            return Err(PrivacyError::Unreachable {
                epsilon: epsilon.value(),
                delta: delta.value(),
                largest: LARGEST,
            });
        }
        high = read(high.log() + 0.1)?;
    }
    let mut low = read(high.log() + event.sampling.rate().ln() - 0.1)?;
    for _ in 0..64 {
        if overspent(&low) > 0.0 {
            break;
        }
        high = low;
        if low.noise_multiplier.value() <= SMALLEST {
            return Ok(high);
        }
        low = read(low.log() - 1.0)?;
    }
    for step in 0..80 {
        let width = high.log() - low.log();
        if width <= WIDTH {
            break;
        }
        // A secant through both ends, then one step beside the better end: the root is usually
        // caught between the two within a few readings. Every third step halves, so it always ends.
        let (above, below) = (overspent(&low), overspent(&high));
        let secant = low.log() + width * above / (above - below);
        let next = if step % 3 == 2 || !secant.is_finite() {
            low.log() + 0.5 * width
        } else {
            let aside = if above > -below { 0.4 * WIDTH } else { -0.4 * WIDTH };
            (secant + aside).clamp(low.log() + 0.3 * WIDTH, high.log() - 0.3 * WIDTH)
        };
        let found = read(next)?;
        if overspent(&found) <= 0.0 { high = found } else { low = found }
    }
    if overspent(&high) <= 0.0 {
        Ok(high)
    } else {
        Err(PrivacyError::Unreachable {
            epsilon: epsilon.value(),
            delta: delta.value(),
            largest: high.noise_multiplier.value(),
        })
    }
}

impl Calibration {
    fn log(&self) -> f64 {
        self.noise_multiplier.value().ln()
    }
}
