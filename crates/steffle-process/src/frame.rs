//! Frames: a length in eight bytes, little-endian, then as many bytes. A frame to a node begins with the
//! number of its sender in four bytes, little-endian: 0 for the server, sites from 1 in the order of the
//! roster. The transport writes it, so that no sender can write another's.

use std::io::{self, Read, Write};

use steffle_wire::NodeId;

/// The most bytes of a frame, unless somebody says otherwise: a handover of ten million records.
pub const MOST: u64 = 4 << 30;

/// Why there is no next frame.
///
/// The stream ended, failed, or announces more than is allowed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A length beyond the cap: nothing was read of it, and nothing reserved for it.
    #[error("a frame of {found} bytes; allowed are {most}")]
    Large {
        /// The length.
        found: u64,
        /// The cap.
        most: u64,
    },
    /// The stream ended in the middle of a frame.
    #[error("the stream ended after {found} of {expected} bytes of a frame")]
    Truncated {
        /// Bytes that came.
        found: u64,
        /// Bytes that were announced.
        expected: u64,
    },
    /// A frame to a node without the number of its sender.
    #[error(
        "a frame that does not begin with the number of its sender: what carries messages to this \
         node is of another version; install the steffle_relay.py that came with this program"
    )]
    Sender,
    /// The stream failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Bytes that a length alone is given: a reply with 10,000 parameters fits, and a liar gains nothing.
const AT_ONCE: u64 = 1 << 20;

/// The next frame; `None` where the stream ends before one. Beyond a megabyte, memory is taken as bytes
/// come: a length is only a word.
pub fn read(from: &mut impl Read, most: u64) -> Result<Option<Vec<u8>>, FrameError> {
    const LENGTH: u64 = 8;
    let mut length = Vec::new();
    from.by_ref().take(LENGTH).read_to_end(&mut length)?;
    let Ok(announced) = <[u8; 8]>::try_from(&length[..]) else {
        let found = length.len() as u64;
        return if found == 0 {
            Ok(None)
        } else {
            Err(FrameError::Truncated { found, expected: LENGTH })
        };
    };
    let expected = u64::from_le_bytes(announced);
    if expected > most {
        return Err(FrameError::Large { found: expected, most });
    }
    let mut frame = Vec::with_capacity(expected.min(AT_ONCE) as usize);
    from.by_ref().take(expected).read_to_end(&mut frame)?;
    let found = frame.len() as u64;
    if found < expected {
        return Err(FrameError::Truncated { found, expected });
    }
    Ok(Some(frame))
}

/// Writes a frame and flushes; refuses one beyond the cap.
pub fn write(to: &mut impl Write, frame: &[u8], most: u64) -> Result<(), FrameError> {
    let found = frame.len() as u64;
    if found > most {
        return Err(FrameError::Large { found, most });
    }
    to.write_all(&found.to_le_bytes())?;
    to.write_all(frame)?;
    Ok(to.flush()?)
}

/// The contents of a frame to a node.
pub fn to_node(from: NodeId, message: &[u8]) -> Vec<u8> {
    [&from.0.to_le_bytes()[..], message].concat()
}

/// Splits the contents of a frame to a node into sender and message. Refuses a frame that begins with a
/// message, as relays sent them that did not say who sent it.
pub fn at_node(frame: &[u8]) -> Result<(NodeId, &[u8]), FrameError> {
    match frame.split_first_chunk() {
        Some((from, message)) if *from != steffle_wire::MAGIC => {
            Ok((NodeId(u32::from_le_bytes(*from)), message))
        }
        _ => Err(FrameError::Sender),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_the_pipe_and_ends_are_told_apart() {
        let mut pipe = Vec::new();
        for frame in [&b""[..], b"one", &[7; 1000]] {
            write(&mut pipe, frame, 1000).unwrap();
        }
        let mut from = &pipe[..];
        assert_eq!(read(&mut from, 1000).unwrap().unwrap(), b"");
        assert_eq!(read(&mut from, 1000).unwrap().unwrap(), b"one");
        assert_eq!(read(&mut from, 1000).unwrap().unwrap(), [7; 1000]);
        assert!(read(&mut from, 1000).unwrap().is_none());
        for end in 1..8 {
            let error = read(&mut &pipe[..end], 1000).unwrap_err();
            assert!(matches!(error, FrameError::Truncated { expected: 8, .. }), "{error}");
        }
        let error = read(&mut &pipe[8..18], 1000).unwrap_err();
        assert!(matches!(error, FrameError::Truncated { found: 2, expected: 3 }), "{error}");
    }

    #[test]
    fn frames_to_nodes_say_who_sent_them() {
        let frame = to_node(NodeId(7), b"STFL and so on");
        assert_eq!(at_node(&frame).unwrap(), (NodeId(7), &b"STFL and so on"[..]));
        for other in [&b"STFL and so on"[..], b"abc", b""] {
            assert!(at_node(other).unwrap_err().to_string().contains("steffle_relay.py"));
        }
    }

    #[test]
    fn a_length_is_only_a_word() {
        let mut pipe = u64::MAX.to_le_bytes().to_vec();
        assert!(matches!(read(&mut &pipe[..], MOST), Err(FrameError::Large { .. })));
        // Below the cap, memory is taken for what comes.
        pipe = (MOST - 1).to_le_bytes().to_vec();
        pipe.extend([1, 2, 3]);
        let error = read(&mut &pipe[..], MOST).unwrap_err();
        assert!(matches!(error, FrameError::Truncated { found: 3, .. }), "{error}");
        assert!(matches!(write(&mut Vec::new(), &[0; 9], 8), Err(FrameError::Large { .. })));
    }
}
