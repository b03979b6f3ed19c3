//! What was said, as bytes: frames with their lengths and checks.
//!
//! `STFLTR` and a version; per frame a tag (1 request, 2 reply, 3 no reply and why, 4 a site's whole
//! answer, 5 whose record it is), the node, the length, the message, and the first eight bytes of the
//! SHA-256 of everything before; at the end a 0, the number of frames and the whole SHA-256 of
//! everything before. Numbers are little-endian. A file without its end is that of a run that goes
//! on, or was interrupted.

use std::io::{self, Write};

use sha2::{Digest, Sha256};
use steffle_wire::{NodeId, Reader};

const MAGIC: [u8; 6] = *b"STFLTR";
const VERSION: u16 = 2;

const END: u8 = 0;
/// Bytes of the check of a frame.
const CHECK: usize = 8;

/// Which way a message went.
///
/// Requests go to nodes; replies come from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Sent {
    /// From the server.
    Request = 1,
    /// To the server.
    Reply = 2,
    /// Nothing came, and the run went on; the bytes say why.
    Lost = 3,
    /// What a site answered, letters to other sites included: in its own record only.
    Answer = 4,
    /// Whose record it is: the first frame of a site's own.
    Owner = 5,
}

impl Sent {
    const ALL: [Self; 5] = [Self::Request, Self::Reply, Self::Lost, Self::Answer, Self::Owner];
}

/// A message as it was recorded.
///
/// With its direction, its node and its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Which way it went.
    pub sent: Sent,
    /// The node at the other end.
    pub node: NodeId,
    /// The message.
    pub bytes: Vec<u8>,
}

/// Why a file is no transcript.
///
/// A damaged file is no evidence of anything.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum TranscriptError {
    /// Other bytes.
    #[error("this is no transcript: it does not begin as one")]
    Magic,
    /// Another version.
    #[error("a transcript of version {0}; this program reads version {VERSION}")]
    Version(u16),
    /// The file ends too early, or a frame is longer than the file.
    #[error("the file ends within frame {0}: it is damaged, was cut off, or the run has not ended")]
    Truncated(u64),
    /// A frame that is none.
    #[error("frame {frame} begins with {tag}, which no frame does: the file is damaged")]
    Tag {
        /// Which one, from 1.
        frame: u64,
        /// Its first byte.
        tag: u8,
    },
    /// Bytes of a frame were changed.
    #[error("the checksum of frame {0} is not that of what stands before it: the file was changed")]
    Frame(u64),
    /// Bytes were changed.
    #[error(
        "the checksum at the end is not that of the {0} frames before it: the file was changed"
    )]
    Checksum(u64),
}

/// Writes frames down, one after the other.
///
/// What it wrote can be checked later, by whoever has the plan and the books.
#[derive(Debug)]
pub struct Tape<W> {
    to: W,
    hash: Sha256,
    frames: u64,
    length: u64,
}

impl<W: Write> Tape<W> {
    /// Begins a transcript.
    pub fn new(to: W) -> io::Result<Self> {
        let mut tape = Self { to, hash: Sha256::new(), frames: 0, length: 0 };
        tape.write(&MAGIC)?;
        tape.write(&VERSION.to_le_bytes())?;
        Ok(tape)
    }

    /// Goes on after what was heard so far, which `to` ends with.
    pub fn after(to: W, heard: &Heard) -> Self {
        Self {
            to,
            hash: heard.hash.clone(),
            frames: heard.frames.len() as u64,
            length: heard.whole,
        }
    }

    /// Writes a frame; returns where its message begins.
    pub fn frame(&mut self, sent: Sent, node: NodeId, bytes: &[u8]) -> io::Result<u64> {
        self.write(&[sent as u8])?;
        self.write(&node.0.to_le_bytes())?;
        self.write(&(bytes.len() as u64).to_le_bytes())?;
        let begin = self.length;
        self.write(bytes)?;
        let check = self.hash.clone().finalize();
        self.write(&check[..CHECK])?;
        self.frames += 1;
        Ok(begin)
    }

    /// Ends the transcript with its checksum.
    pub fn finish(mut self) -> io::Result<W> {
        self.write(&[END])?;
        self.write(&self.frames.to_le_bytes())?;
        let hash = self.hash.clone().finalize();
        self.write(&hash)?;
        self.to.flush()?;
        Ok(self.to)
    }

    /// What it writes to.
    pub fn get(&self) -> &W {
        &self.to
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.length += bytes.len() as u64;
        self.to.write_all(bytes)
    }
}

