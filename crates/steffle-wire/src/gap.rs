//! What a release tells about the decisions of models.

use steffle_model::decode::{Corrected, Correction, Energy, Evidence};

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::envelope::Kind;
use super::request::Ask;
use super::summed::{Numbers, Sum, Summand, Summed, Totals};

/// Asks what the release tells about the decisions of one model or, where a model was trained on
/// it, of the unconstrained one and that one.
///
/// The answer is computed from what was released, so it costs nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// The models.
    pub thetas: Vec<Vec<f64>>,
}

/// What a silo's part of the release, or that of all silos, tells.
///
/// From it the server estimates a model's gap and how sure that is.
#[derive(Debug, Clone, PartialEq)]
pub struct GapSums {
    /// Per model and cell.
    pub models: Vec<Vec<GapCell>>,
    /// `sum_i shat_ir scale_i f_i` of the classes that a message has, where silos pool.
    pub expected: Vec<Vec<f64>>,
    /// The energies of the silos' own messages, added up, where they have any and two models were
    /// asked about.
    pub energy: Option<Energy>,
    /// How many messages these are.
    pub messages: f64,
    /// Silos whose decode did not come to its end.
    pub unfinished: f64,
}

/// The decisions of one cell by class, `[class][label]`, and what the message needs to correct
/// them.
///
/// Added up over silos, it is a cell of all records.
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
    /// How the messages tell classes apart; only where one model was asked about.
    pub told: Told,
}

/// What messages say about decisions by class, and the noise in it: both add up over silos.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Told {
    /// `t' (m_r - b_r A'1)`, `[class that a message has][label]`.
    pub signals: Vec<f64>,
    /// Variance of the noise of these, `[label]`.
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

impl GapCell {
    /// Asks a message how far it tells the decisions of classes apart.
    pub fn tell(&mut self, evidence: &Evidence<'_>) {
        let told = self.numbers.iter().map(|numbers| evidence.about(numbers));
        let told: Vec<Corrected> = told.collect();
        let classes = told.first().map_or(0, |own| own.additions.len());
        let signals = |class: usize| told.iter().map(move |own| own.additions[class]);
        self.told = Told {
            signals: (0..classes).flat_map(signals).collect(),
            variances: told.iter().map(|own| own.variance).collect(),
        };
    }
}

impl Ask for Gap {
    const KIND: Kind = Kind::Gap;
    type Reply = Summed<GapSums>;
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

impl Sum for GapSums {
    type Total = Self;

    fn read(totals: &mut Totals<'_>) -> Result<Self, CodecError> {
        let cells = |totals: &mut Totals<'_>| {
            let count = totals.length()?;
            (0..count).map(|_| GapCell::read(totals)).collect::<Result<_, CodecError>>()
        };
        let count = totals.length()?;
        let models = (0..count).map(|_| cells(totals)).collect::<Result<_, CodecError>>()?;
        let (expected, energy) = (totals.lists()?, totals.list()?);
        let [all, noise, messages, unfinished] = energy[..] else {
            return Err(CodecError::Shape("an energy is four numbers".to_owned()));
        };
        let energy = (messages > 0.0).then_some(Energy { all, noise });
        Ok(Self { models, expected, energy, messages, unfinished })
    }
}

impl Summand for GapSums {
    fn write(&self, numbers: &mut Numbers) {
        numbers.length(self.models.len());
        for cells in &self.models {
            numbers.length(cells.len());
            cells.iter().for_each(|cell| cell.write(numbers));
        }
        numbers.lists(&self.expected);
        let energy = self.energy.unwrap_or_default();
        numbers.list(&[energy.all, energy.noise, self.messages, self.unfinished]);
    }
}

/// Rates and covariances are about means, which do not add up; the sums that they are made of do.
impl GapCell {
    fn write(&self, numbers: &mut Numbers) {
        let Self { records, rates, masses, covariances, numbers: own, variances, told } = self;
        let decided: Vec<f64> = rates.iter().map(|rate| records * rate).collect();
        let crossed = covariances.iter().enumerate().map(|(at, covariance)| {
            let (class, label) = (at / rates.len(), at % rates.len());
            covariance + masses[class] * rates[label]
        });
        numbers.number(*records);
        numbers.list(&decided);
        numbers.list(masses);
        numbers.list(&crossed.collect::<Vec<_>>());
        numbers.lists(own);
        numbers.list(variances);
        numbers.list(&told.signals);
        numbers.list(&told.variances);
    }

    fn read(totals: &mut Totals<'_>) -> Result<Self, CodecError> {
        let (records, decided, masses) = (totals.number()?, totals.list()?, totals.list()?);
        let (crossed, numbers, variances) = (totals.list()?, totals.lists()?, totals.list()?);
        let told = Told { signals: totals.list()?, variances: totals.list()? };
        let (labels, classes) = (decided.len(), masses.len());
        let whole = crossed.len() == labels.saturating_mul(classes)
            && variances.len() == labels
            && (numbers.is_empty() || numbers.len() == labels)
            && told.signals.len().is_multiple_of(labels.max(1))
            && (told.variances.is_empty() || told.variances.len() == labels);
        if !whole {
            return Err(CodecError::Shape("a cell is not one number per class and label".into()));
        }
        let rates: Vec<f64> = decided.iter().map(|sum| sum / records.max(1.0)).collect();
        let covariances = crossed.iter().enumerate().map(|(at, sum)| {
            let (class, label) = (at / labels, at % labels);
            sum - masses[class] * rates[label]
        });
        let covariances = covariances.collect();
        Ok(Self { records, rates, masses, covariances, numbers, variances, told })
    }
}
