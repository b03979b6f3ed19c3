//! Features made ready for a message: whitened, and capped so that every unit weighs at most 1.

use std::sync::Arc;

use steffle_model::decode::{ClassSums, GAMMA, Moments, STEPS};
use steffle_model::linear::{Features, Symmetric, Whitening, WhiteningError};
use steffle_model::record::GRID;
use steffle_wire::FeatureSums;

use crate::CLASSES;

/// The quantile of the whitened lengths at which records are capped. Three quarters of the
/// records attain the cap, so the noise is paid for by most of what is sent.
const CAP_QUANTILE: f64 = 0.25;

/// Why features cannot be made ready.
///
/// It depends on x, y and what was received, never on `s`.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum CappedError {
    /// The features cannot be whitened.
    #[error(transparent)]
    Whitening(#[from] WhiteningError),
    /// Numbers too large for exact sums.
    #[error(
        "the numeric columns are too large, or the records too many, for exact integer sums; \
         scale the columns to about unit variance"
    )]
    Range,
    /// A matrix of other features.
    #[error("a Gram matrix of {found} features, where records have {expected}")]
    Size {
        /// Rows of the matrix.
        found: usize,
        /// Features of a record.
        expected: usize,
    },
}

/// A silo's features with the coefficient of each record in the message.
///
/// Record `i` weighs `count_i B f_i` in the message, with `B` the integer whitening and `count_i`
/// an integer; [`Capped::weights`] bounds its length. All of it is made from x and y.
#[derive(Debug)]
pub struct Capped<'a> {
    features: Features<'a>,
    whitening: Arc<Whitening>,
    normal: Symmetric,
    counts: Vec<f64>,
    /// Bounds of `|B f_i|`.
    lengths: Vec<f64>,
    cap: f64,
    steps: f64,
}

impl<'a> Capped<'a> {
    /// With the features' own Gram matrix and cap. `units[i]` numbers the unit (person) that
    /// record `i` belongs to, from 0; `None` makes every record its own unit.
    pub fn new(features: Features<'a>, units: Option<&[u32]>) -> Result<Self, CappedError> {
        fits(&features)?;
        let gram = mean_gram(&features);
        Self::with_gram(features, gram, units, |cap| cap)
    }

    /// With an agreed Gram matrix (a mean of `f f'`); `agree` turns the own quantile of the
    /// whitened lengths into the agreed cap.
    pub fn with_gram(
        features: Features<'a>,
        gram: Symmetric,
        units: Option<&[u32]>,
        agree: impl FnOnce(f64) -> f64,
    ) -> Result<Self, CappedError> {
        // Whoever sends a matrix may send one of any size.
        let (found, expected) = (gram.size(), features.size());
        if found != expected {
            return Err(CappedError::Size { found, expected });
        }
        let mut normal = gram.clone();
        normal.add_diagonal(GAMMA);
        let whitening = Whitening::new(gram, GAMMA)?;
        let own_lengths = whitening.lengths(&features)?;
        let lengths = unit_lengths(&own_lengths, units);
        let own = quantile(&lengths.by_unit, CAP_QUANTILE);
        let cap = agree(own * whitening.grid()) / whitening.grid();
        // A silo whose records are in no cell has no lengths, hence a cap of 0.
        if !(cap.is_finite() && (cap > 0.0 || lengths.by_unit.is_empty())) {
            return Err(CappedError::Range);
        }
        let steps = steps(&features)?;
        // A length that is 0 belongs to a record without features, which says nothing.
        let count = |length: f64| {
            if length > 0.0 { (steps * (cap / length)).floor().clamp(0.0, steps) } else { 0.0 }
        };
        let counts: Vec<f64> = lengths.by_record.iter().map(|&length| count(length)).collect();
        if !lengths.by_record.iter().all(|length| length.is_finite()) {
            return Err(CappedError::Range);
        }
        let whitening = Arc::new(whitening);
        Ok(Self { features, whitening, normal, counts, lengths: own_lengths, cap, steps })
    }

