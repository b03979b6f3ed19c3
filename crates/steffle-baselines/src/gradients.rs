//! Loss gradients of a batch of one silo's records, summed with a weight per record.
//!
//! A record's gradient is never written out: per layer it is an outer product of slopes and inputs,
//! whose length is the product of their lengths, and a weight is a factor on the slopes.

use steffle_model::model::{Classifier, Factor, Gradient, Layers, Pass, Point, head};
use steffle_model::record::{Records, Rows};

/// Sums loss gradients, with room that is kept from batch to batch.
pub(super) struct LossGradients {
    chunk: Chunk,
    weights: Vec<f64>,
    sum: Gradient,
}

/// Records that lie in the first-level cache, and their passes.
struct Chunk {
    rows: Rows,
    labels: Vec<u16>,
    pass: Pass,
    slopes: Vec<Vec<f64>>,
}

impl LossGradients {
    pub(super) fn new(model: &dyn Classifier) -> Self {
        let chunk = Chunk {
            rows: Rows::empty(model.layout()),
            labels: Vec::new(),
            pass: Pass::default(),
            slopes: vec![Vec::new(); model.blocks().len()],
        };
        Self { chunk, weights: Vec::new(), sum: Gradient::new(model) }
    }

    /// The sum of the gradients of the records `which`.
    pub(super) fn sum(&mut self, point: &Point<'_>, records: &Records, which: &[u32]) -> Vec<f64> {
        self.sum.clear();
        for part in which.chunks(Pass::CHUNK) {
            self.chunk.backward(point, records, part);
            self.sum.add_plain(&self.chunk.factors(point.model()));
        }
        self.sum.flatten()
    }

    /// The sum of weighted gradients, where `weigh` gets a record's loss and the length of its
    /// gradient.
    pub(super) fn weighted_sum(
        &mut self,
        point: &Point<'_>,
        records: &Records,
        which: &[u32],
        weigh: impl Fn(f64, f64) -> f64,
    ) -> Vec<f64> {
        let Self { chunk, weights, sum } = self;
        let model = point.model();
        sum.clear();
        for part in which.chunks(Pass::CHUNK) {
            chunk.backward(point, records, part);
            let factors = chunk.factors(model);
            let losses = chunk.losses(model).enumerate();
            weights.clear();
            weights.extend(losses.map(|(record, loss)| weigh(loss, length(&factors, record))));
            for (slopes, block) in chunk.slopes.iter_mut().zip(model.blocks()) {
                for (own, weight) in slopes.chunks_exact_mut(block.outputs).zip(&*weights) {
                    own.iter_mut().for_each(|slope| *slope *= weight);
                }
            }
            sum.add_plain(&chunk.factors(model));
        }
        sum.flatten()
    }

    /// The sum of the losses of the records `which`, each at most `most`.
    pub(super) fn loss(
        &mut self,
        point: &Point<'_>,
        records: &Records,
        which: &[u32],
        most: f64,
    ) -> f64 {
        let mut sum = 0.0;
        for part in which.chunks(Pass::CHUNK) {
            self.chunk.forward(point, records, part);
            sum += self.chunk.losses(point.model()).map(|loss| loss.min(most)).sum::<f64>();
        }
        sum
    }
}

impl Chunk {
    fn forward(&mut self, point: &Point<'_>, records: &Records, which: &[u32]) {
        self.rows.gather(records.rows(), which);
        self.labels.clear();
        self.labels.extend(which.iter().map(|&record| records.labels()[record as usize]));
        point.model().forward(point, &self.rows, &mut self.pass);
    }

    fn backward(&mut self, point: &Point<'_>, records: &Records, which: &[u32]) {
        self.forward(point, records, which);
        let (model, last) = (point.model(), self.slopes.len() - 1);
        let probabilities = &self.pass.probabilities;
        head::loss_slopes(probabilities, &self.labels, model.logits(), &mut self.slopes[last]);
        model.backward(point, &self.pass, 1, &mut self.slopes);
    }

    fn losses(&self, model: &dyn Classifier) -> impl Iterator<Item = f64> {
        head::losses(&self.pass.logits, &self.labels, model.logits())
    }

    fn factors(&self, model: &dyn Classifier) -> Layers<'_> {
        Factor::layers(model.blocks(), &self.slopes, &self.rows, &self.pass.hidden)
    }
}

/// The length of a record's gradient: `|g|^2 = sum over layers of |slopes|^2 |(a, 1)|^2`.
fn length(factors: &[Factor<'_>], record: usize) -> f64 {
    let squared = |factor: &Factor<'_>| {
        let outputs = factor.block.outputs;
        let slopes = &factor.slopes[record * outputs..][..outputs];
        slopes.iter().map(|slope| slope * slope).sum::<f64>() * factor.squared_input(record)
    };
    factors.iter().map(squared).sum::<f64>().sqrt()
}
