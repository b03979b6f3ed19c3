//! What every mask is bound to: all that was asked since the sites met.

use crate::{Hash, hash};

/// A request, as all sites get it: what stands in it for one of them alone is no part of it.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Its number in the run.
    pub sequence: u64,
    /// Its kind.
    pub kind: u8,
    /// Its round.
    pub round: u32,
    /// What it says.
    pub body: &'a [u8],
}

/// The running hash of every request since the meeting, answered or refused.
///
/// Sites that were asked different things at any time since have different histories, and then no
/// mask of theirs cancels: a state that was set differently before can not be read by the same
/// question later. What comes under a number that was used, or is no message of the run, is no request
/// and no part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    run: [u8; 16],
    roster: Hash,
    now: Hash,
}

impl History {
    /// Nothing was asked in this run, under this roster.
    pub fn new(run: [u8; 16], roster: Hash) -> Self {
        Self { run, roster, now: [0; 32] }
    }

    /// Goes on by a request.
    pub fn push(&mut self, asked: &Asked<'_>) {
        self.now = hash(&[
            b"steffle history 1",
            &self.now,
            &asked.sequence.to_le_bytes(),
            &[asked.kind],
            &asked.round.to_le_bytes(),
            &hash(&[asked.body]),
        ]);
    }

    /// The name of the mask of the reply to the request that was pushed last.
    pub fn context(&self) -> Hash {
        hash(&[b"steffle mask 1", &self.run, &self.roster, &self.now])
    }
}
