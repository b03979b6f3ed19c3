//! A transcript as bytes: frames with their lengths, and a checksum of all of them.
//!
//! `STFLTR` and a version; per frame a tag (1 request, 2 reply), the node, the length and the
//! message; then a 0, the number of frames and the SHA-256 of everything before. Numbers are
//! little-endian.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};
use steffle_wire::{NodeId, Reader, Witness};

use super::{Frame, Sent};

const MAGIC: [u8; 6] = *b"STFLTR";
const VERSION: u16 = 1;

const END: u8 = 0;
const REQUEST: u8 = 1;
const REPLY: u8 = 2;

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
    #[error("the file ends within frame {0}: it is damaged or was cut off")]
    Truncated(u64),
    /// A frame that is none.
    #[error("frame {frame} begins with {tag}, which no frame does: the file is damaged")]
    Tag {
        /// Which one, from 1.
        frame: u64,
        /// Its first byte.
        tag: u8,
    },
    /// Bytes were changed.
    #[error(
        "the checksum at the end is not that of the {0} frames before it: the file was changed"
    )]
    Checksum(u64),
}

/// Writes down what it hears.
///
/// Its file can be checked later, by whoever has the plan and the books.
pub struct Recorder<W>(Arc<Mutex<Recording<W>>>);

struct Recording<W> {
    to: W,
    hash: Sha256,
    frames: u64,
    /// The first thing that went wrong; nothing is written after it.
    failed: Option<io::Error>,
}

impl<W: Write + Send + 'static> Recorder<W> {
    /// Begins a transcript.
    pub fn new(to: W) -> io::Result<Self> {
        let mut recording = Recording { to, hash: Sha256::new(), frames: 0, failed: None };
        recording.write(&MAGIC);
        recording.write(&VERSION.to_le_bytes());
        recording.failed.take().map_or(Ok(()), Err)?;
        Ok(Self(Arc::new(Mutex::new(recording))))
    }

    /// Who is to hear a transport.
    pub fn witness(&self) -> Box<dyn Witness> {
        Box::new(Self(Arc::clone(&self.0)))
    }

    /// Ends the transcript with its checksum; refuses what could not be written.
    pub fn finish(self) -> io::Result<()> {
        let mut recording = self.lock();
        let frames = recording.frames;
        recording.write(&[END]);
        recording.write(&frames.to_le_bytes());
        let hash = recording.hash.clone().finalize();
        recording.write(&hash);
        if recording.failed.is_none() {
            recording.failed = recording.to.flush().err();
        }
        recording.failed.take().map_or(Ok(()), Err)
    }

    fn frame(&self, tag: u8, node: NodeId, bytes: &[u8]) {
        let mut recording = self.lock();
        recording.frames += 1;
        recording.write(&[tag]);
        recording.write(&node.0.to_le_bytes());
        recording.write(&(bytes.len() as u64).to_le_bytes());
        recording.write(bytes);
    }

    fn lock(&self) -> MutexGuard<'_, Recording<W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write> Recording<W> {
    fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.hash.update(bytes);
            self.failed = self.to.write_all(bytes).err();
        }
    }
}

impl<W: Write + Send + 'static> Witness for Recorder<W> {
    fn request(&mut self, to: NodeId, bytes: &[u8]) {
        self.frame(REQUEST, to, bytes);
    }

    fn reply(&mut self, from: NodeId, bytes: &[u8]) {
        self.frame(REPLY, from, bytes);
    }
}

/// The frames of a transcript; refuses a file that is damaged.
pub fn read(bytes: &[u8]) -> Result<Vec<Frame>, TranscriptError> {
    let mut reader = Reader::new(bytes);
    if reader.raw(MAGIC.len()).ok() != Some(&MAGIC[..]) {
        return Err(TranscriptError::Magic);
    }
    let version = reader.u16().map_err(|_| TranscriptError::Truncated(1))?;
    if version != VERSION {
        return Err(TranscriptError::Version(version));
    }
    let mut frames = Vec::new();
    loop {
        let number = frames.len() as u64 + 1;
        let cut = |_| TranscriptError::Truncated(number);
        let sent = match reader.u8().map_err(cut)? {
            END => break,
            REQUEST => Sent::Request,
            REPLY => Sent::Reply,
            tag => return Err(TranscriptError::Tag { frame: number, tag }),
        };
        let node = NodeId(reader.u32().map_err(cut)?);
        let length = usize::try_from(reader.u64().map_err(cut)?).unwrap_or(usize::MAX);
        let bytes = reader.raw(length).map_err(cut)?.to_vec();
        frames.push(Frame { sent, node, bytes });
    }
    let count = frames.len() as u64;
    let cut = |_| TranscriptError::Truncated(count + 1);
    let stated = reader.u64().map_err(cut)?;
    let covered = bytes.len() - reader.rest().len();
    let hash = reader.hash().map_err(cut)?;
    let own: [u8; 32] = Sha256::digest(&bytes[..covered]).into();
    if stated != count || hash != own || !reader.rest().is_empty() {
        return Err(TranscriptError::Checksum(count));
    }
    Ok(frames)
}
