//! The decode of pooled messages: linear, so that it needs nothing but the pooled sums.

use super::{ClassSums, MEMBERSHIP_VARIANCE, Moments, Rule, SHRINK};
use crate::linear::NotPositive;

/// `shat = b0 + .2 a' (.2 A'A + shrink V I)^-1 (m - b0 A'1)`, to be clipped to [0, 1] and, with
/// more than two classes, renormalised ([`memberships`]).
pub fn linear(moments: &Moments, message: &ClassSums) -> Result<Rule, NotPositive> {
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

/// Memberships of one record from its scores (two classes: one), clipped and renormalised.
pub fn memberships(scores: &[f64], into: &mut Vec<f64>) {
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
