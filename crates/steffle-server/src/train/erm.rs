//! The unconstrained model: what fairness is compared with, trained to its optimum.

use std::ops::ControlFlow;

use steffle_wire::Transport;

use crate::federation::{Federation, FederationError};
use crate::server::{Minimum, Tolerance, minimise};
use crate::steffle::RIDGE;

/// The unconstrained model and how well it was solved.
pub type ErmOutcome = Minimum;

/// Minimises the mean cross-entropy plus ridge over the records of all silos, from their loss
/// gradients alone. `observe` sees (evaluations, value) and may end the work early.
pub fn erm<T: Transport>(
    federation: &mut Federation<T>,
    start: Vec<f64>,
    tolerance: Tolerance,
    observe: impl FnMut(u32, f64) -> ControlFlow<()>,
) -> Result<ErmOutcome, FederationError> {
    let evaluate = |theta: &[f64]| {
        let (loss, mut gradient) = federation.loss(theta)?;
        let squared: f64 = theta.iter().map(|value| value * value).sum();
        gradient.iter_mut().zip(theta).for_each(|(slope, value)| *slope += 2.0 * RIDGE * value);
        Ok((loss + RIDGE * squared, gradient))
    };
    minimise(start, tolerance, evaluate, observe)
}
