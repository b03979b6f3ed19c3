//! What stands on the messages of a trip, and how requests are named.

use super::Agreement;
use crate::division::attributes::Request;
use crate::protocol::{
    CodecError, Decode, Encode, Envelope, Leg, NodeId, Part, open, payload, seal,
};

/// Encodes and decodes the messages of one trip.
#[derive(Clone, Copy)]
pub(super) struct Courier<'a> {
    pub(super) agreement: &'a Agreement,
    pub(super) round: u32,
    pub(super) sequence: u64,
    /// Whether something is claimed about the replies.
    pub(super) claims: bool,
}

impl Courier<'_> {
    fn envelope(&self, leg: Leg, part: Part, from: NodeId, to: NodeId) -> Envelope {
        let Agreement { run, schema, .. } = *self.agreement;
        let Self { round, sequence, .. } = *self;
        Envelope { run, schema, from, to, sequence, round, leg, part }
    }

    /// The name of a request: what it says and its round, not when or in which run. Where nothing is
    /// claimed nobody keeps replies, and a hash would take longer than a small round.
    pub(super) fn request(&self, messages: &[&[u8]]) -> Request {
        if !self.claims {
            return Request::default();
        }
        // What the payload means: columns, cells, layers and scores.
        let Agreement { schema, model, objective, kind, .. } = self.agreement;
        let meaning = format!("{:?} {:?} {}", model.blocks(), objective.bounds(), kind.notion);
        let agreed = [&schema.0[..], meaning.as_bytes()];
        let parts = messages.iter().map(|message| payload(message));
        Request::new(self.round, &agreed.into_iter().chain(parts).collect::<Vec<_>>())
    }

    /// A question to all nodes of a leg.
    pub(super) fn question(&self, leg: Leg, question: &impl Encode) -> Vec<u8> {
        seal(&self.envelope(leg, Part::Question, NodeId::SERVER, NodeId::ALL), question)
    }

    pub(super) fn read_question<T: Decode>(&self, leg: Leg, bytes: &[u8]) -> Result<T, CodecError> {
        read(&self.envelope(leg, Part::Question, NodeId::SERVER, NodeId::ALL), bytes)
    }

    /// What the silo at a place hands to all holders.
    pub(super) fn handover(&self, at: usize, handover: &impl Encode) -> Vec<u8> {
        seal(&self.envelope(Leg::Attributes, Part::Handover, NodeId::at(at), NodeId::ALL), handover)
    }

    pub(super) fn read_handover<T: Decode>(
        &self,
        at: usize,
        bytes: &[u8],
    ) -> Result<T, CodecError> {
        let from = NodeId::at(at);
        read(&self.envelope(Leg::Attributes, Part::Handover, from, NodeId::ALL), bytes)
    }

    /// The reply of the node at a place.
    pub(super) fn reply(&self, leg: Leg, at: usize, reply: &impl Encode) -> Vec<u8> {
        seal(&self.envelope(leg, Part::Reply, NodeId::at(at), NodeId::SERVER), reply)
    }

    pub(super) fn read_reply<T: Decode>(
        &self,
        leg: Leg,
        at: usize,
        bytes: &[u8],
    ) -> Result<T, CodecError> {
        read(&self.envelope(leg, Part::Reply, NodeId::at(at), NodeId::SERVER), bytes)
    }
}

fn read<T: Decode>(envelope: &Envelope, bytes: &[u8]) -> Result<T, CodecError> {
    let mut reader = open(envelope, bytes)?;
    let value = T::decode(&mut reader)?;
    reader.end()?;
    Ok(value)
}
