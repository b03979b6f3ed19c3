//! From a released message to estimated class memberships.
//!
//! Nothing here reads `s`: the input is x and a message that is already released.
//!
//! All of it is in the coordinates of the features. With `B` the whitening, `a_i = scale_i B f_i`
//! the capped rows, `m` the message in whitened coordinates, put `z = B^-1 m` and `v = B' beta`.
//! Then `a_i' beta = scale_i f_i' v`, `m' beta = z' v`, `|beta|^2 = v' (G + gamma I) v` and
//! `A' A = B (sum_i scale_i^2 f_i f_i') B'`: whitened rows are never needed.

mod energy;
mod linear;
mod logistic;
mod softmax;

pub use energy::Energy;
pub use linear::{linear, straight_memberships};

use super::{Capped, MEMBERSHIP_VARIANCE, SHRINK};
use crate::linear::{Cholesky, Features, NotPositive, Symmetric};

/// Longest step of a Newton iteration, as the root mean square change of the logits.
const LONGEST_STEP: f64 = 2.0;

/// Iterations end when the logits change by less than this.
const SHORTEST_STEP: f64 = 1e-3;

/// A message as it was released: per class (two classes: class 1 only), in the coordinates of the
/// features and in units in which a weight at the cap has length 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// `sum_i [s_i = r] scale_i f_i` plus noise.
    pub sums: Vec<Vec<f64>>,
    /// Variance of the noise per whitened coordinate.
    pub variance: f64,
}

/// Estimated class memberships and the rule that they come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// `[record][class]`; in each record non-negative with sum 1.
    pub memberships: Vec<f64>,
    /// The rule.
    pub rule: Rule,
}

/// A model of the memberships: of class 1 for two classes, else of every class.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Intercepts, one per modelled class.
    pub intercepts: Vec<f64>,
    /// Weights of the capped features, one vector per modelled class.
    pub weights: Vec<Vec<f64>>,
}

/// Public sums over the capped features of one silo, or of all that pool.
#[derive(Debug, Clone, PartialEq)]
pub struct Moments {
    /// Records in some cell.
    pub records: f64,
    /// `G + gamma I`.
    pub normal: Symmetric,
    /// `sum_i scale_i f_i`.
    pub total: Vec<f64>,
    /// `sum_i scale_i^2 f_i f_i'`.
    pub gram: Symmetric,
}

impl Moments {
    /// Of a silo's capped features.
    pub fn new(capped: &Capped<'_>) -> Self {
        let (features, scales) = (capped.features(), capped.scales());
        let squares: Vec<f64> = scales.iter().map(|scale| scale * scale).collect();
        Self {
            records: features.count() as f64,
            normal: capped.normal().clone(),
            total: features.sum(&scales),
            gram: features.gram(&squares),
        }
    }

    /// Uses what is known of the sum over all classes: with more than two, the messages are
    /// projected on it. Every class's noise variance shrinks by `(k - 1) / k`.
    pub(super) fn project(&self, message: &Message) -> Message {
        let classes = message.sums.len();
        if classes < 2 {
            return message.clone();
        }
        let k = classes as f64;
        let excess: Vec<f64> = (0..self.total.len())
            .map(|j| (message.sums.iter().map(|sum| sum[j]).sum::<f64>() - self.total[j]) / k)
            .collect();
        let sums = message.sums.iter().map(|sum| sum.iter().zip(&excess).map(|(s, e)| s - e));
        Message {
            sums: sums.map(Iterator::collect).collect(),
            variance: message.variance * (k - 1.0) / k,
        }
    }

    /// `variance_of_s A'A + ridge I` in the coordinates of the features, factored.
    fn factor(&self, ridge: f64) -> Result<Cholesky, NotPositive> {
        let mut matrix = self.gram.clone();
        matrix.scale(MEMBERSHIP_VARIANCE);
        matrix.add(self.at_least(ridge), &self.normal);
        Cholesky::new(matrix)
    }

    /// A ridge that keeps matrices positive also without noise.
    fn at_least(&self, ridge: f64) -> f64 {
        ridge.max(1e-9 * self.records)
    }

    /// The share of each class (two classes: of class 1) by generalised least squares, kept
    /// inside (0, 1): with few records and much noise the estimate leaves it in one run of four,
    /// and no model has such an intercept.
    pub fn shares(&self, message: &Message) -> Result<Vec<f64>, NotPositive> {
        let factor = self.factor(message.variance)?;
        let mut direction = self.total.clone();
        factor.solve(&mut direction);
        let dot = |a: &[f64]| a.iter().zip(&direction).map(|(a, b)| a * b).sum::<f64>();
        let scale = dot(&self.total);
        let share = |sum: &Vec<f64>| if scale > 0.0 { dot(sum) / scale } else { 0.5 };
        let shares: Vec<f64> = message.sums.iter().map(share).collect();
        Ok(if let [share] = shares[..] {
            vec![share.clamp(0.02, 0.98)]
        } else {
            let clipped: Vec<f64> = shares.iter().map(|share| share.clamp(0.002, 1.0)).collect();
            let sum: f64 = clipped.iter().sum();
            clipped.iter().map(|share| share / sum).collect()
        })
    }
}

