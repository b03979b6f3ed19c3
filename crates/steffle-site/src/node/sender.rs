//! Who sent a letter, by the sender's own key.

use std::collections::BTreeSet;

use steffle_masks::{Fingerprint, Identity};
use steffle_wire::{Answer, Envelope, Kind, NodeId, Part, RunId, SchemaHash, signed, split_signed};

/// A site's own key, by which it signs letters, and the keys of the sites whose letters it takes.
///
/// A site without one takes letters as they are carried to it, so whoever carries them writes them.
#[derive(Debug)]
pub struct Correspondence {
    identity: Identity,
    /// None of them: letters are taken as they are carried.
    peers: BTreeSet<Fingerprint>,
}

/// A letter without its signature, and whose it is, where its receiver knows keys.
pub(super) type Verified<'a> = (&'a [u8], Option<Fingerprint>);

impl Correspondence {
    /// A key, and those of all other sites; without any of these, letters need no signature.
    pub fn new(identity: Identity, peers: impl IntoIterator<Item = Fingerprint>) -> Self {
        Self { identity, peers: peers.into_iter().collect() }
    }

    /// Signs what goes to other sites.
    pub(super) fn sign(&self, answer: &mut Answer) {
        for letter in &mut answer.letters {
            let message = std::mem::take(&mut letter.bytes);
            letter.bytes = signed(message, |message| self.identity.sign_letter(message));
        }
    }
}

/// Takes the signature off a letter. Says why a letter is not taken: a site that pinned keys reads no
/// letter that none of them signed.
pub(super) fn verified<'a>(
    correspondence: Option<&Correspondence>,
    envelope: &Envelope,
    letter: &'a [u8],
) -> Result<Verified<'a>, &'static str> {
    let split = match envelope.part {
        Part::SignedLetter => Some(split_signed(letter).ok_or("it is shorter than a signature")?),
        _ => None,
    };
    let Some(keys) = correspondence.filter(|own| !own.peers.is_empty()) else {
        return Ok((split.map_or(letter, |(message, _)| message), None));
    };
    let (message, signature) = split.ok_or(
        "it is not signed, and this site's [peers] pins keys; its sender needs [masks] key",
    )?;
    let signer = Fingerprint::of_letter(message, signature).ok_or("its signature is wrong")?;
    if keys.peers.contains(&signer) {
        return Ok((message, Some(signer)));
    }
    Err("it is signed by a key that is not in this site's [peers]")
}

/// What a refusal of bytes that are no message stands on.
pub(super) fn unreadable() -> Envelope {
    Envelope {
        run: RunId([0; 16]),
        schema: SchemaHash([0; 32]),
        from: NodeId::SERVER,
        to: NodeId::ALL,
        sequence: 0,
        round: 0,
        kind: Kind::Unknown,
        part: Part::Request,
    }
}
