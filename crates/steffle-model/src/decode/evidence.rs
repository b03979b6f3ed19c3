//! How far a message tells the classes apart, along what a model's decisions owe to the features.

use super::{ClassSums, Corrected, Correction, Moments};
use crate::linear::NotPositive;

/// A ridge of so many times the variance of the noise: what is tested is where the message is clear,
/// not where it is noise.
const RIDGE: f64 = 5.0;

/// A message less what the shares of its classes explain.
///
/// For numbers `d_i` and `t = (A'A + 5 V I)^-1 A'd`, the sum `t' (m_r - b_r A'1)` is about 0 if class r
/// has `d` like all others do, but for noise of variance `V |t|^2`.
pub struct Evidence<'a> {
    correction: Correction<'a>,
    /// `b_r A'1`.
    alike: Vec<Vec<f64>>,
}

impl<'a> Evidence<'a> {
    /// Refuses a matrix that cannot be factored.
    pub fn of(moments: &'a Moments, message: &ClassSums) -> Result<Self, NotPositive> {
        let correction = Correction::with_ridge(moments, message, RIDGE)?;
        let shares = moments.shares(&moments.project(message))?;
        let alike = shares
            .iter()
            .map(|share| moments.total.iter().map(|total| share * total).collect())
            .collect();
        Ok(Self { correction, alike })
    }

    /// Of `numbers = sum_i d_i scale_i f_i`.
    pub fn about(&self, numbers: &[f64]) -> Corrected {
        self.correction.of(numbers, &self.alike)
    }
}
