//! The decode of pooled messages: linear, so that it needs nothing but the pooled sums.

use super::{Message, Moments, Rule};
use crate::linear::NotPositive;
use crate::one_shot::{Capped, MEMBERSHIP_VARIANCE, SHRINK};

/// `shat = b0 + .2 a' (.2 A'A + shrink V I)^-1 (m - b0 A'1)`, to be clipped to [0, 1] and, with
/// more than two classes, renormalised ([`straight_memberships`]).
pub fn linear(moments: &Moments, message: &Message) -> Result<Rule, NotPositive> {
    let message = moments.project(message);
    let shares = moments.shares(&message)?;
    let factor = moments.factor(SHRINK * message.variance)?;
    let weights = |(sum, share): (&Vec<f64>, &f64)| {
        let mut rest: Vec<f64> = sum
            .iter()
            .zip(&moments.total)
            .map(|(sum, total)| MEMBERSHIP_VARIANCE * (sum - share * total))
            .collect();
        factor.solve(&mut rest);
        rest
    };
    let weights = message.sums.iter().zip(&shares).map(weights).collect();
    Ok(Rule { intercepts: shares, weights })
}

/// The memberships of all records under a linear rule, `[record][class]`.
pub fn straight_memberships(capped: &Capped<'_>, rule: &Rule) -> Vec<f64> {
    let (scales, records) = (capped.scales(), capped.features().len());
    let scores: Vec<Vec<f64>> =
        rule.weights.iter().map(|weights| capped.features().scores(weights)).collect();
    let mut all = Vec::with_capacity(records * scores.len().max(2));
    let mut own = vec![0.0; scores.len()];
    for (record, scale) in scales.iter().enumerate() {
        let pairs = scores.iter().zip(&rule.intercepts);
        for (own, (score, intercept)) in own.iter_mut().zip(pairs) {
            *own = intercept + scale * score[record];
        }
        memberships(&own, &mut all);
    }
    all
}

/// Memberships of one record from its scores (two classes: one), clipped and renormalised.
pub(in crate::one_shot) fn memberships(scores: &[f64], into: &mut Vec<f64>) {
    if let [score] = scores {
        let p = score.clamp(0.0, 1.0);
        into.extend([1.0 - p, p]);
        return;
    }
    let clipped = || scores.iter().map(|score| score.clamp(0.0, 1.0));
    let sum: f64 = clipped().sum();
    let equal = 1.0 / scores.len() as f64;
    into.extend(clipped().map(|p| if sum > 0.0 { p / sum } else { equal }));
}
