//! What a run costs: events in, guarantees out.
//!
//! This crate knows no data, no models and no files. It opens nothing, prints nothing, reads no
//! clock and draws no randomness.

pub mod error;
pub mod gdp;
mod normal;
pub mod paper;
pub mod quantity;

pub use error::{PrivacyError, Result};
pub use quantity::{Delta, Epsilon, GroupFraction, Mu, NoiseMultiplier, Rounds, SampleRate};
