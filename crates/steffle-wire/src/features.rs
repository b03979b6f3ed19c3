//! The one-shot release where attributes are held elsewhere: rows out, noisy sums back.

use steffle_model::decode::ShareScale;
use steffle_model::linear::Features;
use steffle_model::record::Rows;
use steffle_model::scores::NO_CELL;

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::handover::{read_rows, write_rows};
use super::pooled::Agreed;
use super::summed::{Sum, SumRoom, Summed, Totals};

/// What a records silo sends to an attributes holder: the holder learns x.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureRows {
    /// Record ids.
    pub ids: Vec<u64>,
    /// The encoded rows.
    pub rows: Rows,
    /// Cells in all.
    pub cells: u16,
    /// The cell of every record.
    pub cell_of: Vec<u16>,
    /// The Gram matrix and cap that all silos agreed on; none where each silo has its own.
    pub agreed: Option<Agreed>,
}

/// Per class (two classes: class 1 only) `sum_i ([s_i = r] - 1/k) count_i f_i` plus noise, in the
/// coordinates of the features.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureSums {
    /// One vector per class that is sent.
    pub sums: Vec<Vec<f64>>,
    /// Standard deviation of the noise in the coordinates of the whitening.
    pub deviation: f64,
}

/// What an attributes holder answers: one [`FeatureSums`] per records silo that asked.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureReply {
    /// In the order in which the silos' rows came.
    pub silos: Vec<FeatureSums>,
}

/// What a site that shares noise releases: the integers of [`FeatureSums`], whitened and with its
/// share of the noise. They are read only once those of all sites are added up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureShare {
    /// One vector per class that is sent.
    pub sums: Vec<Vec<i128>>,
}

impl FeatureShare {
    /// The bytes of the share. It has no encoding of its own: only what was released is kept.
    pub fn write(&self, writer: &mut Writer) {
        writer.u32(self.sums.len() as u32);
        self.sums.iter().for_each(|sum| writer.list(sum, i128::to_le_bytes));
    }
}

impl Decode for FeatureShare {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let count = reader.u32()?;
        let sums = (0..count).map(|_| reader.list(i128::from_le_bytes));
        Ok(Self { sums: sums.collect::<Result<_, CodecError>>()? })
    }
}

impl Encode for ShareScale {
    fn encode(&self, writer: &mut Writer) {
        writer.u32(self.shift);
        writer.raw(&self.sigma.to_le_bytes());
    }
}

impl Decode for ShareScale {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let shift = reader.u32()?;
        let sigma = u128::from(reader.u64()?) | u128::from(reader.u64()?) << 64;
        Ok(Self { shift, sigma })
    }
}

impl FeatureRows {
    fn check(&self) -> Result<(), CodecError> {
        let shape = |what: &str| Err(CodecError::Shape(what.to_owned()));
        let count = self.ids.len();
        if self.rows.len() != count || self.cell_of.len() != count {
            return shape("ids, rows and cells differ in number");
        }
        if !self.cell_of.iter().all(|&cell| cell < self.cells || cell == NO_CELL) {
            return shape("a record is in a cell that there is not");
        }
        let size = Features::released_size(self.rows.layout(), usize::from(self.cells));
        if self.agreed.as_ref().is_some_and(|agreed| agreed.gram.size() != size) {
            return shape("the agreed matrix is not of the size of the features");
        }
        let mut ids = self.ids.clone();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return shape("a record id stands twice");
        }
        Ok(())
    }
}

impl Encode for FeatureRows {
    fn encode(&self, writer: &mut Writer) {
        writer.list(&self.ids, u64::to_le_bytes);
        writer.u16(self.cells);
        writer.list(&self.cell_of, u16::to_le_bytes);
        write_rows(&self.rows, writer);
        writer.u8(u8::from(self.agreed.is_some()));
        self.agreed.iter().for_each(|agreed| agreed.encode(writer));
    }
}

impl Decode for FeatureRows {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let ids = reader.list(u64::from_le_bytes)?;
        let cells = reader.u16()?;
        let cell_of = reader.list(u16::from_le_bytes)?;
        let rows = read_rows(reader, ids.len())?;
        let agreed = match reader.u8()? {
            0 => None,
            1 => Some(Agreed::decode(reader)?),
            found => return Err(CodecError::Tag { what: "agreement", found }),
        };
        let rows = Self { ids, rows, cells, cell_of, agreed };
        rows.check()?;
        Ok(rows)
    }
}

impl FeatureSums {
    /// What was released goes on to whom it is about.
    pub(super) fn write(&self, writer: &mut Writer) {
        writer.f64(self.deviation);
        writer.u32(self.sums.len() as u32);
        self.sums.iter().for_each(|sum| writer.f64s(sum));
    }
}

impl FeatureReply {
    /// What was released, as the part of one of `sites` holders: post-processing.
    pub fn summed(&self, sites: usize) -> Summed<Self> {
        Summed::of_released(sites, SumRoom::default(), |numbers| {
            numbers.length(self.silos.len());
            for FeatureSums { sums, deviation } in &self.silos {
                numbers.released(&[deviation * deviation], 1.0);
                numbers.length(sums.len());
                sums.iter().for_each(|sum| numbers.released(sum, 1.0));
            }
        })
    }

    /// The bytes of the reply. It has no encoding of its own: only what was released is sent.
    pub fn write(&self, writer: &mut Writer) {
        writer.u32(self.silos.len() as u32);
        self.silos.iter().for_each(|silo| silo.write(writer));
    }
}

/// The holders' noise adds up by its variance.
impl Sum for FeatureReply {
    type Total = Self;

    fn read(totals: &mut Totals<'_>) -> Result<Self, CodecError> {
        let silo = |totals: &mut Totals<'_>| {
            let variance: f64 = totals.list()?.iter().sum();
            Ok(FeatureSums { deviation: variance.max(0.0).sqrt(), sums: totals.lists()? })
        };
        // A node whose sums stay in its house, or go to silos by letter, adds nothing.
        let silos = if totals.is_empty() { 0 } else { totals.length()? };
        let silos = (0..silos).map(|_| silo(totals)).collect::<Result<_, CodecError>>()?;
        Ok(Self { silos })
    }
}

impl Decode for FeatureReply {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let count = reader.u32()?;
        let silos = (0..count).map(|_| FeatureSums::decode(reader));
        Ok(Self { silos: silos.collect::<Result<_, CodecError>>()? })
    }
}

impl Decode for FeatureSums {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let deviation = reader.f64()?;
        let count = reader.u32()?;
        let sums: Vec<Vec<f64>> =
            (0..count).map(|_| reader.f64s()).collect::<Result<_, CodecError>>()?;
        if sums.iter().flatten().chain([&deviation]).all(|number| number.is_finite()) {
            Ok(Self { sums, deviation })
        } else {
            Err(CodecError::Shape("a number is not finite".to_owned()))
        }
    }
}
