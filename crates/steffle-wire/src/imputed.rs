//! Training on imputed classes: messages of the records divisions alone.
//!
//! An evaluation takes two exchanges. The server sends theta and gets the loss, its gradient and,
//! per cell, the imputed class table; from the tables it makes `C` and `q`, sends these, and gets
//! one gradient. Nothing in them involves `s` beyond the memberships that were released before.

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::envelope::Kind;
use super::question::{CellQuestion, QuestionError};
use super::request::Ask;

/// What the server asks of records whose classes are imputed.
#[derive(Debug, Clone, PartialEq)]
pub struct ImputedQuestion {
    /// The model parameters.
    pub theta: Vec<f64>,
    /// Empty when loss, loss gradient and tables are wanted; one per cell when the gradient of the
    /// fairness term is.
    pub cells: Vec<CellQuestion>,
}

/// The reply: sums over all records of the silo.
#[derive(Debug, Clone, PartialEq)]
pub struct ImputedSums {
    /// Records the silo has.
    pub held: u64,
    /// Sum of the losses; 0 where the fairness term was asked for.
    pub loss: f64,
    /// Sum of the loss gradients, or `sum_i J_i' (2 sum_r shat_ir C_r - q)`.
    pub gradient: Vec<f64>,
    /// Per cell; empty where the fairness term was asked for.
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
}

impl Ask for ImputedQuestion {
    const KIND: Kind = Kind::Imputed;
    type Reply = ImputedSums;
}

impl ImputedQuestion {
    /// Refuses a question that does not fit the agreed model and objective or is not finite.
    pub fn check(
        &self,
        parameters: usize,
        cells: usize,
        classes: usize,
        columns: usize,
    ) -> Result<(), QuestionError> {
        let Self { theta, cells: asked } = self;
        if theta.len() != parameters {
            return Err(QuestionError::Theta { found: theta.len(), expected: parameters });
        }
        let fits = |cell: &CellQuestion| {
            cell.combinations.len() == classes * columns && cell.quadratic.len() == columns
        };
        if !asked.is_empty() && (asked.len() != cells || !asked.iter().all(fits)) {
            return Err(QuestionError::Cells { cells, classes, columns });
        }
        let numbers = asked.iter().flat_map(|cell| cell.combinations.iter().chain(&cell.quadratic));
        if theta.iter().chain(numbers).all(|number| number.is_finite()) {
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
        for (mine, theirs) in self.cells.iter_mut().zip(&other.cells) {
            mine.count += theirs.count;
            add(&mut mine.table, &theirs.table);
        }
    }
}

impl Encode for ImputedQuestion {
    fn encode(&self, writer: &mut Writer) {
        writer.f64s(&self.theta);
        CellQuestion::write_all(&self.cells, writer);
    }
}

impl Decode for ImputedQuestion {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let theta = reader.f64s()?;
        Ok(Self { theta, cells: CellQuestion::read_all(reader)? })
    }
}

impl Encode for ImputedSums {
    fn encode(&self, writer: &mut Writer) {
        writer.u64(self.held);
        writer.f64(self.loss);
        writer.f64s(&self.gradient);
        writer.u32(self.cells.len() as u32);
        for cell in &self.cells {
            writer.f64(cell.count);
            writer.f64s(&cell.table);
        }
    }
}

impl Decode for ImputedSums {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let (held, loss, gradient) = (reader.u64()?, reader.f64()?, reader.f64s()?);
        let count = reader.u32()?;
        let cell = |reader: &mut Reader<'_>| {
            Ok(ImputedCell { count: reader.f64()?, table: reader.f64s()? })
        };
        let cells = (0..count).map(|_| cell(reader)).collect::<Result<_, CodecError>>()?;
        Ok(Self { held, loss, gradient, cells })
    }
}
