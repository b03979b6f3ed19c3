//! Adam (Kingma & Ba 2015): steps along the ratio of two running means of the gradient.

use super::kernel::vector;

/// Running means of a gradient and of its squares, and the steps that follow from them.
///
/// Both start at 0, and what they lack because of it is made up for.
#[derive(Debug, Clone)]
pub struct Adam {
    rate: f64,
    mean: Vec<f64>,
    square: Vec<f64>,
    /// What the means still lack because they started at 0.
    missing: [f64; 2],
}

/// How much of the means stays in a step.
pub(super) const KEEP: [f64; 2] = [0.9, 0.999];

/// Keeps parameters that have no gradient from dividing nothing by nothing.
const LEAST: f64 = 1e-8;

impl Adam {
    /// Steps of size `rate` on so many parameters.
    pub fn new(rate: f64, parameters: usize) -> Self {
        let zero = vec![0.0; parameters];
        Self { rate, mean: zero.clone(), square: zero, missing: [1.0; 2] }
    }

    /// Takes a gradient in and steps against it.
    pub fn step(&mut self, theta: &mut [f64], gradient: &[f64]) {
        let [first, second] = KEEP;
        self.missing = [self.missing[0] * first, self.missing[1] * second];
        // `rate (mean / whole) / (sqrt(square / whole') + least)`, with one division per number.
        let [whole, other] = self.missing.map(|missing| 1.0 - missing);
        let (rate, least) = (self.rate * other.sqrt() / whole, LEAST * other.sqrt());
        vector::adam((rate, least), gradient, &mut self.mean, &mut self.square, theta);
    }
}
