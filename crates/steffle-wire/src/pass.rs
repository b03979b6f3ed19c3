//! Networks: passes of the silos over their own records, of which the server averages the parameters.
//!
//! A silo holds some of its records out, makes a pass of small steps over the others and answers with
//! the parameters that it has reached, times its records, so that a total over silos is an average by
//! size. Nothing in it involves `s` beyond memberships that were released before.

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::envelope::Kind;
use super::fit::Tables;
use super::question::QuestionError;
use super::request::Ask;
use super::summed::{Numbers, Sum, Summand, Summed, Totals};

/// What the server asks of the records divisions of a network.
///
/// A look at some parameters, or a pass that begins there.
#[derive(Debug, Clone, PartialEq)]
pub enum PassQuestion {
    /// The loss of the records that are held out and, imputed, the tables of all.
    Look {
        /// The parameters.
        theta: Vec<f64>,
        /// Whether tables of imputed classes are wanted.
        imputed: bool,
    },
    /// A pass that begins at theta, and the loss there of the records that are held out.
    Walk {
        /// The parameters.
        theta: Vec<f64>,
        /// Which pass it is: each has an order of its own.
        trip: u32,
        /// The length of its steps.
        step: f64,
        /// What every parameter is pulled towards 0 by, for its size: the slope of half of it, squared.
        decay: f64,
        /// Where the pass is to be fair, too.
        pull: Option<Pull>,
    },
}

/// What a pass is pulled by beside the loss: tables of imputed classes over all silos.
///
/// Classes stand for the released ones, so that it costs nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Pull {
    /// Lambda, times all records over those that are in some cell.
    pub strength: f64,
    /// Per cell.
    pub cells: Vec<PullCell>,
}

/// The imputed table of one cell over all silos, where the pass begins.
///
/// Within the pass a silo estimates how it moves.
#[derive(Debug, Clone, PartialEq)]
pub struct PullCell {
    /// Records in the cell.
    pub count: f64,
    /// The least that a class is taken to weigh.
    pub floor: f64,
    /// `sum_i shat_ir phi_iu`, `[class][column]`.
    pub table: Vec<f64>,
}

/// The reply: sums over silos.
///
/// A mean by records follows from them, and nobody's own parameters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PassSums {
    /// Records that are held out.
    pub held_out: u64,
    /// The sum of their losses.
    pub loss: f64,
    /// Records that a pass is over; of a look none.
    pub walked: u64,
    /// The parameters that were reached, times the records.
    pub theta: Vec<f64>,
    /// Imputed tables of all records, where they were asked for: per cell the count and the table.
    pub cells: Vec<(f64, Vec<f64>)>,
}

/// No step is longer: parameters of a network are of the size of 1.
const LONGEST: f64 = 1.0;

/// No pull towards 0 is stronger: there would be no network left.
const STRONGEST: f64 = 1.0;

impl Ask for PassQuestion {
    const KIND: Kind = Kind::Pass;
    type Reply = Summed<PassSums>;
}

impl PassQuestion {
    /// The pull towards 0 of who says nothing else.
    pub const DECAY: f64 = 1e-4;

    /// The parameters.
    pub fn theta(&self) -> &[f64] {
        match self {
            Self::Look { theta, .. } | Self::Walk { theta, .. } => theta,
        }
    }

    /// Refuses a question that does not fit the agreed model or is not finite.
    pub fn check(&self, parameters: usize, tables: Tables) -> Result<(), QuestionError> {
        let theta = self.theta();
        if theta.len() != parameters {
            return Err(QuestionError::Theta { found: theta.len(), expected: parameters });
        }
        let mut finite = theta.iter().all(|number| number.is_finite());
        if let Self::Walk { step, decay, pull, .. } = self {
            if !(*step > 0.0 && *step <= LONGEST) {
                return Err(QuestionError::Step);
            }
            if !(0.0..=STRONGEST).contains(decay) {
                return Err(QuestionError::Decay);
            }
            if let Some(Pull { strength, cells }) = pull {
                let Tables { cells: count, classes, columns } = tables;
                let fits = |cell: &PullCell| cell.table.len() == classes * columns;
                if cells.len() != count || !cells.iter().all(fits) {
                    return Err(QuestionError::Cells { cells: count, classes, columns });
                }
                let numbers = |cell: &PullCell| {
                    let PullCell { count, floor, table } = cell;
                    let all = table.iter().chain([count, floor]);
                    all.fold(true, |finite, number| finite & number.is_finite())
                        && *count >= 0.0
                        && (0.0..=1.0).contains(floor)
                };
                finite &= strength.is_finite() && *strength >= 0.0 && cells.iter().all(numbers);
            }
        }
        if finite { Ok(()) } else { Err(QuestionError::NotFinite) }
    }
}

