//! The first line of a book: whose it is, and what its store may ever spend.

use std::path::PathBuf;

use rand::TryRng;
use rand::rngs::SysRng;
use serde::{Deserialize, Serialize};
use steffle_privacy::ledger::{Policy, hexadecimal};

/// The version of the format.
pub(crate) const FORMAT: u32 = 1;

/// What a book begins with, for its life.
///
/// The store's name, its policy and where its second head is: the first line, which nothing
/// changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Charter {
    /// The version of the format.
    pub format: u32,
    /// Which store.
    pub store: StoreId,
    /// What its operator allows.
    pub policy: Policy,
    /// Where the second head is, on another disk or machine.
    pub head: Option<PathBuf>,
}

/// 128 random bits in hexadecimal digits.
///
/// It names a store for its life, so that another book in its place is noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoreId(pub String);

impl StoreId {
    /// A new one; none where the operating system gives no random numbers.
    pub fn random() -> Option<Self> {
        let mut bits = [0; 16];
        SysRng.try_fill_bytes(&mut bits).ok()?;
        Some(Self(hexadecimal(&bits)))
    }
}

impl Charter {
    /// For a new store.
    pub fn new(store: StoreId, policy: Policy, head: Option<PathBuf>) -> Self {
        Self { format: FORMAT, store, policy, head }
    }
}
