//! One run that really was: its messages as they were recorded, against its plan and its books.
//!
//! A [`Recorder`] hears what a transport carries and writes it down; [`read`] reads it back, and
//! refuses a file that is damaged; [`check`] says whether the messages are those of one run that
//! sent what it paid for, paid for what it sent, and kept within its plan. That is no attack: it
//! shows what was done, not what it tells.

mod check;
mod file;
mod payments;
mod shape;

pub use check::{Mismatch, Verdict, check};
pub use file::{Recorder, TranscriptError, read};

use std::collections::BTreeMap;

use steffle_privacy::ledger::Book;
use steffle_wire::NodeId;

/// Which way a message went.
///
/// Requests go to nodes; replies and letters come from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// From the server.
    Request,
    /// To the server.
    Reply,
}

/// A message as it was recorded.
///
/// With its direction, its node and its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Which way it went.
    pub sent: Sent,
    /// The node at the other end.
    pub node: NodeId,
    /// The message.
    pub bytes: Vec<u8>,
}

/// What a store has kept: its book, and the replies in it by their hashes.
#[derive(Debug)]
pub struct Kept<'a> {
    /// What its lines add up to.
    pub book: &'a Book,
    /// What was released, as it was before it became a part of a sum over sites.
    pub replies: BTreeMap<[u8; 32], Vec<u8>>,
}

#[cfg(test)]
mod tests;
