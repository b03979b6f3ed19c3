//! A silo's own optimum, by Newton's method: no trip is needed for it.

use steffle_model::linear::Cholesky;

use super::super::evaluate::Evaluated;
use super::super::{RecordsDivision, RecordsDivisionError};

/// Most steps; about seven are usual.
const STEPS: usize = 15;

/// Halvings of a step that does not descend.
const HALVINGS: usize = 20;

/// Enough: the largest entry of the gradient of the summed loss.
const ENOUGH: f64 = 1e-3;

impl RecordsDivision {
    /// The optimum of the silo's summed loss plus `|theta|^2 / 2`, times the diagonal of its Hessian
    /// there, and that diagonal: what a silo has not seen does not count in the mean over silos.
    pub(super) fn own_fit(&self) -> Result<Vec<Vec<f64>>, RecordsDivisionError> {
        let mut at = self.evaluate(&vec![0.0; self.model.parameters()], false)?;
        for _ in 0..STEPS {
            let slopes = at.gradient.iter().zip(&at.theta);
            let gradient: Vec<f64> = slopes.map(|(slope, theta)| slope + theta).collect();
            if gradient.iter().all(|slope| slope.abs() < ENOUGH) {
                break;
            }
            let mut hessian = self.hessian(&at.logits);
            hessian.add_diagonal(1.0);
            let Ok(factor) = Cholesky::new(hessian) else { break };
            let mut step = gradient.clone();
            factor.solve(&mut step);
            let slope: f64 = step.iter().zip(&gradient).map(|(step, slope)| step * slope).sum();
            let Some(next) = self.descend(&at, &step, slope)? else { break };
            at = next;
        }
        let diagonal = self.diagonal(&at.logits);
        let weighed = diagonal.iter().zip(&at.theta).map(|(weight, theta)| weight * theta);
        Ok(vec![weighed.collect(), diagonal])
    }

    /// The first point along `-step` that is low enough.
    fn descend(
        &self,
        at: &Evaluated,
        step: &[f64],
        slope: f64,
    ) -> Result<Option<Evaluated>, RecordsDivisionError> {
        let value = |at: &Evaluated| {
            at.loss + 0.5 * at.theta.iter().map(|theta| theta * theta).sum::<f64>()
        };
        let (here, mut length) = (value(at), 1.0);
        for _ in 0..HALVINGS {
            let theta: Vec<f64> =
                at.theta.iter().zip(step).map(|(theta, step)| theta - length * step).collect();
            let next = self.evaluate(&theta, false)?;
            if value(&next) <= here - 1e-4 * length * slope {
                return Ok(Some(next));
            }
            length *= 0.5;
        }
        Ok(None)
    }
}
