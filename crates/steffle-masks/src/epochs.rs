//! When a site's data may change: the difference of two totals is what changed between them.
//!
//! A site counts the *epochs* of its data. Within one they are the same to the bit; a new one begins
//! where at least so many records were altered as the site's policy says, and its number is signed in
//! the hello. Sites that have met note everybody's epochs, and meet again where none has changed, or at
//! least `c + 2` have.
//!
//! # Proof definition
//!
//! Take two totals under one roster that a server can read, with at most `c` sites helping it. Either
//! the data of no other site differ between the two, or those of at least two others do, each by at
//! least `min_change` records.
//!
//! *Sketch.* Masks cancel where all honest sites have taken the same hellos ([`crate::Meeting`]), so both
//! totals belong to a list of epochs that every honest site noted, the second no earlier in any place
//! ([`JournalError::Back`]). If the lists are equal, so are data: an epoch is one digest. If not, the
//! honest site that noted both came from one to the other by steps each of which raised at least
//! `c + 2` places (or none) and lowered none: so many differ in the end, and at most `c` of them belong to
//! sites that help. An honest place that differs is another epoch, and an epoch is compared with every
//! one before it, not with the last alone: who goes back to old data, but for one record, is refused.
//!
//! Tests: `data_change_at_enough_sites_or_not_at_all` and `an_epoch_differs_from_all_before_it`
//! (`crates/steffle-masks/src/tests/epochs.rs`).

use crate::{Backing, Hash, JournalError, hash};

/// What a journal knows of the data of its site and of others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Epochs {
    /// Of the site's own data, under this roster: number and digest.
    own: Vec<(u32, Hash)>,
    /// The last epoch under any roster.
    last: Option<(u32, Hash)>,
    /// Of all sites, when they met last.
    met: Option<Vec<u32>>,
    /// The most sites that might have helped the server in any run so far.
    colluders: u16,
}

impl Epochs {
    /// The epoch of data that are these records now; refuses a change that is too small.
    pub(crate) fn of(
        &self,
        records: &[u64],
        least: u64,
        backing: &dyn Backing,
    ) -> Result<u32, JournalError> {
        let digest = digest(records);
        let next = match self.last {
            Some((number, same)) if same == digest => return Ok(number),
            Some((number, _)) => number.saturating_add(1),
            None => 0,
        };
        for (number, known) in &self.own {
            let before = backing.records(*number).filter(|before| self::digest(before) == *known);
            let before = before.ok_or_else(|| {
                JournalError::Stopped(format!("lacks the digests of records of epoch {number}"))
            })?;
            if altered(&before, records) < least {
                return Err(JournalError::Changed(least));
            }
        }
        Ok(next)
    }

    /// Whether data of this epoch are noted.
    pub(crate) fn has(&self, number: u32, records: &[u64]) -> bool {
        self.own.last() == Some(&(number, digest(records)))
    }

    /// Refuses to meet sites whose data have changed at too few of them; says whether it is news.
    pub(crate) fn meet(&self, colluders: u16, epochs: &[u32]) -> Result<bool, JournalError> {
        let news = || self.met.as_deref() != Some(epochs) || colluders > self.colluders;
        let Some(before) = self.met.as_ref().filter(|before| before.len() == epochs.len()) else {
            return Ok(news());
        };
        if let Some(place) = before.iter().zip(epochs).position(|(before, now)| now < before) {
            return Err(JournalError::Back(place));
        }
        let found = before.iter().zip(epochs).filter(|(before, now)| now != before).count();
        let least = usize::from(colluders.max(self.colluders)) + 2;
        if (1..least).contains(&found) {
            return Err(JournalError::Few { found, least });
        }
        Ok(news())
    }

    pub(crate) fn note(&mut self, number: u32, digest: Hash) {
        self.own.push((number, digest));
        self.last = Some((number, digest));
    }

    pub(crate) fn note_met(&mut self, colluders: u16, epochs: &[u32]) {
        self.met = Some(epochs.to_vec());
        self.colluders = self.colluders.max(colluders);
    }

    /// Under another roster, or because the owner says so: nothing is compared with what was before.
    pub(crate) fn begin_anew(&mut self) {
        self.own.clear();
        self.met = None;
        self.colluders = 0;
    }
}

/// How many records were altered, added or removed between two lists of digests, each in ascending order.
pub fn altered(before: &[u64], now: &[u64]) -> u64 {
    let (mut removed, mut added) = (0, 0);
    let (mut before, mut now) = (before.iter().peekable(), now.iter().peekable());
    loop {
        match (before.peek(), now.peek()) {
            (Some(a), Some(b)) if a == b => drop((before.next(), now.next())),
            (Some(a), Some(b)) if a < b => {
                before.next();
                removed += 1;
            }
            (Some(_), None) => {
                before.next();
                removed += 1;
            }
            (_, Some(_)) => {
                now.next();
                added += 1;
            }
            // Who edits a record removes one and adds one.
            (None, None) => return u64::max(removed, added),
        }
    }
}

/// The name of data.
pub(crate) fn digest(records: &[u64]) -> Hash {
    let bytes: Vec<u8> = records.iter().flat_map(|record| record.to_le_bytes()).collect();
    hash(&[b"steffle epoch 1", &bytes])
}
