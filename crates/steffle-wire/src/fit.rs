//! The fit in few trips: what the server asks of records divisions, and the sums they answer.
//!
//! A linear model is fitted from the silos' own fits, the diagonals of their Hessians, and products
//! with the inverses of these. Nothing of the size of the parameters squared leaves a silo, every
//! reply is a sum over silos, and none involves `s` beyond memberships that were released before.

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::envelope::Kind;
use super::question::QuestionError;
use super::request::Ask;
use super::summed::{Numbers, Sum, Summand, Summed, Totals};

/// The parts of a step at whose ends a silo tells the loss; the first is the whole step.
pub const LENGTHS: [f64; 8] = [1.0, 0.7, 0.5, 0.35, 0.2, 0.1, 0.03, 0.01];

/// Most parameters of a model whose Hessian silos factor: a factor takes their cube in operations.
pub const MOST_FACTORED: usize = 400;

/// Where silos factor their Hessians, and what they take from each other: the mean of the silos'
/// inverses under one metric is the server's first guess of the inverse Hessian.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// The parameters.
    pub theta: Vec<f64>,
    /// The diagonal of the mean loss's Hessian there, over all silos, ridge included.
    pub diagonal: Vec<f64>,
    /// Records of all silos.
    pub records: u64,
}

/// What the server asks of the records divisions of a linear model.
///
/// Each is one trip, answered by sums over records; `s` is in none of them.
#[derive(Debug, Clone, PartialEq)]
pub enum FitQuestion {
    /// The silo's own optimum, weighed by the diagonal of its Hessian there, and that diagonal.
    Own,
    /// Loss, its gradient and the diagonal of its Hessian.
    Curvature {
        /// Where.
        theta: Vec<f64>,
    },
    /// The silo's share of the products of the mean inverse with `vectors`; it keeps its inverse.
    Image {
        /// Of which inverses.
        metric: Metric,
        /// What is multiplied.
        vectors: Vec<Vec<f64>>,
    },
    /// A step: losses along it, the gradients at its end and, under the metric that was asked for
    /// last, the silo's share of their images.
    Step {
        /// Where it starts.
        theta: Vec<f64>,
        /// The whole step.
        direction: Vec<f64>,
        /// Means over all silos of the gradients at the start; none where no images are wanted.
        before: Vec<Vec<f64>>,
        /// Whether tables of imputed classes and their gradients are wanted beside the loss.
        imputed: bool,
    },
}

/// The reply: sums over all records.
///
/// | question | values | vectors |
/// |---|---|---|
/// | own | none | optimum times diagonal, diagonal |
/// | curvature | loss | gradient, diagonal |
/// | image | none | one image per vector |
/// | step | per length the loss and, imputed, the tables | gradients, then their images if wanted |
///
/// Gradients are the loss's and, imputed, per cell and class those of the table's columns after the
/// first. (The columns of a table have a constant sum.)
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FitSums {
    /// Records there are.
    pub held: u64,
    /// Single numbers.
    pub values: Vec<f64>,
    /// Vectors of the size of theta.
    pub vectors: Vec<Vec<f64>>,
}

/// The size of what is imputed: cells, classes and columns of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tables {
    /// Cells.
    pub cells: usize,
    /// Classes.
    pub classes: usize,
    /// Columns.
    pub columns: usize,
}

impl Tables {
    /// Numbers of all tables.
    pub fn numbers(self) -> usize {
        self.cells * self.classes * self.columns
    }

    /// Gradients of all tables.
    pub fn gradients(self) -> usize {
        self.cells * self.classes * self.columns.saturating_sub(1)
    }
}

impl Ask for FitQuestion {
    const KIND: Kind = Kind::Fit;
    type Reply = Summed<FitSums>;
}

impl FitQuestion {
    /// How many values and vectors answer it.
    pub fn shape(&self, tables: Tables) -> (usize, usize) {
        match self {
            Self::Own => (0, 2),
            Self::Curvature { .. } => (1, 2),
            Self::Image { vectors, .. } => (0, vectors.len()),
            Self::Step { before, imputed, .. } => {
                let (numbers, gradients) =
                    if *imputed { (tables.numbers(), tables.gradients()) } else { (0, 0) };
                (LENGTHS.len() * (1 + numbers), 1 + gradients + before.len())
            }
        }
    }

