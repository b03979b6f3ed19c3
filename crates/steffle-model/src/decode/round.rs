//! One noise for all sites in the rounds of training: scales that follow from the question and from what
//! was agreed, and how totals are read.
//!
//! # Why no honest site refuses
//! A site charges what its own records move, whatever is proposed here; a scale that is too small is
//! refused by its ledger. So the following is about usefulness, not about privacy: with the scales of
//! [`RoundScale::new`] no unit of one record costs more than a round's share.
//! 1. *Theta.* Candidates of two classes are at most `apart` from each other, and a row's coefficient is
//!    multiplied by `min(1, length / l_i) - shrink`, where `l_i` is its length. Rounding to integers adds at
//!    most one step per output to their distance, which the `shrink` takes away before
//!    ([`RoundBounds::shrink`]): times `l_i` it is at most `apart length`.
//! 2. *Table.* Scores are probabilities: `|phi|^2 <= 1`, and rounding to steps of 2^-20 adds less than
//!    2^-19 to that.
//! 3. *Both,* where there are two scores f and 1 - f of one logit: with `g = 4 f (1 - f)` in [0, 1], the
//!    theta part is at most `g^2` of its bound and the table's at most `1 - g / 2`, so that a unit costs at
//!    most `(1 - p) g^2 + p (1 - g / 2)` of the share for a table's part of p; convex in g, hence at most
//!    `max(1 - p / 2, p)` ([`RoundBounds::joint`]). Both noises are smaller by the root of that.

use super::share::{ShareScale, table_factor};
use crate::linear::Whitening;
use crate::record::GRID;

/// Steps of a score up to its bound.
pub const SCORE_STEPS: f64 = 1_048_576.0;

/// Bits of the largest coefficient, at most and at least.
const BITS: std::ops::RangeInclusive<u8> = 12..=20;

/// The finest grid of coefficients.
const FINEST: i32 = -900;

/// What all sites' records are within, in both messages of a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundBounds {
    /// No coefficient is larger.
    pub coefficient: f64,
    /// No two classes' coefficients of a record, as vectors over the outputs, are further apart.
    pub apart: f64,
    /// No capped row is longer, in the metric of the noise.
    pub length: f64,
    /// Whether there are two scores, of one logit, that sum to 1.
    pub pair: bool,
    /// Sensitive classes, k.
    pub classes: usize,
    /// Bits of the largest coefficient.
    pub bits: u8,
}

/// What sites that share noise draw alike in a round.
///
/// Whoever proposes it need not be believed: each site prices its own records under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundScale {
    /// A step of a coefficient is 2 to this power.
    pub exponent: i32,
    /// Of the theta messages; `None` where the question has none.
    pub theta: Option<ShareScale>,
    /// Of the tables.
    pub table: ShareScale,
}

/// What the totals of all sites say.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundRead {
    /// Per cell, `[class][column]`, centred.
    pub tables: Vec<Vec<f64>>,
    /// Per cell, in the coordinates of the parameters.
    pub thetas: Vec<Vec<f64>>,
    /// Variance of the noise of a table's entry.
    pub table_variance: f64,
    /// Scale of the noise of a theta message, squared.
    pub theta_variance: f64,
    /// Mean square of the noisy theta numbers over the variance of their noise, and 1 where there is one.
    pub signal: (f64, f64),
}

impl RoundBounds {
    /// Bits of the largest coefficient for a site with at most so many records, so that sums are exact
    /// where rows have entries of up to 8 deviations on average; a site that has larger ones refuses.
    pub fn bits(records: usize) -> u8 {
        let log = usize::BITS - records.max(1).saturating_sub(1).leading_zeros();
        let bits = 53_u32.saturating_sub(12 + 3 + log).min(u32::from(*BITS.end())) as u8;
        bits.max(*BITS.start())
    }

    /// Whether sums of so many bits are anything.
    pub fn allows(bits: u8) -> bool {
        BITS.contains(&bits)
    }

    /// What the factor of every row is lowered by: the largest coefficient has at least `2^(bits - 1)`
    /// steps, and rounding adds at most one.
    pub fn shrink(bits: u8) -> f64 {
        (2.0 - f64::from(bits)).exp2()
    }

    /// The largest part of a round's share that one unit costs where both messages' noise is made for
    /// their parts of it.
    fn joint(&self, table: f64) -> f64 {
        if self.pair { (1.0 - table / 2.0).max(table) } else { 1.0 }
    }
}

