//! Letters that came from other sites, until they are used.

use std::collections::BTreeMap;

use steffle_masks::Fingerprint;
use steffle_wire::{Decode, Envelope, Kind, NodeId, Refused, decode, open, payload};

use super::sender::Verified;

/// One letter per kind and sender: the latest.
#[derive(Default)]
pub(super) struct Letters {
    kept: BTreeMap<(u8, u32), (Envelope, Vec<u8>)>,
    /// The keys that signed letters of this run, by the number of their sender.
    signers: BTreeMap<u32, Fingerprint>,
    /// Why the last letter of a sender was not taken.
    refused: BTreeMap<u32, &'static str>,
}

impl Letters {
    /// Keeps a letter; an older one than the last of its kind and sender is left out, and so is one that
    /// could not be verified, or whose key or number is another sender's in this run.
    pub(super) fn keep(&mut self, envelope: &Envelope, letter: Result<Verified<'_>, &'static str>) {
        let from = envelope.from.0;
        let letter = letter.and_then(|(letter, signer)| match signer {
            Some(signer) => self.belongs(from, signer).map(|()| letter),
            None => Ok(letter),
        });
        let letter = match letter {
            Ok(letter) => letter,
            Err(why) => {
                self.refused.insert(from, why);
                return;
            }
        };
        let key = (envelope.kind as u8, from);
        let newer = |(last, _): &(Envelope, Vec<u8>)| envelope.sequence > last.sequence;
        if self.kept.get(&key).is_none_or(newer) {
            self.kept.insert(key, (*envelope, letter.to_vec()));
        }
    }

    /// One key per number and one number per key, from the first letter on.
    fn belongs(&mut self, from: u32, signer: Fingerprint) -> Result<(), &'static str> {
        let other = |(number, key): (&u32, &Fingerprint)| (*number == from) != (*key == signer);
        if self.signers.iter().any(other) {
            return Err(
                "its key signed for another site of this run, or another key did for this one",
            );
        }
        self.signers.insert(from, signer);
        Ok(())
    }

    /// Takes out the letters of a kind and round from all of these senders, in their order: what
    /// each says, and its payload. Refuses when one of them did not come.
    pub(super) fn take<T: Decode>(
        &mut self,
        kind: Kind,
        round: u32,
        senders: impl Iterator<Item = NodeId>,
    ) -> Result<(Vec<T>, Vec<Vec<u8>>), Refused> {
        let (mut said, mut payloads) = (Vec::new(), Vec::new());
        for from in senders {
            let letter = self.kept.remove(&(kind as u8, from.0));
            let Some((envelope, bytes)) = letter.filter(|(envelope, _)| envelope.round == round)
            else {
                let why = self.refused.get(&from.0);
                let why = why.map_or(String::new(), |why| format!("; one was not taken: {why}"));
                let text = format!("no letter ({kind:?}, round {round}) came from {from}{why}");
                return Err(Refused::state(text));
            };
            said.push(decode(open(&envelope, &bytes)?)?);
            payloads.push(payload(&bytes).to_vec());
        }
        Ok((said, payloads))
    }
}
