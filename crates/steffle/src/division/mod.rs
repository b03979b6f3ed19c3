//! The two divisions of a silo: plain values, a question in, a reply out.
//!
//! The records division never sees `s`; the attributes division is the only place that reads it.
//! In between stand [`Candidates`]: what every record *would* contribute under each class,
//! computed without `s`. That is what can be priced, noised and, later, made integer.

pub mod attributes;
mod banks;
mod candidates;
mod objective;
pub mod records;
mod silo;
pub(crate) mod sweep;

pub use candidates::{Candidates, NO_CELL, Who};
pub use objective::{Objective, ScoreBounds, ScoreTable};
pub use silo::{Silo, SiloError};

#[cfg(test)]
mod tests;
