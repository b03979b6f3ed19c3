//! Softmax regression: one logit per label.

use super::{Block, Classifier, Pass, Point, head, kernel};
use crate::randomness::ChaCha8Rng;
use crate::record::{Layout, Rows};

/// Softmax regression on encoded rows.
///
/// A column of parameters per label, for any number of labels.
#[derive(Debug, Clone)]
pub struct Softmax {
    layout: Layout,
    block: [Block; 1],
}

impl Softmax {
    /// For rows of `layout` and `labels` labels.
    pub fn new(layout: Layout, labels: usize) -> Self {
        Self { layout, block: [Block { offset: 0, inputs: layout.features, outputs: labels }] }
    }
}

impl Classifier for Softmax {
    fn layout(&self) -> Layout {
        self.layout
    }

    fn labels(&self) -> usize {
        self.block[0].outputs
    }

    fn blocks(&self) -> &[Block] {
        &self.block
    }

    fn initial(&self, _random: &mut ChaCha8Rng) -> Vec<f64> {
        vec![0.0; self.parameters()]
    }

    fn forward(&self, point: &Point<'_>, rows: &Rows, pass: &mut Pass) {
        let labels = self.labels();
        pass.logits.clear();
        pass.logits.resize(rows.len() * labels, 0.0);
        kernel::dot_rows(rows, point.first(), labels, &mut pass.logits);
        head::probabilities(&pass.logits, labels, &mut pass.probabilities);
    }

    fn backward(&self, _: &Point<'_>, _: &Pass, _: usize, _: &mut [Vec<f64>]) {}

    fn slope_bounds(&self, _: &[f64], last: f64) -> Vec<f64> {
        vec![last]
    }
}
