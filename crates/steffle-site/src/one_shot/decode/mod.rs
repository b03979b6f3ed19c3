//! From a released message to estimated class memberships of a silo's own records.
//!
//! Nothing here reads `s`: the input is x and a message that is already released.

mod logistic;
mod softmax;
mod straight;

pub(crate) use straight::straight_memberships;

use steffle_attributes::Capped;
use steffle_model::decode::{ClassSums, Moments, Rule, SHRINK};
use steffle_model::linear::{Cholesky, Features, NotPositive};

/// Longest step of a Newton iteration, as the root mean square change of the logits.
const LONGEST_STEP: f64 = 2.0;

/// Iterations end when the logits change by less than this.
const SHORTEST_STEP: f64 = 1e-3;

/// Estimated class memberships and the rule that they come from.
///
/// They stand for `s` in training from then on.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// `[record][class]`; in each record non-negative with sum 1.
    pub memberships: Vec<f64>,
    /// The rule.
    pub rule: Rule,
}

/// Fits a logistic (two classes) or softmax model to the message: the maximum-entropy memberships
/// whose sums are the released ones, with a mild ridge.
pub fn decode(capped: &Capped<'_>, message: &ClassSums) -> Result<Decoded, NotPositive> {
    let moments = capped.moments();
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
