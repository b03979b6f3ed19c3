//! The silos' replies of one round, added up and scaled to all records.

use steffle_wire::{PrivateSums, PublicSums};

/// Estimates of the sums over all records; exact when every silo used all of its own.
///
/// A silo's sums over a minibatch are scaled by `n_j / m` before they are added, so unequal
/// silos count by their size.
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
    /// Variance of the noise of the theta messages, see [`PrivateSums::theta_deviation`].
    pub theta_variance: f64,
    /// Whether that noise is shaped.
    pub theta_shaped: bool,
    /// [`PrivateSums::theta_signal`] of every reply.
    pub signals: Vec<f64>,
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
    /// Adds a records division's reply.
    pub fn add_public(&mut self, sums: &PublicSums) {
        let scale = scale(sums.held as f64, sums.batch as f64);
        self.records += sums.held as f64;
        self.loss += scale * sums.loss;
        add(&mut self.gradient, &sums.gradient, scale);
        self.cells.resize_with(self.cells.len().max(sums.cells.len()), Default::default);
        for (cell, sums) in self.cells.iter_mut().zip(&sums.cells) {
            cell.count += scale * sums.count as f64;
            add(&mut cell.scores, &sums.scores, scale);
            add(&mut cell.public, &sums.theta, scale);
        }
    }

    /// Adds an attributes division's reply about `batch` announced records out of `held`.
    pub fn add_private(&mut self, sums: &PrivateSums, held: f64, batch: f64) {
        let scale = scale(held, batch);
        self.signals.push(sums.theta_signal);
        self.theta_shaped |= sums.theta_shaped;
        self.theta_variance += (scale * sums.theta_deviation).powi(2);
        self.cells.resize_with(self.cells.len().max(sums.tables.len()), Default::default);
        for (cell, table) in self.cells.iter_mut().zip(&sums.tables) {
            add(&mut cell.centred, table, scale);
            cell.table_variance += (scale * sums.table_deviation).powi(2);
        }
        // One theta message for several cells is the clipped form's.
        if sums.thetas.len() == sums.tables.len() && !self.is_clipped() {
            for (cell, theta) in self.cells.iter_mut().zip(&sums.thetas) {
                add(&mut cell.private, theta, scale);
            }
        } else if let [theta] = &sums.thetas[..] {
            add(&mut self.clipped, theta, scale);
        }
    }

    /// In the clipped form the records divisions send no theta term.
    fn is_clipped(&self) -> bool {
        self.cells.iter().all(|cell| cell.public.is_empty())
    }

    /// Records in some cell, n_in.
    pub fn in_cells(&self) -> f64 {
        self.cells.iter().map(|cell| cell.count).sum()
    }
}

fn scale(held: f64, batch: f64) -> f64 {
    if batch > 0.0 { held / batch } else { 0.0 }
}

fn add(sum: &mut Vec<f64>, values: &[f64], scale: f64) {
    if sum.is_empty() {
        sum.extend(values.iter().map(|value| scale * value));
    } else {
        sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += scale * value);
    }
}
