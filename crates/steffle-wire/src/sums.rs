//! The replies: sums over the records of a batch, never means.

use super::codec::{CodecError, Decode, Encode, Reader, Writer};

/// What does not involve `s`: exact.
///
/// Loss, gradients and counts of one silo's batch, computed from x and y alone.
#[derive(Debug, Clone, PartialEq)]
pub struct PublicSums {
    /// Records the silo has.
    pub held: u64,
    /// Records in the batch.
    pub batch: u64,
    /// Sum of the losses; 0 when it was not asked for.
    pub loss: f64,
    /// Sum of the loss gradients.
    pub gradient: Vec<f64>,
    /// Per cell.
    pub cells: Vec<CellSums>,
}

/// The public sums of one cell.
///
/// A cell is a part of the records within which groups are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct CellSums {
    /// Records of the batch in the cell.
    pub count: u64,
    /// Sum of the scores (`sum_i F_i`).
    pub scores: Vec<f64>,
    /// `sum_i J_i' (2 mean_r C_r - q)`; empty in the clipped form, where it is part of the
    /// private message.
    pub theta: Vec<f64>,
}

/// What involves `s`, after the noise.
///
/// Noisy integers on a grid, as one store released them.
#[derive(Debug, Clone, PartialEq)]
pub struct PrivateSums {
    /// Per cell, `[class][column]`: the class sums of the scores, centred,
    /// `M_ru - sum_i phi_iu / k` over the records that have a class.
    pub tables: Vec<Vec<f64>>,
    /// The theta messages: one per cell in the centred form, one in the clipped form.
    pub thetas: Vec<Vec<f64>>,
    /// Standard deviation of the noise of a table entry; 0 where it has none or is not stated.
    pub table_deviation: f64,
    /// Mean square of the noisy theta numbers over the variance of their noise: about 1 where noise
    /// is all there is. 0 where there is no noise or no message.
    pub theta_signal: f64,
    /// Scale of the noise of a theta message; 0 where it has none or is not stated. The covariance
    /// is its square times the silo's normalised curvature, where noise is shaped, or the identity.
    pub theta_deviation: f64,
    /// Whether that noise is shaped by the silo's curvature.
    pub theta_shaped: bool,
}

impl Encode for PublicSums {
    fn encode(&self, writer: &mut Writer) {
        writer.u64(self.held);
        writer.u64(self.batch);
        writer.f64(self.loss);
        writer.f64s(&self.gradient);
        writer.u32(self.cells.len() as u32);
        for cell in &self.cells {
            writer.u64(cell.count);
            writer.f64s(&cell.scores);
            writer.f64s(&cell.theta);
        }
    }
}

impl Decode for PublicSums {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let (held, batch, loss) = (reader.u64()?, reader.u64()?, reader.f64()?);
        let gradient = reader.f64s()?;
        let count = reader.u32()?;
        let cell = |reader: &mut Reader<'_>| {
            Ok(CellSums { count: reader.u64()?, scores: reader.f64s()?, theta: reader.f64s()? })
        };
        let cells = (0..count).map(|_| cell(reader)).collect::<Result<_, CodecError>>()?;
        Ok(Self { held, batch, loss, gradient, cells })
    }
}

impl PrivateSums {
    /// Sums whose noise is not stated.
    pub fn of(tables: Vec<Vec<f64>>, thetas: Vec<Vec<f64>>) -> Self {
        Self {
            tables,
            thetas,
            table_deviation: 0.0,
            theta_signal: 0.0,
            theta_deviation: 0.0,
            theta_shaped: false,
        }
    }

    /// The bytes of the reply. It has no encoding of its own: only what was released is sent.
    pub fn write(&self, writer: &mut Writer) {
        for lists in [&self.tables, &self.thetas] {
            writer.u32(lists.len() as u32);
            lists.iter().for_each(|list| writer.f64s(list));
        }
        writer.f64(self.table_deviation);
        writer.f64(self.theta_signal);
        writer.f64(self.theta_deviation);
        writer.u8(u8::from(self.theta_shaped));
    }
}

impl Decode for PrivateSums {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let mut lists = || {
            let count = reader.u32()?;
            (0..count).map(|_| reader.f64s()).collect::<Result<Vec<_>, CodecError>>()
        };
        Ok(Self {
            tables: lists()?,
            thetas: lists()?,
            table_deviation: reader.f64()?,
            theta_signal: reader.f64()?,
            theta_deviation: reader.f64()?,
            theta_shaped: reader.u8()? != 0,
        })
    }
}
