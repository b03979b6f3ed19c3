//! A class per record, as an attributes division released it.

use super::codec::{CodecError, Decode, Reader, Writer};

/// Released classes by record id: revealed as they are, or randomised. It is written from a
/// `Released` value only, which the attributes division alone makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classes {
    /// Record ids.
    pub ids: Vec<u64>,
    /// One class per id; [`MISSING_CLASS`](steffle_model::record::MISSING_CLASS) where none is known.
    pub classes: Vec<u16>,
}

impl Classes {
    /// The bytes of the reply. It has no encoding of its own: only what was released is sent.
    pub fn write(&self, writer: &mut Writer) {
        writer.list(&self.ids, u64::to_le_bytes);
        writer.list(&self.classes, u16::to_le_bytes);
    }
}

impl Decode for Classes {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let (ids, classes) = (reader.list(u64::from_le_bytes)?, reader.list(u16::from_le_bytes)?);
        if ids.len() == classes.len() {
            return Ok(Self { ids, classes });
        }
        Err(CodecError::Shape(format!("{} ids but {} classes", ids.len(), classes.len())))
    }
}
