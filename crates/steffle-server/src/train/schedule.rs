//! Settings that were checked against the federation they will run on.

use steffle_wire::Batch;

use super::{Length, Mode, Paper, Settings, StepRule};

/// Why settings were refused.
///
/// Settings are refused before any node is asked.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum ScheduleError {
    /// lambda is negative or not a number.
    #[error("lambda is {0}; allowed are finite numbers from 0 up")]
    Lambda(f64),
    /// A step size, clip or diameter is not positive.
    #[error("{what} is {value}; allowed are finite numbers above 0")]
    NotPositive {
        /// Which setting.
        what: &'static str,
        /// The value given.
        value: f64,
    },
    /// No round, or more than can be counted.
    #[error("{0} rounds; allowed are 1 to {max}", max = u32::MAX - 1)]
    Rounds(u64),
    /// Secret batches without a size.
    #[error("secret Poisson batches need an expected size: name a batch of 1 record or more")]
    NoBatch,
    /// A batch that a silo cannot fill.
    #[error("a batch of {batch} records; silo {silo} has {records}, so allowed are 1 to {records}")]
    Batch {
        /// The batch size.
        batch: u32,
        /// The smallest silo.
        silo: usize,
        /// Its records.
        records: usize,
    },
}

/// A run that can start.
///
/// Only checked settings become one.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    settings: Settings,
    rounds: u32,
    batch: Batch,
}

impl Settings {
    /// Checks the settings for silos of these sizes; refuses what no run could do.
    pub fn check(self, sizes: &[usize]) -> Result<Schedule, ScheduleError> {
        if !(self.lambda.is_finite() && self.lambda >= 0.0) {
            return Err(ScheduleError::Lambda(self.lambda));
        }
        let mut positive = vec![
            ("the theta step size", self.rates.theta),
            ("the dual step size", self.rates.dual),
            ("the step decay", self.rates.decay),
        ];
        if let Mode::Paper(paper) = self.mode {
            positive.push(("the clipping threshold L", paper.clip));
            positive.push(("the diameter D", paper.diameter));
        }
        let wrong = |&&(_, value): &&(&str, f64)| !(value.is_finite() && value > 0.0);
        if let Some(&(what, value)) = positive.iter().find(wrong) {
            return Err(ScheduleError::NotPositive { what, value });
        }
        let batch = match self.batch {
            None if matches!(self.mode, Mode::Poisson(_)) => return Err(ScheduleError::NoBatch),
            None => Batch::All,
            Some(batch) => {
                let smallest = sizes.iter().enumerate().min_by_key(|(_, size)| **size);
                let (silo, &records) = smallest.unwrap_or((0, &0));
                if batch == 0 || batch as usize > records {
                    return Err(ScheduleError::Batch { batch, silo, records });
                }
                let largest = sizes.iter().copied().max().unwrap_or(0);
                match self.mode {
                    Mode::None | Mode::Paper(_) => Batch::Mini(batch),
                    Mode::Exact(_) => Batch::Block(largest.div_ceil(batch as usize) as u32),
                    // The batch is secret, and everything public is about all records.
                    Mode::Poisson(_) => Batch::All,
                }
            }
        };
        let largest = sizes.iter().copied().max().unwrap_or(0) as u64;
        let per_epoch = match batch {
            Batch::All => 1,
            Batch::Mini(size) => largest.div_ceil(u64::from(size)),
            Batch::Block(count) => u64::from(count),
        };
        let rounds = match self.length {
            Length::Epochs(epochs) => u64::from(epochs) * per_epoch,
            Length::Rounds(rounds) => u64::from(rounds),
        };
        match u32::try_from(rounds) {
            Ok(count) if count > 0 && count < u32::MAX => {
                Ok(Schedule { settings: self, rounds: count, batch })
            }
            _ => Err(ScheduleError::Rounds(rounds)),
        }
    }
}

impl Schedule {
    /// The settings, checked.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What is allowed but will not work well, in words, for data with `labels` labels.
    pub fn warnings(&self, labels: usize) -> Vec<String> {
        let mut warnings = Vec::new();
        let Settings { lambda, rates, mode, server, .. } = self.settings;
        // psi is quadratic in W with curvature 2 P(u) <= 2: a longer step than 1 can overshoot.
        let ascent = lambda * rates.dual;
        if ascent > 1.0 && server == StepRule::Plain {
            warnings.push(format!(
                "lambda times the dual step size is {ascent}; above 1 the ascent in W can \
                 oscillate instead of converging: use a dual step size of at most {}",
                1.0 / lambda
            ));
        }
        let needed = 2.0 * (labels as f64).sqrt();
        if let Mode::Paper(Paper { diameter, .. }) = mode
            && diameter < needed
        {
            warnings.push(format!(
                "a ball of diameter {diameter} does not contain the maximiser W*, whose norm is \
                 at least sqrt({labels}): the penalty is weaker than lambda says; use a diameter \
                 of at least {needed:.2}"
            ));
        }
        warnings
    }

    /// How often a record takes part in a full round, at most.
    pub fn visits(&self) -> u32 {
        match self.batch {
            Batch::Block(count) => self.rounds.div_ceil(count),
            Batch::All | Batch::Mini(_) => self.rounds,
        }
    }

    /// Rounds, T.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Which records a round is about.
    pub fn batch(&self) -> Batch {
        self.batch
    }
}
