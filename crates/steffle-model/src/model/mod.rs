//! Models: `F(x, theta)` in the simplex, and the pullback of a combination of its outputs.
//!
//! A model never materialises its Jacobian. Per record and layer it keeps two factors: the
//! layer's input `a` and the slopes `B` of the scores in the layer's outputs. Then
//! `J' c = concat over layers of (B c) x (a, 1)` and `|J' c|^2 = sum |B c|^2 (|a|^2 + 1)`.

mod adam;
mod factors;
pub mod head;
pub mod kernel;
mod kind;
mod logistic;
mod mlp;
mod softmax;

pub use adam::Adam;
pub(crate) use factors::nearest;
pub use factors::{Coefficients, Factor, Gradient, Inputs, Layers, Pending};
pub use kind::{MAX_LAYERS, MAX_WIDTH, ModelError, ModelKind};
pub use logistic::Logistic;
pub use mlp::Mlp;
pub use softmax::Softmax;

use crate::randomness::ChaCha8Rng;
use crate::record::{Layout, Rows};

/// One layer of parameters, `[inputs + 1][outputs]` at `offset` in theta; the last row is the bias.
///
/// The layers of a model, one after the other, are its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Where the layer starts in theta.
    pub offset: usize,
    /// Inputs, without the bias.
    pub inputs: usize,
    /// Outputs.
    pub outputs: usize,
}

impl Block {
    /// Parameters of the layer, bias included.
    pub const fn parameters(&self) -> usize {
        (self.inputs + 1) * self.outputs
    }
}

/// A differentiable classifier. One file implements one model.
///
/// It turns rows into probabilities of labels, and slopes in these into slopes in its layers.
pub trait Classifier: Send + Sync {
    /// The encoding its rows have.
    fn layout(&self) -> Layout;

    /// Number of labels, `l`.
    fn labels(&self) -> usize;

    /// The layers, in the order of theta; the first reads encoded rows.
    fn blocks(&self) -> &[Block];

    /// Where training starts: zero where the loss is convex, drawn from `random` elsewhere.
    fn initial(&self, random: &mut ChaCha8Rng) -> Vec<f64>;

    /// Fills `pass` with the logits and probabilities of `rows`.
    fn forward(&self, point: &Point<'_>, rows: &Rows, pass: &mut Pass);

    /// From the slopes of `columns` scores in the logits (`[record][logit][column]`, in
    /// `slopes[last]`) fills the slopes in every earlier layer's outputs.
    fn backward(&self, point: &Point<'_>, pass: &Pass, columns: usize, slopes: &mut [Vec<f64>]);

    /// Per layer a bound of the slopes of scores in its outputs, where `last` bounds their slopes in
    /// the logits.
    fn slope_bounds(&self, theta: &[f64], last: f64) -> Vec<f64>;

    /// Number of parameters, `d_theta`.
    fn parameters(&self) -> usize {
        self.blocks().iter().map(Block::parameters).sum()
    }

    /// Number of logits: one for a binary logistic model, `l` otherwise.
    fn logits(&self) -> usize {
        self.blocks().last().map_or(0, |block| block.outputs)
    }
}

/// A model at one value of theta, ready for many chunks of rows.
///
/// What can be prepared once for all of them is.
pub struct Point<'a> {
    model: &'a dyn Classifier,
    theta: &'a [f64],
    /// The first layer with the zero slot of absent levels.
    first: Vec<f64>,
}

impl<'a> Point<'a> {
    /// Prepares `model` at `theta`; the caller has checked that the lengths agree.
    pub fn new(model: &'a dyn Classifier, theta: &'a [f64]) -> Self {
        let block = model.blocks()[0];
        Self::new_in(Vec::with_capacity(block.parameters() + block.outputs), model, theta)
    }

    /// The same, in the room of an old one.
    pub fn new_in(room: Vec<f64>, model: &'a dyn Classifier, theta: &'a [f64]) -> Self {
        debug_assert_eq!(theta.len(), model.parameters());
        let (block, mut first) = (model.blocks()[0], room);
        kernel::pad(&theta[..block.parameters()], block.outputs, &mut first);
        Self { model, theta, first }
    }

    /// Its room, once it was used.
    pub fn into_room(self) -> Vec<f64> {
        self.first
    }

    /// The model.
    #[inline]
    pub fn model(&self) -> &'a dyn Classifier {
        self.model
    }

    /// The parameters of layer `block`.
    #[inline]
    pub fn layer(&self, block: Block) -> &'a [f64] {
        &self.theta[block.offset..][..block.parameters()]
    }

    /// The first layer's weights, padded for the kernels.
    fn first(&self) -> &[f64] {
        &self.first
    }

    /// Probabilities of all `rows`, `[row][label]`.
    pub fn probabilities(&self, rows: &Rows) -> Vec<f64> {
        let mut all = Vec::with_capacity(rows.len() * self.model.labels());
        self.each_probabilities(rows, |some| all.extend_from_slice(some));
        all
    }

    /// Tells the probabilities of all `rows`, `[row][label]`, those of some rows at a time.
    pub fn each_probabilities(&self, rows: &Rows, mut tell: impl FnMut(&[f64])) {
        let (mut pass, mut chunk) = (Pass::default(), Rows::empty(rows.layout()));
        let (mut which, all) = (Vec::with_capacity(Pass::CHUNK), rows.len() as u32);
        for start in (0..all).step_by(Pass::CHUNK) {
            which.clear();
            which.extend(start..all.min(start + Pass::CHUNK as u32));
            chunk.gather(rows, &which);
            self.model.forward(self, &chunk, &mut pass);
            tell(&pass.probabilities);
        }
    }
}

/// What a forward pass leaves behind for the backward one. Reused from chunk to chunk.
#[derive(Debug, Default)]
pub struct Pass {
    /// `[record][logit]`.
    pub logits: Vec<f64>,
    /// `F`, `[record][label]`.
    pub probabilities: Vec<f64>,
    /// Outputs of the hidden layers, `[layer][record][unit]`.
    pub hidden: Vec<Vec<f64>>,
}

impl Pass {
    /// Records per pass: small enough that all that a chunk needs stays in the first-level cache.
    pub const CHUNK: usize = 256;
}

#[cfg(test)]
mod tests;
