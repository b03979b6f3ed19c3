//! The unconstrained model: what fairness is compared with, trained to its optimum.

use std::ops::ControlFlow;

use steffle_wire::Transport;

use crate::federation::{Federation, FederationError};
use crate::game::RIDGE;
use crate::server::{InverseHessian, Minimum, Tolerance, fit, minimise, passes};

/// What silos send so that models are found.
///
/// More than gradients saves most of the trips.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FitRule {
    /// Beside gradients their own optima, diagonals of their Hessians and products with the inverses
    /// of these, for a tenth of the trips. Of networks the parameters that they reach in a pass over
    /// their own records.
    #[default]
    FewTrips,
    /// Losses and gradients alone.
    Gradients,
}

impl FitRule {
    /// Whether silos send more than gradients of a model of so many layers.
    pub(super) fn in_few_trips(self, layers: usize) -> bool {
        self == Self::FewTrips && layers == 1
    }

    /// Whether silos send parameters that they have reached by themselves.
    pub(super) fn by_passes(self, layers: usize) -> bool {
        self == Self::FewTrips && layers > 1
    }

    /// Trips that [`erm`] takes at most, for a model of so many layers and parameters.
    pub fn most_trips(self, layers: usize, parameters: usize, tolerance: Tolerance) -> u32 {
        if self.by_passes(layers) {
            return passes::PASSES + 1;
        }
        if self.in_few_trips(layers) { fit::most_trips(parameters) } else { tolerance.evaluations }
    }
}

/// Minimises the mean cross-entropy plus ridge over the records of all silos. `observe` sees (trips,
/// value) and may end the work early. Where gradients are all there is, the way begins at `start` and
/// ends at `tolerance`; in few trips both follow from what silos send. A network begins at `start`, and
/// its value is the loss of records that silos hold out of their passes.
pub fn erm<T: Transport>(
    federation: &mut Federation<T>,
    start: Vec<f64>,
    rule: FitRule,
    tolerance: Tolerance,
    observe: impl FnMut(u32, f64) -> ControlFlow<()>,
) -> Result<Minimum, FederationError> {
    if rule.in_few_trips(federation.model().blocks().len()) {
        return fit::fit(start.len(), |question| federation.ask_fit(question), observe);
    }
    if rule.by_passes(federation.model().blocks().len()) {
        let how = (federation.sizes().len(), federation.decay());
        return passes::fit(start, how, |question| federation.ask_pass(question), observe);
    }
    minimise(start, tolerance, |theta: &[f64]| mean_loss(federation, theta), observe)
}

/// What gradients tell about the loss's curvature around a network that was found by passes, in
/// [`PROBES`] trips: the improved server steps along it.
pub fn probe<T: Transport>(
    federation: &mut Federation<T>,
    theta: Vec<f64>,
) -> Result<InverseHessian, FederationError> {
    let tolerance = Tolerance { evaluations: PROBES, gradient: 0.0 };
    let go_on = |_, _| ControlFlow::Continue(());
    let evaluate = |theta: &[f64]| mean_loss(federation, theta);
    Ok(minimise(theta, tolerance, evaluate, go_on)?.curvature)
}

/// Trips of [`probe`].
pub const PROBES: u32 = 40;

/// The mean cross-entropy plus ridge over the records of all silos, and its gradient.
fn mean_loss<T: Transport>(
    federation: &mut Federation<T>,
    theta: &[f64],
) -> Result<(f64, Vec<f64>), FederationError> {
    let (loss, mut gradient) = federation.loss(theta)?;
    let squared: f64 = theta.iter().map(|value| value * value).sum();
    gradient.iter_mut().zip(theta).for_each(|(slope, value)| *slope += 2.0 * RIDGE * value);
    Ok((loss + RIDGE * squared, gradient))
}
