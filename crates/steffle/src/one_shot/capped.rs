//! Features made ready for a message: whitened, and capped so that every unit weighs at most 1.

use crate::linear::{Features, Symmetric, Whitening, WhiteningError};

use super::{CAP_QUANTILE, GAMMA};

/// Coefficients are integers up to this: fine enough that truncating them is invisible, coarse
/// enough that sums over 10^7 records stay exact.
const STEPS: f64 = 65_536.0;

/// A silo's features with the coefficient of each record in the message.
///
/// Record `i` weighs `count_i B f_i` in the message, with `B` the integer whitening and `count_i`
/// an integer; no unit's weight is longer than [`Capped::bound`]. All of it is made from x and y.
#[derive(Debug)]
pub struct Capped<'a> {
    features: Features<'a>,
    whitening: Whitening,
    normal: Symmetric,
    counts: Vec<f64>,
    bound: f64,
    cap: f64,
}

impl<'a> Capped<'a> {
    /// With the features' own Gram matrix and cap. `units[i]` numbers the unit (person) that
    /// record `i` belongs to, from 0 without gaps; `None` makes every record its own unit.
    pub fn new(features: Features<'a>, units: Option<&[u32]>) -> Result<Self, WhiteningError> {
        let gram = mean_gram(&features);
        Self::with_gram(features, gram, units, None)
    }

    /// With an agreed Gram matrix (a mean of `f f'`) and, if given, an agreed cap in whitened
    /// units; else the own quantile.
    pub fn with_gram(
        features: Features<'a>,
        gram: Symmetric,
        units: Option<&[u32]>,
        cap: Option<f64>,
    ) -> Result<Self, WhiteningError> {
        let mut normal = gram.clone();
        normal.add_diagonal(GAMMA);
        let whitening = Whitening::new(gram, GAMMA)?;
        let lengths = unit_lengths(whitening.lengths(&features), units);
        let cap = match cap {
            Some(cap) => cap / whitening.grid(),
            None => quantile(&lengths.by_unit, CAP_QUANTILE),
        };
        let count = |length: f64| {
            let count = (STEPS * (cap / length).min(1.0)).floor();
            // A length that is 0 belongs to a record without features, which says nothing.
            if length > 0.0 && count.is_finite() { count } else { 0.0 }
        };
        let counts: Vec<f64> = lengths.by_record.iter().map(|&length| count(length)).collect();
        let weights = counts.iter().zip(&lengths.by_record).map(|(count, length)| count * length);
        // One product and one maximum: a relative error of one unit roundoff, rounded up.
        let bound = weights.fold(0.0, f64::max) * (1.0 + 2.0 * f64::EPSILON);
        Ok(Self { features, whitening, normal, counts, bound, cap })
    }

    /// The features.
    pub fn features(&self) -> &Features<'a> {
        &self.features
    }

    /// B.
    pub fn whitening(&self) -> &Whitening {
        &self.whitening
    }

    /// `G + gamma I`.
    pub fn normal(&self) -> &Symmetric {
        &self.normal
    }

    /// The integer coefficient of every record, held exactly.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// The longest weight of a unit, `max |sum count_i B f_i|`, bounded from above. Replacing one
    /// unit's class moves the message of a class by at most this.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The cap in whitened units: the quantile of `|B f|`.
    pub fn cap(&self) -> f64 {
        self.cap * self.whitening.grid()
    }

    /// The factor of every record in units in which the longest weight is 1 and the whitening is
    /// `(G + gamma I)^(-1/2)` up to a rotation.
    pub fn scales(&self) -> Vec<f64> {
        let unit = self.bound * self.whitening.grid();
        let scale = if unit > 0.0 { 1.0 / unit } else { 0.0 };
        self.counts.iter().map(|count| count * scale).collect()
    }

    /// A released message, in units of [`Capped::bound`], back in the coordinates of the features.
    pub fn unwhiten(&self, message: &mut [f64]) {
        self.whitening.unwhiten(message);
        message.iter_mut().for_each(|value| *value /= self.whitening.grid());
    }
}

/// `sum_i f_i f_i' / n` over the records that are in some cell.
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
fn unit_lengths(lengths: Vec<f64>, units: Option<&[u32]>) -> Lengths {
    let Some(units) = units else {
        let by_unit = lengths.iter().copied().filter(|&length| length > 0.0).collect();
        return Lengths { by_unit, by_record: lengths };
    };
    let count = units.iter().max().map_or(0, |&last| last as usize + 1);
    let (mut sums, mut members) = (vec![0.0; count], vec![0_u32; count]);
    for (&unit, length) in units.iter().zip(&lengths) {
        sums[unit as usize] += length;
        members[unit as usize] += 1;
    }
    // A sum of m numbers is off by at most a relative m units of roundoff.
    for (sum, &members) in sums.iter_mut().zip(&members) {
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
