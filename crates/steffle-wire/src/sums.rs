//! The replies of a round: sums over records, never means.

use super::codec::{CodecError, Decode, Reader, Writer};
use super::summed::{Numbers, Sum, SumRoom, Summand, Summed, Totals};

/// What does not involve `s`: exact.
///
/// Loss, gradients and counts of a batch, computed from x and y alone, times `n_j / m`: estimates of
/// the sums over all records, so that unequal silos count by their size.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PublicSums {
    /// Records there are.
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
    /// Records in the cell.
    pub count: f64,
    /// Sum of the scores (`sum_i F_i`).
    pub scores: Vec<f64>,
    /// `sum_i J_i' (2 mean_r C_r - q)`; empty in the clipped form, where it is part of the
    /// private message.
    pub theta: Vec<f64>,
}

/// What involves `s`, after the noise.
///
/// Noisy integers on a grid, as one store released them.
#[derive(Debug, Clone, PartialEq, Default)]
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

impl PublicSums {
    /// `n_j / m`: how many records one of the batch stands for; 0 of an empty batch.
    pub fn scale(&self) -> f64 {
        if self.batch > 0 { self.held as f64 / self.batch as f64 } else { 0.0 }
    }
}

/// What the stores of all sites released in a round, added up.
///
/// Noise is known by the sum of its variances: nothing here is about one store.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrivateTotals {
    /// As [`PrivateSums::tables`].
    pub tables: Vec<Vec<f64>>,
    /// As [`PrivateSums::thetas`].
    pub thetas: Vec<Vec<f64>>,
    /// Variance of the noise of a table entry.
    pub table_variance: f64,
    /// Scale of the noise of a theta message, squared.
    pub theta_variance: f64,
    /// The sum of all [`PrivateSums::theta_signal`], and how many replies had one.
    pub signal: (f64, f64),
    /// Whether noise is shaped somewhere.
    pub theta_shaped: bool,
}

impl Sum for PublicSums {
    type Total = Self;

    fn read(totals: &mut Totals<'_>) -> Result<Self, CodecError> {
        let (held, batch, loss) = (totals.count()?, totals.count()?, totals.number()?);
        let (gradient, count) = (totals.list()?, totals.length()?);
        let cell = |_| {
            let (count, scores) = (totals.number()?, totals.list()?);
            Ok(CellSums { count, scores, theta: totals.list()? })
        };
        let cells = (0..count).map(cell).collect::<Result<_, CodecError>>()?;
        Ok(Self { held, batch, loss, gradient, cells })
    }
}

impl Summand for PublicSums {
    fn write(&self, numbers: &mut Numbers) {
        let cell = |cell: &CellSums| 1 + cell.scores.len() + cell.theta.len();
        numbers.expect(3 + self.gradient.len() + self.cells.iter().map(cell).sum::<usize>());
        numbers.count(self.held);
        numbers.count(self.batch);
        numbers.number(self.loss);
        numbers.list(&self.gradient);
        numbers.length(self.cells.len());
        for cell in &self.cells {
            numbers.number(cell.count);
            numbers.list(&cell.scores);
            numbers.list(&cell.theta);
        }
    }
}

impl Sum for PrivateSums {
    type Total = PrivateTotals;

    fn read(totals: &mut Totals<'_>) -> Result<PrivateTotals, CodecError> {
        let (tables, thetas, noise) = (totals.lists()?, totals.lists()?, totals.list()?);
        let [table_variance, theta_variance, signal, signals, shaped] = noise[..] else {
            return Err(CodecError::Shape("what is said of noise is five numbers".to_owned()));
        };
        let (signal, theta_shaped) = ((signal, signals), shaped > 0.0);
        Ok(PrivateTotals { tables, thetas, table_variance, theta_variance, signal, theta_shaped })
    }
}

impl PrivateSums {
    /// Sums whose noise is not stated.
    pub fn of(tables: Vec<Vec<f64>>, thetas: Vec<Vec<f64>>) -> Self {
        Self { tables, thetas, ..Self::default() }
    }

    /// What was released, times `scale`, as the part of one of `sites` sites: post-processing.
    pub fn summed(&self, scale: f64, sites: usize, room: SumRoom) -> Summed<Self> {
        let signals = f64::from(u8::from(self.theta_signal > 0.0));
        let count: usize = self.tables.iter().chain(&self.thetas).map(Vec::len).sum();
        Summed::of_released(sites, room, |numbers| {
            numbers.expect(count + 5);
            for lists in [&self.tables, &self.thetas] {
                numbers.length(lists.len());
                lists.iter().for_each(|list| numbers.released(list, scale));
            }
            let said = [
                (scale * self.table_deviation).powi(2),
                (scale * self.theta_deviation).powi(2),
                self.theta_signal,
                signals,
                f64::from(u8::from(self.theta_shaped)),
            ];
            numbers.released(&said, 1.0);
        })
    }

    /// The bytes of the reply. It has no encoding of its own: only what was released is sent.
    pub fn write(&self, writer: &mut Writer) {
        writer.vectors(&self.tables);
        writer.vectors(&self.thetas);
        writer.f64(self.table_deviation);
        writer.f64(self.theta_signal);
        writer.f64(self.theta_deviation);
        writer.u8(u8::from(self.theta_shaped));
    }
}

impl Decode for PrivateSums {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let mut sums = Self::default();
        sums.decode_over(reader)?;
        Ok(sums)
    }

    fn decode_over(&mut self, reader: &mut Reader<'_>) -> Result<(), CodecError> {
        reader.vectors_over(&mut self.tables)?;
        reader.vectors_over(&mut self.thetas)?;
        self.table_deviation = reader.f64()?;
        self.theta_signal = reader.f64()?;
        self.theta_deviation = reader.f64()?;
        self.theta_shaped = reader.u8()? != 0;
        Ok(())
    }
}
