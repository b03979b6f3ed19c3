//! What happened, as plain data. What it costs is for the accountants to say.

use serde::{Deserialize, Serialize};

use crate::error::{PrivacyError, Result};
use crate::quantity::{NoiseMultiplier, Rounds, SampleRate};

/// Gaussian noise added to a sum over a batch, `rounds` times.
///
/// A round that sends several messages is one event: its noise multiplier is that of all of them
/// together, `z^-2 = sum of z_i^-2` (see [`NoiseMultiplier::joint`]).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Who takes part in a round.
    pub sampling: Sampling,
    /// Which two stores must be hard to tell apart.
    pub neighbours: Neighbours,
    /// z: sigma over the full replacement distance.
    pub noise_multiplier: NoiseMultiplier,
    /// T: how many rounds.
    pub rounds: Rounds,
}

/// Who takes part in a round. Anything but [`Sampling::FullBatch`] only helps while nobody learns
/// who it was: a batch that is announced, or can be computed from what is sent, is a full batch of
/// its members.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Every record, every round.
    FullBatch,
    /// Every record by its own secret coin, fresh each round.
    Poisson(SampleRate),
    /// A secret uniform subset of fixed size, fresh each round.
    WithoutReplacement(FixedBatch),
}

/// Which two stores must be hard to tell apart, and how one record enters the sum.
///
/// A claim is worth something only together with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Neighbours {
    /// The attribute of one record is replaced, and its two possible contributions are +v and -v
    /// around a centre that is public: two classes, centred sums; a missing value adds 0, which lies between them.
    ReplaceCentred,
    /// The attribute of one record is replaced, whatever its contributions look like.
    Replace,
    /// One record is present or absent. The distance in z is the norm of its contribution.
    AddRemove,
}

/// `batch` distinct records out of `records`.
///
/// Drawn without replacement, all batches alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedBatch", into = "UncheckedBatch")]
pub struct FixedBatch {
    batch: u64,
    records: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UncheckedBatch {
    batch: u64,
    records: u64,
}

impl Event {
    /// Gaussian messages computed on all records.
    pub fn full_batch(noise_multiplier: NoiseMultiplier, rounds: Rounds) -> Self {
        let neighbours = Neighbours::ReplaceCentred;
        Self { sampling: Sampling::FullBatch, neighbours, noise_multiplier, rounds }
    }

    /// The same event with another noise multiplier.
    #[must_use]
    pub fn with_noise(self, noise_multiplier: NoiseMultiplier) -> Self {
        Self { noise_multiplier, ..self }
    }
}

impl Sampling {
    /// The probability that a given record takes part in a round.
    pub fn rate(self) -> f64 {
        match self {
            Self::FullBatch => 1.0,
            Self::Poisson(rate) => rate.value(),
            Self::WithoutReplacement(fixed) => fixed.rate(),
        }
    }
}

impl FixedBatch {
    /// Refuses a batch of none, and a batch larger than the records.
    pub fn new(batch: u64, records: u64) -> Result<Self> {
        if batch == 0 || batch > records {
            return Err(PrivacyError::BatchSize { batch, records });
        }
        Ok(Self { batch, records })
    }

    /// How many records are drawn.
    pub fn batch(self) -> u64 {
        self.batch
    }

    /// Out of how many.
    pub fn records(self) -> u64 {
        self.records
    }

    /// The share that is drawn.
    pub fn rate(self) -> f64 {
        self.batch as f64 / self.records as f64
    }
}

impl TryFrom<UncheckedBatch> for FixedBatch {
    type Error = PrivacyError;

    fn try_from(given: UncheckedBatch) -> Result<Self> {
        Self::new(given.batch, given.records)
    }
}

impl From<FixedBatch> for UncheckedBatch {
    fn from(fixed: FixedBatch) -> Self {
        Self { batch: fixed.batch, records: fixed.records }
    }
}

/// Refuses lists of events that no accountant can add up: replacement beside presence, and
/// presence with a batch of fixed size (adding a record would change who else is drawn).
///
/// Full-batch Gaussian events mean the same under both, and go with either.
pub(crate) fn check(events: &[Event]) -> Result<()> {
    let sampled = || events.iter().filter(|event| event.sampling != Sampling::FullBatch);
    let presence = |event: &&Event| event.neighbours == Neighbours::AddRemove;
    let fixed = |event: &Event| matches!(event.sampling, Sampling::WithoutReplacement(_));
    if sampled().any(|event| presence(&event) && fixed(event)) {
        return Err(PrivacyError::FixedBatchAddRemove);
    }
    let with_presence = sampled().filter(presence).count();
    if with_presence != 0 && with_presence != sampled().count() {
        return Err(PrivacyError::MixedNeighbours);
    }
    Ok(())
}
