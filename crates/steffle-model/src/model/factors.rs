//! The pullback `J' c` of records in factored form, and the sum of many of them.

use super::kernel;
use super::{Block, Classifier};
use crate::record::Rows;

/// The inputs of one layer for the records of a chunk.
///
/// Rows of the table for the first layer, hidden units for the others.
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

/// The factors of a chunk, one per layer. One layer takes no memory of its own: there are such for
/// every chunk of every round.
pub enum Layers<'a> {
    /// Of a linear model.
    One([Factor<'a>; 1]),
    /// Of a network.
    Many(Vec<Factor<'a>>),
}

impl<'a> std::ops::Deref for Layers<'a> {
    type Target = [Factor<'a>];

    fn deref(&self) -> &[Factor<'a>] {
        match self {
            Self::One(one) => one,
            Self::Many(many) => many,
        }
    }
}

impl<'a> Factor<'a> {
    /// The factors of a chunk, one per layer: the first layer reads `rows`, each other the hidden
    /// units before it.
    pub fn layers(
        blocks: &[Block],
        slopes: &'a [Vec<f64>],
        rows: &'a Rows,
        hidden: &'a [Vec<f64>],
    ) -> Layers<'a> {
        if let ([block], [slopes]) = (blocks, slopes) {
            return Layers::One([Self { block: *block, slopes, inputs: Inputs::Rows(rows) }]);
        }
        let inputs = |layer: usize| match layer {
            0 => Inputs::Rows(rows),
            _ => Inputs::Dense(&hidden[layer - 1]),
        };
        let layers = blocks.iter().zip(slopes).enumerate();
        let layers = layers
            .map(|(layer, (&block, slopes))| Self { block, slopes, inputs: inputs(layer) })
            .collect();
        Layers::Many(layers)
    }

    /// `B_i c_i` of every record, where `c_i` is row `slots[i]` of `combinations`.
    fn combine_all(
        &self,
        slots: &[u32],
        combinations: &[f64],
        columns: usize,
        outputs: &mut Vec<f64>,
    ) {
        let width = self.block.outputs;
        if width == 1 && columns == 2 {
            // The logistic model: a record is one number, and this loop has no inner one.
            let (slopes, _) = self.slopes.as_chunks::<2>();
            kernel::combine_pairs(slots, slopes, combinations.as_chunks::<2>().0, outputs);
            return;
        }
        outputs.clear();
        for (&slot, own) in slots.iter().zip(self.slopes.chunks_exact(width * columns)) {
            let combination = &combinations[slot as usize * columns..][..columns];
            outputs.extend(own.chunks_exact(columns).map(|row| dot(row, combination)));
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
    fn scatter(&self, coefficients: &[f64], sums: &mut [f64], spare: &mut Vec<f64>) {
        let width = self.block.outputs;
        match self.inputs {
            Inputs::Rows(rows) if width == 1 => {
                spare.resize(sums.len(), 0.0);
                kernel::add_all(rows, coefficients, sums, spare);
            }
            Inputs::Rows(rows) => {
                kernel::add_rows(rows, coefficients, width, sums);
            }
            Inputs::Dense(units) => {
                kernel::dense::outer(units, self.block.inputs, coefficients, sums);
            }
        }
    }
}

/// Per layer, `v_i = B_i c_i` of the records of a chunk, `[record][output]`: what is left of a
/// pullback before it meets the layer's inputs.
#[derive(Debug, Default)]
pub struct Coefficients {
    layers: Vec<Vec<f64>>,
    scratch: kernel::Beside,
}

impl Coefficients {
    /// Computes the coefficients of a chunk. Record i uses row `slots[i]` of `combinations`,
    /// which has `columns` columns. With a `limit`, a pullback longer than it is scaled back to
    /// it: `|J' c|^2 = sum |B c|^2 |(a, 1)|^2`.
    pub fn fill(
        &mut self,
        factors: &[Factor<'_>],
        slots: &[u32],
        combinations: &[f64],
        columns: usize,
        limit: Option<f64>,
    ) {
        self.layers.resize_with(factors.len(), Vec::new);
        if let ([factor], [layer], Some(limit)) = (factors, &mut self.layers[..], limit)
            && let (Inputs::Rows(rows), 1, 2) = (factor.inputs, factor.block.outputs, columns)
        {
            // The logistic model: all that a record needs is met in one visit.
            let (slopes, pairs) = (factor.slopes.as_chunks().0, combinations.as_chunks().0);
            return kernel::combine_clipped(rows, slots, slopes, (pairs, limit), layer);
        }
        for (layer, factor) in self.layers.iter_mut().zip(factors) {
            factor.combine_all(slots, combinations, columns, layer);
        }
        if let Some(limit) = limit {
            self.clip(factors, slots.len(), limit);
        }
    }

    /// The coefficients of every layer, `[record][output]`.
    #[inline]
    pub fn layers(&self) -> &[Vec<f64>] {
        &self.layers
    }

    /// The same, to be changed.
    #[inline]
    pub fn layers_mut(&mut self) -> &mut [Vec<f64>] {
        &mut self.layers
    }

    /// Becomes those of `other`, each record's multiplied by its weight, or adds them to its own.
    #[inline]
    pub fn select(&mut self, other: &Self, weights: &[f64], adds: bool) {
        self.layers.resize_with(other.layers.len(), Vec::new);
        for (mine, theirs) in self.layers.iter_mut().zip(&other.layers) {
            mine.resize(theirs.len(), 0.0);
            let width = (theirs.len() / weights.len().max(1)).max(1);
            if width == 1 && !adds {
                kernel::weigh(theirs, weights, mine);
                continue;
            }
            let rows = mine.chunks_exact_mut(width).zip(theirs.chunks_exact(width)).zip(weights);
            for ((mine, theirs), weight) in rows {
                for (mine, theirs) in mine.iter_mut().zip(theirs) {
                    *mine = if adds { *mine + theirs * weight } else { theirs * weight };
                }
            }
        }
    }

    fn clip(&mut self, factors: &[Factor<'_>], records: usize, limit: f64) {
        for record in 0..records {
            let mut squared = 0.0;
            for (layer, factor) in self.layers.iter().zip(factors) {
                let width = factor.block.outputs;
                let own = &layer[record * width..][..width];
                squared += own.iter().map(|v| v * v).sum::<f64>() * factor.squared_input(record);
            }
            if squared > limit * limit {
                let by = limit / squared.sqrt();
                for (layer, factor) in self.layers.iter_mut().zip(factors) {
                    let width = factor.block.outputs;
                    layer[record * width..][..width].iter_mut().for_each(|v| *v *= by);
                }
            }
        }
    }
}

/// The nearest integer, ties to even, for sizes below 2^51: adding and subtracting 1.5 * 2^52
/// leaves no fraction, and unlike a call it is two vector instructions.
#[inline]
pub(crate) fn nearest(value: f64) -> f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    (value + SHIFT) - SHIFT
}

/// The rows that models of one output have in common, where visiting them once for all sums is worth
/// the room it takes.
fn shared_rows<'a>(all: [&[Factor<'a>]; 3]) -> Option<&'a Rows> {
    let alone = |own: &[Factor<'a>]| match own {
        [Factor { block: Block { outputs: 1, .. }, inputs: Inputs::Rows(rows), .. }] => Some(*rows),
        _ => None,
    };
    let [first, second, third] = all.map(alone);
    let rows = first.filter(|rows| rows.layout().padded() <= 2 * rows.len())?;
    let same = |other: Option<&Rows>| other.is_some_and(|other| std::ptr::eq(other, rows));
    (same(second) && same(third)).then_some(rows)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A sum of pullbacks, layer by layer.
///
/// Linear models have one layer; networks have one per matrix.
#[derive(Debug, Clone)]
pub struct Gradient {
    /// In the order of theta, but with a slot behind the first layer where absent levels go and
    /// from where nobody reads.
    sums: Vec<f64>,
    /// Where the first layer ends, and the size of that slot.
    first: (usize, usize),
    /// The second half of the first layer's sum, where that layer has one output and rows were
    /// added alone.
    spare: Vec<f64>,
}

impl Gradient {
    /// Zero, in the shape of `model`.
    pub fn new(model: &dyn Classifier) -> Self {
        Self::of_blocks(model.blocks())
    }

    /// Zero, in the shape of `blocks`.
    pub fn of_blocks(blocks: &[Block]) -> Self {
        let mut zero = Self { sums: Vec::new(), first: (0, 0), spare: Vec::new() };
        zero.clear_for(blocks);
        zero
    }

    /// Adds the pullbacks of a chunk whose factors have one column, with combination 1.
    pub fn add_plain(&mut self, factors: &[Factor<'_>]) {
        self.scatter(factors, |layer| factors[layer].slopes);
    }

    /// The same, but left to be added by whoever visits the rows next.
    #[inline]
    pub fn pend<'a>(&'a mut self, factors: &'a [Factor<'a>]) -> Pending<'a> {
        Pending { into: self, factors, also: None }
    }

    /// Adds the pullbacks of a chunk.
    pub fn add(&mut self, factors: &[Factor<'_>], coefficients: &Coefficients) {
        self.scatter(factors, |layer| &coefficients.layers[layer]);
    }

    /// Adds the pullbacks of a chunk and, on the way, those that are pending.
    pub fn add_beside(
        &mut self,
        factors: &[Factor<'_>],
        coefficients: &mut Coefficients,
        pending: Pending<'_>,
    ) {
        let Pending { into, factors: others, also } = pending;
        let beside = also.as_ref().map_or(others, |also| also.factors);
        let (Some(rows), [other], [layer]) =
            (shared_rows([factors, others, beside]), others, &coefficients.layers[..])
        else {
            Pending { into, factors: others, also }.add();
            return self.add(factors, coefficients);
        };
        let first = (other.slopes, &mut into.sums[..]);
        let second = (&layer[..], &mut self.sums[..]);
        let room = &mut coefficients.scratch;
        match also {
            Some(Also { into, coefficients: others, .. }) if rows.layout().numeric <= 16 => {
                into.spare.resize(into.sums.len(), 0.0);
                let third = (&others.layers[0][..], &mut into.sums[..], &mut into.spare[..]);
                kernel::add_three(rows, first, second, third, room);
            }
            also => {
                kernel::add_both(rows, first, second, room);
                also.into_iter().for_each(Also::add);
            }
        }
    }

    fn scatter<'c>(&mut self, factors: &[Factor<'_>], coefficients: impl Fn(usize) -> &'c [f64]) {
        let (end, pad) = self.first;
        for (layer, factor) in factors.iter().enumerate() {
            let sums = if layer == 0 {
                &mut self.sums[..end + pad]
            } else {
                let start = factor.block.offset + pad;
                &mut self.sums[start..start + factor.block.parameters()]
            };
            factor.scatter(coefficients(layer), sums, &mut self.spare);
        }
    }

    /// Back to zero.
    pub fn clear(&mut self) {
        self.sums.fill(0.0);
        self.spare.clear();
    }

    /// Back to zero, in the shape of `blocks`.
    pub fn clear_for(&mut self, blocks: &[Block]) {
        let parameters: usize = blocks.iter().map(Block::parameters).sum();
        self.first = blocks.first().map_or((0, 0), |block| (block.parameters(), block.outputs));
        self.sums.clear();
        self.sums.resize(parameters + self.first.1, 0.0);
        self.spare.clear();
    }

    /// Adds another sum of the same shape.
    pub fn merge(&mut self, other: &Self) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(mine, theirs)| *mine += theirs);
        self.spare.resize(self.spare.len().max(other.spare.len()), 0.0);
        self.spare.iter_mut().zip(&other.spare).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// The sum in the order of theta.
    pub fn flatten(&self) -> Vec<f64> {
        let (end, pad) = self.first;
        let mut flat = Vec::with_capacity(self.sums.len() - pad);
        flat.extend_from_slice(&self.sums[..end]);
        flat.extend_from_slice(&self.sums[end + pad..]);
        flat.iter_mut().zip(&self.spare[..self.spare.len().min(end)]).for_each(|(s, x)| *s += x);
        flat
    }

    /// The sum in the order of theta, times `scale`, in place of what was there.
    pub fn scaled_into(&self, scale: f64, flat: &mut Vec<f64>) {
        let (end, pad) = self.first;
        flat.clear();
        flat.extend_from_slice(&self.sums[..end]);
        flat.extend_from_slice(&self.sums[end + pad..]);
        flat.iter_mut().zip(&self.spare[..self.spare.len().min(end)]).for_each(|(s, x)| *s += x);
        flat.iter_mut().for_each(|sum| *sum *= scale);
    }

    /// Adds the sum, in the order of theta, to `flat`.
    pub fn add_to(&self, flat: &mut [f64]) {
        let (end, pad) = self.first;
        let (first, rest) = flat.split_at_mut(end);
        if self.spare.is_empty() {
            first.iter_mut().zip(&self.sums).for_each(|(flat, sum)| *flat += sum);
        } else {
            let sums = self.sums.iter().zip(&self.spare);
            first.iter_mut().zip(sums).for_each(|(flat, (sum, spare))| *flat += sum + spare);
        }
        rest.iter_mut().zip(&self.sums[end + pad..]).for_each(|(flat, sum)| *flat += sum);
    }

    /// The sum in the order of theta, in the same memory.
    pub fn into_flat(self) -> Vec<f64> {
        let ((end, pad), mut flat) = (self.first, self.sums);
        flat.drain(end..end + pad);
        flat.iter_mut().zip(&self.spare[..self.spare.len().min(end)]).for_each(|(s, x)| *s += x);
        flat
    }
}

/// A chunk's part of one or two sums, still to be added. Who holds it can have it added, beside a
/// sum of their own over the same rows or alone; they can neither read nor change it.
#[must_use = "what is pending has to be added"]
pub struct Pending<'a> {
    into: &'a mut Gradient,
    factors: &'a [Factor<'a>],
    also: Option<Also<'a>>,
}

/// The second sum.
struct Also<'a> {
    into: &'a mut Gradient,
    factors: &'a [Factor<'a>],
    coefficients: &'a Coefficients,
}

impl Also<'_> {
    fn add(self) {
        self.into.add(self.factors, self.coefficients);
    }
}

impl<'a> Pending<'a> {
    /// The same, and beside it the pullbacks of `factors` with these coefficients.
    #[inline]
    pub fn and(
        self,
        into: &'a mut Gradient,
        factors: &'a [Factor<'a>],
        coefficients: &'a Coefficients,
    ) -> Self {
        Self { also: Some(Also { into, factors, coefficients }), ..self }
    }

    /// Adds it alone.
    pub fn add(self) {
        let Self { into, factors, also } = self;
        into.add_plain(factors);
        also.into_iter().for_each(Also::add);
    }
}
