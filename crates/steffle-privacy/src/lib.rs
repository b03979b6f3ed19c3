//! What a run costs: events in, guarantees out.
//!
//! This crate knows no data, no models and no files. It opens nothing, prints nothing, reads no
//! clock and draws no randomness.
//!
//! An [`Event`] is plain data: who takes part in a round, which stores are neighbours, how much noise
//! ([`NoiseMultiplier`]: sigma over the full replacement distance), how many rounds. An [`Accountant`]
//! reads events and says what they cost; accountants may disagree, and each states in its [`Reading`]
//! whether its number is an upper bound and how far above the exact value it can be. [`calibrate`]
//! turns a target into noise. [`SampledRounds`] ties the sampler that is run to the event that is accounted.
//! A [`Ledger`] is the budget book of one store: what runs were promised, what they have paid, what is
//! refused.
//! [`together()`] says what several runs cost, and [`explain`] says in words and pictures what an epsilon means, and [`paper`] what the noise of the
//! paper's theorem gives.
//!
//! ```
//! use steffle_privacy::{Accountant, Event, Neighbours, Sampling, calibrate};
//!
//! let event = Event {
//!     sampling: Sampling::Poisson(0.05.try_into()?),
//!     neighbours: Neighbours::ReplaceCentred,
//!     noise_multiplier: 2.0.try_into()?,
//!     rounds: 500.try_into()?,
//! };
//! let delta = 1e-6.try_into()?;
//! let reading = Accountant::Pld.epsilon(&[event], delta)?;
//! assert!(reading.upper_bound && (reading.epsilon - 2.5463).abs() < 1e-3);
//!
//! let enough = calibrate::noise_multiplier(Accountant::Pld, event, 1.0.try_into()?, delta)?;
//! assert!(enough.reading.epsilon <= 1.0);
//! # Ok::<(), steffle_privacy::PrivacyError>(())
//! ```

pub mod accountant;
pub mod calibrate;
pub mod discrete;
pub mod error;
pub mod event;
pub mod explain;
pub mod gdp;
pub mod ledger;
mod loss;
pub mod normal;
pub mod paper;
pub mod pld;
pub mod quantity;
pub mod rdp;
pub mod rounding;
pub mod sampling;
pub mod shares;
pub mod together;

pub use accountant::{Accountant, Reading};
pub use error::{PrivacyError, Result};
pub use event::{Event, FixedBatch, Neighbours, Sampling};
pub use ledger::{
    Accounts, Charge, CheckedOffer, Claim, Cost, Entry, GrantId, Ledger, MemoryLedger, NoiseKind,
    Offer, Policy, Receipt, Refusal, Share, Statement, StatementKind, Ticket,
};
pub use quantity::{Delta, Epsilon, GroupFraction, Mu, NoiseMultiplier, Rounds, SampleRate};
pub use sampling::{Batch, FullBatch, Poisson, SampledRounds, Sampler};
pub use shares::NoiseShares;
pub use together::{Promise, Together, together};
