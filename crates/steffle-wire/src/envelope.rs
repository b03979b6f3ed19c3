//! The envelope: version, run, schema, who, which message and round around a payload that the kind
//! of the message defines.

use std::fmt;

use super::codec::{CodecError, Encode, Reader, Writer};
use super::transport::Answer;

/// The protocol version. Other versions are refused.
pub const VERSION: u16 = 10;

/// What every message begins with.
pub const MAGIC: [u8; 4] = *b"STFL";

/// Which run a message belongs to.
///
/// A node that has joined one run refuses messages of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunId(pub [u8; 16]);

/// SHA-256 of the schema that the run was agreed on.
///
/// A message under another schema is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaHash(pub [u8; 32]);

/// A party of a run, in the order of its roster.
///
/// The server is number 0, sites begin at 1.
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

/// What is asked for. Each kind has one type of request and one of reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Bytes that nobody could read: refusals only.
    Unknown = 0,
    /// Who are you, and what do your columns look like?
    Describe = 1,
    /// Schema, model, scores and roster, as all agreed on them.
    Join = 2,
    /// A run is offered.
    Open = 3,
    /// Loss and gradient.
    Loss = 4,
    /// A round of descent-ascent.
    Round = 5,
    /// Sums of features, or classes, once.
    Release = 6,
    /// What silos add up when they pool.
    Pool = 7,
    /// What was released comes back to the records.
    TakeIn = 8,
    /// Sums on imputed classes.
    Imputed = 9,
    /// What a release tells about decisions.
    Gap = 10,
    /// The run ends.
    Close = 11,
    /// A trip of a fit in few trips.
    Fit = 12,
    /// How a model decides, by label, class and decision.
    Count = 13,
    /// A pass of the silos over their own records.
    Pass = 14,
    /// Who is there under masks, and what their columns add up to.
    Meet = 15,
}

impl Kind {
    /// All that a node can be asked.
    pub const ALL: [Self; 15] = [
        Self::Describe,
        Self::Join,
        Self::Open,
        Self::Loss,
        Self::Round,
        Self::Release,
        Self::Pool,
        Self::TakeIn,
        Self::Imputed,
        Self::Gap,
        Self::Close,
        Self::Fit,
        Self::Count,
        Self::Pass,
        Self::Meet,
    ];

    fn read(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let found = reader.u8()?;
        let known = Self::ALL.into_iter().chain([Self::Unknown]).find(|kind| *kind as u8 == found);
        known.ok_or(CodecError::Tag { what: "kind of message", found })
    }
}

/// What a message is to its kind.
///
/// A request, its reply, a refusal, or a letter from one site to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// The server asks.
    Request = 1,
    /// A node answers.
    Reply = 2,
    /// A node does not.
    Refusal = 3,
    /// One site to another; the server does not read it.
    Letter = 4,
    /// The same with the sender's key and signature at its end ([`signed`]).
    SignedLetter = 5,
}

impl Part {
    /// Whether one site sends it to another.
    pub fn is_letter(self) -> bool {
        matches!(self, Self::Letter | Self::SignedLetter)
    }
}

/// What stands on every message.
///
/// Run, sender, addressee, kind, number and round: a message that is late, repeated or for
/// somebody else is told by it.
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
    /// The kind.
    pub kind: Kind,
    /// The part.
    pub part: Part,
}

impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, kind, round, sequence, from, to, .. } = self;
        write!(f, "a {part:?} ({kind:?}), round {round}, trip {sequence}, {from} to {to}")
    }
}

/// The bytes of a message.
pub fn seal(envelope: &Envelope, payload: &impl Encode) -> Vec<u8> {
    seal_in(Vec::with_capacity(payload.size_hint()), envelope, payload)
}

