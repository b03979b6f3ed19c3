//! A class per record, as an attributes division released it.

use super::codec::{CodecError, Decode, Encode, Reader, Writer};

/// Released classes by record id: revealed as they are, or randomised. It is written from a
/// [`Released`](crate::division::attributes::Released) value only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classes {
    /// Record ids.
    pub ids: Vec<u64>,
    /// One class per id; [`MISSING_CLASS`](crate::record::MISSING_CLASS) where none is known.
    pub classes: Vec<u16>,
}

impl Classes {
    pub(crate) fn write(&self, writer: &mut Writer) {
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

/// Which records are one unit: a records division tells an attributes division, which answers
/// once for all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Units {
    /// Record ids.
    pub ids: Vec<u64>,
    /// The unit of each, in numbers of the records division's own.
    pub units: Vec<u32>,
}

impl Encode for Units {
    fn encode(&self, writer: &mut Writer) {
        writer.list(&self.ids, u64::to_le_bytes);
        writer.list(&self.units, u32::to_le_bytes);
    }
}

impl Decode for Units {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let (ids, units) = (reader.list(u64::from_le_bytes)?, reader.list(u32::from_le_bytes)?);
        if ids.len() == units.len() {
            return Ok(Self { ids, units });
        }
        Err(CodecError::Shape(format!("{} ids but {} units", ids.len(), units.len())))
    }
}