    /// The features.
    pub fn features(&self) -> &Features<'a> {
        &self.features
    }

    /// B.
    pub fn whitening(&self) -> &Whitening {
        &self.whitening
    }

    /// B, to be kept.
    pub fn shared_whitening(&self) -> Arc<Whitening> {
        self.whitening.clone()
    }

    /// `G + gamma I`.
    pub fn normal(&self) -> &Symmetric {
        &self.normal
    }

    /// The integer coefficient of every record, held exactly.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// Of every record a bound of `|count_i B f_i|`, up to the rounding of one product.
    pub fn weights(&self) -> impl Iterator<Item = f64> {
        self.counts.iter().zip(&self.lengths).map(|(count, length)| count * length)
    }

    /// Whether coefficients count in the steps that sites agree on. With very many records they are
    /// coarser, so that sums stay exact.
    pub fn in_agreed_steps(&self) -> bool {
        self.steps == STEPS
    }

    /// The cap in whitened units: the quantile of `|B f|`.
    pub fn cap(&self) -> f64 {
        self.cap * self.whitening.grid()
    }

    /// The factor of every record in units in which a weight at the cap has length 1 and the
    /// whitening is `(G + gamma I)^(-1/2)` up to a rotation.
    pub fn scales(&self) -> Vec<f64> {
        let scale = self.inverse_unit() / self.whitening.grid();
        self.counts.iter().map(|count| count * scale).collect()
    }

    /// Released sums, `count_i f_i` over the records of a class, in the units of
    /// [`Capped::scales`]. `deviation` is that of their noise in the coordinates of `B`.
    pub fn message(&self, mut sums: Vec<Vec<f64>>, deviation: f64) -> ClassSums {
        let scale = self.inverse_unit() / self.whitening.grid();
        sums.iter_mut().flatten().for_each(|value| *value *= scale);
        ClassSums { sums, variance: (deviation * self.inverse_unit()).powi(2) }
    }

    /// What was released about each class, completed by the public sum that it was centred by.
    pub fn completed(&self, released: &FeatureSums, classes: usize) -> ClassSums {
        let total = self.features.sum(&self.counts);
        let complete = |sum: &Vec<f64>| {
            sum.iter().zip(&total).map(|(sum, total)| sum + total / classes as f64).collect()
        };
        self.message(released.sums.iter().map(complete).collect(), released.deviation)
    }

    /// The public sums that a decode needs.
    pub fn moments(&self) -> Moments {
        let (features, scales) = (&self.features, self.scales());
        let squares: Vec<f64> = scales.iter().map(|scale| scale * scale).collect();
        Moments {
            records: features.count() as f64,
            normal: self.normal.clone(),
            total: features.sum(&scales),
            gram: features.gram(&squares),
        }
    }

    /// One over what a weight at the cap counts in the coordinates of `B`.
    fn inverse_unit(&self) -> f64 {
        let unit = self.steps * self.cap;
        if unit > 0.0 { 1.0 / unit } else { 0.0 }
    }
}

/// The largest power of two that coefficients may be so that all sums of integers are exact.
fn steps(features: &Features<'_>) -> Result<f64, CappedError> {
    let rows = features.rows();
    let largest = |record: u32| {
        let numbers = rows.numeric(record as usize).iter();
        numbers.fold(1.0, |most: f64, &x| most.max(f64::from(x.abs())))
    };
    // Two columns may name the same level, which then counts twice.
    let columns = rows.layout().categorical.max(1) as f64;
    let reach = features.members().iter().map(|&record| largest(record)).sum::<f64>() * columns;
    let room = GRID * 2_f64.powi(53) / (CLASSES as f64 * reach.max(1.0));
    let steps = room.log2().floor().exp2().min(STEPS);
    if steps >= 16.0 { Ok(steps) } else { Err(CappedError::Range) }
}

/// Refuses more features than a matrix is made for, before one is.
pub fn fits(features: &Features<'_>) -> Result<(), CappedError> {
    let (size, most) = (features.size(), Whitening::MOST);
    if size > most { Err(WhiteningError::Size { size, most }.into()) } else { Ok(()) }
}

/// `sum_i f_i f_i' / n` over the records that have features.
pub fn mean_gram(features: &Features<'_>) -> Symmetric {
    let n = features.count().max(1) as f64;
    features.gram(&vec![1.0 / n; features.len()])
}

struct Lengths {
    /// Of each unit; of each record that has features where there are no units.
    by_unit: Vec<f64>,
    /// Of the unit of each record.
    by_record: Vec<f64>,
}

/// The length of a unit is bounded by the sum of its records' lengths.
fn unit_lengths(lengths: &[f64], units: Option<&[u32]>) -> Lengths {
    let Some(units) = units else {
        let by_unit = lengths.iter().copied().filter(|&length| length > 0.0).collect();
        return Lengths { by_unit, by_record: lengths.to_vec() };
    };
    let count = units.iter().max().map_or(0, |&last| last as usize + 1);
    let (mut sums, mut members) = (vec![0.0; count], vec![0_u32; count]);
    for (&unit, length) in units.iter().zip(lengths) {
        sums[unit as usize] += length;
        members[unit as usize] += 1;
    }
    // A sum of m numbers is off by at most a relative m units of roundoff.
    for (sum, &members) in sums.iter_mut().zip(&members).filter(|(_, members)| **members > 1) {
        *sum *= 1.0 + f64::from(members) * f64::EPSILON;
    }
    let by_record = units.iter().map(|&unit| sums[unit as usize]).collect();
    Lengths { by_unit: sums.into_iter().filter(|&sum| sum > 0.0).collect(), by_record }
}

/// The smallest value that at least a share `q` of the values does not exceed; 0 of no value.
fn quantile(values: &[f64], q: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let mut values = values.to_vec();
    let at = ((values.len() as f64 * q).ceil() as usize).clamp(1, values.len()) - 1;
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}
