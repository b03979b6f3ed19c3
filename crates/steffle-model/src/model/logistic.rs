//! Binary logistic regression: one logit, `F = (1 - p, p)`.

use super::{Block, Classifier, Pass, Point, head, kernel};
use crate::randomness::ChaCha8Rng;
use crate::record::{Layout, Rows};

/// Logistic regression on encoded rows.
///
/// One column of parameters, for two labels.
#[derive(Debug, Clone)]
pub struct Logistic {
    layout: Layout,
    block: [Block; 1],
}

impl Logistic {
    /// For rows of `layout`.
    pub fn new(layout: Layout) -> Self {
        Self { layout, block: [Block { offset: 0, inputs: layout.features, outputs: 1 }] }
    }
}

impl Classifier for Logistic {
    fn layout(&self) -> Layout {
        self.layout
    }

    fn labels(&self) -> usize {
        2
    }

    fn blocks(&self) -> &[Block] {
        &self.block
    }

    fn initial(&self, _random: &mut ChaCha8Rng) -> Vec<f64> {
        vec![0.0; self.parameters()]
    }

    fn forward(&self, point: &Point<'_>, rows: &Rows, pass: &mut Pass) {
        kernel::dot_all(rows, point.first(), &mut pass.logits);
        head::probabilities(&pass.logits, 1, &mut pass.probabilities);
    }

    fn backward(&self, _: &Point<'_>, _: &Pass, _: usize, _: &mut [Vec<f64>]) {}

    fn slope_bounds(&self, _: &[f64], last: f64) -> Vec<f64> {
        vec![last]
    }
}
