//! The attributes division: the only place that reads `s`.
//!
//! A reply takes two phases: [`AttributesDivision::price`] says, without reading `s`, what the
//! reply will be released under; [`Price::reserve`] is where a ledger stands; and only a
//! [`Reserved`] price opens the sums, which leave as [`Released`] or not at all.

mod combinations;
mod division;
mod release;
mod store;

pub use combinations::Combinations;
pub use division::{AttributesDivision, AttributesDivisionError};
pub use release::{NoiseScale, Price, Released, Reserved, Unreleased};
pub use store::{Attributes, AttributesError, MISSING_CLASS, Sensitive};
