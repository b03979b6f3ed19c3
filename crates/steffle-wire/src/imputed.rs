//! Training on imputed classes: messages of the records divisions alone.
//!
//! The server sends theta and gets the loss, its gradient and, per cell, the imputed class table and
//! the gradients of its entries: all that the penalty and its gradient are made of, in one exchange.
//! Nothing in it involves `s` beyond the memberships that were released before.

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::envelope::Kind;
use super::question::QuestionError;
use super::request::Ask;
use super::summed::{Numbers, Sum, Summand, Summed, Totals};

/// What the server asks of records whose classes are imputed.
///
/// The classes were released before, so that nothing is paid for it.
#[derive(Debug, Clone, PartialEq)]
pub struct ImputedQuestion {
    /// The model parameters.
    pub theta: Vec<f64>,
}

/// The reply: sums over all records.
///
/// Classes are those that a release made likely, so nothing in it costs anything.
#[derive(Debug, Clone, PartialEq)]
pub struct ImputedSums {
    /// Records there are.
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
    type Reply = Summed<ImputedSums>;
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

impl Sum for ImputedSums {
    type Total = Self;

    fn read(totals: &mut Totals<'_>) -> Result<Self, CodecError> {
        let (held, loss) = (totals.count()?, totals.number()?);
        let (gradient, diagonal, count) = (totals.list()?, totals.list()?, totals.length()?);
        let cell = |_| {
            let (count, table) = (totals.number()?, totals.list()?);
            Ok(ImputedCell { count, table, slopes: totals.lists()? })
        };
        let cells = (0..count).map(cell).collect::<Result<_, CodecError>>()?;
        Ok(Self { held, loss, gradient, diagonal, cells })
    }
}

impl Summand for ImputedSums {
    fn write(&self, numbers: &mut Numbers) {
        numbers.count(self.held);
        numbers.number(self.loss);
        numbers.list(&self.gradient);
        numbers.list(&self.diagonal);
        numbers.length(self.cells.len());
        for cell in &self.cells {
            numbers.number(cell.count);
            numbers.list(&cell.table);
            numbers.lists(&cell.slopes);
        }
    }
}
