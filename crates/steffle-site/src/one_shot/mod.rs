//! Release once, then train fair: one noisy, whitened sum of a silo's features by class.
//!
//! 1. [`Capped`](steffle_attributes::Capped): rows with squares, their Gram matrix, whitening and caps.
//!    Public: no `s`.
//! 2. The message: per class, the sum of the capped features of its records, in integers, with
//!    noise. This is the only use of `s` ([`steffle_attributes`]).
//! 3. [`decode`]: a model of P(s | x) fitted to the message, hence an estimate of every record's
//!    class memberships. Post-processing.
//! 4. Training on these memberships, for any number of lambdas, models and notions that the
//!    features cover. Post-processing as well.
//!
//! With `local`, the default, a silo does 1 to 3 by itself and nothing of the size of the
//! features squared leaves it.

pub mod decode;
mod rare;

use rare::FEWEST;
pub(crate) use rare::rare_column;

use steffle_attributes::CappedError;
use steffle_model::linear::NotPositive;
use steffle_model::record::RowsError;

/// Why there is no one-shot release.
///
/// Nothing was read or paid for where it is about features.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum OneShotError {
    /// The features cannot be made ready.
    #[error(transparent)]
    Features(#[from] CappedError),
    /// There are more of them than numbers for them.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// A matrix of the decode cannot be factored.
    #[error("the released message cannot be decoded: {0}")]
    Decode(#[from] NotPositive),
    /// The notion has no cell.
    #[error("the notion none puts no record in a cell: there is nothing to release")]
    NoCell,
    /// A Gram matrix would show a record.
    #[error(
        "feature column {column} has {entries} non-zero entries in this silo; a pooled Gram matrix \
         could show these records, so at least {FEWEST} are needed: pool under secure aggregation, \
         merge rare levels, or do not pool"
    )]
    RareColumn {
        /// Its number, from 0.
        column: usize,
        /// Records that have it.
        entries: usize,
    },
}

#[cfg(test)]
mod tests;