impl PassSums {
    /// Refuses a reply of another shape than the question's answer has.
    pub fn check(
        &self,
        question: &PassQuestion,
        parameters: usize,
        tables: Tables,
    ) -> Result<(), CodecError> {
        let Tables { cells: count, classes, columns } = tables;
        let (theta, cells) = match question {
            PassQuestion::Look { imputed, .. } => (0, if *imputed { count } else { 0 }),
            PassQuestion::Walk { .. } => (parameters, 0),
        };
        let fits = |(_, table): &(f64, Vec<f64>)| table.len() == classes * columns;
        if self.theta.len() == theta && self.cells.len() == cells && self.cells.iter().all(fits) {
            return Ok(());
        }
        Err(CodecError::Shape(format!(
            "{} parameters and {} tables answer a pass of {theta} and {cells}",
            self.theta.len(),
            self.cells.len()
        )))
    }
}

impl Encode for PassQuestion {
    fn encode(&self, writer: &mut Writer) {
        match self {
            Self::Look { theta, imputed } => {
                writer.u8(0);
                writer.f64s(theta);
                writer.u8(u8::from(*imputed));
            }
            Self::Walk { theta, trip, step, decay, pull } => {
                writer.u8(1);
                writer.f64s(theta);
                writer.u32(*trip);
                writer.f64(*step);
                writer.f64(*decay);
                writer.option(pull.as_ref(), |writer, pull| {
                    writer.f64(pull.strength);
                    writer.u32(pull.cells.len() as u32);
                    for PullCell { count, floor, table } in &pull.cells {
                        writer.f64(*count);
                        writer.f64(*floor);
                        writer.f64s(table);
                    }
                });
            }
        }
    }

    fn size_hint(&self) -> usize {
        8 * self.theta().len() + 200
    }
}

impl Decode for PassQuestion {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        match reader.u8()? {
            0 => Ok(Self::Look { theta: reader.f64s()?, imputed: reader.flag("imputed")? }),
            1 => Ok(Self::Walk {
                theta: reader.f64s()?,
                trip: reader.u32()?,
                step: reader.f64()?,
                decay: reader.f64()?,
                pull: reader.option("pull", Pull::decode)?,
            }),
            found => Err(CodecError::Tag { what: "pass question", found }),
        }
    }
}

impl Decode for Pull {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let (strength, count) = (reader.f64()?, reader.u32()?);
        let mut cells = Vec::new();
        for _ in 0..count {
            let (count, floor) = (reader.f64()?, reader.f64()?);
            cells.push(PullCell { count, floor, table: reader.f64s()? });
        }
        Ok(Self { strength, cells })
    }
}

impl Sum for PassSums {
    type Total = Self;

    fn read(totals: &mut Totals<'_>) -> Result<Self, CodecError> {
        let (held_out, loss, walked) = (totals.count()?, totals.number()?, totals.count()?);
        let (theta, count) = (totals.list()?, totals.length()?);
        let cell = |_| Ok((totals.number()?, totals.list()?));
        let cells = (0..count).map(cell).collect::<Result<_, CodecError>>()?;
        Ok(Self { held_out, loss, walked, theta, cells })
    }
}

impl Summand for PassSums {
    fn write(&self, numbers: &mut Numbers) {
        numbers.count(self.held_out);
        numbers.number(self.loss);
        numbers.count(self.walked);
        numbers.list(&self.theta);
        numbers.length(self.cells.len());
        for (count, table) in &self.cells {
            numbers.number(*count);
            numbers.list(table);
        }
    }
}
