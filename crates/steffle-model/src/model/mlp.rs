//! A multilayer perceptron: hidden layers with `tanh` (smooth, as the theory asks), then softmax.

use rand_distr::{Distribution, StandardNormal};

use super::kernel::{self, dense, vector};
use super::{Block, Classifier, Pass, Point, head};
use crate::randomness::ChaCha8Rng;
use crate::record::{Layout, Rows};

/// Hidden layers of given widths on encoded rows.
///
/// Each hidden layer is a `tanh`, and the last one a softmax.
#[derive(Debug, Clone)]
pub struct Mlp {
    layout: Layout,
    blocks: Vec<Block>,
}

impl Mlp {
    /// For rows of `layout`, hidden layers of `widths` and `labels` labels.
    pub fn new(layout: Layout, widths: &[usize], labels: usize) -> Self {
        let mut blocks: Vec<Block> = Vec::with_capacity(widths.len() + 1);
        let (mut offset, mut inputs) = (0, layout.features);
        for &outputs in widths.iter().chain([&labels]) {
            let block = Block { offset, inputs, outputs };
            offset += block.parameters();
            inputs = outputs;
            blocks.push(block);
        }
        Self { layout, blocks }
    }
}

impl Classifier for Mlp {
    fn layout(&self) -> Layout {
        self.layout
    }

    fn labels(&self) -> usize {
        self.logits()
    }

    fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Normal weights of variance `1 / active inputs` keep the units in the range where `tanh`
    /// bends; a one-hot row has far fewer active inputs than features.
    fn initial(&self, random: &mut ChaCha8Rng) -> Vec<f64> {
        let mut theta = Vec::with_capacity(self.parameters());
        for (depth, block) in self.blocks.iter().enumerate() {
            let first = self.layout.numeric + self.layout.categorical;
            let active = if depth == 0 { first } else { block.inputs };
            let scale = 1.0 / (active.max(1) as f64).sqrt();
            let weights = block.inputs * block.outputs;
            theta.extend((0..weights).map(|_| {
                let draw: f64 = StandardNormal.sample(random);
                draw * scale
            }));
            theta.extend(std::iter::repeat_n(0.0, block.outputs));
        }
        theta
    }

    fn forward(&self, point: &Point<'_>, rows: &Rows, pass: &mut Pass) {
        let depth = self.blocks.len();
        pass.hidden.resize_with(depth - 1, Vec::new);
        let mut current = std::mem::take(&mut pass.logits);
        for (layer, &block) in self.blocks.iter().enumerate() {
            let width = block.outputs;
            let mut next = std::mem::take(if layer + 1 < depth {
                &mut pass.hidden[layer]
            } else {
                &mut current
            });
            next.clear();
            next.resize(rows.len() * width, 0.0);
            if layer == 0 {
                kernel::dot_rows(rows, point.first(), width, &mut next);
            } else {
                dense::affine(point.layer(block), &pass.hidden[layer - 1], width, &mut next);
            }
            if layer + 1 < depth {
                vector::tanh_in_place(&mut next);
                pass.hidden[layer] = next;
            } else {
                current = next;
            }
        }
        pass.logits = current;
        head::probabilities(&pass.logits, self.labels(), &mut pass.probabilities);
    }

    fn backward(&self, point: &Point<'_>, pass: &Pass, columns: usize, slopes: &mut [Vec<f64>]) {
        for layer in (1..self.blocks.len()).rev() {
            let block = self.blocks[layer];
            let weights = point.layer(block);
            let (earlier, later) = slopes.split_at_mut(layer);
            let (below, above) = (&mut earlier[layer - 1], &later[0]);
            let units = &pass.hidden[layer - 1];
            below.clear();
            below.resize(units.len() * columns, 0.0);
            if columns == 1 {
                dense::pull_back(&turned(weights, block), above, block.outputs, below);
                dense::bend(units, below);
                continue;
            }
            let records = below
                .chunks_exact_mut(block.inputs * columns)
                .zip(above.chunks_exact(block.outputs * columns))
                .zip(units.chunks_exact(block.inputs));
            for ((below, above), units) in records {
                for (input, (row, &unit)) in below.chunks_exact_mut(columns).zip(units).enumerate()
                {
                    let weights = &weights[input * block.outputs..][..block.outputs];
                    for (&weight, above) in weights.iter().zip(above.chunks_exact(columns)) {
                        for (slope, &from) in row.iter_mut().zip(above) {
                            *slope += weight * from;
                        }
                    }
                    let bend = 1.0 - unit * unit;
                    row.iter_mut().for_each(|slope| *slope *= bend);
                }
            }
        }
    }

    /// `d phi / d a_h = sum_o W_ho d phi / d z_o`, and `tanh` has slopes of at most 1.
    fn slope_bounds(&self, theta: &[f64], last: f64) -> Vec<f64> {
        let mut bounds = vec![last; self.blocks.len()];
        for layer in (1..self.blocks.len()).rev() {
            bounds[layer - 1] = bounds[layer] * largest_row(theta, self.blocks[layer]);
        }
        bounds
    }
}

/// The largest `sum_o |W_ho|` over inputs h, bias aside.
fn largest_row(theta: &[f64], block: Block) -> f64 {
    let weights = &theta[block.offset..][..block.inputs * block.outputs];
    let sums = weights.chunks_exact(block.outputs);
    sums.map(|row| row.iter().map(|weight| weight.abs()).sum()).fold(0.0, f64::max)
}

/// The weights of a layer without its bias, `[output][input]`: slopes are then added row by row, which
/// vectorises.
fn turned(weights: &[f64], block: Block) -> Vec<f64> {
    let of = |output: usize| weights[output..].iter().step_by(block.outputs).take(block.inputs);
    (0..block.outputs).flat_map(of).copied().collect()
}
