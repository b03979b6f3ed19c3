//! What a run has of a store's budget, and what became of it.

use super::account::Account;
use super::cost::Receipt;
use super::offer::{Accounts, CheckedOffer, Share};

/// What one run was granted.
///
/// It holds the run's offer, the share it took from the store's pots, and what of it was used.
#[derive(Debug)]
pub struct Grant {
    pub(super) offer: CheckedOffer,
    pub(super) accounts: Accounts,
    pub(super) roll: Option<u32>,
    pub(super) account: Account,
    pub(super) closed: bool,
    pub(super) receipts: Vec<Receipt>,
    pub(super) replies: u64,
    /// The last round whose reply was kept.
    pub(super) round: Option<u32>,
}

impl Grant {
    /// What was offered.
    pub fn offer(&self) -> &CheckedOffer {
        &self.offer
    }

    /// How its costs are kept.
    pub fn accounts(&self) -> Accounts {
        self.accounts
    }

    /// The roll it is about.
    pub fn roll(&self) -> Option<u32> {
        self.roll
    }

    /// Whether it has ended.
    pub fn closed(&self) -> bool {
        self.closed
    }

    /// What it has released.
    pub fn receipts(&self) -> &[Receipt] {
        &self.receipts
    }

    /// Replies that it has paid for, those that claim nothing included.
    pub fn replies(&self) -> u64 {
        self.replies
    }

    pub(super) fn account(&self) -> &Account {
        &self.account
    }

    /// What it keeps from its pot: a closed Gaussian grant the total of its dearest account, every
    /// other one its whole share.
    pub fn keeps(&self) -> Share {
        if self.closed { self.account.keeps(self.offer.share(), None) } else { self.offer.share() }
    }
}
