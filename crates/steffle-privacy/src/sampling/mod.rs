//! The samplers that are run, and the plan that ties each batch to what is accounted for it.
//!
//! Elsewhere, Poisson sampling is accounted and shuffled epochs are run. Here a [`SampledRounds`] owns the
//! sampler, its event is derived from it, and it admits only batches which that sampler drew: a
//! batch of another sampler does not compile,
//!
//! ```compile_fail
//! # use steffle_privacy::*;
//! # let mut coin = || 0_u64;
//! # let (z, q, rounds) = (2.0.try_into()?, 0.1.try_into()?, 10.try_into()?);
//! let mut plan = SampledRounds::new(Poisson(q), Neighbours::ReplaceCentred, z, rounds)?;
//! let batch = FixedBatch::new(10, 100)?.draw(100, &mut coin)?;
//! plan.admit(&batch)?; // expected `Batch<Poisson>`, found `Batch<FixedBatch>`
//! # Ok::<(), PrivacyError>(())
//! ```
//!
//! and a batch of the same sampler at another rate is refused:
//!
//! ```
//! # use steffle_privacy::*;
//! # let mut coin = || 0_u64;
//! # let (z, q, other, rounds) = (2.0.try_into()?, 0.1.try_into()?, 0.2.try_into()?, 10.try_into()?);
//! let mut plan = SampledRounds::new(Poisson(q), Neighbours::ReplaceCentred, z, rounds)?;
//! assert!(plan.admit(&Poisson(other).draw(100, &mut coin)?).is_err());
//! assert!(plan.admit(&Poisson(q).draw(100, &mut coin)?).is_ok());
//! # Ok::<(), PrivacyError>(())
//! ```

use crate::error::{PrivacyError, Result};
use crate::event::{self, Event, FixedBatch, Neighbours, Sampling};
use crate::quantity::{NoiseMultiplier, Rounds, SampleRate};

/// A way to draw batches that knows how it is accounted.
///
/// What is drawn and what is accounted for cannot differ.
pub trait Sampler: Copy + Into<Sampling> {
    /// Draws a batch out of `records` records. `coin` gives 64 independent fair bits per call and
    /// must be secret wherever the event claims amplification.
    fn draw(&self, records: usize, coin: &mut dyn FnMut() -> u64) -> Result<Batch<Self>>;
}

/// Every record, every round.
///
/// Nothing is drawn, so nothing about who took part has to stay secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullBatch;

/// Every record by its own coin.
///
/// Who took part stays secret, which makes a round cheaper than one on all records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Poisson(pub SampleRate);

/// The records of one round, and by which sampler they were drawn. Only samplers make batches.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch<S> {
    members: Vec<usize>,
    sampler: S,
}

/// A number of rounds at one noise multiplier by one sampler: what is run and what is accounted.
#[derive(Debug, Clone)]
pub struct SampledRounds<S> {
    sampler: S,
    event: Event,
    run: u64,
}

impl<S> Batch<S> {
    /// The positions of the records drawn, in increasing order.
    pub fn members(&self) -> &[usize] {
        &self.members
    }
}

impl<S: Sampler> SampledRounds<S> {
    /// Refuses combinations that no accountant covers.
    pub fn new(
        sampler: S,
        neighbours: Neighbours,
        noise_multiplier: NoiseMultiplier,
        rounds: Rounds,
    ) -> Result<Self> {
        let event = Event { sampling: sampler.into(), neighbours, noise_multiplier, rounds };
        event::check(&[event])?;
        Ok(Self { sampler, event, run: 0 })
    }

    /// What an accountant is to read: all rounds, also those not run yet.
    pub fn event(&self) -> Event {
        self.event
    }

    /// The sampler to draw with.
    pub fn sampler(&self) -> S {
        self.sampler
    }

    /// Counts one round on this batch. Refuses a batch drawn at another rate or size, and a round
    /// more than was planned.
    pub fn admit(&mut self, batch: &Batch<S>) -> Result<()> {
        let (planned, drawn): (Sampling, Sampling) = (self.sampler.into(), batch.sampler.into());
        if planned != drawn {
            let words = |sampling| format!("{sampling:?}");
            return Err(PrivacyError::OtherSampler {
                planned: words(planned),
                drawn: words(drawn),
            });
        }
        let rounds = self.event.rounds.count();
        if self.run == rounds {
            return Err(PrivacyError::RoundsUsedUp { planned: rounds });
        }
        self.run += 1;
        Ok(())
    }
}

impl Sampler for FullBatch {
    fn draw(&self, records: usize, _: &mut dyn FnMut() -> u64) -> Result<Batch<Self>> {
        Ok(Batch { members: (0..records).collect(), sampler: *self })
    }
}

impl Sampler for Poisson {
    fn draw(&self, records: usize, coin: &mut dyn FnMut() -> u64) -> Result<Batch<Self>> {
        // Rounded down to 2^-53: a record is never drawn more often than accounted.
        let threshold = (self.0.value() * (1_u64 << 53) as f64).floor() as u64;
        let members = (0..records).filter(|_| coin() >> 11 < threshold).collect();
        Ok(Batch { members, sampler: *self })
    }
}

impl Sampler for FixedBatch {
    fn draw(&self, records: usize, coin: &mut dyn FnMut() -> u64) -> Result<Batch<Self>> {
        if self.records() != records as u64 {
            return Err(PrivacyError::OtherSampler {
                planned: format!("a batch out of {} records", self.records()),
                drawn: format!("a batch out of {records} records"),
            });
        }
        // Selection sampling: record i is drawn with probability (still needed) / (still left).
        let mut needed = self.batch();
        let mut members = Vec::with_capacity(needed as usize);
        for position in 0..records {
            let left = (records - position) as u64;
            if below(left, coin) < needed {
                members.push(position);
                needed -= 1;
            }
        }
        Ok(Batch { members, sampler: *self })
    }
}

impl From<FullBatch> for Sampling {
    fn from(_: FullBatch) -> Self {
        Self::FullBatch
    }
}

impl From<Poisson> for Sampling {
    fn from(poisson: Poisson) -> Self {
        Self::Poisson(poisson.0)
    }
}

impl From<FixedBatch> for Sampling {
    fn from(fixed: FixedBatch) -> Self {
        Self::WithoutReplacement(fixed)
    }
}

/// A uniform number below `bound`, without modulo bias.
fn below(bound: u64, coin: &mut dyn FnMut() -> u64) -> u64 {
    let unbiased = u64::MAX - u64::MAX % bound;
    // Each try fails with probability below one half, all of them below 2^-128; the bound is for
    // sources that are stuck.
    let draw = (0..128).map(|_| coin()).find(|&draw| draw < unbiased).unwrap_or(0);
    draw % bound
}

#[cfg(test)]
mod tests;
