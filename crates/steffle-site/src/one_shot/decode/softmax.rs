//! More classes: `min sum_i logsumexp_r(b_r + a_i'beta_r) - sum_r [m_r'beta_r + n b0_r b_r]
//! + (ridge/2) sum_r |beta_r|^2`.

use steffle_model::decode::Rule;
use steffle_model::linear::NotPositive;
use steffle_model::model::head;

use super::{Decoded, Fit, LONGEST_STEP, SHORTEST_STEP, Step};

/// Most steps; a step has a Newton step for every class.
const STEPS: usize = 20;

/// Classes are stepped side by side, each as if the others stood still, which overshoots by at
/// most 2: the eigenvalues of the Hessian over its diagonal blocks are at most `k / (k - 1)`.
const DAMPING: f64 = 0.7;

/// Starts at the shares of the classes and takes capped, damped Newton steps in every class.
pub(super) fn fit(
    fit: &Fit<'_>,
    sums: &[Vec<f64>],
    shares: &[f64],
) -> Result<Decoded, NotPositive> {
    let (records, classes) = (fit.scales.len(), sums.len());
    let mut rule = Rule {
        intercepts: shares.iter().map(|share| share.ln()).collect(),
        weights: sums.iter().map(|sum| vec![0.0; sum.len()]).collect(),
    };
    let mut logits: Vec<f64> =
        rule.intercepts.iter().copied().cycle().take(records * classes).collect();
    let mut memberships = Vec::new();
    head::probabilities(&logits, classes, &mut memberships);
    let mut own = vec![0.0; records];
    for _ in 0..STEPS {
        let mut steps: Vec<Step> = Vec::with_capacity(classes);
        for (class, sum) in sums.iter().enumerate() {
            let column = memberships.iter().skip(class).step_by(classes);
            own.iter_mut().zip(column).for_each(|(own, &p)| *own = p);
            steps.push(fit.newton(&own, sum, shares[class], &rule.weights[class])?);
        }
        let changes: Vec<Vec<f64>> = steps.iter().map(|step| fit.change(step)).collect();
        let size = fit.size(&changes.iter().map(|change| &change[..]).collect::<Vec<_>>());
        let length = DAMPING * (LONGEST_STEP / size).min(1.0);
        for (class, step) in steps.iter().enumerate() {
            rule.intercepts[class] += length * step.intercept;
            let weights = rule.weights[class].iter_mut().zip(&step.weights);
            weights.for_each(|(weight, step)| *weight += length * step);
            let column = logits.iter_mut().skip(class).step_by(classes);
            column.zip(&changes[class]).for_each(|(logit, change)| *logit += length * change);
        }
        head::probabilities(&logits, classes, &mut memberships);
        if size < SHORTEST_STEP {
            break;
        }
    }
    Ok(Decoded { memberships, rule })
}
