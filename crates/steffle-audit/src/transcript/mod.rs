//! One run that really was: its messages as they were recorded, against its plan and its books.
//!
//! The journal of a run is its transcript; [`read`] reads it, and refuses a file that is damaged or
//! of a run that has not ended; [`check`] says whether the messages are those of one run that
//! sent what it paid for, paid for what it sent, and kept within its plan. That is no attack: it
//! shows what was done, not what it tells. Of a run under masks it can tell less: `masks.rs`.

mod check;
mod masks;
mod payments;
mod shape;

pub use check::{Mismatch, Verdict, check};
pub use steffle_process::transcript::{Frame, Sent, Tape, TranscriptError, read};

use std::collections::BTreeMap;

use steffle_privacy::ledger::Book;

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
