//! What a release tells about the decisions of models.

use steffle_model::decode::{Corrected, Correction, Energy};

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::envelope::Kind;
use super::request::Ask;

/// Asks what the release tells about the decisions of one model or, where a model was trained on
/// it, of the unconstrained one and that one.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// The models.
    pub thetas: Vec<Vec<f64>>,
}

/// What a silo's part of the release tells.
///
/// From all silos' parts the server estimates a model's gap and how sure that is.
#[derive(Debug, Clone, PartialEq)]
pub struct GapSums {
    /// Per model and cell.
    pub models: Vec<Vec<GapCell>>,
    /// `sum_i shat_ir scale_i f_i` of the classes that a message has, where silos pool.
    pub expected: Vec<Vec<f64>>,
    /// The energy of the silo's own message, where it has one and two models were asked about.
    pub energy: Option<Energy>,
}

/// The decisions of one cell by class, `[class][label]`, and what the message needs to correct
/// them.
#[derive(Debug, Clone, PartialEq)]
pub struct GapCell {
    /// Records in the cell.
    pub records: f64,
    /// Decisions, `[label]`.
    pub rates: Vec<f64>,
    /// Memberships, `[class]`.
    pub masses: Vec<f64>,
    /// `sum_i shat_ir (d_iu - mean d_u)`, `[class][label]`.
    pub covariances: Vec<f64>,
    /// `sum_i (d_iu - mean d_u) scale_i f_i`, one per label; only where silos pool.
    pub numbers: Vec<Vec<f64>>,
    /// Variance of the noise of a class's sum, `[label]`.
    pub variances: Vec<f64>,
}

impl GapCell {
    /// Adds to the decisions of the cell what the message says beyond the memberships.
    pub fn correct(&mut self, correction: &Correction<'_>, expected: &[Vec<f64>]) {
        let labels = self.rates.len();
        for (label, numbers) in self.numbers.iter().enumerate() {
            let Corrected { additions, variance } = correction.of(numbers, expected);
            if let [addition] = additions[..] {
                self.covariances[label] -= addition;
                self.covariances[labels + label] += addition;
            } else {
                for (class, addition) in additions.iter().enumerate() {
                    self.covariances[class * labels + label] += addition;
                }
            }
            self.variances[label] = variance;
        }
    }
}

impl Ask for Gap {
    const KIND: Kind = Kind::Gap;
    type Reply = GapSums;
}

impl Encode for Gap {
    fn encode(&self, writer: &mut Writer) {
        writer.vectors(&self.thetas);
    }
}

impl Decode for Gap {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { thetas: reader.vectors()? })
    }
}

impl Encode for GapSums {
    fn encode(&self, writer: &mut Writer) {
        writer.u32(self.models.len() as u32);
        self.models.iter().for_each(|cells| writer.values(cells));
        writer.vectors(&self.expected);
        writer.option(self.energy.as_ref(), |writer, energy| {
            writer.f64(energy.all);
            writer.f64(energy.noise);
        });
    }
}

impl Decode for GapSums {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let count = reader.u32()?;
        let models = (0..count).map(|_| reader.values()).collect::<Result<_, _>>()?;
        let expected = reader.vectors()?;
        let energy =
            |reader: &mut Reader<'_>| Ok(Energy { all: reader.f64()?, noise: reader.f64()? });
        Ok(Self { models, expected, energy: reader.option("energy", energy)? })
    }
}

impl Encode for GapCell {
    fn encode(&self, writer: &mut Writer) {
        let Self { records, rates, masses, covariances, numbers, variances } = self;
        writer.f64(*records);
        [rates, masses, covariances, variances].into_iter().for_each(|list| writer.f64s(list));
        writer.vectors(numbers);
    }
}

impl Decode for GapCell {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let records = reader.f64()?;
        let (rates, masses) = (reader.f64s()?, reader.f64s()?);
        let (covariances, variances) = (reader.f64s()?, reader.f64s()?);
        let numbers = reader.vectors()?;
        let (labels, classes) = (rates.len(), masses.len());
        let whole = covariances.len() == labels.saturating_mul(classes)
            && variances.len() == labels
            && (numbers.is_empty() || numbers.len() == labels);
        if !whole {
            return Err(CodecError::Shape("a cell is not one number per class and label".into()));
        }
        Ok(Self { records, rates, masses, covariances, numbers, variances })
    }
}
