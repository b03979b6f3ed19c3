//! What a plan promises, and the terms that keep the promise at every attributes division.

use steffle_privacy::{
    Accountant, Epsilon, Event, Mu, Neighbours, Poisson, PrivacyError, Rounds, SampleRate,
    Sampling, calibrate, discrete,
};

use super::{Mode, Plan};
use crate::division::attributes::{Account, Share, Terms};
use crate::division::records::RowCap;
use crate::protocol::Batch;

/// What a run promises about the store of every attributes division.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Claim {
    /// Gaussian messages worth this mu in all.
    Gaussian(Mu),
    /// Sampled rounds.
    Sampled(Event),
}

/// The protection of a plan: what is promised and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Protected {
    /// The promise.
    pub claim: Claim,
    /// The terms of every attributes division.
    pub terms: Terms,
    /// Where long rows are cut.
    pub cap: RowCap,
    /// Whether noise is shaped.
    pub shaped: bool,
    blocks: usize,
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

impl Plan {
    /// The protection that the plan's mode asks for, for k classes, this mean number of records per
    /// silo and a model of so many layers; `None` where the mode makes no claim that holds. Refuses what no noise reaches.
    ///
    /// # Claim
    /// A run under these terms is (epsilon, delta)-private for every store.
    ///
    /// # Proof
    /// `exact`: round 0 has no theta message and costs the table's part of a share; every other
    /// round costs at most a share, and a record is in at most [`Plan::visits`] of them. The shares
    /// sum to mu^2 and the account refuses more. `poisson`: all rounds, the census included, are
    /// the rounds of one calibrated plan, which takes what [`discrete::reduced`] leaves. Both take
    /// the slack of integer noise off first.
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
                    claim: Claim::Gaussian(mu),
                    terms: Terms::Exact(Share { round, table: Share::TABLE }),
                    cap: exact.row_cap(layers),
                    shaped: exact.shaped,
                    // Beside the census nobody could pay for a single round at the higher price.
                    by_record: (exact.by_record && self.batch() == Batch::All && self.rounds() > 1)
                        .then(|| by_record(exact.epsilon)),
                    blocks: match self.batch() {
                        Batch::Block(count) => count as usize,
                        Batch::All | Batch::Mini(_) => 1,
                    },
                }))
            }
            Mode::Poisson(sampled) => {
                let exact = sampled.exact;
                let batch = f64::from(settings.batch.unwrap_or(1));
                let rate = SampleRate::try_from((batch / records).min(1.0))?;
                let neighbours = if classes == 2 && sampled.complete {
                    Neighbours::ReplaceCentred
                } else {
                    Neighbours::Replace
                };
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
                    terms: Terms::Poisson {
                        sampler: Poisson(rate),
                        noise_multiplier,
                        table: Share::TABLE,
                    },
                    cap: exact.row_cap(layers),
                    shaped: exact.shaped,
                    by_record: None,
                    blocks: 1,
                }))
            }
        }
    }
}

impl Protected {
    /// Terms and account of a division. One that holds `units` units beside their records may give
    /// each its own account; one that is asked by id knows no fixed list of them.
    pub(super) fn terms_for(&self, units: Option<usize>, account: &Account) -> (Terms, Account) {
        match (&self.terms, self.claim, units.zip(self.by_record)) {
            (Terms::Exact(share), Claim::Gaussian(mu), Some((units, more))) => {
                let round = share.round * more;
                (Terms::Exact(Share { round, ..*share }), Account::individual(mu, units))
            }
            _ => (self.terms.clone(), account.clone()),
        }
    }

    /// The account of one store.
    pub fn account(&self) -> Result<Account, PrivacyError> {
        Ok(match self.claim {
            Claim::Gaussian(mu) => Account::gaussian(mu, self.blocks),
            Claim::Sampled(event) => {
                let Sampling::Poisson(rate) = event.sampling else {
                    return Ok(Account::default());
                };
                let Event { neighbours, noise_multiplier, rounds, .. } = event;
                let plan = steffle_privacy::Plan::new(
                    Poisson(rate),
                    neighbours,
                    noise_multiplier,
                    rounds,
                )?;
                Account::planned(plan)
            }
        })
    }
}
