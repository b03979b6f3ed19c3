//! Attacks on the promise: does what is really sent tell more about one person's attribute than was
//! claimed?
//!
//! A [`Mechanism`] is played many times in two worlds that differ in the sensitive class of one
//! record. What leaves the nodes is read from the encoded bytes, as the server reads it; the code
//! that answers is the code that trains, integer noise and ledger included. A likelihood-ratio test
//! then says which world it was, and the errors that it makes bound from below how much the
//! messages tell: no mechanism that keeps its promise lets any test make fewer errors than the
//! promise's trade-off curve allows, but with the probability that is stated. The test never asks
//! the mechanism how much noise it adds; what it needs to know of the noise it measures, in runs of
//! their own.
//!
//! ```
//! use steffle_audit::{Interactive, Server, Settings, audit};
//! use steffle_model::fairness::NotionName;
//!
//! let mechanism = Interactive::new(1.0.try_into()?, 1e-5.try_into()?, 2, &NotionName::DemographicParity, Server::Static)?;
//! let settings = Settings { runs: 400, confidence: 0.999, seed: Some(7) };
//! let finding = audit(&mechanism, settings, |_, _| std::ops::ControlFlow::Continue(()))?;
//! assert!(!finding.violation && finding.lower_mu < finding.claimed_mu);
//! # Ok::<(), steffle_audit::AuditError>(())
//! ```
//!
//! [`transcript`] is about one run that really was: what was recorded of it, against its plan and
//! its books.
//!
//! An audit can show that a promise is broken. It cannot show that it is kept: another question,
//! another record or another attack may tell more. That is what proofs are for; they stand beside
//! the code that they are about.

mod attack;
mod bound;
mod error;
mod finding;
mod honest;
mod interactive;
mod mechanism;
mod once;
mod play;
mod population;
mod proportion;
mod shared;
mod shared_rounds;
mod tap;
pub mod transcript;

pub use error::AuditError;
pub use finding::{Finding, Threshold};
pub use interactive::{Interactive, Server};
pub use mechanism::{Compared, Expected, Mechanism, Noise, Promise, Seen, What, World};
pub use once::{OneShot, Response};
pub use play::{Settings, audit};
pub use shared::SharedOneShot;
pub use shared_rounds::SharedRounds;

#[cfg(test)]
mod tests;
