//! Letters that came from other sites, until they are used.

use std::collections::BTreeMap;

use steffle_wire::{Decode, Envelope, Kind, NodeId, Refused, decode, open, payload};

/// One letter per kind and sender: the latest.
#[derive(Default)]
pub(super) struct Letters(BTreeMap<(u8, u32), (Envelope, Vec<u8>)>);

impl Letters {
    /// Keeps a letter; an older one than the last of its kind and sender is left out.
    pub(super) fn keep(&mut self, envelope: &Envelope, letter: &[u8]) {
        let key = (envelope.kind as u8, envelope.from.0);
        let newer = |(last, _): &(Envelope, Vec<u8>)| envelope.sequence > last.sequence;
        if self.0.get(&key).is_none_or(newer) {
            self.0.insert(key, (*envelope, letter.to_vec()));
        }
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
            let letter = self.0.remove(&(kind as u8, from.0));
            let Some((envelope, bytes)) = letter.filter(|(envelope, _)| envelope.round == round)
            else {
                let text = format!("no letter ({kind:?}, round {round}) came from {from}");
                return Err(Refused::state(text));
            };
            said.push(decode(open(&envelope, &bytes)?)?);
            payloads.push(payload(&bytes).to_vec());
        }
        Ok((said, payloads))
    }
}
