//! What carries messages, and knows nothing else.

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::envelope::NodeId;

/// What a node has to say to a message: a reply for who asked, and letters for other sites.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The reply; empty to a letter.
    pub reply: Vec<u8>,
    /// Letters, in the order in which they are to be delivered.
    pub letters: Vec<Letter>,
}

/// A message from one site to others. Whoever carries it does not read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// To whom.
    pub to: Vec<NodeId>,
    /// The message.
    pub bytes: Vec<u8>,
}

/// Why no reply came.
///
/// The run ends with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{node} cannot be reached: {why}")]
pub struct Lost {
    /// Which node.
    pub node: NodeId,
    /// What happened to it, or on the way.
    pub why: String,
}

/// Carries requests to nodes and replies back, and letters between nodes.
///
/// It knows nothing of what they mean.
pub trait Transport: Send {
    /// How many nodes there are; they are numbered from 1.
    fn nodes(&self) -> usize;

    /// Carries one request to each of some nodes, which are named in ascending order, and waits for
    /// all of their replies. Letters are delivered before it returns.
    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>>;

    /// Takes back a reply that was read, as room for the next one of the same node. Who has no use for
    /// it drops it.
    fn give_back(&mut self, _from: NodeId, _reply: Vec<u8>) {}
}

impl<T: Transport + ?Sized> Transport for Box<T> {
    fn nodes(&self) -> usize {
        (**self).nodes()
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        (**self).exchange(requests)
    }

    fn give_back(&mut self, from: NodeId, reply: Vec<u8>) {
        (**self).give_back(from, reply);
    }
}

impl Encode for Answer {
    fn encode(&self, writer: &mut Writer) {
        writer.blob(&self.reply);
        writer.values(&self.letters);
    }

    fn size_hint(&self) -> usize {
        let letters: usize = self.letters.iter().map(|letter| letter.bytes.len() + 64).sum();
        self.reply.len() + letters
    }
}

impl Decode for Answer {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { reply: reader.blob()?.to_vec(), letters: reader.values()? })
    }
}

impl Encode for Letter {
    fn encode(&self, writer: &mut Writer) {
        let to: Vec<u32> = self.to.iter().map(|node| node.0).collect();
        writer.list(&to, u32::to_le_bytes);
        writer.blob(&self.bytes);
    }
}

impl Decode for Letter {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let to = reader.list(u32::from_le_bytes)?.into_iter().map(NodeId).collect();
        Ok(Self { to, bytes: reader.blob()?.to_vec() })
    }
}
