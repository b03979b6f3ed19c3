//! The Hessian of a linear model's summed loss, and its diagonal alone.

use rayon::prelude::*;
use steffle_model::blocks::BLOCK;
use steffle_model::linear::{Features, Symmetric};
use steffle_model::model::head;
use steffle_model::record::Rows;

use super::super::RecordsDivision;

impl RecordsDivision {
    /// The Hessian where the records have these logits, in the order of theta.
    pub(super) fn hessian(&self, logits: &[f64]) -> Symmetric {
        let (rows, width) = (self.records.rows(), self.model.logits());
        let features = Features::whole(rows);
        if width == 1 {
            // Some outputs at a time: those of all records are twice as many numbers as the logits.
            let (mut outputs, mut weights) = (Vec::new(), Vec::with_capacity(logits.len()));
            for some in logits.chunks(BLOCK) {
                head::probabilities(some, width, &mut outputs);
                weights.extend(outputs.as_chunks::<2>().0.iter().map(|[q, p]| q * p));
            }
            return features.gram(&weights);
        }
        let outputs = outputs(logits, width);
        // One block per pair of outputs, `F_u ([u = v] - F_v)` as weights.
        let pair = |u: usize, v: usize| {
            let weight = |f: &[f64]| if u == v { f[u] * (1.0 - f[u]) } else { -f[u] * f[v] };
            features.gram(&outputs.chunks_exact(width).map(weight).collect::<Vec<f64>>())
        };
        let pairs: Vec<Symmetric> = (0..width)
            .flat_map(|u| (0..=u).map(move |v| (u, v)))
            .map(|(u, v)| pair(u, v))
            .collect();
        Symmetric::from_lower(self.model.parameters(), |a, b| {
            let (u, v) = ((a % width).max(b % width), (a % width).min(b % width));
            pairs[u * (u + 1) / 2 + v].at(a / width, b / width)
        })
    }

    /// The diagonal of the Hessian where the records have these logits.
    pub(in super::super) fn diagonal(&self, logits: &[f64]) -> Vec<f64> {
        let (rows, width) = (self.records.rows(), self.model.logits());
        let blocks: Vec<usize> = (0..rows.len()).step_by(BLOCK).collect();
        let parts: Vec<Vec<f64>> = blocks
            .into_par_iter()
            .map(|start| {
                let range = start..rows.len().min(start + BLOCK);
                let outputs = outputs(&logits[range.start * width..range.end * width], width);
                let mut sums = vec![0.0; rows.layout().padded() * width];
                let labels = if width == 1 { 2 } else { width };
                for (row, outputs) in range.zip(outputs.chunks_exact(labels)) {
                    add_squares(rows, row, &outputs[labels - width..], &mut sums);
                }
                sums
            })
            .collect();
        let mut diagonal = vec![0.0; self.model.parameters()];
        for part in &parts {
            diagonal.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        diagonal
    }
}

fn outputs(logits: &[f64], width: usize) -> Vec<f64> {
    let mut outputs = Vec::new();
    head::probabilities(logits, width, &mut outputs);
    outputs
}

/// Adds `F_u (1 - F_u) x^2` of a row to every output's slots.
fn add_squares(rows: &Rows, row: usize, outputs: &[f64], sums: &mut [f64]) {
    let width = outputs.len();
    let mut add = |slot: usize, square: f64| {
        let slots = &mut sums[slot * width..][..width];
        slots.iter_mut().zip(outputs).for_each(|(sum, f)| *sum += f * (1.0 - f) * square);
    };
    for (column, &x) in rows.numeric(row).iter().enumerate() {
        add(column, f64::from(x) * f64::from(x));
    }
    rows.codes(row).for_each(|code| add(code as usize, 1.0));
    add(rows.layout().features, 1.0);
}
