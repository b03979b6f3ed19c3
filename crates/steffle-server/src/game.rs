//! SteFFLe (Algorithm 1) as an instance of Algorithm 2: scores `phi = F`, one W per cell.

mod cell;
mod improved;
mod shrinkage;
mod slopes;

pub use improved::Improved;
pub use steffle_model::model::head::RIDGE;
pub use steffle_model::scores::OutputScores;

use steffle_model::fairness::{ClassWeights, Dual, DualSet, divergence};
use steffle_model::scores::Objective as _;
use steffle_wire::{CellQuestion, Form};

use crate::server::{Aggregate, Problem};

/// The server's side.
///
/// It asks for the sums that the chi-square penalty and its dual need.
#[derive(Debug, Clone)]
pub struct ChiSquareGame {
    lambda: f64,
    labels: usize,
    form: Form,
    set: DualSet,
    duals: Vec<Dual>,
    weights: Vec<ClassWeights>,
    /// n_c, from the census.
    counts: Vec<f64>,
}

impl ChiSquareGame {
    /// `W_0 = 0`; class weights come with the census.
    pub fn new(objective: OutputScores, lambda: f64, form: Form, set: DualSet) -> Self {
        let (cells, classes) = (objective.cells(), objective.classes);
        let labels = objective.columns();
        Self {
            lambda,
            labels,
            form,
            set,
            duals: vec![Dual::zero(classes, labels); cells],
            weights: vec![ClassWeights::from_counts(&vec![1.0; classes], 0.0); cells],
            counts: vec![0.0; cells],
        }
    }

    /// The question of round 0: all combinations 0, so only the tables are answered.
    pub fn census(objective: OutputScores) -> Vec<CellQuestion> {
        let (classes, columns) = (objective.classes, objective.columns());
        let zero = CellQuestion {
            combinations: vec![0.0; classes * columns],
            quadratic: vec![0.0; columns],
        };
        vec![zero; objective.cells()]
    }

    /// Class weights per cell, after the census.
    pub fn weights(&self) -> &[ClassWeights] {
        &self.weights
    }

    /// `w_c = n_c / n_in`.
    fn share(&self, cell: usize) -> f64 {
        let total: f64 = self.counts.iter().sum();
        if total > 0.0 { self.counts[cell] / total } else { 0.0 }
    }
}

/// Class weights per cell: the rows of the census's tables sum to the class counts, because
/// `sum_u F_u = 1`.
pub(crate) fn class_weights(census: &Aggregate, labels: usize) -> Vec<ClassWeights> {
    let weights = |cell: &crate::server::AggregateCell| {
        let table = cell.table();
        let counts: Vec<f64> = table.chunks_exact(labels).map(|row| row.iter().sum()).collect();
        ClassWeights::from_counts(&counts, 0.0)
    };
    census.cells.iter().map(weights).collect()
}

impl Problem for ChiSquareGame {
    fn begin(&mut self, census: &Aggregate) {
        self.weights = class_weights(census, self.labels);
        self.counts = census.cells.iter().map(|cell| cell.count).collect();
    }

    fn form(&self) -> Form {
        self.form
    }

    fn ask(&self) -> Vec<CellQuestion> {
        let cells = self.duals.iter().zip(&self.weights);
        cells
            .map(|(dual, weights)| CellQuestion {
                combinations: dual.combinations(weights),
                quadratic: dual.quadratic(),
            })
            .collect()
    }

    /// `grad L + (lambda / n_in) sum_c [public_c + 2 H_c]`, or the clipped sum in its place.
    fn theta_gradient(&self, theta: &[f64], answers: &Aggregate) -> Vec<f64> {
        let total: f64 = self.counts.iter().sum();
        let strength = if total > 0.0 { self.lambda / total } else { 0.0 };
        let mut gradient: Vec<f64> = answers
            .gradient
            .iter()
            .zip(theta)
            .map(|(sum, theta)| sum / answers.records + 2.0 * RIDGE * theta)
            .collect();
        let mut add = |weight: f64, sums: &[f64]| {
            gradient.iter_mut().zip(sums).for_each(|(slope, sum)| *slope += weight * sum);
        };
        for cell in &answers.cells {
            add(strength, &cell.public);
            add(2.0 * strength, &cell.private);
        }
        add(strength, &answers.clipped);
        gradient
    }

    /// `lambda w_c (1/n_c) [-2 W_ru sum_i F_iu + 2 M_ru / sqrt(p~_r)]` per cell.
    fn dual_gradient(&self, answers: &Aggregate) -> Vec<f64> {
        let mut gradient = Vec::new();
        for (at, cell) in answers.cells.iter().enumerate() {
            let count = self.counts[at];
            let strength =
                if count > 0.0 { 2.0 * self.lambda * self.share(at) / count } else { 0.0 };
            let table = cell.table();
            let rows = self.duals[at].rows().zip(table.chunks_exact(self.labels));
            for ((dual, table), root) in rows.zip(self.weights[at].inverse_roots()) {
                let entries = dual.iter().zip(table).zip(&cell.scores);
                gradient.extend(entries.map(|((w, m), f)| strength * (m * root - w * f)));
            }
        }
        gradient
    }

    fn dual(&self) -> Vec<f64> {
        self.duals.iter().flat_map(|dual| dual.values().iter().copied()).collect()
    }

    fn set_dual(&mut self, dual: &[f64]) {
        let mut rest = dual;
        for (cell, weights) in self.duals.iter_mut().zip(&self.weights) {
            let (own, others) = rest.split_at(cell.values().len());
            cell.values_mut().copy_from_slice(own);
            self.set.project(cell, weights);
            rest = others;
        }
    }

    /// `sum_c w_c D_c` of the released tables, negative entries (noise) taken as 0.
    fn violation(&self, answers: &Aggregate) -> f64 {
        let cell = |(at, cell): (usize, &crate::server::AggregateCell)| {
            let mut table = cell.table();
            table.iter_mut().for_each(|mass| *mass = mass.max(0.0));
            self.share(at) * divergence(&table, self.labels)
        };
        answers.cells.iter().enumerate().map(cell).sum()
    }
}
