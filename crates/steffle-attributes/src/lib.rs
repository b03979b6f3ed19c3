//! The attributes division: the only code that reads `s`.
//!
//! Everything it sends goes through the door (`door.rs`): a [`Price`] that was made without `s`, paid from
//! the store's own ledger, opens sums over the real classes, which leave as [`Released`] bytes or
//! not at all.

#[cfg(any(test, feature = "attack"))]
pub mod attack;
mod bounds;
mod capped;
mod classes;
mod combinations;
mod counts;
mod division;
mod door;
mod error;
mod features;
mod handed;
mod integers;
mod lattice;
mod measured;
pub mod noise;
mod noised;
mod price;
mod room;
mod sealed;
mod share;
mod store;
mod sums;
mod sums_share;
mod units;

pub(crate) use bounds::CLASSES;
pub use bounds::reach;
pub use capped::{Capped, CappedError, fits, mean_gram};
pub use classes::ClassMessage;
pub use counts::{CountMessage, Decided};
pub use division::{About, Asked, AttributesDivision};
pub use door::{Message, Price, Released, Request, Reserved, Store, Unreleased};
pub use error::AttributesDivisionError;
pub use features::{Asking, FeatureMessage};
pub use lattice::{Centred, Sizes};
pub use measured::{MeasureRoom, Measured, Measuring, Seen};
pub use price::{IntegerNoise, PriceError};
pub use sealed::{PRODUCT, RevealTo, Revealed, SealedColumns, SealedRows};
pub use share::ShareMessage;
pub use steffle_wire::{
    ClassRelease, NoiseScale, RandomisedResponse, RandomisedResponseError, Share, Terms,
};
pub use store::{Attributes, AttributesError, Sensitive};
pub use sums::{RoundMessage, Selection, Sums, SumsChunk};
pub use sums_share::SharedSums;
pub use units::UnitList;

use combinations::Combinations;
use steffle_model::record::MISSING_CLASS;
