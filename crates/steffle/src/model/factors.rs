//! The pullback `J' c` of records in factored form, and the sum of many of them.

use super::{Block, Classifier, kernel};
use crate::record::Rows;

/// The inputs of one layer for the records of a chunk.
#[derive(Clone, Copy)]
pub enum Inputs<'a> {
    /// Encoded rows.
    Rows(&'a Rows),
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

impl Factor<'_> {
    /// Writes `B c` of one record into `outputs`, one number per output of the layer.
    fn combine(&self, record: usize, combination: &[f64], outputs: &mut [f64]) {
        let columns = combination.len();
        let slopes = &self.slopes[record * outputs.len() * columns..][..outputs.len() * columns];
        for (output, row) in outputs.iter_mut().zip(slopes.chunks_exact(columns)) {
            *output = dot(row, combination);
        }
    }

    /// `|(a, 1)|^2` of one record.
    #[inline]
    pub fn squared_input(&self, record: usize) -> f64 {
        match self.inputs {
            Inputs::Rows(rows) => rows.squared_norm(record),
            Inputs::Dense(units) => {
                let units = &units[record * self.block.inputs..][..self.block.inputs];
                1.0 + units.iter().map(|unit| unit * unit).sum::<f64>()
            }
        }
    }

    /// Adds `sum_i v_i x (a_i, 1)` to `sums`, where `v` is `[record][output]`.
    fn scatter(&self, coefficients: &[f64], sums: &mut [f64], spare: &mut [f64]) {
        let width = self.block.outputs;
        match self.inputs {
            Inputs::Rows(rows) if width == 1 => {
                kernel::add_all(rows, coefficients, sums, spare);
            }
            Inputs::Rows(rows) => {
                for (row, own) in coefficients.chunks_exact(width).enumerate() {
                    kernel::add_outer(rows, row, own, sums);
                }
            }
            Inputs::Dense(units) => {
                let records = units.chunks_exact(self.block.inputs);
                for (units, own) in records.zip(coefficients.chunks_exact(width)) {
                    let inputs = units.iter().chain([&1.0]);
                    for (row, &unit) in sums.chunks_exact_mut(width).zip(inputs) {
                        row.iter_mut().zip(own).for_each(|(sum, v)| *sum += unit * v);
                    }
                }
            }
        }
    }
}

/// Per layer, `v_i = B_i c_i` of the records of a chunk, `[record][output]`: what is left of a
/// pullback before it meets the layer's inputs.
#[derive(Debug, Default)]
pub struct Coefficients(Vec<Vec<f64>>);

impl Coefficients {
    /// Computes the coefficients of a chunk of `records`. `pick` names a record's combination of
    /// `columns` scores, or none, which makes its coefficients 0. With a `limit`, a pullback
    /// longer than it is scaled back to it: `|J' c|^2 = sum |B c|^2 |(a, 1)|^2`.
    #[inline]
    pub fn fill<'c>(
        &mut self,
        factors: &[Factor<'_>],
        records: usize,
        limit: Option<f64>,
        mut pick: impl FnMut(usize) -> Option<&'c [f64]>,
    ) {
        self.0.resize_with(factors.len(), Vec::new);
        if let ([factor], [layer]) = (factors, &mut self.0[..])
            && factor.block.outputs == 1
        {
            // The logistic model, where a record is one number: no slices, no second loop.
            layer.clear();
            layer.extend((0..records).map(|record| {
                let Some(combination) = pick(record) else { return 0.0 };
                let columns = combination.len();
                let value = dot(&factor.slopes[record * columns..][..columns], combination);
                match limit {
                    Some(limit) => {
                        let squared = value * value * factor.squared_input(record);
                        if squared > limit * limit {
                            value * (limit / squared.sqrt())
                        } else {
                            value
                        }
                    }
                    None => value,
                }
            }));
            return;
        }
        for (layer, factor) in self.0.iter_mut().zip(factors) {
            layer.clear();
            layer.resize(records * factor.block.outputs, 0.0);
        }
        for record in 0..records {
            let Some(combination) = pick(record) else { continue };
            let mut squared = 0.0;
            for (layer, factor) in self.0.iter_mut().zip(factors) {
                let width = factor.block.outputs;
                let own = &mut layer[record * width..][..width];
                factor.combine(record, combination, own);
                if limit.is_some() {
                    squared +=
                        own.iter().map(|v| v * v).sum::<f64>() * factor.squared_input(record);
                }
            }
            if let Some(limit) = limit
                && squared > limit * limit
            {
                let by = limit / squared.sqrt();
                for (layer, factor) in self.0.iter_mut().zip(factors) {
                    let width = factor.block.outputs;
                    layer[record * width..][..width].iter_mut().for_each(|v| *v *= by);
                }
            }
        }
    }
}

#[inline]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    match (a, b) {
        ([a, b], [c, d]) => a * c + b * d,
        _ => a.iter().zip(b).map(|(a, b)| a * b).sum(),
    }
}

/// A sum of pullbacks, layer by layer.
#[derive(Debug, Clone)]
pub struct Gradient {
    blocks: Vec<Block>,
    /// The first layer has a slot more, where absent levels go and from where nobody reads.
    sums: Vec<Vec<f64>>,
    /// The second half of the first layer's sum, where that layer has one output.
    spare: Vec<f64>,
}

impl Gradient {
    /// Zero, in the shape of `model`.
    pub fn new(model: &dyn Classifier) -> Self {
        Self::of_blocks(model.blocks())
    }

    /// Zero, in the shape of `blocks`.
    pub fn of_blocks(blocks: &[Block]) -> Self {
        let slot = |layer: usize, block: &Block| if layer == 0 { block.outputs } else { 0 };
        let sums: Vec<Vec<f64>> = blocks
            .iter()
            .enumerate()
            .map(|(layer, block)| vec![0.0; block.parameters() + slot(layer, block)])
            .collect();
        let spare = match blocks {
            [block, ..] if block.outputs == 1 => sums[0].clone(),
            _ => Vec::new(),
        };
        Self { blocks: blocks.to_vec(), sums, spare }
    }

    /// Adds the pullbacks of a chunk whose factors have one column, with combination 1.
    pub fn add_plain(&mut self, factors: &[Factor<'_>]) {
        for (factor, sums) in factors.iter().zip(&mut self.sums) {
            factor.scatter(factor.slopes, sums, &mut self.spare);
        }
    }

    /// Adds the pullbacks of a chunk.
    pub fn add(&mut self, factors: &[Factor<'_>], coefficients: &Coefficients) {
        for ((factor, sums), layer) in factors.iter().zip(&mut self.sums).zip(&coefficients.0) {
            factor.scatter(layer, sums, &mut self.spare);
        }
    }

    /// Adds another sum of the same shape.
    pub fn merge(&mut self, other: &Self) {
        let mine = self.sums.iter_mut().chain([&mut self.spare]);
        for (mine, theirs) in mine.zip(other.sums.iter().chain([&other.spare])) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
    }

    /// The sum in the order of theta.
    pub fn flatten(&self) -> Vec<f64> {
        let mut flat = Vec::with_capacity(self.blocks.iter().map(Block::parameters).sum());
        for (block, sums) in self.blocks.iter().zip(&self.sums) {
            flat.extend_from_slice(&sums[..block.parameters()]);
        }
        flat.iter_mut().zip(&self.spare).for_each(|(sum, spare)| *sum += spare);
        flat
    }
}
