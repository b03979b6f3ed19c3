//! The envelope: version, run, round, leg and schema around a payload that the method defines.

use std::fmt;

use super::codec::{CodecError, Encode, Reader, Writer};

/// The protocol version. Other versions are refused.
pub const VERSION: u16 = 1;

const MAGIC: [u8; 4] = *b"STFL";

/// Which run a message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunId(pub [u8; 16]);

/// SHA-256 of the schema that the run was agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaHash(pub [u8; 32]);

/// The two legs of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Leg {
    /// To and from the records divisions.
    Records = 1,
    /// To and from the attributes divisions.
    Attributes = 2,
}

/// What a message is within its leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// The server asks.
    Question = 1,
    /// A records division hands model outputs to the attributes divisions.
    Handover = 2,
    /// A division answers.
    Reply = 3,
}

/// What stands on every message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    /// The run.
    pub run: RunId,
    /// The schema all parties agreed on.
    pub schema: SchemaHash,
    /// The round.
    pub round: u32,
    /// The leg.
    pub leg: Leg,
    /// The part.
    pub part: Part,
}

impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of the {:?} leg, round {}", self.part, self.leg, self.round)
    }
}

/// The bytes of a message.
pub fn seal(envelope: &Envelope, payload: &impl Encode) -> Vec<u8> {
    let mut writer = Writer::with_capacity(payload.size_hint());
    writer.raw(&MAGIC);
    writer.u16(VERSION);
    writer.u8(envelope.leg as u8);
    writer.u8(envelope.part as u8);
    writer.u32(envelope.round);
    writer.raw(&envelope.run.0);
    writer.raw(&envelope.schema.0);
    payload.encode(&mut writer);
    writer.finish()
}

/// Checks that `bytes` are the message `expected` announces and returns a reader of the payload.
///
/// Another version, run, round, leg, part or schema is refused and named.
pub fn open<'a>(expected: &Envelope, bytes: &'a [u8]) -> Result<Reader<'a>, CodecError> {
    let mut reader = Reader::new(bytes);
    if reader.raw(MAGIC.len())? != MAGIC {
        return Err(CodecError::Magic);
    }
    let found = reader.u16()?;
    if found != VERSION {
        return Err(CodecError::Version { found });
    }
    let leg = match reader.u8()? {
        1 => Leg::Records,
        2 => Leg::Attributes,
        found => return Err(CodecError::Tag { what: "leg", found }),
    };
    let part = match reader.u8()? {
        1 => Part::Question,
        2 => Part::Handover,
        3 => Part::Reply,
        found => return Err(CodecError::Tag { what: "part", found }),
    };
    let round = reader.u32()?;
    let mut run = RunId([0; 16]);
    run.0.copy_from_slice(reader.raw(16)?);
    let mut schema = SchemaHash([0; 32]);
    schema.0.copy_from_slice(reader.raw(32)?);
    let found = Envelope { run, schema, round, leg, part };
    if found == *expected {
        return Ok(reader);
    }
    let reason = if found.schema != expected.schema {
        "a message under another schema".to_owned()
    } else if found.run != expected.run {
        "a message of another run".to_owned()
    } else {
        found.to_string()
    };
    Err(CodecError::Unexpected { expected: expected.to_string(), found: reason })
}
