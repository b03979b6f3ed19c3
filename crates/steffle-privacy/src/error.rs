//! Why a question about privacy was refused.

use thiserror::Error;

/// Everything this crate refuses, and what to ask instead.
///
/// The variants carry what was given; the messages add what is allowed. [`PrivacyError::code`] is
/// stable across versions and safe to match on in scripts.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PrivacyError {
    /// A number outside the range its type stands for.
    #[error("{name} is {given}, but must be {allowed}")]
    OutOfRange {
        /// The quantity, in words.
        name: &'static str,
        /// What was given.
        given: f64,
        /// What is allowed, and a typical value.
        allowed: &'static str,
    },
    /// A batch that cannot be drawn.
    #[error(
        "a batch of {batch} out of {records} records cannot be drawn without replacement; \
         the batch must be at least 1 and at most the number of records"
    )]
    BatchSize {
        /// How many records were to be drawn.
        batch: u64,
        /// Out of how many.
        records: u64,
    },
    /// Events under different adjacencies have no common guarantee.
    #[error(
        "some events protect a replaced attribute and others the presence of a record; \
         account for them apart, or state all of them for the same neighbours"
    )]
    MixedNeighbours,
    /// Sampling a fixed number of records is only accounted for replacement.
    #[error(
        "batches of fixed size are accounted for replacement only: adding a record changes who \
         else is drawn; use the replace adjacency, or Poisson sampling"
    )]
    FixedBatchAddRemove,
    /// The cost is too large to be written down as a number.
    #[error(
        "the privacy loss of these events exceeds the largest representable number; \
         the noise multiplier is far too small (values from 1e-3 to 1e4 are usual)"
    )]
    NoFiniteBound,
    /// No noise in the searched range reaches the target.
    #[error(
        "no noise multiplier up to {largest:e} reaches epsilon {epsilon} at delta {delta}; \
         ask for a larger epsilon or delta, or fewer rounds"
    )]
    Unreachable {
        /// The target.
        epsilon: f64,
        /// The target.
        delta: f64,
        /// The end of the search.
        largest: f64,
    },
    /// A message would cost more than is left. Nothing was spent.
    #[error(
        "this release costs {asked:.6e} (in mu squared), but only {left:.6e} of {budget:.6e} is \
         left; nothing was spent. Add noise, or stop here"
    )]
    BudgetExhausted {
        /// What the release would cost.
        asked: f64,
        /// What is left.
        left: f64,
        /// What the store was given.
        budget: f64,
    },
    /// A plan that costs more than its offer says.
    #[error(
        "the sampled plan costs epsilon {costs:.6} at delta {delta:e}, integer noise included, but \
         epsilon {epsilon} was offered; use the calibrated noise multiplier"
    )]
    Overspent {
        /// What the accountant reads.
        costs: f64,
        /// What was offered.
        epsilon: f64,
        /// What was offered.
        delta: f64,
    },
    /// A plan for another adjacency than that of a store of attributes.
    #[error(
        "the sampled plan is accounted for records that come and go, but a store protects a \
         replaced attribute; state the plan for the replace adjacency"
    )]
    OtherNeighbours,
    /// A batch drawn another way than the plan accounts for.
    #[error("the plan accounts for {planned}, but the batch was drawn by {drawn}; it was refused")]
    OtherSampler {
        /// What the plan accounts for.
        planned: String,
        /// How the batch was drawn.
        drawn: String,
    },
    /// More rounds than the plan accounts for.
    #[error("the plan accounts for {planned} rounds and all of them were run; make a new plan")]
    RoundsUsedUp {
        /// What the plan accounts for.
        planned: u64,
    },
}

impl PrivacyError {
    /// The stable code of this refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::OutOfRange { .. } => "steffle::privacy::out_of_range",
            Self::BatchSize { .. } => "steffle::privacy::batch_size",
            Self::MixedNeighbours => "steffle::privacy::mixed_neighbours",
            Self::FixedBatchAddRemove => "steffle::privacy::fixed_batch_add_remove",
            Self::NoFiniteBound => "steffle::privacy::no_finite_bound",
            Self::Unreachable { .. } => "steffle::privacy::unreachable",
            Self::BudgetExhausted { .. } => "steffle::privacy::budget_exhausted",
            Self::Overspent { .. } => "steffle::privacy::overspent",
            Self::OtherNeighbours => "steffle::privacy::other_neighbours",
            Self::OtherSampler { .. } => "steffle::privacy::other_sampler",
            Self::RoundsUsedUp { .. } => "steffle::privacy::rounds_used_up",
        }
    }
}

/// Short for results of this crate.
///
/// Its error says what was given and what is allowed.
pub type Result<T> = std::result::Result<T, PrivacyError>;