/// The same, in the room of old bytes.
pub fn seal_in(room: Vec<u8>, envelope: &Envelope, payload: &impl Encode) -> Vec<u8> {
    let mut writer = Writer::over(room);
    writer.raw(&MAGIC);
    writer.u16(VERSION);
    writer.u8(envelope.kind as u8);
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

/// Where the part stands in a message.
const PART: usize = 7;

/// Bytes of a public key and a signature.
pub const SIGNATURE: usize = 32 + 64;

/// Signs a letter: `sign` gets the whole message, and gives the sender's public key and its signature.
pub fn signed(mut letter: Vec<u8>, sign: impl FnOnce(&[u8]) -> [u8; SIGNATURE]) -> Vec<u8> {
    if let Some(part) = letter.get_mut(PART) {
        *part = Part::SignedLetter as u8;
    }
    let signature = sign(&letter);
    letter.extend(signature);
    letter
}

/// Splits a signed letter into the message and its key and signature; `None` where it is too short.
pub fn split_signed(letter: &[u8]) -> Option<(&[u8], &[u8; SIGNATURE])> {
    letter.split_last_chunk().filter(|(message, _)| message.len() >= HEADER)
}

/// What a message says, whoever said it when: the same question has the same payload in every run.
pub fn payload(bytes: &[u8]) -> &[u8] {
    bytes.get(HEADER..).unwrap_or_default()
}

/// What stands on a message, and a reader of its payload. Refuses other versions.
pub fn parse(bytes: &[u8]) -> Result<(Envelope, Reader<'_>), CodecError> {
    let mut reader = Reader::new(bytes);
    if reader.raw(MAGIC.len())? != MAGIC {
        return Err(CodecError::Magic);
    }
    let found = reader.u16()?;
    if found != VERSION {
        return Err(CodecError::Version { found });
    }
    let kind = Kind::read(&mut reader)?;
    let part = match reader.u8()? {
        1 => Part::Request,
        2 => Part::Reply,
        3 => Part::Refusal,
        4 => Part::Letter,
        5 => Part::SignedLetter,
        found => return Err(CodecError::Tag { what: "part", found }),
    };
    let (from, to) = (NodeId(reader.u32()?), NodeId(reader.u32()?));
    let (sequence, round) = (reader.u64()?, reader.u32()?);
    let mut run = RunId([0; 16]);
    run.0.copy_from_slice(reader.raw(16)?);
    let schema = SchemaHash(reader.hash()?);
    Ok((Envelope { run, schema, from, to, sequence, round, kind, part }, reader))
}

/// Checks that `bytes` are the message `expected` announces and returns a reader of the payload.
///
/// Another version, run, schema, sender, addressee, trip, round, kind or part is refused and named.
pub fn open<'a>(expected: &Envelope, bytes: &'a [u8]) -> Result<Reader<'a>, CodecError> {
    let (found, reader) = parse(bytes)?;
    found.matches(expected).map(|()| reader)
}

impl Envelope {
    /// The reply to this request, by the node that it was meant for.
    pub fn answered(&self, me: NodeId, reply: &impl Encode) -> Answer {
        self.answered_in(Vec::with_capacity(reply.size_hint()), me, reply)
    }

    /// The same, in the room of old bytes.
    pub fn answered_in(&self, room: Vec<u8>, me: NodeId, reply: &impl Encode) -> Answer {
        let replied = Self { from: me, to: self.from, part: Part::Reply, ..*self };
        Answer { reply: seal_in(room, &replied, reply), letters: Vec::new() }
    }

    /// Refuses a message that its sender may not send to a node: `carrier` is the sender as the transport
    /// knows it. Requests come from the server, letters from sites, and nobody writes in another's name.
    pub fn check_sender(&self, carrier: NodeId) -> Result<(), CodecError> {
        let allowed = match self.part {
            Part::Request => carrier == NodeId::SERVER,
            Part::Letter | Part::SignedLetter => {
                carrier != NodeId::SERVER && carrier != NodeId::ALL
            }
            Part::Reply | Part::Refusal => false,
        };
        if allowed && self.from == carrier {
            return Ok(());
        }
        Err(CodecError::Sender { message: self.to_string(), carrier })
    }

    /// Refuses an envelope that is not the expected one, by name.
    pub fn matches(&self, expected: &Self) -> Result<(), CodecError> {
        if self == expected {
            return Ok(());
        }
        let found = if self.schema != expected.schema {
            "a message under another schema".to_owned()
        } else if self.run != expected.run {
            "a message of another run".to_owned()
        } else {
            self.to_string()
        };
        Err(CodecError::Unexpected { expected: expected.to_string(), found })
    }
}
