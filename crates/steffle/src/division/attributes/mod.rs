//! The attributes division: the only place that reads `s`.
//!
//! A reply takes two phases: [`AttributesDivision::price`] says, without reading `s`, what the
//! reply costs and what noise it gets; [`AttributesDivision::reserve`] pays and draws that noise
//! (a ledger will stand there); and only a [`Reserved`] price opens the sums, which leave as
//! [`Released`] or not at all.

mod account;
mod combinations;
mod division;
mod features;
mod price;
mod release;
mod response;
mod store;
mod terms;

pub use account::{Account, Charged, Cost, Refusal};
pub use combinations::Combinations;
pub use division::{AttributesDivision, AttributesDivisionError, Selection};
pub use features::FeaturePrice;
pub use price::{Announced, IntegerNoise, Lattice, Noise, Price, PriceError};
pub use release::{Released, Reserved, Unreleased};
pub use response::{
    ClassPrice, ClassRelease, RandomisedResponse, RandomisedResponseError, ReservedClasses,
};
pub use store::{Attributes, AttributesError, MISSING_CLASS, Sensitive};
pub use terms::{NoiseScale, Share, Terms};

#[cfg(test)]
mod tests;
