//! What a node's process does.

use std::io::{Read, Write};

use steffle_wire::{Answer, Encode, NodeId, Writer};

use crate::frame::{self, FrameError};

/// Answers every message that comes until the stream ends; `answer` gets its sender, as the transport
/// knows it, and the message. A stream that is no sequence of frames to a node ends the service.
pub fn serve(
    mut answer: impl FnMut(NodeId, &[u8]) -> Answer,
    from: &mut impl Read,
    to: &mut impl Write,
    most: u64,
) -> Result<(), FrameError> {
    while let Some(frame) = frame::read(from, most)? {
        let (sender, message) = frame::at_node(&frame)?;
        let answer = answer(sender, message);
        let mut writer = Writer::with_capacity(answer.size_hint());
        answer.encode(&mut writer);
        frame::write(to, &writer.finish(), most)?;
    }
    Ok(())
}
