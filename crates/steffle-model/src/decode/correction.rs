//! Sums over classes from a message: memberships first, then what they left out.

use super::{ClassSums, Moments, SHRINK};
use crate::linear::{Cholesky, NotPositive};

/// Corrects sums over memberships by what the message still has to say.
///
/// For numbers `d_i` the sum `sum_i shat_ir d_i` misses what the decode's ridge took away. With
/// `A w` the least-squares fit of `d` by the capped features, `w' (m_r - sum_i shat_ir a_i)` adds
/// it back: the corrected sum has no bias as far as `d` is linear in the features, and noise of
/// variance `V |w|^2`. In the coordinates of the features, `v = B' w` and `|w|^2 = v' (G + gamma
/// I) v`.
pub struct Correction<'a> {
    moments: &'a Moments,
    message: ClassSums,
    factor: Cholesky,
}

/// What is added to the sums of the classes, and the variance of its noise.
///
/// Sums of guessed classes with it are unbiased, but for the noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Corrected {
    /// Per class (two classes: of class 1).
    pub additions: Vec<f64>,
    /// Of each class's sum.
    pub variance: f64,
}

impl<'a> Correction<'a> {
    /// Refuses a matrix that cannot be factored.
    pub fn new(moments: &'a Moments, message: &ClassSums) -> Result<Self, NotPositive> {
        // A tenth of the decode's ridge: little is taken away a second time, and directions that
        // few records have do not carry their noise into every sum.
        Self::with_ridge(moments, message, 0.1 * SHRINK)
    }

    /// With a ridge that is so many times the variance of the noise.
    pub(super) fn with_ridge(
        moments: &'a Moments,
        message: &ClassSums,
        ridge: f64,
    ) -> Result<Self, NotPositive> {
        let message = moments.project(message);
        let mut matrix = moments.gram.clone();
        let ridge = ridge * message.variance;
        matrix.add(ridge.max(1e-6 * moments.records), &moments.normal);
        Ok(Self { moments, message, factor: Cholesky::new(matrix)? })
    }

    /// For `numbers = sum_i d_i scale_i f_i` and `expected_r = sum_i shat_ir scale_i f_i`.
    pub fn of(&self, numbers: &[f64], expected: &[Vec<f64>]) -> Corrected {
        let mut direction = numbers.to_vec();
        self.factor.solve(&mut direction);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let additions = self
            .message
            .sums
            .iter()
            .zip(expected)
            .map(|(sum, expected)| dot(&direction, sum) - dot(&direction, expected))
            .collect();
        let length = dot(&direction, &self.moments.normal.times(&direction));
        Corrected { additions, variance: self.message.variance * length }
    }
}
