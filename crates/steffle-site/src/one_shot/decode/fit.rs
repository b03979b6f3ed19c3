//! What is minimised, in the coordinates of the features ([`steffle_model::decode`] has the way there).

use rayon::prelude::*;
use steffle_attributes::Capped;
use steffle_model::decode::{ClassSums, Moments};
use steffle_model::linear::{Features, Symmetric};
use steffle_model::model::head;

/// The ridge, as a share of the variance of the noise.
const RIDGE: f64 = 0.05;

/// Records whose logarithms are added up together. Fixed, so that the order of every addition is.
const TASK: usize = 4096;

/// A message and the rows that are to explain it.
///
/// Two classes have one vector of weights, `W_1 - W_0`: their sums add up to what is public, so that
/// `W_0 = -W_1` where both have a ridge, and half of it is what is left for the difference.
pub(super) struct Fit<'a> {
    features: &'a Features<'a>,
    scales: Vec<f64>,
    sums: &'a [Vec<f64>],
    /// Logits of a record with weights 0, one per vector of weights.
    offsets: Vec<f64>,
    normal: &'a Symmetric,
    ridge: f64,
    /// A bit more than the ridge: preconditioners are positive also without noise.
    floor: f64,
}

impl<'a> Fit<'a> {
    pub(super) fn new(
        capped: &'a Capped<'_>,
        moments: &'a Moments,
        message: &'a ClassSums,
        shares: &[f64],
    ) -> Self {
        let offsets = match shares {
            [share] => vec![(share / (1.0 - share)).ln()],
            shares => shares.iter().map(|share| share.ln()).collect(),
        };
        let ridge = moments.at_least(RIDGE * message.variance);
        Self {
            features: capped.features(),
            scales: capped.scales(),
            sums: &message.sums,
            offsets,
            normal: &moments.normal,
            ridge,
            floor: ridge + 1e-10 * moments.records,
        }
    }

    /// Curvatures of the classes where memberships are the `shares`, each as if the others stood still.
    pub(super) fn curvatures(&self, shares: &[f64]) -> impl Iterator<Item = Symmetric> {
        let gram = self.features.gram(&self.scales);
        shares.iter().map(move |share| {
            let mut curvature = gram.clone();
            curvature.scale(share * (1.0 - share));
            curvature.add(self.floor, self.normal);
            curvature
        })
    }

    /// The objective at these weights, one vector after the other, and its gradient.
    pub(super) fn evaluate(&self, weights: &[f64]) -> (f64, Vec<f64>) {
        let (width, size) = (self.offsets.len(), self.features.size());
        let logits = self.logits(weights);
        let mut value = self.partition(&logits);
        let mut outputs = Vec::new();
        head::probabilities(&logits, width, &mut outputs);
        let labels = width.max(2);
        let mut gradient = Vec::with_capacity(weights.len());
        for (at, (own, sum)) in weights.chunks_exact(size).zip(self.sums).enumerate() {
            // Of two outputs, the second is the class that the message is about.
            let class = if width == 1 { 1 } else { at };
            let column = outputs.iter().skip(class).step_by(labels);
            let expected: Vec<f64> = column.zip(&self.scales).map(|(p, h)| p * h).collect();
            let (expected, penalty) = (self.features.sum(&expected), self.normal.times(own));
            for ((own, penalty), (expected, sum)) in
                own.iter().zip(&penalty).zip(expected.iter().zip(sum))
            {
                value += own * (0.5 * self.ridge * penalty - sum);
                gradient.push(expected - sum + self.ridge * penalty);
            }
        }
        (value, gradient)
    }

    /// `[record][class]`, of whole rows.
    pub(super) fn memberships(&self, weights: &[f64]) -> Vec<f64> {
        let mut memberships = Vec::new();
        head::probabilities(&self.logits(weights), self.offsets.len(), &mut memberships);
        memberships
    }

    /// `[record][vector of weights]`.
    fn logits(&self, weights: &[f64]) -> Vec<f64> {
        let (width, size) = (self.offsets.len(), self.features.size());
        let mut logits = vec![0.0; self.features.len() * width];
        for (at, (own, offset)) in weights.chunks_exact(size).zip(&self.offsets).enumerate() {
            let column = logits.iter_mut().skip(at).step_by(width);
            let scores = self.features.scores(own);
            column.zip(scores).for_each(|(logit, score)| *logit = offset + score);
        }
        logits
    }

    /// `sum_i h_i logsumexp_r`; of two classes, whose first logit is 0, the softplus of the other.
    fn partition(&self, logits: &[f64]) -> f64 {
        let width = self.offsets.len();
        let one = |logits: &[f64]| match logits {
            [logit] => logit.max(0.0) + (-logit.abs()).exp().ln_1p(),
            logits => {
                let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                top + logits.iter().map(|logit| (logit - top).exp()).sum::<f64>().ln()
            }
        };
        let tasks = logits.par_chunks(width * TASK).zip(self.scales.par_chunks(TASK));
        let parts: Vec<f64> = tasks
            .map(|(logits, scales)| {
                logits.chunks_exact(width).zip(scales).map(|(logits, h)| h * one(logits)).sum()
            })
            .collect();
        parts.iter().sum()
    }
}
