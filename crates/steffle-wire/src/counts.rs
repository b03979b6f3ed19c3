//! How a model decides: counts by label, class and decision.

use steffle_model::scores::NO_CELL;

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::envelope::Kind;
use super::request::Ask;
use super::round::add;
use super::summed::{Added, Masked, Numbers, Sum, SumRoom, Summand, Summed, Totals};

/// Asks how a model decides about the records that nodes hold.
///
/// Records divisions answer with exact counts by label and decision, attributes divisions with noisy
/// counts by label, class and decision.
#[derive(Debug, Clone, PartialEq)]
pub struct Count {
    /// The model parameters.
    pub theta: Vec<f64>,
}

/// What a node answers to [`Count`]: its part of what its role has.
pub struct CountReply {
    /// Counts that do not involve `s`.
    pub public: Option<Summed<PublicCounts>>,
    /// Counts that do, released.
    pub private: Option<Summed<NoisyCounts>>,
}

/// Exact counts, `[cell][decision]`.
///
/// They are made of labels and decisions alone.
#[derive(Debug, Clone, PartialEq)]
pub struct PublicCounts {
    /// Records of every cell by decision.
    pub counts: Vec<f64>,
}

/// Counts by class after the noise, as one store released them.
///
/// Centred, `sum_i ([s_i = r] - 1/k)`, so that a record without a class counts 1/k in each; of two
/// classes the second alone is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct NoisyCounts {
    /// `[cell][class that is sent][decision]`.
    pub counts: Vec<f64>,
    /// Standard deviation of the noise of each; 0 where it has none.
    pub deviation: f64,
}

/// What all stores released, added up.
///
/// The noise of all stores adds up, and its variance is known.
#[derive(Debug, Clone, PartialEq)]
pub struct NoisyTotals {
    /// As [`NoisyCounts::counts`].
    pub counts: Vec<f64>,
    /// Variance of the noise of each.
    pub variance: f64,
    /// Stores.
    pub stores: u64,
}

/// What a records silo tells an attributes holder about its records: decisions, no features.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decisions {
    /// Record ids.
    pub ids: Vec<u64>,
    /// Cells in all.
    pub cells: u16,
    /// The cell of every record, [`NO_CELL`] for none.
    pub cell_of: Vec<u16>,
    /// Decisions there are.
    pub columns: u16,
    /// The decision about every record.
    pub decided: Vec<u16>,
}

impl Ask for Count {
    const KIND: Kind = Kind::Count;
    type Reply = CountReply;
}

impl Encode for Count {
    fn encode(&self, writer: &mut Writer) {
        writer.f64s(&self.theta);
    }
}

impl Decode for Count {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { theta: reader.f64s()? })
    }
}

impl Encode for CountReply {
    fn encode(&self, writer: &mut Writer) {
        writer.option(self.public.as_ref(), |writer, public| public.encode(writer));
        writer.option(self.private.as_ref(), |writer, private| private.encode(writer));
    }
}

impl Decode for CountReply {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let public = reader.option("public counts", Summed::decode)?;
        Ok(Self { public, private: reader.option("private counts", Summed::decode)? })
    }
}

impl Masked for CountReply {
    fn mask(&mut self, pads: &mut dyn FnMut(usize) -> Vec<i128>) {
        if let Some(public) = &mut self.public {
            public.mask(pads);
        }
        if let Some(private) = &mut self.private {
            private.mask(pads);
        }
    }
}

impl Added for CountReply {
    type Total = (Option<PublicCounts>, Option<NoisyTotals>);

    fn add(&mut self, other: &Self) -> Result<(), CodecError> {
        add(self.public.as_mut(), other.public.as_ref())?;
        add(self.private.as_mut(), other.private.as_ref())
    }

    fn total(&self) -> Result<Self::Total, CodecError> {
        let public = self.public.as_ref().map(Added::total).transpose()?;
        Ok((public, self.private.as_ref().map(Added::total).transpose()?))
    }
}

impl Sum for PublicCounts {
    type Total = Self;

    fn read(totals: &mut Totals<'_>) -> Result<Self, CodecError> {
        Ok(Self { counts: totals.list()? })
    }
}

impl Summand for PublicCounts {
    fn write(&self, numbers: &mut Numbers) {
        numbers.list(&self.counts);
    }
}

impl Sum for NoisyCounts {
    type Total = NoisyTotals;

    fn read(totals: &mut Totals<'_>) -> Result<NoisyTotals, CodecError> {
        let (counts, noise) = (totals.list()?, totals.list()?);
        let [variance, stores] = noise[..] else {
            return Err(CodecError::Shape("what is said of noise is two numbers".to_owned()));
        };
        Ok(NoisyTotals { counts, variance, stores: stores as u64 })
    }
}

impl NoisyCounts {
    /// What was released, as the part of one of `sites` stores: post-processing.
    pub fn summed(&self, sites: usize) -> Summed<Self> {
        Summed::of_released(sites, SumRoom::default(), |numbers| {
            numbers.released(&self.counts, 1.0);
            numbers.released(&[self.deviation * self.deviation, 1.0], 1.0);
        })
    }

    /// The bytes of the reply. It has no encoding of its own: only what was released is sent.
    pub fn write(&self, writer: &mut Writer) {
        writer.f64s(&self.counts);
        writer.f64(self.deviation);
    }
}

impl Decode for NoisyCounts {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let (counts, deviation) = (reader.f64s()?, reader.f64()?);
        let finite = counts.iter().all(|count| count.is_finite());
        if finite && deviation.is_finite() && deviation >= 0.0 {
            return Ok(Self { counts, deviation });
        }
        Err(CodecError::Shape("a count is not finite, or its deviation no scale".to_owned()))
    }
}

impl Encode for Decisions {
    fn encode(&self, writer: &mut Writer) {
        writer.list(&self.ids, u64::to_le_bytes);
        writer.u16(self.cells);
        writer.list(&self.cell_of, u16::to_le_bytes);
        writer.u16(self.columns);
        writer.list(&self.decided, u16::to_le_bytes);
    }
}

impl Decode for Decisions {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let shape = |what: &str| Err(CodecError::Shape(what.to_owned()));
        let ids = reader.list(u64::from_le_bytes)?;
        let (cells, cell_of) = (reader.u16()?, reader.list(u16::from_le_bytes)?);
        let (columns, decided) = (reader.u16()?, reader.list(u16::from_le_bytes)?);
        if cell_of.len() != ids.len() || decided.len() != ids.len() {
            return shape("ids, cells and decisions differ in number");
        }
        if !cell_of.iter().all(|&cell| cell < cells || cell == NO_CELL) {
            return shape("a record is in a cell that there is not");
        }
        if !decided.iter().all(|&decision| decision < columns) {
            return shape("a decision that there is not");
        }
        Ok(Self { ids, cells, cell_of, columns, decided })
    }
}
