//! The envelope: version, run, schema, who, which message, round and leg around a payload that the
//! method defines.

use std::fmt;

use super::codec::{CodecError, Encode, Reader, Writer};

/// The protocol version. Other versions are refused.
pub const VERSION: u16 = 2;

const MAGIC: [u8; 4] = *b"STFL";

/// Which run a message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunId(pub [u8; 16]);

/// SHA-256 of the schema that the run was agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaHash(pub [u8; 32]);

/// A party of a run, in the order of its roster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeId(pub u32);

impl NodeId {
    /// Who asks.
    pub const SERVER: Self = Self(0);
    /// All that are asked: a question that is the same for all of them.
    pub const ALL: Self = Self(u32::MAX);

    /// The node at a place of the roster: records silos first, then holders of attributes.
    pub fn at(place: usize) -> Self {
        Self(place as u32 + 1)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::SERVER => f.write_str("the server"),
            Self::ALL => f.write_str("all nodes"),
            Self(node) => write!(f, "node {node}"),
        }
    }
}

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
    /// Who sends it.
    pub from: NodeId,
    /// To whom.
    pub to: NodeId,
    /// Which trip of the run it belongs to: requests and their replies have one number, which never
    /// comes again, so that an old reply is not taken for a new one.
    pub sequence: u64,
    /// The round.
    pub round: u32,
    /// The leg.
    pub leg: Leg,
    /// The part.
    pub part: Part,
}

impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, leg, round, sequence, from, to, .. } = self;
        write!(f, "{part:?} of the {leg:?} leg, round {round}, trip {sequence}, {from} to {to}")
    }
}

/// The bytes of a message.
pub fn seal(envelope: &Envelope, payload: &impl Encode) -> Vec<u8> {
    let mut writer = Writer::with_capacity(payload.size_hint());
    writer.raw(&MAGIC);
    writer.u16(VERSION);
    writer.u8(envelope.leg as u8);
    writer.u8(envelope.part as u8);
    writer.u32(envelope.from.0);
    writer.u32(envelope.to.0);
    writer.u64(envelope.sequence);
    writer.u32(envelope.round);
    writer.raw(&envelope.run.0);
    writer.raw(&envelope.schema.0);
    payload.encode(&mut writer);
    writer.finish()
}

/// Bytes before the payload.
const HEADER: usize = 76;

/// What a message says, whoever said it when: the same question has the same payload in every run.
pub(crate) fn payload(bytes: &[u8]) -> &[u8] {
    bytes.get(HEADER..).unwrap_or_default()
}

/// Checks that `bytes` are the message `expected` announces and returns a reader of the payload.
///
/// Another version, run, schema, sender, addressee, trip, round, leg or part is refused and named.
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
    let (from, to) = (NodeId(reader.u32()?), NodeId(reader.u32()?));
    let (sequence, round) = (reader.u64()?, reader.u32()?);
    let mut run = RunId([0; 16]);
    run.0.copy_from_slice(reader.raw(16)?);
    let mut schema = SchemaHash([0; 32]);
    schema.0.copy_from_slice(reader.raw(32)?);
    let found = Envelope { run, schema, from, to, sequence, round, leg, part };
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
