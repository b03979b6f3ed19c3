//! Where the paper's theorem is applied.

use serde::Serialize;

use crate::error::{PrivacyError, Result};
use crate::event::FixedBatch;
use crate::quantity::{Delta, Epsilon, GroupFraction, Rounds};

/// A run of Algorithm 1 with the noise of Theorem 3.2: minibatches in shuffled epochs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Setting {
    /// n~: records in one silo.
    pub silo_records: usize,
    /// N: silos. Each has its own guarantee; they do not add up.
    pub silos: usize,
    /// m: records in one batch.
    pub batch: usize,
    /// T: rounds.
    pub rounds: Rounds,
    /// What the theorem is asked for.
    pub epsilon: Epsilon,
    /// What the theorem is asked for.
    pub delta: Delta,
    /// Share of the rarest sensitive class. Scales sigma and distance alike, so no epsilon depends
    /// on it.
    pub rho: GroupFraction,
}

/// A data set of the paper's section 5, cut into three silos.
///
/// Its sizes are the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Experiment {
    /// Adult, 45,222 rows without missing values.
    Adult,
    /// Credit Card, 30,000 rows.
    CreditCard,
    /// Retired Adult.
    RetiredAdult,
}

impl Setting {
    /// The paper's own setting: 3 silos, batches of 256, 40 epochs, delta one over the square of
    /// all training records.
    pub fn of(experiment: Experiment, epsilon: Epsilon) -> Result<Self> {
        let (silo_records, silos, batch) = (experiment.silo_records(), 3, 256);
        let all = (silos * silo_records) as f64;
        Ok(Self {
            silo_records,
            silos,
            batch,
            rounds: rounds_of_epochs(40, silo_records, batch)?,
            epsilon,
            delta: Delta::try_from(all.powi(-2))?,
            rho: GroupFraction::try_from(experiment.rho())?,
        })
    }

    /// The batch as drawn without replacement. Refuses one larger than the silo.
    pub fn fixed_batch(&self) -> Result<FixedBatch> {
        FixedBatch::new(self.batch as u64, self.silo_records as u64)
    }

    /// E: how often shuffled epochs use one record.
    pub fn participations(&self) -> u64 {
        let per_epoch = self.silo_records.div_ceil(self.batch.max(1)).max(1);
        self.rounds.count().div_ceil(per_epoch as u64)
    }
}

impl Experiment {
    /// n~: training rows (three quarters) of one of three silos.
    pub fn silo_records(self) -> usize {
        match self {
            Self::Adult => 11_305,
            Self::CreditCard => 7_500,
            Self::RetiredAdult => 12_383,
        }
    }

    /// Share of the rarer sex.
    pub fn rho(self) -> f64 {
        match self {
            Self::Adult => 0.32,
            Self::CreditCard => 0.39,
            Self::RetiredAdult => 0.48,
        }
    }
}

/// T for a number of epochs: the last batch of an epoch may be smaller.
pub fn rounds_of_epochs(epochs: u64, silo_records: usize, batch: usize) -> Result<Rounds> {
    if batch == 0 || batch > silo_records {
        let (batch, records) = (batch as u64, silo_records as u64);
        return Err(PrivacyError::BatchSize { batch, records });
    }
    Rounds::try_from(epochs.saturating_mul(silo_records.div_ceil(batch) as u64))
}