impl RoundScale {
    /// The scales under which nobody costs more than `round`, of which tables have the part `table`,
    /// where `honest` shares of at least `smallest` count; `None` where no integers are.
    pub fn new(
        bounds: &RoundBounds,
        (round, table): (f64, f64),
        least: (u32, u64),
    ) -> Option<Self> {
        let silent = bounds.apart == 0.0;
        let joint = if silent { 1.0 } else { bounds.joint(table) };
        let scores =
            (table_factor(bounds.classes) * (1.0 + 2.0 / SCORE_STEPS)).sqrt() * SCORE_STEPS;
        let tables = ShareScale::of_distance(scores, round * table / joint, least)?;
        if silent {
            return Some(Self { exponent: FINEST, theta: None, table: tables });
        }
        let top = bounds.coefficient.log2().floor();
        let exponent = (top as i32 + 1 - i32::from(bounds.bits)).max(FINEST);
        let far = bounds.apart / f64::from(exponent).exp2() * bounds.length / GRID;
        let theta = ShareScale::of_distance(far, round * (1.0 - table) / joint, least)?;
        Some(Self { exponent, theta: Some(theta), table: tables })
    }

    /// What a step of a coefficient is worth; 0 where there is no theta message.
    pub fn coefficient(self) -> f64 {
        self.theta.map_or(0.0, |_| f64::from(self.exponent).exp2())
    }

    /// Reads what all sites' integers add up to, with the noise of `sites` shares. `thetas` and `tables`
    /// are in the order of the cells; a theta message has `parameters` numbers.
    pub fn read(
        self,
        (thetas, tables): (&[Vec<i128>], &[Vec<i128>]),
        sites: u32,
        whitening: Option<&Whitening>,
        (classes, parameters): (usize, usize),
    ) -> RoundRead {
        let (k, sites) = (classes as f64, f64::from(sites));
        let step = |scale: ShareScale| (-f64::from(scale.shift)).exp2();
        let table_unit = step(self.table) / SCORE_STEPS / k;
        let table = |own: &Vec<i128>| {
            let missing = if classes == 2 { own.len() } else { 0 };
            let sent = own.iter().map(|&sum| sum as f64 * table_unit);
            let mut table: Vec<f64> = std::iter::repeat_n(0.0, missing).chain(sent).collect();
            complete(&mut table, classes);
            table
        };
        let projected = if classes == 2 { 1.0 } else { (k - 1.0) / k };
        let table_deviation = self.table.deviation() / SCORE_STEPS / k;
        let mut read = RoundRead {
            tables: tables.iter().map(table).collect(),
            thetas: vec![vec![0.0; parameters]; tables.len()],
            table_variance: sites * table_deviation.powi(2) * projected,
            theta_variance: 0.0,
            signal: (0.0, 0.0),
        };
        let Some(scale) = self.theta else { return read };
        let unit = self.coefficient() * GRID;
        let variance = sites * (scale.deviation() * unit).powi(2);
        let mut squares = 0.0;
        let theta = |own: &Vec<i128>| {
            let noisy = own.iter().map(|&sum| sum as f64 * unit * step(scale));
            let mut noisy: Vec<f64> = noisy.inspect(|value| squares += value * value).collect();
            if let Some(whitening) = whitening {
                unwhiten(whitening, &mut noisy);
            }
            noisy
        };
        read.thetas = thetas.iter().map(theta).collect();
        let numbers = read.thetas.iter().map(Vec::len).sum::<usize>().max(1);
        read.signal = (squares / (numbers as f64 * variance), 1.0);
        read.theta_variance = variance * whitening.map_or(1.0, Whitening::grid).powi(2);
        read
    }
}

/// Turns a message `[input][output]` back, output by output: the inputs are what is whitened.
pub fn unwhiten(whitening: &Whitening, message: &mut [f64]) {
    let outputs = message.len() / whitening.size().max(1);
    for output in 0..outputs {
        let mut column: Vec<f64> = message.iter().skip(output).step_by(outputs).copied().collect();
        whitening.unwhiten(&mut column);
        let slots = message.iter_mut().skip(output).step_by(outputs);
        slots.zip(column).for_each(|(slot, value)| *slot = value);
    }
}

/// The rows of centred tables sum to 0: with two classes the first row is minus the second, with
/// more the noisy rows are projected. Post-processing, and free.
pub fn complete(table: &mut [f64], classes: usize) {
    let columns = table.len() / classes;
    if classes == 2 {
        let (first, second) = table.split_at_mut(columns);
        first.iter_mut().zip(second).for_each(|(first, second)| *first = -*second);
        return;
    }
    for column in 0..columns {
        let mean = table.iter().skip(column).step_by(columns).sum::<f64>() / classes as f64;
        table.iter_mut().skip(column).step_by(columns).for_each(|value| *value -= mean);
    }
}