/// Fits a logistic (two classes) or softmax model to the message: the maximum-entropy memberships
/// whose sums are the released ones, with a mild ridge.
pub fn decode(capped: &Capped<'_>, message: &Message) -> Result<Decoded, NotPositive> {
    let moments = Moments::new(capped);
    let message = moments.project(message);
    let shares = moments.shares(&message)?;
    let ridge = moments.at_least(SHRINK * message.variance);
    let (features, scales) = (capped.features(), capped.scales());
    let mut inside = vec![0.0; features.len()];
    let members = (0..features.cells()).flat_map(|cell| features.members(cell));
    members.for_each(|&record| inside[record as usize] = 1.0);
    let fit = Fit { features, scales, inside, moments, ridge };
    match &message.sums[..] {
        [sum] => logistic::fit(&fit, sum, shares[0]),
        sums => softmax::fit(&fit, sums, &shares),
    }
}

/// What both fits share.
struct Fit<'a> {
    features: &'a Features<'a>,
    scales: Vec<f64>,
    /// 1 for a record in some cell, else 0.
    inside: Vec<f64>,
    moments: Moments,
    ridge: f64,
}

/// A Newton step for one class.
struct Step {
    intercept: f64,
    weights: Vec<f64>,
}

impl Fit<'_> {
    /// Logits of every record: intercept plus capped features times weights; 0 of a record in no
    /// cell.
    fn logits(&self, intercept: f64, weights: &[f64]) -> Vec<f64> {
        let scores = self.features.scores(weights);
        scores.iter().zip(&self.scales).map(|(score, scale)| intercept + scale * score).collect()
    }

    /// The Newton step of one class's model: `p` are the memberships it gives now, `sum` and
    /// `share` what it should give.
    fn newton(
        &self,
        p: &[f64],
        sum: &[f64],
        share: f64,
        weights: &[f64],
    ) -> Result<Step, NotPositive> {
        let Self { features, scales, inside, moments, ridge } = self;
        let scaled = |value: &dyn Fn(f64) -> f64| -> Vec<f64> {
            p.iter().zip(scales).map(|(&p, scale)| value(p) * scale).collect()
        };
        let over_members = |value: &dyn Fn(f64) -> f64| -> f64 {
            p.iter().zip(inside).map(|(&p, inside)| inside * value(p)).sum()
        };
        let expected = features.sum(&scaled(&|p| p));
        let penalty = moments.normal.times(weights);
        let mut gradient: Vec<f64> = expected
            .iter()
            .zip(sum)
            .zip(&penalty)
            .map(|((expected, sum), penalty)| expected - sum + ridge * penalty)
            .collect();
        let gradient_intercept = over_members(&|p| p) - moments.records * share;

        let curvatures: Vec<f64> =
            p.iter().zip(scales).map(|(p, scale)| p * (1.0 - p) * scale * scale).collect();
        let mut hessian = features.gram(&curvatures);
        hessian.add(*ridge, &moments.normal);
        let factor = Cholesky::new(hessian)?;
        let border = features.sum(&scaled(&|p| p * (1.0 - p)));
        let corner = over_members(&|p| p * (1.0 - p)) + 1e-6 * moments.records;
        // The intercept borders the matrix; eliminate it.
        let mut solved_border = border.clone();
        factor.solve(&mut solved_border);
        factor.solve(&mut gradient);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let schur = (corner - dot(&border, &solved_border)).max(1e-6 * moments.records);
        let intercept = (gradient_intercept - dot(&border, &gradient)) / schur;
        let weights = gradient.iter().zip(&solved_border).map(|(g, b)| intercept * b - g).collect();
        Ok(Step { intercept: -intercept, weights })
    }

    /// The change of the logits that a step makes.
    fn change(&self, step: &Step) -> Vec<f64> {
        self.logits(step.intercept, &step.weights)
    }

    /// The root mean square over the records in some cell.
    fn size(&self, changes: &[&[f64]]) -> f64 {
        let squares = |change: &&[f64]| -> f64 {
            change.iter().zip(&self.inside).map(|(change, inside)| inside * change * change).sum()
        };
        let count = self.moments.records.max(1.0) * changes.len() as f64;
        (changes.iter().map(squares).sum::<f64>() / count).sqrt()
    }
}
