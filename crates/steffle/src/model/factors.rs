//! The pullback `J' c` of a record in factored form, and the sum of many of them.

use super::{Block, Classifier, kernel};
use crate::record::Rows;

/// The inputs of one layer for the records of a chunk.
#[derive(Clone, Copy)]
pub enum Inputs<'a> {
    /// Encoded rows, and which of them.
    Rows(&'a Rows, &'a [u32]),
    /// Hidden units, `[record][unit]`.
    Dense(&'a [f64]),
}

/// One layer's factors for the records of a chunk: `J' c` has the part `(B c) x (a, 1)` there.
#[derive(Clone, Copy)]
pub struct Factor<'a> {
    /// The layer.
    pub block: Block,
    /// `B`: slopes of the scores in the layer's outputs, `[record][output][column]`.
    pub slopes: &'a [f64],
    /// `a`: what the layer reads.
    pub inputs: Inputs<'a>,
}

impl<'a> Factor<'a> {
    /// `B` of one record, `[output][column]`.
    fn slopes_of(&self, record: usize, columns: usize) -> &'a [f64] {
        let size = self.block.outputs * columns;
        &self.slopes[record * size..][..size]
    }

    /// `|(a, 1)|^2` of one record.
    fn squared_input(&self, record: usize) -> f64 {
        match self.inputs {
            Inputs::Rows(rows, which) => kernel::squared_norm(rows, which[record] as usize),
            Inputs::Dense(units) => {
                let units = &units[record * self.block.inputs..][..self.block.inputs];
                1.0 + units.iter().map(|unit| unit * unit).sum::<f64>()
            }
        }
    }
}

/// `B c` of one layer and record: one number per output of the layer.
pub fn combine<'b>(
    factor: &Factor<'_>,
    record: usize,
    combination: &[f64],
    into: &'b mut Vec<f64>,
) -> &'b mut [f64] {
    let columns = combination.len();
    into.clear();
    into.extend(
        factor.slopes_of(record, columns).chunks_exact(columns).map(|row| {
            row.iter().zip(combination).map(|(slope, weight)| slope * weight).sum::<f64>()
        }),
    );
    into
}

/// `|J' c|^2` of one record, from the factors alone.
pub fn squared_norm(
    factors: &[Factor<'_>],
    record: usize,
    combination: &[f64],
    scratch: &mut Vec<f64>,
) -> f64 {
    factors
        .iter()
        .map(|factor| {
            let outputs = combine(factor, record, combination, scratch);
            let squared: f64 = outputs.iter().map(|value| value * value).sum();
            squared * factor.squared_input(record)
        })
        .sum()
}

/// A sum of pullbacks, layer by layer.
#[derive(Debug, Clone)]
pub struct Gradient {
    blocks: Vec<Block>,
    /// The first layer has a slot more, where absent levels go and from where nobody reads.
    sums: Vec<Vec<f64>>,
    scratch: Vec<f64>,
}

impl Gradient {
    /// Zero, in the shape of `model`.
    pub fn new(model: &dyn Classifier) -> Self {
        Self::of_blocks(model.blocks())
    }

    /// Zero, in the shape of `blocks`.
    pub fn of_blocks(blocks: &[Block]) -> Self {
        let slot = |layer: usize, block: &Block| if layer == 0 { block.outputs } else { 0 };
        let sums = blocks.iter().enumerate();
        Self {
            blocks: blocks.to_vec(),
            sums: sums.map(|(layer, b)| vec![0.0; b.parameters() + slot(layer, b)]).collect(),
            scratch: Vec::new(),
        }
    }

    /// Back to zero, keeping the memory.
    pub fn clear(&mut self) {
        self.sums.iter_mut().for_each(|sums| sums.fill(0.0));
    }

    /// Adds `scale * J' c` of one record.
    #[inline]
    pub fn add(&mut self, factors: &[Factor<'_>], record: usize, combination: &[f64], scale: f64) {
        let Self { sums, scratch, .. } = self;
        for (factor, sums) in factors.iter().zip(sums) {
            let outputs = combine(factor, record, combination, scratch);
            outputs.iter_mut().for_each(|output| *output *= scale);
            match factor.inputs {
                Inputs::Rows(rows, which) => {
                    kernel::add_outer(rows, which[record] as usize, outputs, sums);
                }
                Inputs::Dense(units) => {
                    let width = outputs.len();
                    let units = &units[record * factor.block.inputs..][..factor.block.inputs];
                    let inputs = units.iter().chain([&1.0]);
                    for (row, &unit) in sums.chunks_exact_mut(width).zip(inputs) {
                        for (slot, &output) in row.iter_mut().zip(&*outputs) {
                            *slot += unit * output;
                        }
                    }
                }
            }
        }
    }

    /// Adds another sum of the same shape.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.sums.iter_mut().zip(&other.sums) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
    }

    /// The sum in the order of theta.
    pub fn flatten(&self) -> Vec<f64> {
        let mut flat = Vec::with_capacity(self.blocks.iter().map(Block::parameters).sum());
        for (block, sums) in self.blocks.iter().zip(&self.sums) {
            flat.extend_from_slice(&sums[..block.parameters()]);
        }
        flat
    }
}
