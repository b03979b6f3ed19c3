//! What released sums of features by class tell: shares of classes, a linear model of P(s | x), what
//! sums over classes it leaves out, and how much of it is noise.
//!
//! Nothing here reads `s` or a record: the input is a message that is already released, and public
//! sums. All of it is in the coordinates of the features. With `B` the whitening, `a_i = scale_i B
//! f_i` the capped rows, `m` the message in whitened coordinates, put `z = B^-1 m` and `v = B' beta`.
//! Then `a_i' beta = scale_i f_i' v`, `m' beta = z' v`, `|beta|^2 = v' (G + gamma I) v` and
//! `A' A = B (sum_i scale_i^2 f_i f_i') B'`: whitened rows are never needed.

mod correction;
mod energy;
mod evidence;
mod linear;
mod round;
mod share;

pub use correction::{Corrected, Correction};
pub use energy::Energy;
pub use evidence::Evidence;
pub use linear::{linear, memberships};
pub use round::{RoundBounds, RoundRead, RoundScale, SCORE_STEPS, complete, unwhiten};
pub use share::{STEPS, ShareScale, table_factor};

use crate::linear::{Cholesky, NotPositive, Symmetric};

/// Ridge of the whitening, on the schema's scaling: numbers of unit variance, levels 0 or 1. So much of
/// it leaves rare levels and squares small, which are more noise than they tell.
pub const GAMMA: f64 = 1.0;

/// The linear decode's ridge, as a share of the noise variance. The whole variance, which a Gaussian
/// prior would ask for, shrinks too much at small epsilon.
pub const SHRINK: f64 = 0.1;

/// The variance of a class membership that the decode assumes where it does not know better.
const MEMBERSHIP_VARIANCE: f64 = 0.2;

/// A message as it was released: per class (two classes: class 1 only), in the coordinates of the
/// features and in units in which a weight at the cap has length 1.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassSums {
    /// `sum_i [s_i = r] scale_i f_i` plus noise.
    pub sums: Vec<Vec<f64>>,
    /// Variance of the noise per whitened coordinate.
    pub variance: f64,
}

/// A model of the memberships: of class 1 for two classes, else of every class.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Intercepts, one per modelled class.
    pub intercepts: Vec<f64>,
    /// Weights of the capped features, one vector per modelled class.
    pub weights: Vec<Vec<f64>>,
}

/// Public sums over the capped features of one silo, or of all that pool.
///
/// With a released message they tell who is likely in which class.
#[derive(Debug, Clone, PartialEq)]
pub struct Moments {
    /// Records that have features.
    pub records: f64,
    /// `G + gamma I`.
    pub normal: Symmetric,
    /// `sum_i scale_i f_i`.
    pub total: Vec<f64>,
    /// `sum_i scale_i^2 f_i f_i'`.
    pub gram: Symmetric,
}

impl Moments {
    /// Uses what is known of the sum over all classes: with more than two, the messages are
    /// projected on it. Every class's noise variance shrinks by `(k - 1) / k`.
    pub fn project(&self, message: &ClassSums) -> ClassSums {
        let classes = message.sums.len();
        if classes < 2 {
            return message.clone();
        }
        let k = classes as f64;
        let excess: Vec<f64> = (0..self.total.len())
            .map(|j| (message.sums.iter().map(|sum| sum[j]).sum::<f64>() - self.total[j]) / k)
            .collect();
        let sums = message.sums.iter().map(|sum| sum.iter().zip(&excess).map(|(s, e)| s - e));
        ClassSums {
            sums: sums.map(Iterator::collect).collect(),
            variance: message.variance * (k - 1.0) / k,
        }
    }

    /// `variance_of_s A'A + ridge I` in the coordinates of the features, factored.
    fn factor(&self, ridge: f64) -> Result<Cholesky, NotPositive> {
        let mut matrix = self.gram.clone();
        matrix.scale(MEMBERSHIP_VARIANCE);
        matrix.add(self.at_least(ridge), &self.normal);
        Cholesky::new(matrix)
    }

    /// A ridge that keeps matrices positive also without noise.
    pub fn at_least(&self, ridge: f64) -> f64 {
        ridge.max(1e-9 * self.records)
    }

    /// The share of each class (two classes: of class 1) by generalised least squares, kept
    /// inside (0, 1): with few records and much noise the estimate leaves it in one run of four,
    /// and no model has such an intercept.
    pub fn shares(&self, message: &ClassSums) -> Result<Vec<f64>, NotPositive> {
        let factor = self.factor(message.variance)?;
        let mut direction = self.total.clone();
        factor.solve(&mut direction);
        let dot = |a: &[f64]| a.iter().zip(&direction).map(|(a, b)| a * b).sum::<f64>();
        let scale = dot(&self.total);
        let share = |sum: &Vec<f64>| if scale > 0.0 { dot(sum) / scale } else { 0.5 };
        let shares: Vec<f64> = message.sums.iter().map(share).collect();
        Ok(if let [share] = shares[..] {
            vec![share.clamp(0.02, 0.98)]
        } else {
            let clipped: Vec<f64> = shares.iter().map(|share| share.clamp(0.002, 1.0)).collect();
            let sum: f64 = clipped.iter().sum();
            clipped.iter().map(|share| share / sum).collect()
        })
    }
}
