//! The two divisions of a silo: plain values, a question in, a reply out.
//!
//! The records division never sees `s`; the attributes division ([`steffle_attributes`]) is the only
//! place that reads it.
//! In between stand [`Candidates`]: what every record *would* contribute under each class,
//! computed without `s`. That is what can be priced, noised and, later, made integer.

pub mod records;
mod silo;

pub use silo::{Silo, SiloError};
pub use steffle_model::scores::{Candidates, NO_CELL, Objective, ScoreBounds, ScoreTable, Who};

#[cfg(test)]
mod attacks;
#[cfg(test)]
mod tests;
