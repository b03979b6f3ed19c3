//! What a node's process does.

use std::io::{Read, Write};

use steffle_site::node::Node;
use steffle_wire::{Encode, Writer};

use crate::frame::{self, FrameError};

/// Answers every message that comes until the stream ends. A message that is no request gets a
/// refusal; a stream that is no sequence of frames ends the service.
pub fn serve(
    node: &mut Node,
    from: &mut impl Read,
    to: &mut impl Write,
    most: u64,
) -> Result<(), FrameError> {
    while let Some(message) = frame::read(from, most)? {
        let mut writer = Writer::default();
        node.handle(&message).encode(&mut writer);
        frame::write(to, &writer.finish(), most)?;
    }
    Ok(())
}
