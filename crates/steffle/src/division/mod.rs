//! The two divisions of a silo: plain values, a question in, a reply out.
//!
//! The records division never sees `s`; the attributes division is the only place that reads it.
//! In between stand [`Candidates`]: what every record *would* contribute under each class,
//! computed without `s`. That is what can be priced, noised and, later, made integer.

pub mod attributes;
mod banks;
mod candidates;
pub mod records;
mod silo;

pub use candidates::{Candidates, Who};
pub use silo::{Silo, SiloError};
pub(crate) use steffle_model::blocks as sweep;
pub use steffle_model::scores::{NO_CELL, Objective, ScoreBounds, ScoreTable};

#[cfg(test)]
mod tests;
