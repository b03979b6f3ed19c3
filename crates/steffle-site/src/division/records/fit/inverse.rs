//! A silo's inverse Hessian, brought to the diagonal that all silos have together.

use steffle_model::linear::{Cholesky, Symmetric};
use steffle_wire::Metric;

/// A column whose curvature in this silo is below this part of the one over all silos has none.
const NOTHING: f64 = 1e-12;

/// `P_j`, factored, and how much the silo weighs.
#[derive(Debug)]
pub(super) struct Inverse {
    metric: Metric,
    /// None where the matrix has no factor; then the diagonal stands for it.
    factor: Option<Cholesky>,
    share: f64,
}

impl Inverse {
    /// Of the Hessian of a loss that was summed over `held` records.
    ///
    /// Where the silo has all records, `P` is the Hessian of the mean with its ridge. Elsewhere its
    /// diagonal is the metric's, which knows levels that the silo has seldom or never, and what is
    /// beside the diagonal is shrunk: by `a = sqrt(d / n_j) / 2`, the size of what chance makes of it,
    /// and so that no column has more curvature than the metric allows. `(1 - a) S H S` has then no
    /// larger diagonal than the metric, so what is added to it is not negative and `P` is positive.
    pub(super) fn new(hessian: &Symmetric, held: usize, alone: bool, metric: &Metric) -> Self {
        let n = (held as f64).max(1.0);
        let share = held as f64 / (metric.records as f64).max(1.0);
        let size = hessian.size();
        let shrink = if alone { 1.0 } else { 1.0 - (0.5 * (size as f64 / n).sqrt()).min(0.5) };
        let scale = |(own, all): (f64, f64)| match own / n {
            _ if alone => 1.0,
            own if own <= NOTHING * all => 0.0,
            own => (all / own).sqrt().min(1.0),
        };
        let own = (0..size).map(|u| hessian.at(u, u));
        let scales: Vec<f64> = own.zip(metric.diagonal.iter().copied()).map(scale).collect();
        let mut matrix = Symmetric::zeros(size);
        for u in 0..size {
            for (v, entry) in hessian.row(u)[..u].iter().enumerate() {
                matrix.set(u, v, shrink * scales[u] * scales[v] * entry / n);
            }
            let least = hessian.at(u, u) / n;
            let own = metric.diagonal[u];
            matrix.set(u, u, if alone { own.max(least) } else { own });
        }
        Self { metric: metric.clone(), factor: Cholesky::new(matrix).ok(), share }
    }

    /// What it was made for.
    pub(super) fn metric(&self) -> &Metric {
        &self.metric
    }

    /// The silo's share of the image of a vector: `(n_j / n) P_j^-1 v`.
    pub(super) fn share(&self, mut vector: Vec<f64>) -> Vec<f64> {
        if let Some(factor) = &self.factor {
            factor.solve(&mut vector);
        } else {
            let entries = vector.iter_mut().zip(&self.metric.diagonal);
            entries.for_each(|(value, diagonal)| *value /= diagonal);
        }
        vector.iter_mut().for_each(|value| *value *= self.share);
        vector
    }
}
