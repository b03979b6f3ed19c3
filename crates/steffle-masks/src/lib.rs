//! Masks that hide what one site adds to a sum over sites.
//!
//! Every two sites share a stream of numbers that one adds and the other subtracts, so that a total
//! over all sites is what it was and every part by itself is noise. This crate has keys and streams,
//! and the rules of what is masked how often. It opens no file, knows no clock and draws nothing:
//! who calls it brings secrets.
//!
//! In order: a site has an [`Identity`] and a [`Roster`] of fingerprints that it pinned. It greets
//! ([`Greeting`]) with a fresh key, signed; with the hellos of all others it has a [`Meeting`]; and
//! every reply has a mask of its own, which [`History`] binds to every request since the meeting. A
//! [`Journal`] keeps one mask from covering two replies and one store from serving two rosters.
//!
//! # Proof definition
//!
//! Against a server that relays everything and up to `c` sites that help it, and while X25519,
//! Ed25519, HKDF-SHA-256 and ChaCha20 hold: of the replies to one request the server learns the sum
//! over the sites that do not help it, and nothing else.
//!
//! *Sketch.* Two sites `i`, `j` that do not help it pinned each other, so a key that either of them
//! meets under the other's name was made by the other in this run and for this roster: the signature
//! covers run, roster, role, noise, key, nonce and epoch ([`Hello`]). Their stream is then that of a key that
//! nobody else knows, and one that no other request has: its name is a hash of run, roster and all
//! requests until this one ([`History::context`]). Equal histories give the pair streams that cancel
//! and that only they know; unequal ones two independent streams, which is noise in the total. The
//! graph of honest pairs is complete, hence connected, so that every vector of parts with the same
//! sum over honest sites is equally likely to have given what was seen. One mask covers one reply
//! ([`Journal::answer`]), or the difference of two would be seen. Tests fail for each of these when it
//! is left out: `crates/steffle-masks/src/tests.rs`. What the difference of two totals shows is bounded
//! by when data may change: `crates/steffle-masks/src/epochs.rs`.

mod epochs;
mod history;
mod identity;
mod journal;
mod meeting;

pub use epochs::altered;
pub use history::{Asked, History};
pub use identity::{Fingerprint, Hello, Identity, NoFingerprint, Roster, RosterError};
pub use journal::{Backing, Journal, JournalError, Line, Memory, Secret};
pub use meeting::{Greeting, MeetError, Meeting, Pads, Terms};

use sha2::{Digest, Sha256};

/// A SHA-256.
pub type Hash = [u8; 32];

/// The hash of parts, each with its length before it: no two lists of parts give the same bytes.
pub fn hash(parts: &[&[u8]]) -> Hash {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests;
