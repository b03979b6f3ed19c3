//! Requests and their replies: each kind has one of both.

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::envelope::Kind;
use super::summed::Masked;

/// A request that a server may send.
///
/// Each kind of request has one type of reply, which is known when it is sent.
pub trait Ask: Encode + Decode {
    /// Its kind.
    const KIND: Kind;
    /// What a node answers.
    type Reply: Decode;
}

/// The reply of a request whose answer is that it was done.
///
/// It says nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done;

impl Masked for Done {
    fn mask(&mut self, _: &mut dyn FnMut(usize) -> Vec<i128>) {}
}

impl Encode for Done {
    fn encode(&self, _: &mut Writer) {}

    fn size_hint(&self) -> usize {
        100
    }
}

impl Decode for Done {
    fn decode(_: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self)
    }
}
