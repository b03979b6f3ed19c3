//! What a node's process does.

use std::io::{Read, Write};

use steffle_wire::{Answer, Encode, Writer};

use crate::frame::{self, FrameError};

/// Answers every message that comes until the stream ends. A stream that is no sequence of frames
/// ends the service.
pub fn serve(
    mut answer: impl FnMut(&[u8]) -> Answer,
    from: &mut impl Read,
    to: &mut impl Write,
    most: u64,
) -> Result<(), FrameError> {
    while let Some(message) = frame::read(from, most)? {
        let answer = answer(&message);
        let mut writer = Writer::with_capacity(answer.size_hint());
        answer.encode(&mut writer);
        frame::write(to, &writer.finish(), most)?;
    }
    Ok(())
}
