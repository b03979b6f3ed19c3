//! The totals of one round, over all silos and all records.

use steffle_wire::{PrivateTotals, PublicSums};

/// Estimates of the sums over all records; exact when every silo used all of its own.
///
/// A silo scales its sums over a minibatch by `n_j / m` before they are added, so unequal silos
/// count by their size.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Aggregate {
    /// Records of all silos, n.
    pub records: f64,
    /// Sum of the losses, when asked for.
    pub loss: f64,
    /// Sum of the loss gradients.
    pub gradient: Vec<f64>,
    /// Per cell.
    pub cells: Vec<AggregateCell>,
    /// The clipped form's one theta message; empty in the centred form.
    pub clipped: Vec<f64>,
    /// Variance of the noise of the theta messages, see [`PrivateTotals::theta_variance`].
    pub theta_variance: f64,
    /// Whether that noise is shaped.
    pub theta_shaped: bool,
    /// See [`PrivateTotals::signal`].
    pub signal: (f64, f64),
}

/// The sums of one cell.
///
/// Over all silos that sent any.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AggregateCell {
    /// Records in the cell, n_c.
    pub count: f64,
    /// `sum_i phi_i`.
    pub scores: Vec<f64>,
    /// `sum_i J_i' (2 mean_r C_r - q)`; empty in the clipped form.
    pub public: Vec<f64>,
    /// Centred class sums, `[class][column]`, as released.
    pub centred: Vec<f64>,
    /// Variance of the noise of an entry of `centred`.
    pub table_variance: f64,
    /// `H = sum_i J_i' (C_s - mean_r C_r)`, as released; empty in the clipped form.
    pub private: Vec<f64>,
}

impl AggregateCell {
    /// `M`, `[class][column]`: what is centred plus the public column sums' share of every class,
    /// so that its columns sum to the public ones and a missing class counts `1/k`.
    pub fn table(&self) -> Vec<f64> {
        let columns = self.scores.len().max(1);
        let classes = (self.centred.len() / columns) as f64;
        let entry = |(at, centred): (usize, &f64)| self.scores[at % columns] / classes + centred;
        self.centred.iter().enumerate().map(entry).collect()
    }
}

impl Aggregate {
    /// Of what records divisions sent and what attributes divisions released, the latter times
    /// `scale`: 1 where the two are under one roof, and what an announced record stands for where
    /// they are not.
    pub fn new(public: PublicSums, private: PrivateTotals, scale: f64) -> Self {
        let PublicSums { held, loss, gradient, cells, .. } = public;
        // In the clipped form the records divisions send no theta term.
        let clipped = cells.iter().all(|cell| cell.theta.is_empty());
        let scaled = |mut values: Vec<f64>| {
            values.iter_mut().for_each(|value| *value *= scale);
            values
        };
        let mut thetas = private.thetas.into_iter().map(scaled);
        let one = if clipped { thetas.next() } else { None };
        let table_variance = scale * scale * private.table_variance;
        let cells = cells.into_iter().zip(private.tables).map(|(cell, table)| AggregateCell {
            count: cell.count,
            scores: cell.scores,
            public: cell.theta,
            centred: scaled(table),
            table_variance,
            private: thetas.next().unwrap_or_default(),
        });
        Self {
            records: held as f64,
            loss,
            gradient,
            cells: cells.collect(),
            clipped: one.unwrap_or_default(),
            theta_variance: scale * scale * private.theta_variance,
            theta_shaped: private.theta_shaped,
            signal: private.signal,
        }
    }

    /// Records in some cell, n_in.
    pub fn in_cells(&self) -> f64 {
        self.cells.iter().map(|cell| cell.count).sum()
    }
}
