//! A ledger that lives as long as its process.

use std::collections::BTreeMap;

use super::book::Book;
use super::budget::Policy;
use super::cost::GrantId;
use super::keeper::{Backing, Bookkeeper};
use super::line::Line;
use crate::error::PrivacyError;

/// The book of one attributes store in memory. All its runs are about the same records.
pub type MemoryLedger = Bookkeeper<Memory>;

/// Keeps replies, and no lines: nobody reads them again.
///
/// What it kept is gone with the process.
#[derive(Debug, Default)]
pub struct Memory(BTreeMap<u64, Vec<u8>>);

impl MemoryLedger {
    /// A store whose operator has set its budget; see [`Book::new`].
    pub fn with_policy(policy: Policy) -> Result<Self, PrivacyError> {
        Ok(Self::new(Book::new(policy)?, Memory::default()))
    }

    /// A store of real people from its first day: it never accepts seeded noise, nor a run that
    /// claims nothing. Without this, that begins with the first private run.
    #[must_use]
    pub fn private_only(mut self) -> Self {
        self.book_mut().private_only();
        self
    }

    /// Whether something was released without secret noise, so that nothing can be promised.
    pub fn revealed(&self) -> bool {
        self.book().revealed()
    }

    /// Replies that a grant has paid for, those that claim nothing included.
    pub fn replies(&self, grant: GrantId) -> Option<u64> {
        self.book().grant(grant).ok().map(super::Grant::replies)
    }
}

impl Default for MemoryLedger {
    fn default() -> Self {
        Self::new(Book::default(), Memory::default())
    }
}

impl Backing for Memory {
    const LASTS: bool = false;

    fn write(&mut self, line: &Line, reply: Option<&[u8]>) -> Result<(), String> {
        if let (Line::Commit { reservation, .. }, Some(reply)) = (line, reply) {
            self.0.insert(*reservation, reply.to_vec());
        }
        Ok(())
    }

    fn reply(&self, reservation: u64) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.get(&reservation).cloned())
    }
}
