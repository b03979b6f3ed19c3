//! What a message says, read as its kind is read.

use steffle_privacy::ledger::Kind as Released;
use steffle_wire::{
    Added, Ask, Close, Closed, CodecError, Count, Decode, Describe, Described, Envelope,
    FitQuestion, Gap, ImputedQuestion, Join, Kind, Loss, Meet, Opening, Part, PassQuestion, Pool,
    PrivateSums, PublicCounts, PublicSums, Reader, Refused, Release, Role, Round, Summed, TakeIn,
    decode, parse,
};

/// What matters here of a message.
pub(super) enum Says {
    /// Who a node is.
    Role(Role),
    /// What is offered.
    Offer(Box<Opening>),
    /// What is asked for or was released about `s`; of a reply its part of the sum over sites.
    Private(Released, Option<SentPart>),
    /// How many silos and holders there are.
    Roster(usize, usize),
    /// What a store says at the end.
    Closed(Closed),
    /// No.
    Refused(Refused),
    /// Nothing about `s`.
    Public,
}

/// What a store sent: its part of a sum over sites, and what it was multiplied by.
#[derive(Debug, Clone)]
pub(super) struct SentPart {
    pub(super) bytes: Vec<u8>,
    pub(super) scale: f64,
}

/// Whether a run that begins by this message is one under masks.
pub(super) fn is_masked(bytes: &[u8]) -> bool {
    let asked = parse(bytes).ok().filter(|(envelope, _)| envelope.kind == Kind::Describe);
    asked.is_some_and(|(_, reader)| {
        decode::<Describe>(reader).is_ok_and(|describe| describe.masked.is_some())
    })
}

/// Reads all of a message; refuses one that cannot be read to its end. Releases are asked for by
/// kind, and their replies do not say which: `asked` is what the request said. What is `masked` is noise,
/// of which the shape alone is read.
pub(super) fn read(
    bytes: &[u8],
    asked: Option<Released>,
    masked: bool,
) -> Result<(Envelope, Says), CodecError> {
    let (envelope, says) = read_as(bytes, asked, masked)?;
    let says = match says {
        Says::Private(kind, _) if masked => Says::Private(kind, None),
        other => other,
    };
    Ok((envelope, says))
}

fn read_as(
    bytes: &[u8],
    asked: Option<Released>,
    masked: bool,
) -> Result<(Envelope, Says), CodecError> {
    let (envelope, reader) = parse(bytes)?;
    let says = match (envelope.part, envelope.kind) {
        (Part::Refusal, _) => Says::Refused(decode(reader)?),
        (Part::Reply, Kind::Describe) => Says::Role(decode::<Described>(reader)?.role),
        (Part::Request, Kind::Open) => Says::Offer(Box::new(decode(reader)?)),
        (Part::Reply, Kind::Close) => Says::Closed(decode(reader)?),
        (Part::Reply, Kind::Round) => round(reader, masked)?,
        (Part::Reply, Kind::Count) => counts(reader)?,
        (Part::Request, Kind::Join) => {
            let Join { silos, holders, .. } = decode(reader)?;
            Says::Roster(silos as usize, holders as usize)
        }
        (Part::Request, Kind::Release) => match decode(reader)? {
            Release::Classes { .. } => Says::Private(Released::Classes, None),
            Release::Features { .. } => Says::Private(Released::Features, None),
        },
        (Part::Reply, Kind::Release) => {
            // Sums of a holder, or none, where they stay in the house or go to silos by letter.
            let part = SentPart { bytes: reader.rest().to_vec(), scale: 1.0 };
            decode::<<Release as Ask>::Reply>(reader)?;
            asked.map_or(Says::Public, |kind| Says::Private(kind, Some(part)))
        }
        (Part::Request | Part::Reply, kind) => {
            plain(kind, envelope.part, reader)?;
            Says::Public
        }
        (Part::Letter | Part::SignedLetter, _) => {
            return Err(CodecError::Shape("a letter from site to site".to_owned()));
        }
    };
    Ok((envelope, says))
}

/// A round's reply: the part of a store is behind the public one. Where sites share noise, which they do
/// under masks alone, it is to be read in the sum over all of them.
fn round(mut reader: Reader<'_>, masked: bool) -> Result<Says, CodecError> {
    decode::<<Round as Ask>::Reply>(Reader::new(reader.rest()))?;
    let public = reader.option("public sums", Summed::<PublicSums>::decode)?;
    let public = public.filter(|_| !masked).map(|public| public.total()).transpose()?;
    let scale = public.map_or(1.0, |own| own.scale());
    if reader.flag("private sums")? {
        let all = reader.rest();
        Summed::<PrivateSums>::decode(&mut reader)?;
        let bytes = all[..all.len() - reader.rest().len()].to_vec();
        return Ok(Says::Private(Released::Sums, Some(SentPart { bytes, scale })));
    }
    let shared = reader.flag("shared sums")?;
    Ok(if shared { Says::Private(Released::Sums, None) } else { Says::Public })
}

/// A reply of counts: the part of a store is its end.
fn counts(mut reader: Reader<'_>) -> Result<Says, CodecError> {
    decode::<<Count as Ask>::Reply>(Reader::new(reader.rest()))?;
    reader.option("public counts", Summed::<PublicCounts>::decode)?;
    let private = reader.flag("private counts")?;
    let part = SentPart { bytes: reader.rest().to_vec(), scale: 1.0 };
    Ok(if private { Says::Private(Released::Counts, Some(part)) } else { Says::Public })
}

/// Reads a message that says nothing about `s`.
fn plain(kind: Kind, part: Part, reader: Reader<'_>) -> Result<(), CodecError> {
    fn either<A: Ask>(part: Part, reader: Reader<'_>) -> Result<(), CodecError> {
        match part {
            Part::Request => decode::<A>(reader).map(|_| ()),
            _ => decode::<A::Reply>(reader).map(|_| ()),
        }
    }
    match kind {
        Kind::Describe => either::<Describe>(part, reader),
        Kind::Join => either::<Join>(part, reader),
        Kind::Open => either::<Opening>(part, reader),
        Kind::Loss => either::<Loss>(part, reader),
        Kind::Round => either::<Round>(part, reader),
        Kind::Release => either::<Release>(part, reader),
        Kind::Pool => either::<Pool>(part, reader),
        Kind::TakeIn => either::<TakeIn>(part, reader),
        Kind::Imputed => either::<ImputedQuestion>(part, reader),
        Kind::Gap => either::<Gap>(part, reader),
        Kind::Close => either::<Close>(part, reader),
        Kind::Fit => either::<FitQuestion>(part, reader),
        Kind::Count => either::<Count>(part, reader),
        Kind::Pass => either::<PassQuestion>(part, reader),
        Kind::Meet => either::<Meet>(part, reader),
        Kind::Unknown => Err(CodecError::Shape("a message of no kind".to_owned())),
    }
}
