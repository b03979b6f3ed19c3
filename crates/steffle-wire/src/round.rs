//! A round of descent-ascent, and its public half alone.

use std::borrow::Cow;

use steffle_model::decode::RoundScale;

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::envelope::Kind;
use super::question::Question;
use super::request::Ask;
use super::summed::{Added, Masked, SumRoom, Summed};
use super::sums::{PrivateSums, PrivateTotals, PublicSums};
use super::sums_share::SumsShare;
use super::terms::NoiseScale;

/// Asks for loss and gradient at theta, over all records.
///
/// The unconstrained model is found by it where a model has several layers.
#[derive(Debug, Clone, PartialEq)]
pub struct Loss {
    /// The model parameters.
    pub theta: Vec<f64>,
}

/// Asks the question of a round.
///
/// Records divisions answer with exact sums of x and y, attributes divisions with noisy sums
/// about `s`.
#[derive(Debug, Clone, PartialEq)]
pub struct Round<'a> {
    /// The question; who asks several nodes lends it to each.
    pub question: Cow<'a, Question>,
    /// The paper's noise for this node, about which nothing is claimed; a store whose run claims
    /// something refuses it.
    pub noise: Option<Cow<'a, NoiseScale>>,
    /// The scale of every site's share of one noise; `None` where each adds all of its own.
    pub share: Option<RoundScale>,
}

/// What a node answers to [`Round`]: its part of what its role has.
pub struct RoundReply {
    /// Sums that do not involve `s`.
    pub public: Option<Summed<PublicSums>>,
    /// Sums that do, released.
    pub private: Option<Summed<PrivateSums>>,
    /// The same where sites share noise.
    pub shared: Option<Summed<SumsShare>>,
}

/// What the replies of all nodes to [`Round`] add up to.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundTotals {
    /// Sums that do not involve `s`.
    pub public: Option<PublicSums>,
    /// Sums that do.
    pub private: Option<PrivateTotals>,
    /// The same where sites share noise.
    pub shared: Option<SumsShare>,
}

impl RoundReply {
    /// The room of its parts, once they were sent.
    pub fn into_rooms(self) -> [SumRoom; 2] {
        let (public, private) = (self.public, self.private);
        [
            public.map(Summed::into_room).unwrap_or_default(),
            private.map(Summed::into_room).unwrap_or_default(),
        ]
    }
}

impl Ask for Loss {
    const KIND: Kind = Kind::Loss;
    type Reply = Summed<PublicSums>;
}

impl Ask for Round<'_> {
    const KIND: Kind = Kind::Round;
    type Reply = RoundReply;
}

impl Encode for Loss {
    fn encode(&self, writer: &mut Writer) {
        writer.f64s(&self.theta);
    }
}

impl Decode for Loss {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { theta: reader.f64s()? })
    }
}

impl Encode for Round<'_> {
    fn encode(&self, writer: &mut Writer) {
        self.question.encode(writer);
        writer.option(self.noise.as_ref(), |writer, noise| noise.encode(writer));
        writer.option(self.share.as_ref(), |writer, share| share.encode(writer));
    }

    fn size_hint(&self) -> usize {
        let cells = self.question.cells.iter();
        let cells = cells.map(|cell| cell.combinations.len() + cell.quadratic.len() + 8);
        8 * (self.question.theta.len() + cells.sum::<usize>()) + 200
    }
}

impl Decode for Round<'_> {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let question = Cow::Owned(Question::decode(reader)?);
        let noise = reader.option("noise", NoiseScale::decode)?;
        let share = reader.option("share", RoundScale::decode)?;
        Ok(Self { question, noise: noise.map(Cow::Owned), share })
    }

    fn decode_over(&mut self, reader: &mut Reader<'_>) -> Result<(), CodecError> {
        match &mut self.question {
            Cow::Owned(question) => question.decode_over(reader)?,
            lent @ Cow::Borrowed(_) => *lent = Cow::Owned(Question::decode(reader)?),
        }
        match (&mut self.noise, reader.flag("noise")?) {
            (Some(Cow::Owned(noise)), true) => noise.decode_over(reader)?,
            (noise, true) => *noise = Some(Cow::Owned(NoiseScale::decode(reader)?)),
            (noise, false) => *noise = None,
        }
        self.share = reader.option("share", RoundScale::decode)?;
        Ok(())
    }
}

