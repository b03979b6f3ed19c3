//! Why a book cannot be used.

use std::io;
use std::path::Path;

use steffle_privacy::PrivacyError;
use steffle_privacy::ledger::Refusal;

/// Everything that keeps a book from being made, opened or read. Nothing was paid or released then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The operating system.
    #[error("{place}: {source}")]
    Io {
        /// The file.
        place: String,
        /// The reason, in words.
        source: io::Error,
    },
    /// There is one already.
    #[error("{0}: exists already; a store has one book for its life, and it is never replaced")]
    Exists(String),
    /// Not a book.
    #[error("{place}: not a ledger: {why}")]
    NotALedger {
        /// The file.
        place: String,
        /// What is missing.
        why: String,
    },
    /// A line that is not what was written.
    #[error(
        "{place}: line {line} {why}; the book was damaged or changed, and nothing can be paid from it"
    )]
    Damaged {
        /// The file.
        place: String,
        /// Counted from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// An older book than there was.
    #[error(
        "{place}: the book ends at line {line}, and its second head {head} has seen line {seen}: \
         a backup or a copy was put in its place"
    )]
    RolledBack {
        /// The file.
        place: String,
        /// Where it ends.
        line: u64,
        /// The second head.
        head: String,
        /// What it has seen.
        seen: u64,
    },
    /// Another history than there was.
    #[error(
        "{place}: line {line} is not what its second head {head} has seen: another book was put in its place"
    )]
    Swapped {
        /// The file.
        place: String,
        /// The first line that differs.
        line: u64,
        /// The second head.
        head: String,
    },
    /// The second head is not usable.
    #[error("{head}: the second head of {place} {why}")]
    Head {
        /// The second head.
        head: String,
        /// The book.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// Another process has it.
    #[error("{place}: another process uses it{run}")]
    Busy {
        /// The file.
        place: String,
        /// Which run, in words.
        run: String,
    },
    /// Others may read or write it.
    #[error(
        "{place}: others may read or write it (mode {mode:o}); it has to be yours alone (mode 600)"
    )]
    Permissions {
        /// The file.
        place: String,
        /// Its permissions.
        mode: u32,
    },
    /// Locks and syncs mean less on a network.
    #[error("{0}: is on a network file system, where neither locks nor syncs can be relied on")]
    Network(String),
    /// A folder that is no folder of books.
    #[error("{place}: {why}")]
    Folder {
        /// The folder.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// A policy that promises nothing.
    #[error(transparent)]
    Policy(#[from] PrivacyError),
    /// The rules.
    #[error("{place}: {refusal}")]
    Refused {
        /// The book.
        place: String,
        /// The reason, in words.
        refusal: Refusal,
    },
}

impl LedgerError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "steffle::ledger::io",
            Self::Exists(_) => "steffle::ledger::exists",
            Self::NotALedger { .. } => "steffle::ledger::not_a_ledger",
            Self::Damaged { .. } => "steffle::ledger::damaged",
            Self::RolledBack { .. } => "steffle::ledger::rolled_back",
            Self::Swapped { .. } => "steffle::ledger::swapped",
            Self::Head { .. } => "steffle::ledger::head",
            Self::Busy { .. } => "steffle::ledger::busy",
            Self::Permissions { .. } => "steffle::ledger::permissions",
            Self::Network(_) => "steffle::ledger::network",
            Self::Folder { .. } => "steffle::ledger::folder",
            Self::Policy(error) => error.code(),
            Self::Refused { refusal, .. } => refusal.code(),
        }
    }

    pub(crate) fn io(place: &Path, source: io::Error) -> Self {
        Self::Io { place: place.display().to_string(), source }
    }
}
