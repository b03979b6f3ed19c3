//! Two classes: `min sum_i log(1 + exp(b + a_i'beta)) - m'beta - n b0 b + (ridge/2) |beta|^2`.

use steffle_model::decode::Rule;
use steffle_model::linear::NotPositive;
use steffle_model::model::kernel::sigmoid_in_place;

use super::{Decoded, Fit, LONGEST_STEP, SHORTEST_STEP};

/// Most Newton steps.
const STEPS: usize = 8;

/// Starts at the share of class 1 and takes capped Newton steps.
pub(super) fn fit(fit: &Fit<'_>, sum: &[f64], share: f64) -> Result<Decoded, NotPositive> {
    let mut weights = vec![0.0; sum.len()];
    let mut intercept = (share / (1.0 - share)).ln();
    let mut logits = vec![intercept; fit.scales.len()];
    let mut memberships = logits.clone();
    sigmoid_in_place(&mut memberships);
    for _ in 0..STEPS {
        let step = fit.newton(&memberships, sum, share, &weights)?;
        let change = fit.change(&step);
        let size = fit.size(&[&change]);
        let length = (LONGEST_STEP / size).min(1.0);
        intercept += length * step.intercept;
        weights.iter_mut().zip(&step.weights).for_each(|(weight, step)| *weight += length * step);
        logits.iter_mut().zip(&change).for_each(|(logit, change)| *logit += length * change);
        memberships.copy_from_slice(&logits);
        sigmoid_in_place(&mut memberships);
        if size < SHORTEST_STEP {
            break;
        }
    }
    let memberships = memberships.iter().flat_map(|&p| [1.0 - p, p]).collect();
    Ok(Decoded { memberships, rule: Rule { intercepts: vec![intercept], weights: vec![weights] } })
}
