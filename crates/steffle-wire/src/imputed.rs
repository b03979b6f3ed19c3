//! Training on imputed classes: messages of the records divisions alone.
//!
//! The server sends theta and gets the loss, its gradient and, per cell, the imputed class table and
//! the gradients of its entries: all that the penalty and its gradient are made of, in one exchange.
//! Nothing in it involves `s` beyond the memberships that were released before.

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::envelope::Kind;
use super::question::QuestionError;
use super::request::Ask;

/// What the server asks of records whose classes are imputed.
#[derive(Debug, Clone, PartialEq)]
pub struct ImputedQuestion {
    /// The model parameters.
    pub theta: Vec<f64>,
}

/// The reply: sums over all records of the silo.
#[derive(Debug, Clone, PartialEq)]
pub struct ImputedSums {
    /// Records the silo has.
    pub held: u64,
    /// Sum of the losses.
    pub loss: f64,
    /// Sum of the loss gradients.
    pub gradient: Vec<f64>,
    /// The diagonal of the loss's Hessian; empty where the model has several layers.
    pub diagonal: Vec<f64>,
    /// Per cell.
    pub cells: Vec<ImputedCell>,
}

/// The imputed class table of one cell.
///
/// Classes stand for the released ones, so that it costs nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ImputedCell {
    /// Records in the cell.
    pub count: f64,
    /// `sum_i shat_ir phi_iu`, `[class][column]`.
    pub table: Vec<f64>,
    /// Gradients of the table's entries, `[class][column]` without the first column: scores of a
    /// record have a constant sum.
    pub slopes: Vec<Vec<f64>>,
}

impl Ask for ImputedQuestion {
    const KIND: Kind = Kind::Imputed;
    type Reply = ImputedSums;
}

impl ImputedQuestion {
    /// Refuses a question that does not fit the agreed model or is not finite.
    pub fn check(&self, parameters: usize) -> Result<(), QuestionError> {
        let Self { theta } = self;
        if theta.len() != parameters {
            return Err(QuestionError::Theta { found: theta.len(), expected: parameters });
        }
        if theta.iter().all(|number| number.is_finite()) {
            Ok(())
        } else {
            Err(QuestionError::NotFinite)
        }
    }
}

impl ImputedSums {
    /// Adds another silo's reply to the same question.
    pub fn add(&mut self, other: &Self) {
        let add = |mine: &mut [f64], theirs: &[f64]| {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        };
        self.held += other.held;
        self.loss += other.loss;
        add(&mut self.gradient, &other.gradient);
        add(&mut self.diagonal, &other.diagonal);
        for (mine, theirs) in self.cells.iter_mut().zip(&other.cells) {
            mine.count += theirs.count;
            add(&mut mine.table, &theirs.table);
            mine.slopes.iter_mut().zip(&theirs.slopes).for_each(|(mine, own)| add(mine, own));
        }
    }
}

impl Encode for ImputedQuestion {
    fn encode(&self, writer: &mut Writer) {
        writer.f64s(&self.theta);
    }
}

impl Decode for ImputedQuestion {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { theta: reader.f64s()? })
    }
}

impl Encode for ImputedSums {
    fn encode(&self, writer: &mut Writer) {
        writer.u64(self.held);
        writer.f64(self.loss);
        writer.f64s(&self.gradient);
        writer.f64s(&self.diagonal);
        writer.u32(self.cells.len() as u32);
        for cell in &self.cells {
            writer.f64(cell.count);
            writer.f64s(&cell.table);
            writer.u32(cell.slopes.len() as u32);
            cell.slopes.iter().for_each(|slope| writer.f64s(slope));
        }
    }
}

impl Decode for ImputedSums {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let (held, loss) = (reader.u64()?, reader.f64()?);
        let (gradient, diagonal) = (reader.f64s()?, reader.f64s()?);
        let count = reader.u32()?;
        let cell = |reader: &mut Reader<'_>| {
            let (count, table) = (reader.f64()?, reader.f64s()?);
            let slopes = reader.u32()?;
            let slopes = (0..slopes).map(|_| reader.f64s()).collect::<Result<_, CodecError>>()?;
            Ok(ImputedCell { count, table, slopes })
        };
        let cells = (0..count).map(|_| cell(reader)).collect::<Result<_, CodecError>>()?;
        Ok(Self { held, loss, gradient, diagonal, cells })
    }
}