    /// Refuses a question that does not fit the agreed model or is not finite.
    pub fn check(&self, parameters: usize, tables: Tables) -> Result<(), QuestionError> {
        let fits = |numbers: &[f64]| {
            if numbers.len() != parameters {
                return Err(QuestionError::Theta { found: numbers.len(), expected: parameters });
            }
            let finite = numbers.iter().all(|number| number.is_finite());
            if finite { Ok(()) } else { Err(QuestionError::NotFinite) }
        };
        match self {
            Self::Own => Ok(()),
            Self::Curvature { theta } => fits(theta),
            Self::Image { metric: Metric { theta, diagonal, .. }, vectors } => {
                fits(theta)?;
                fits(diagonal)?;
                if diagonal.iter().any(|&entry| entry <= 0.0) {
                    return Err(QuestionError::Diagonal);
                }
                vectors.iter().try_for_each(|vector| fits(vector))
            }
            Self::Step { theta, direction, before, imputed } => {
                fits(theta)?;
                fits(direction)?;
                let expected = 1 + if *imputed { tables.gradients() } else { 0 };
                if !before.is_empty() && before.len() != expected {
                    return Err(QuestionError::Gradients { found: before.len(), expected });
                }
                before.iter().try_for_each(|vector| fits(vector))
            }
        }
    }
}

impl FitSums {
    /// Refuses a reply of another shape than the question's answer has.
    pub fn check(&self, shape: (usize, usize), parameters: usize) -> Result<(), CodecError> {
        let vectors = self.vectors.iter().all(|vector| vector.len() == parameters);
        if (self.values.len(), self.vectors.len()) == shape && vectors {
            return Ok(());
        }
        let (values, count) = (self.values.len(), self.vectors.len());
        Err(CodecError::Shape(format!(
            "{values} values and {count} vectors answer a question about {} and {} of {parameters} \
             numbers",
            shape.0, shape.1
        )))
    }
}

impl Encode for FitQuestion {
    fn encode(&self, writer: &mut Writer) {
        match self {
            Self::Own => writer.u8(0),
            Self::Curvature { theta } => {
                writer.u8(1);
                writer.f64s(theta);
            }
            Self::Image { metric: Metric { theta, diagonal, records }, vectors } => {
                writer.u8(2);
                writer.f64s(theta);
                writer.f64s(diagonal);
                writer.u64(*records);
                writer.vectors(vectors);
            }
            Self::Step { theta, direction, before, imputed } => {
                writer.u8(3);
                writer.f64s(theta);
                writer.f64s(direction);
                writer.vectors(before);
                writer.u8(u8::from(*imputed));
            }
        }
    }
}

impl Decode for FitQuestion {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        match reader.u8()? {
            0 => Ok(Self::Own),
            1 => Ok(Self::Curvature { theta: reader.f64s()? }),
            2 => {
                let (theta, diagonal) = (reader.f64s()?, reader.f64s()?);
                let metric = Metric { theta, diagonal, records: reader.u64()? };
                Ok(Self::Image { metric, vectors: reader.vectors()? })
            }
            3 => {
                let (theta, direction) = (reader.f64s()?, reader.f64s()?);
                let before = reader.vectors()?;
                let imputed = match reader.u8()? {
                    0 => false,
                    1 => true,
                    found => return Err(CodecError::Tag { what: "imputed flag", found }),
                };
                Ok(Self::Step { theta, direction, before, imputed })
            }
            found => Err(CodecError::Tag { what: "fit question", found }),
        }
    }
}

impl Sum for FitSums {
    type Total = Self;

    fn read(totals: &mut Totals<'_>) -> Result<Self, CodecError> {
        Ok(Self { held: totals.count()?, values: totals.list()?, vectors: totals.lists()? })
    }
}

impl Summand for FitSums {
    fn write(&self, numbers: &mut Numbers) {
        numbers.count(self.held);
        numbers.list(&self.values);
        numbers.lists(&self.vectors);
    }
}
