//! The attributes division: the only place that reads `s`.
//!
//! Everything it sends goes through the door (`door.rs`): a [`Price`] that was made without `s`, paid from
//! the store's own ledger, opens sums over the real classes, which leave as [`Released`] bytes or
//! not at all.

mod bounds;
mod classes;
mod combinations;
mod division;
mod door;
mod features;
mod handed;
mod integers;
mod lattice;
mod measured;
mod noised;
mod price;
mod store;
mod sums;
mod units;

pub(crate) use bounds::{CLASSES, reach};
pub use classes::ClassMessage;
pub(in crate::division) use division::{About, Asked};
pub use division::{AttributesDivision, AttributesDivisionError};
pub use door::{Message, Price, Released, Request, Reserved, Store, Unreleased};
pub use features::{Asking, FeatureMessage};
pub(in crate::division) use lattice::{Centred, Sizes};
pub(in crate::division) use measured::Measured;
pub use price::{IntegerNoise, PriceError};
pub use steffle_wire::{
    ClassRelease, NoiseScale, RandomisedResponse, RandomisedResponseError, Share, Terms,
};
pub use store::{Attributes, AttributesError, Sensitive};
pub use sums::Sums;
pub(in crate::division) use sums::{Selection, SumsChunk};
pub use units::UnitList;

use crate::record::MISSING_CLASS;
use combinations::Combinations;

#[cfg(test)]
mod breaks;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
