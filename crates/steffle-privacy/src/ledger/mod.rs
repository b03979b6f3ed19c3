//! The budget book of one attributes store: what runs were promised, what they have paid, and what
//! is refused.
//!
//! A run makes an [`Offer`]; checked, it takes a [`Share`] of the store's budget and becomes a grant.
//! Every release under the grant is an [`Entry`], priced without reading `s`:
//! [`Ledger::reserve`] pays for it and gives the [`Ticket`] without which nothing is read,
//! [`Ledger::commit`] keeps the reply and gives the [`Receipt`]. What was reserved is never given
//! back; what was never reserved, [`Ledger::close`] returns to the pot it came from.
//!
//! There is one set of rules, [`Book`]: what a [`Line`] may say after those before it. A [`Bookkeeper`]
//! has every line kept by a [`Backing`] before anything happens: [`MemoryLedger`] in memory, others
//! for good. Why pots, and why three of them: [`Policy`] and the proof beside it; whose pots: `roll.rs`.
//! [`statement`] says what a run may say.
//!
//! ```
//! use steffle_privacy::ledger::*;
//!
//! let offer = Offer {
//!     run: String::new(),
//!     method: "one-shot".into(),
//!     mode: "exact".into(),
//!     notion: "demographic-parity".into(),
//!     rounds: 1,
//!     epsilon: 1.0,
//!     delta: 1e-6,
//!     claim: Claim::Gaussian,
//!     noise: NoiseKind::Secure,
//! }
//! .check()?;
//! let mut store = MemoryLedger::default();
//! let grant = store.open(&offer, Accounts::One, &Roll::default)?;
//! let cost = Cost::Gaussian { squared: 0.05, slack: 1e-12, numbers: 100 };
//! let (request, kind) = ([7; 32], Kind::Features);
//! let entry = Entry { request, fresh: 0, round: None, kind, cost, charge: Charge::All };
//! let ticket = store.reserve(grant, entry, NoiseKind::Secure)?; // paid; now s may be read
//! store.commit(ticket, b"noisy sums", [8; 32])?; // kept; now they may be sent
//! assert_eq!(store.stored(grant, &request)?.unwrap().reply, b"noisy sums");
//!
//! store.close(grant)?;
//! let refused = store.open(&offer, Accounts::One, &Roll::default).unwrap_err().to_string();
//! assert!(refused.contains("after mu 0.223607 that is spent"), "{refused}");
//! # Ok::<(), Refusal>(())
//! ```

mod account;
mod acts;
mod book;
mod budget;
mod columns;
mod cost;
mod grant;
mod keeper;
mod line;
mod memory;
mod offer;
mod packed;
mod refusal;
mod roll;
mod statement;

pub use acts::METRICS;
pub use book::Book;
pub use budget::{Amount, Balance, Policy};
pub use columns::{StoreColumns, same_name};
pub use cost::{Charge, Cost, Entry, GrantId, Kind, NoiseKind, Receipt, Ticket, largest_round};
pub use grant::Grant;
pub use keeper::{Backing, Bookkeeper};
pub use line::Line;
pub use memory::{Memory, MemoryLedger};
pub use offer::{Accounts, CheckedOffer, Claim, Offer, Share};
pub use packed::{bytes as from_hexadecimal, hexadecimal};
pub use refusal::{Pot, Refusal};
pub use roll::Roll;
pub use statement::{Statement, StatementKind, statement};

use crate::quantity::Mu;

/// The budget book of one attributes store.
///
/// # Claim
/// If `s` is read only with a [`Ticket`] of [`Ledger::reserve`] in hand and for the one reply that its
/// entry describes, everything released about the store is as private as its pots were made for.
///
/// # Proof
/// Each grant keeps to its share (`account.rs`), the shares to their pots, and the pots compose
/// (`budget.rs`). Slack and numbers of integer noise stay, over the store's life, within what every
/// share has taken off ([`crate::discrete`]). A store that has promised privacy releases nothing
/// with seeded or no noise, and one that has released such a thing promises nothing.
pub trait Ledger: Send + Sync {
    /// A reply to this request about the same records as the grant's, committed by whichever run, to
    /// be sent again at no cost.
    fn stored(&self, grant: GrantId, request: &[u8; 32]) -> Result<Option<Stored>, Refusal>;

    /// Takes the share of an offer from the pot of everybody on the roll. Refuses what the policy does
    /// not name, what the pot has not left, and what would break or not keep a promise. A named run
    /// that was opened before and not closed goes on where it was; what becomes of one that was closed,
    /// `ended` says. `roll` is asked for by ledgers that outlive the store's process.
    fn take_up(
        &mut self,
        offer: &CheckedOffer,
        accounts: Accounts,
        roll: &dyn Fn() -> Roll,
        ended: Ended,
    ) -> Result<GrantId, Refusal>;

    /// The same for a run that has not ended.
    fn open(
        &mut self,
        offer: &CheckedOffer,
        accounts: Accounts,
        roll: &dyn Fn() -> Roll,
    ) -> Result<GrantId, Refusal> {
        self.take_up(offer, accounts, roll, Ended::Refused)
    }

    /// The units that cannot pay `squared` any more; `None` unless each has its own account.
    fn retired(&self, grant: GrantId, squared: f64) -> Option<Vec<bool>>;

    /// Pays for one reply, before anything is read. Refuses, and pays nothing, what the grant's share
    /// does not cover; what was paid is never given back.
    fn reserve(
        &mut self,
        grant: GrantId,
        entry: Entry,
        noise: NoiseKind,
    ) -> Result<Ticket, Refusal>;

    /// Keeps a reply, with its hash, before it is sent. Refuses a second reply to the same request.
    fn commit(&mut self, ticket: Ticket, reply: &[u8], hash: [u8; 32]) -> Result<Receipt, Refusal>;

    /// Ends a grant and gives back, to its own pot, what a Gaussian one has never reserved.
    fn close(&mut self, grant: GrantId) -> Result<(), Refusal>;

    /// What the dearest block or unit of a Gaussian grant has paid, rounded up.
    fn spent(&self, grant: GrantId) -> Option<Mu>;

    /// What a grant has released, but for what claims nothing.
    fn receipts(&self, grant: GrantId) -> Vec<Receipt>;

    /// The columns that the store's owner named; `None` for ledgers that live as long as their process,
    /// and for those made before owners did.
    fn columns(&self) -> Option<&StoreColumns>;

    /// The delta that the store's owner promises, where there is a policy.
    fn delta(&self) -> Option<f64>;

    /// The hash of the list of people that the store's owner accepted last, and its records.
    fn list(&self) -> Option<([u8; 32], u64)>;
}

/// What becomes of a run of the same words that has ended, when it is taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It is refused: a new run needs a new name.
    Refused,
    /// It is asked from its beginning by a process that was started again. Nothing can be reserved from it;
    /// what it released can be looked up and sent again.
    AskedAgain,
}

/// A reply that was kept.
///
/// The same request gets it again, at no cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its bytes.
    pub reply: Vec<u8>,
    /// Where its noise came from.
    pub noise: NoiseKind,
}

#[cfg(test)]
mod tests;
