//! Release once, then train fair: one noisy, whitened sum of a silo's features by class.
//!
//! 1. [`Capped`]: the silo's Gram matrix, whitening and caps. Public: no `s`.
//! 2. The message: per class, the sum of the capped features of its records, in integers, with
//!    noise. This is the only use of `s` ([`crate::division::attributes`]).
//! 3. [`decode`]: a model of P(s | x) fitted to the message, hence an estimate of every record's
//!    class memberships. Post-processing.
//! 4. Training on these memberships, for any number of lambdas, models and notions that the
//!    features cover. Post-processing as well.
//!
//! With `local`, the default, a silo does 1 to 3 by itself and nothing of the size of the
//! features squared leaves it.

mod capped;
pub mod decode;

pub use capped::{Capped, FEWEST, fits, mean_gram, rare_column};

use steffle_model::linear::{NotPositive, WhiteningError};

/// Why there is no one-shot release.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum OneShotError {
    /// The features cannot be whitened.
    #[error(transparent)]
    Whitening(#[from] WhiteningError),
    /// A matrix of the decode cannot be factored.
    #[error("the released message cannot be decoded: {0}")]
    Decode(#[from] NotPositive),
    /// Numbers too large for exact sums.
    #[error(
        "the numeric columns are too large, or the records too many, for exact integer sums; \
         scale the columns to about unit variance"
    )]
    Range,
    /// The notion has no cell.
    #[error("the notion none puts no record in a cell: there is nothing to release")]
    NoCell,
    /// A Gram matrix would show a record.
    #[error(
        "feature column {column}{} has {entries} non-zero entries in this silo; a pooled Gram \
         matrix could show these records, so at least {FEWEST} are needed: pool under secure \
         aggregation (--secure-aggregation), merge rare levels, or leave out --pool",
        in_cell(*.cell)
    )]
    RareColumn {
        /// Its number, from 0.
        column: usize,
        /// The cell whose block it is in; 0 for all records.
        cell: usize,
        /// Records that have it.
        entries: usize,
    },
}

fn in_cell(cell: usize) -> String {
    if cell == 0 { String::new() } else { format!(" of cell {cell}") }
}

/// The quantile of the whitened lengths at which records are capped. Three quarters of the
/// records attain the cap, so the noise is paid for by most of what is sent.
pub const CAP_QUANTILE: f64 = 0.25;

#[cfg(test)]
mod tests;
