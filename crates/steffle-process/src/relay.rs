//! The server's side of a relay: somebody else carries requests to sites, and replies back.
//!
//! Every exchange is one frame out and one frame in ([`crate::frame`]), numbers little-endian:
//!
//! - out: `u32` how many requests; per request `u32` the node, numbered from 1 in the order of the
//!   job's roster, `u64` a length, and the request;
//! - in: `u32` the same count; per request, in the same order, `u8` a status (0: a reply, 1: lost),
//!   `u64` a length, and the reply, or in UTF-8 why there is none.
//!
//! A site's process gets a request or a letter as one frame, which begins with `u32` the sender (0: the
//! server) as whoever carries it knows it, not as the message says, and answers with one frame, an
//! [`Answer`](steffle_wire::Answer): `u64` a length and the reply (empty to a letter); `u32` how many
//! letters; per letter `u64` how many addressees, `u32` each of them, `u64` a length, and the letter.
//! Whoever carries them delivers all letters, in the order of the sites that wrote them, and waits
//! for the answers of their addressees, before it gives the server its replies.

use std::io::{Read, Write};

use steffle_wire::{CodecError, Lost, NodeId, Reader, Transport, Writer};

use crate::frame;

/// A transport whose nodes somebody else reaches.
pub struct Relay<R, W> {
    nodes: usize,
    from: R,
    to: W,
    most: u64,
}

impl<R: Read, W: Write> Relay<R, W> {
    /// So many nodes, behind these two streams; frames have at most `most` bytes.
    pub fn new(nodes: usize, from: R, to: W, most: u64) -> Self {
        Self { nodes, from, to, most }
    }

    fn ask(
        &mut self,
        requests: &[(NodeId, &[u8])],
    ) -> Result<Vec<Result<Vec<u8>, String>>, String> {
        let size = requests.iter().map(|(_, request)| request.len() + 12).sum::<usize>();
        let mut out = Writer::with_capacity(size + 4);
        out.u32(requests.len() as u32);
        for (node, request) in requests {
            out.u32(node.0);
            out.u64(request.len() as u64);
            out.raw(request);
        }
        let failed = |error: frame::FrameError| format!("the relay: {error}");
        frame::write(&mut self.to, &out.finish(), self.most).map_err(failed)?;
        let came = frame::read(&mut self.from, self.most).map_err(failed)?;
        let came = came.ok_or("the relay has gone")?;
        read(&came, requests.len()).map_err(|error| format!("the relay: {error}"))
    }
}

/// What came back.
fn read(bytes: &[u8], asked: usize) -> Result<Vec<Result<Vec<u8>, String>>, CodecError> {
    let mut reader = Reader::new(bytes);
    let count = reader.u32()? as usize;
    if count != asked {
        return Err(CodecError::Shape(format!("{count} replies to {asked} requests")));
    }
    let mut replies = Vec::with_capacity(count);
    for _ in 0..count {
        let status = reader.u8()?;
        let length = usize::try_from(reader.u64()?).unwrap_or(usize::MAX);
        let bytes = reader.raw(length)?.to_vec();
        replies.push(match status {
            0 => Ok(bytes),
            1 => Err(String::from_utf8_lossy(&bytes).into_owned()),
            found => return Err(CodecError::Tag { what: "status", found }),
        });
    }
    match reader.rest().len() {
        0 => Ok(replies),
        more => Err(CodecError::Trailing(more)),
    }
}

impl<R: Read + Send, W: Write + Send> Transport for Relay<R, W> {
    fn nodes(&self) -> usize {
        self.nodes
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        let replies = match self.ask(requests) {
            Ok(replies) => replies,
            Err(why) => vec![Err(why); requests.len()],
        };
        let asked = requests.iter().map(|&(node, _)| node);
        let named = |(reply, node): (Result<Vec<u8>, String>, NodeId)| {
            reply.map_err(|why| Lost { node, why })
        };
        replies.into_iter().zip(asked).map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_is_one_frame_out_and_one_in() {
        let body = [
            &2_u32.to_le_bytes()[..],
            &[0],
            &2_u64.to_le_bytes(),
            b"ok",
            &[1],
            &4_u64.to_le_bytes(),
            b"gone",
        ]
        .concat();
        let mut came = Vec::new();
        frame::write(&mut came, &body, 100).unwrap();
        let mut sent = Vec::new();
        let mut relay = Relay::new(3, &came[..], &mut sent, 100);
        assert_eq!(relay.nodes(), 3);
        let replies = relay.exchange(&[(NodeId(1), b"a"), (NodeId(3), b"bc")]);
        assert_eq!(replies[0].as_deref(), Ok(&b"ok"[..]));
        assert_eq!(replies[1], Err(Lost { node: NodeId(3), why: "gone".to_owned() }));
        // The streams end: nobody is reached, and each is named.
        let replies = relay.exchange(&[(NodeId(2), b"a")]);
        assert_eq!(
            replies[0].as_ref().unwrap_err().to_string(),
            "node 2 cannot be reached: the relay has gone"
        );
        let out = [
            &2_u32.to_le_bytes()[..],
            &1_u32.to_le_bytes(),
            &1_u64.to_le_bytes(),
            b"a",
            &3_u32.to_le_bytes(),
            &2_u64.to_le_bytes(),
            b"bc",
        ]
        .concat();
        assert_eq!(frame::read(&mut &sent[..], 100).unwrap().unwrap(), out);
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let one = [&1_u32.to_le_bytes()[..], &[0], &2_u64.to_le_bytes(), b"ok"].concat();
        assert!(read(&one, 1).is_ok());
        assert!(read(&one, 2).is_err(), "too few");
        assert!(read(&[&one[..], b"x"].concat(), 1).is_err(), "too long");
        for end in 0..one.len() {
            assert!(read(&one[..end], 1).is_err(), "{end} bytes");
        }
        let mut other = one;
        other[4] = 2;
        assert!(read(&other, 1).is_err(), "no such status");
    }
}