impl Encode for NoiseScale {
    fn encode(&self, writer: &mut Writer) {
        writer.f64(self.theta);
        writer.u32(self.table.len() as u32);
        self.table.iter().for_each(|cell| writer.f64s(cell));
    }
}

impl Decode for NoiseScale {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let mut scale = Self { theta: 0.0, table: Vec::new() };
        scale.decode_over(reader)?;
        Ok(scale)
    }

    fn decode_over(&mut self, reader: &mut Reader<'_>) -> Result<(), CodecError> {
        self.theta = reader.f64()?;
        reader.vectors_over(&mut self.table)
    }
}

impl Encode for RoundReply {
    fn encode(&self, writer: &mut Writer) {
        writer.option(self.public.as_ref(), |writer, public| public.encode(writer));
        writer.option(self.private.as_ref(), |writer, private| private.encode(writer));
        writer.option(self.shared.as_ref(), |writer, shared| shared.encode(writer));
    }

    fn size_hint(&self) -> usize {
        let public = self.public.as_ref().map_or(0, Encode::size_hint);
        let shared = self.shared.as_ref().map_or(0, Encode::size_hint);
        public + shared + self.private.as_ref().map_or(0, Encode::size_hint)
    }
}

impl Decode for RoundReply {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let public = reader.option("public sums", Summed::decode)?;
        let private = reader.option("private sums", Summed::decode)?;
        Ok(Self { public, private, shared: reader.option("shared sums", Summed::decode)? })
    }

    fn decode_over(&mut self, reader: &mut Reader<'_>) -> Result<(), CodecError> {
        decode_over(&mut self.public, "public sums", reader)?;
        decode_over(&mut self.private, "private sums", reader)?;
        decode_over(&mut self.shared, "shared sums", reader)
    }
}

impl Masked for RoundReply {
    fn mask(&mut self, pads: &mut dyn FnMut(usize) -> Vec<i128>) {
        if let Some(public) = &mut self.public {
            public.mask(pads);
        }
        if let Some(private) = &mut self.private {
            private.mask(pads);
        }
        if let Some(shared) = &mut self.shared {
            shared.mask(pads);
        }
    }
}

impl Added for RoundReply {
    type Total = RoundTotals;

    fn add(&mut self, other: &Self) -> Result<(), CodecError> {
        add(self.public.as_mut(), other.public.as_ref())?;
        add(self.private.as_mut(), other.private.as_ref())?;
        add(self.shared.as_mut(), other.shared.as_ref())
    }

    fn add_next(&mut self, reader: &mut Reader<'_>) -> Result<(), CodecError> {
        add_next(self.public.as_mut(), "public sums", reader)?;
        add_next(self.private.as_mut(), "private sums", reader)?;
        add_next(self.shared.as_mut(), "shared sums", reader)
    }

    fn total(&self) -> Result<Self::Total, CodecError> {
        Ok(RoundTotals {
            public: self.public.as_ref().map(Added::total).transpose()?,
            private: self.private.as_ref().map(Added::total).transpose()?,
            shared: self.shared.as_ref().map(Added::total).transpose()?,
        })
    }
}

fn decode_over<T: Decode>(
    mine: &mut Option<T>,
    what: &'static str,
    reader: &mut Reader<'_>,
) -> Result<(), CodecError> {
    match (mine, reader.flag(what)?) {
        (Some(mine), true) => mine.decode_over(reader)?,
        (mine @ None, true) => *mine = Some(T::decode(reader)?),
        (mine, false) => *mine = None,
    }
    Ok(())
}

pub(super) fn add<T: Added>(mine: Option<&mut T>, theirs: Option<&T>) -> Result<(), CodecError> {
    match (mine, theirs) {
        (Some(mine), Some(theirs)) => mine.add(theirs),
        (None, None) => Ok(()),
        _ => Err(different()),
    }
}

fn add_next<T: Added>(
    mine: Option<&mut T>,
    what: &'static str,
    reader: &mut Reader<'_>,
) -> Result<(), CodecError> {
    match (mine, reader.flag(what)?) {
        (Some(mine), true) => mine.add_next(reader),
        (None, false) => Ok(()),
        _ => Err(different()),
    }
}

fn different() -> CodecError {
    CodecError::Shape("sites of one role answer with different sums".to_owned())
}
