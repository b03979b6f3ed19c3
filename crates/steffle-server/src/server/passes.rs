//! The unconstrained fit of a network: passes of the silos over their own records, averaged.
//!
//! In a trip every silo makes one pass of small steps over its records, from the same parameters, and
//! the server takes the mean of where they end. Records that the silos hold out tell when to stop: a
//! network that is trained to the optimum of its training records is a worse one.

use std::ops::ControlFlow;

use steffle_wire::{PassQuestion, PassSums};

use super::curvature::InverseHessian;
use super::{Found, Minimum};

/// Passes at most.
pub(crate) const PASSES: u32 = 25;

/// The length of the first pass's steps; it falls to nothing with the last.
const STEP: f64 = 0.008;

/// Passes without [`BETTER`] after which there is no more.
const PATIENCE: u32 = 6;

/// A loss is better by at least this.
const BETTER: f64 = 1e-4;

/// Finds a model of `silos` silos that answer `ask`, pulled towards 0 by `decay`. `observe` sees (trips, loss of the records that
/// are held out) and may end the work early.
pub(crate) fn fit<E>(
    start: Vec<f64>,
    (silos, decay): (usize, f64),
    mut ask: impl FnMut(&PassQuestion) -> Result<PassSums, E>,
    mut observe: impl FnMut(u32, f64) -> ControlFlow<()>,
) -> Result<Minimum, E> {
    // The mean of many silos' passes is a short one; a few make it longer than one silo alone would.
    let keep = (1.0 - 3.0 / silos.max(1) as f64).clamp(0.0, 0.8);
    let mut theta = start;
    let mut moving = vec![0.0; theta.len()];
    let mut best = Best { loss: f64::INFINITY, theta: theta.clone() };
    let (mut idle, mut trips) = (0, 0);
    for trip in 0..PASSES {
        let step = STEP * (1.0 - f64::from(trip) / f64::from(PASSES));
        let question = PassQuestion::Walk { theta: theta.clone(), trip, step, decay, pull: None };
        let sums = ask(&question)?;
        trips += 1;
        let loss = mean_loss(&sums);
        idle = if best.takes(loss, &theta) { 0 } else { idle + 1 };
        if observe(trips, loss).is_break() || idle >= PATIENCE {
            return Ok(best.found(trips));
        }
        for ((theta, moving), reached) in theta.iter_mut().zip(&mut moving).zip(average(&sums)) {
            *moving = keep * *moving + (reached - *theta);
            *theta += *moving;
        }
    }
    let sums = ask(&PassQuestion::Look { theta: theta.clone(), imputed: false })?;
    best.takes(mean_loss(&sums), &theta);
    Ok(best.found(trips + 1))
}

/// The mean of where the silos' passes ended, by their records.
pub(crate) fn average(sums: &PassSums) -> impl Iterator<Item = f64> + '_ {
    let records = (sums.walked as f64).max(1.0);
    sums.theta.iter().map(move |sum| sum / records)
}

/// Of the records that are held out; 0 where silos are too small to hold any out.
pub(crate) fn mean_loss(sums: &PassSums) -> f64 {
    sums.loss / (sums.held_out as f64).max(1.0)
}

/// The parameters with the lowest loss.
struct Best {
    loss: f64,
    theta: Vec<f64>,
}

impl Best {
    /// Says whether a loss is clearly better. Of equal ones the last is taken, so that where nothing is
    /// held out it is the last of all.
    fn takes(&mut self, loss: f64, theta: &[f64]) -> bool {
        let clearly = loss < self.loss - BETTER || loss == 0.0;
        if loss <= self.loss {
            self.loss = loss;
            self.theta.copy_from_slice(theta);
        }
        clearly
    }

    fn found(self, evaluations: u32) -> Minimum {
        Minimum {
            theta: self.theta,
            value: self.loss,
            gradient: f64::INFINITY,
            evaluations,
            curvature: InverseHessian::scaled(1.0),
            found: Found::Passes,
        }
    }
}
