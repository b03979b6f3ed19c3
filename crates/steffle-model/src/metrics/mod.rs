//! What a model does to whom: error, fairness gaps, chi-square and AUC, overall and per group.
//!
//! Everything here is computed from [`Evidence`] records: true labels, groups and the model's
//! probabilities. The decision for a record is its most probable label, ties to the lower one.
//! Nothing is trained, drawn or read here except the resamples of [`Report::with_intervals`],
//! which come from a seed.
//!
//! **Too few records to say.** A group without records, or a group without records of some label,
//! takes no part in the gaps that would need it; it is listed in [`Report::left_out`], and a gap
//! that is left with fewer than two groups is absent rather than zero. Records whose group is
//! missing ([`MISSING_CLASS`](crate::record::MISSING_CLASS)) count for error and AUC and for
//! nothing else; [`Report::without_group`] says how many they are.

mod auc;
mod bootstrap;
mod chi_square;
mod confusion;
mod evidence;
mod gaps;
mod noisy;
mod report;

pub use auc::{Auc, auc};
pub use bootstrap::{Bootstrap, Interval};
pub use evidence::{Evidence, MetricsError, Names, decide};
pub use noisy::{NoisyGap, NoisyGroup, NoisyLabel, NoisyRate, NoisyReport, Tally};
pub use report::{GroupIntervals, GroupReport, Intervals, LabelRates, LeftOut, Report};

#[cfg(test)]
mod tests;