/// What a file holds of a run, which may go on.
#[derive(Debug, Clone)]
pub struct Heard {
    /// Its frames.
    pub frames: Vec<Frame>,
    /// Where the message of each begins.
    pub begins: Vec<u64>,
    /// Whether it has its end.
    pub ended: bool,
    /// Bytes up to the end of the last whole frame; what stands after them was torn.
    pub whole: u64,
    hash: Sha256,
}

impl Heard {
    /// Leaves out all frames after the first `frames`.
    #[must_use]
    pub fn cut(mut self, frames: usize) -> Self {
        if frames < self.frames.len() {
            self.whole = self.begins[frames] - 13;
            self.frames.truncate(frames);
            self.begins.truncate(frames);
            self.hash = hash_of(&self.frames);
            self.ended = false;
        }
        self
    }
}

/// The state of the checksum after these frames.
fn hash_of(frames: &[Frame]) -> Sha256 {
    let mut tape = Tape { to: io::sink(), hash: Sha256::new(), frames: 0, length: 0 };
    // Nothing that is written to a sink fails.
    let _ = tape.write(&MAGIC).and_then(|()| tape.write(&VERSION.to_le_bytes()));
    for frame in frames {
        let _ = tape.frame(frame.sent, frame.node, &frame.bytes);
    }
    tape.hash
}

/// What a file holds, also when its run was interrupted: a last frame that is not whole is left out.
/// Refuses any other damage.
pub fn read_so_far(bytes: &[u8]) -> Result<Heard, TranscriptError> {
    let mut reader = Reader::new(bytes);
    if reader.raw(MAGIC.len()).ok() != Some(&MAGIC[..]) {
        return Err(TranscriptError::Magic);
    }
    let version = reader.u16().map_err(|_| TranscriptError::Truncated(1))?;
    if version != VERSION {
        return Err(TranscriptError::Version(version));
    }
    let mut hash = Sha256::new();
    let mut whole = bytes.len() - reader.rest().len();
    hash.update(&bytes[..whole]);
    let (mut frames, mut begins) = (Vec::new(), Vec::new());
    loop {
        let number = frames.len() as u64 + 1;
        let so_far = |frames, begins, hash| Heard {
            frames,
            begins,
            ended: false,
            whole: whole as u64,
            hash,
        };
        let tag = match reader.u8() {
            Ok(END) => break,
            Ok(tag) => tag,
            Err(_) => return Ok(so_far(frames, begins, hash)),
        };
        let sent = Sent::ALL.into_iter().find(|sent| *sent as u8 == tag);
        let sent = sent.ok_or(TranscriptError::Tag { frame: number, tag })?;
        let Some((node, message, check)) = one(&mut reader) else {
            return Ok(so_far(frames, begins, hash));
        };
        let end = bytes.len() - reader.rest().len();
        let mut next = hash.clone();
        next.update(&bytes[whole..end - CHECK]);
        if next.clone().finalize()[..CHECK] != *check {
            // Torn, if nothing follows.
            return match reader.rest() {
                [] => Ok(so_far(frames, begins, hash)),
                _ => Err(TranscriptError::Frame(number)),
            };
        }
        next.update(check);
        begins.push((end - CHECK - message.len()) as u64);
        frames.push(Frame { sent, node, bytes: message.to_vec() });
        (hash, whole) = (next, end);
    }
    let count = frames.len() as u64;
    let torn = Heard { frames, begins, ended: false, whole: whole as u64, hash };
    let covered = bytes.len() - reader.rest().len() + 8;
    let (Ok(stated), Ok(found)) = (reader.u64(), reader.hash()) else { return Ok(torn) };
    let own: [u8; 32] = Sha256::digest(&bytes[..covered]).into();
    if stated != count || found != own || !reader.rest().is_empty() {
        return Err(TranscriptError::Checksum(count));
    }
    Ok(Heard { ended: true, ..torn })
}

/// The frames of a transcript; refuses a file that is damaged, or whose run has not ended.
pub fn read(bytes: &[u8]) -> Result<Vec<Frame>, TranscriptError> {
    let heard = read_so_far(bytes)?;
    if heard.ended {
        Ok(heard.frames)
    } else {
        Err(TranscriptError::Truncated(heard.frames.len() as u64 + 1))
    }
}

/// The node, message and check of a frame, where all of them are there.
fn one<'a>(reader: &mut Reader<'a>) -> Option<(NodeId, &'a [u8], &'a [u8])> {
    let node = NodeId(reader.u32().ok()?);
    let length = usize::try_from(reader.u64().ok()?).ok()?;
    if length > reader.rest().len() {
        return None;
    }
    Some((node, reader.raw(length).ok()?, reader.raw(CHECK).ok()?))
}
