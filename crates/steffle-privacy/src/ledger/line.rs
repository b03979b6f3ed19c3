//! What a book says, line by line.

use serde::{Deserialize, Serialize};

use super::columns::StoreColumns;
use super::cost::{Entry, GrantId, NoiseKind};
use super::offer::{Accounts, CheckedOffer};
use super::roll::Roll;

/// One line of a book. Nothing in it is computed from `s` but the hash of a noisy reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[allow(clippy::large_enum_variant, reason = "one line is looked at at a time")]
pub enum Line {
    /// The owner named the store's columns, once in its life.
    Columns(StoreColumns),
    /// The owner accepted a list of the people in the store.
    List {
        /// The hash of the list.
        #[serde(with = "super::packed")]
        hash: [u8; 32],
        /// Records on it.
        records: u64,
    },
    /// The owner admits the next list of records, although the store knows none of them.
    Admit,
    /// Records that runs are about; rolls are numbered from 0 in the order in which they stand.
    Roll(Roll),
    /// An offer was accepted; grants are numbered from 0 likewise.
    Open {
        /// What was offered.
        offer: CheckedOffer,
        /// How its costs are kept.
        accounts: Accounts,
        /// The roll it is about; `None` is everybody.
        roll: Option<u32>,
    },
    /// A reply was paid for; reservations are numbered from 1.
    Reserve {
        /// Who pays.
        grant: GrantId,
        /// Where the noise will come from.
        noise: NoiseKind,
        /// The question, and its cost.
        entry: Entry,
    },
    /// The reply of a reservation was kept; it may be sent.
    Commit {
        /// The reservation.
        reservation: u64,
        /// Its request.
        #[serde(with = "super::packed")]
        request: [u8; 32],
        /// The hash of the reply.
        #[serde(with = "super::packed")]
        reply: [u8; 32],
    },
    /// A grant ended.
    Close {
        /// The grant.
        grant: GrantId,
    },
    /// A line that was not finished when its writer ended was cut off. What it may have
    /// committed was perhaps sent, so that no reservation before it can be used again.
    Torn {
        /// How much was cut off.
        bytes: u64,
    },
}
