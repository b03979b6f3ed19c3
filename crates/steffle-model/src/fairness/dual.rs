//! The dual variable W, the sets it is projected on, and its closed-form maximiser.

use super::ClassWeights;

/// W of one cell, `[class][label]`.
///
/// The server's adversary: how much it bets that a prediction gives a class away.
#[derive(Debug, Clone, PartialEq)]
pub struct Dual {
    labels: usize,
    values: Vec<f64>,
}

impl Dual {
    /// `W = 0`.
    pub fn zero(classes: usize, labels: usize) -> Self {
        Self { labels, values: vec![0.0; classes * labels] }
    }

    /// From `[class][label]` values.
    pub fn from_values(labels: usize, values: Vec<f64>) -> Self {
        debug_assert_eq!(values.len() % labels, 0);
        Self { labels, values }
    }

    /// All values, `[class][label]`.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// All values, to be moved by a step.
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// `W_r`, one row per class.
    pub fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.labels)
    }

    /// `C_r = W_r / sqrt(p~_r)`, `[class][label]`: all of W that a silo sees, besides `q`.
    pub fn combinations(&self, weights: &ClassWeights) -> Vec<f64> {
        let rows = self.rows().zip(weights.inverse_roots());
        rows.flat_map(|(row, root)| row.iter().map(move |w| w * root)).collect()
    }

    /// `q_u = sum_r W_ru^2`.
    pub fn quadratic(&self) -> Vec<f64> {
        let mut q = vec![0.0; self.labels];
        for row in self.rows() {
            q.iter_mut().zip(row).for_each(|(q, w)| *q += w * w);
        }
        q
    }

    /// `|W|_F`.
    pub fn norm(&self) -> f64 {
        self.values.iter().map(|w| w * w).sum::<f64>().sqrt()
    }
}

/// The set W is kept in.
///
/// The paper's ball, or a box that always contains the maximiser.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DualSet {
    /// The paper's: a Frobenius ball around 0 of diameter D, radius D / 2.
    ///
    /// `|W*|_F >= sqrt(l)`, so a diameter below `2 sqrt(l)` cuts the maximiser off.
    Ball {
        /// The diameter, D.
        diameter: f64,
    },
    /// `[0, p~_r^(-1/2)]` in row r: it contains W* for every positive p~.
    Box,
}

impl DualSet {
    /// Moves `dual` to the nearest point of the set.
    pub fn project(self, dual: &mut Dual, weights: &ClassWeights) {
        match self {
            Self::Ball { diameter } => {
                let norm = dual.norm();
                let radius = diameter / 2.0;
                if norm > radius {
                    dual.values.iter_mut().for_each(|w| *w *= radius / norm);
                }
            }
            Self::Box => {
                let rows = dual.values.chunks_exact_mut(dual.labels);
                for (row, root) in rows.zip(weights.inverse_roots()) {
                    row.iter_mut().for_each(|w| *w = w.clamp(0.0, root));
                }
            }
        }
    }
}

/// `W*_ru = P(r | u) / sqrt(p~_r)` from the class sums `M_ru` and the column sums `sum_i F_iu`.
///
/// `P(r | u) = M_ru / sum_i F_iu`, clamped to `[0, 1]`, so that the result lies in the box. Where
/// hardly anybody is predicted `u` (a share below 1e-6 or less than one record) the column says
/// nothing and `P(r | u) = p~_r` stands in.
pub fn closed_form(table: &[f64], columns: &[f64], records: f64, weights: &ClassWeights) -> Dual {
    let labels = columns.len();
    let mut values = Vec::with_capacity(table.len());
    for ((row, &p), root) in
        table.chunks_exact(labels).zip(weights.get()).zip(weights.inverse_roots())
    {
        values.extend(row.iter().zip(columns).map(|(&mass, &column)| {
            let empty = column < 1.0 || column < 1e-6 * records;
            let given = if empty { p } else { (mass / column).clamp(0.0, 1.0) };
            given * root
        }));
    }
    Dual::from_values(labels, values)
}
