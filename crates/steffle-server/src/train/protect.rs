//! What a plan promises, and the terms that keep the promise at every attributes division.

use steffle_privacy::ledger::{Claim, Offer};
use steffle_privacy::{
    Accountant, Delta, Epsilon, Event, Mu, Neighbours, Poisson, PrivacyError, Rounds, SampleRate,
    Sampling, calibrate, discrete,
};
use steffle_wire::RowCap;
use steffle_wire::{Batch, Opening, Share, Terms};

use super::{Mode, Schedule};

/// The protection of a plan: what is promised and how.
///
/// It follows from settings and public sizes, so a plan shows it before anything is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Protected {
    /// What is claimed about every store.
    pub claim: Claim,
    /// Epsilon of the claim.
    pub epsilon: Epsilon,
    /// Delta of the claim.
    pub delta: Delta,
    /// The terms of every attributes division.
    pub terms: Terms,
    /// Where long rows are cut.
    pub cap: RowCap,
    /// Whether noise is shaped.
    pub shaped: bool,
    /// Public blocks, where rounds are about one each.
    blocks: Option<u32>,
    /// How much more a round may cost where every unit has its own account; `None` where none has.
    by_record: Option<f64>,
}

/// How much more a round may cost where every unit has its own account: over a run, the largest sum
/// of a unit's costs is about this much below the sum of the rounds' largest costs. Units that have
/// spent their share before the last round are missed at any epsilon, so that from 3 on it goes to 1,
/// where none is.
fn by_record(epsilon: Epsilon) -> f64 {
    const MOST: f64 = 1.15;
    1.0 + (MOST - 1.0) * (3.0 / epsilon.value()).min(1.0)
}

impl Schedule {
    /// The protection that the plan's mode asks for, for k classes, this mean number of records per
    /// silo and a model of so many layers; `None` where the mode makes no claim that holds. Refuses what no noise reaches.
    ///
    /// # Claim
    /// A run under these terms is (epsilon, delta)-private for every store.
    ///
    /// # Proof
    /// `exact`: round 0 has no theta message and costs the table's part of a share; every other
    /// round costs at most a share, and a record is in at most [`Schedule::visits`] of them. The shares
    /// sum to mu^2 and the ledger refuses more; where silos share noise, so it is against those that the
    /// shares name, and the ledger has a second pot for the rest. `poisson`: all rounds, the census included, are
    /// the rounds of one calibrated plan. Both take the slack of integer noise off first.
    pub fn protected(
        &self,
        classes: usize,
        records: f64,
        layers: usize,
    ) -> Result<Option<Protected>, PrivacyError> {
        let settings = self.settings();
        match settings.mode {
            Mode::None | Mode::Paper(_) => Ok(None),
            Mode::Exact(exact) => {
                let mu = discrete::budget(exact.epsilon, exact.delta)?;
                let visits = f64::from(self.visits());
                // Rounded down, so that sums of shares never pass the budget by rounding.
                let round = mu.value().powi(2) / (visits + Share::TABLE) * (1.0 - 1e-12);
                Ok(Some(Protected {
                    claim: exact.shares.map_or(Claim::Gaussian, Claim::Shared),
                    epsilon: exact.epsilon,
                    delta: exact.delta,
                    terms: Terms::Exact(Share { round, table: Share::TABLE }),
                    cap: exact.row_cap(layers),
                    shaped: exact.shaped,
                    // Beside the census nobody could pay for a single round at the higher price.
                    by_record: (exact.by_record && self.batch() == Batch::All && self.rounds() > 1)
                        .then(|| by_record(exact.epsilon)),
                    blocks: match self.batch() {
                        Batch::Block(count) => Some(count),
                        Batch::All | Batch::Mini(_) => None,
                    },
                }))
            }
            Mode::Poisson(exact) => {
                let batch = f64::from(settings.batch.unwrap_or(1));
                let rate = SampleRate::try_from((batch / records).min(1.0))?;
                // Two classes add +a and -a, a missing one 0: the distance to either mixture grows
                // with a, so that the pair of both ends covers what lies between them.
                let neighbours =
                    if classes == 2 { Neighbours::ReplaceCentred } else { Neighbours::Replace };
                let event = Event {
                    sampling: Sampling::Poisson(rate),
                    neighbours,
                    noise_multiplier: 1.0.try_into()?,
                    rounds: Rounds::try_from(u64::from(self.rounds()) + 1)?,
                };
                let (epsilon, delta) = discrete::reduced(exact.epsilon, exact.delta)?;
                let found = calibrate::noise_multiplier(Accountant::Pld, event, epsilon, delta)?;
                let noise_multiplier = found.noise_multiplier;
                Ok(Some(Protected {
                    claim: Claim::Sampled(event.with_noise(noise_multiplier)),
                    epsilon: exact.epsilon,
                    delta: exact.delta,
                    terms: Terms::Poisson {
                        sampler: Poisson(rate),
                        noise_multiplier,
                        table: Share::TABLE,
                    },
                    cap: exact.row_cap(layers),
                    shaped: exact.shaped,
                    by_record: None,
                    blocks: None,
                }))
            }
        }
    }
}

impl Protected {
    /// The most epsilon that is spent after this round of the plan; of sampled rounds only all together
    /// have a price.
    ///
    /// # Proof
    /// The census costs the table's part of a share, every round at most a share, times `by_record` where
    /// units have accounts of their own, and a unit is in all rounds, or in those about its block. The whole
    /// is never passed, by the proof of [`Schedule::protected`].
    pub(super) fn spent_by(&self, round: u32) -> f64 {
        let whole = self.epsilon.value();
        let Terms::Exact(share) = &self.terms else { return whole };
        let visits = self.blocks.map_or(round, |blocks| round.div_ceil(blocks.max(1)));
        let spent = share.round * (f64::from(visits) + share.table) * self.by_record.unwrap_or(1.0);
        let mu = Mu::try_from(spent.sqrt());
        let epsilon = mu.and_then(|mu| discrete::epsilon(mu, self.delta));
        epsilon.map_or(whole, |epsilon| epsilon.min(whole))
    }

    /// What a round of a silo that shares noise may cost, and the table's part of it.
    pub(super) fn round(&self) -> Option<(f64, f64)> {
        match &self.terms {
            Terms::Exact(share) => Some((share.round * self.by_record.unwrap_or(1.0), share.table)),
            Terms::Open | Terms::OfMean(_) | Terms::Poisson { .. } => None,
        }
    }

    /// The message that offers it.
    pub(super) fn opening(&self, offer: Offer) -> Opening {
        Opening {
            offer,
            terms: self.terms.clone(),
            cap: Some(self.cap.share()),
            shaped: self.shaped,
            blocks: self.blocks,
            by_record: self.by_record,
        }
    }
}
