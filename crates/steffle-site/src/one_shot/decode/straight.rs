//! The memberships that a linear rule gives.

use steffle_attributes::Capped;
use steffle_model::decode::{Rule, memberships};

/// The memberships of all records under a linear rule, `[record][class]`.
pub(crate) fn straight_memberships(capped: &Capped<'_>, rule: &Rule) -> Vec<f64> {
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
