//! Adam (Kingma & Ba 2015), the optimiser that PF-LD was published with.

/// Steps of size `rate` along the ratio of two running means of the gradient.
#[derive(Debug, Clone)]
pub(super) struct Adam {
    rate: f64,
    /// Running means of the gradient and of its squares.
    mean: Vec<f64>,
    square: Vec<f64>,
    /// What the means still lack because they started at 0.
    missing: [f64; 2],
}

/// How much of the means stays in a step.
const KEEP: [f64; 2] = [0.9, 0.999];

impl Adam {
    pub(super) fn new(rate: f64, parameters: usize) -> Self {
        let zero = vec![0.0; parameters];
        Self { rate, mean: zero.clone(), square: zero, missing: [1.0; 2] }
    }

    pub(super) fn step(&mut self, theta: &mut [f64], gradient: &[f64]) {
        let [first, second] = KEEP;
        self.missing = [self.missing[0] * first, self.missing[1] * second];
        let whole = self.missing.map(|missing| 1.0 - missing);
        let means = self.mean.iter_mut().zip(&mut self.square);
        for ((theta, slope), (mean, square)) in theta.iter_mut().zip(gradient).zip(means) {
            *mean = first * *mean + (1.0 - first) * slope;
            *square = second * *square + (1.0 - second) * slope * slope;
            *theta -= self.rate * (*mean / whole[0]) / ((*square / whole[1]).sqrt() + 1e-8);
        }
    }
}
