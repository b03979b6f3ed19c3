//! Algorithm 2: descend in theta, ascend in the dual variables, project.
//!
//! The paper's listing updates w with the theta message; this one uses the message about w.

use serde::{Deserialize, Serialize};
use steffle_wire::{Batch, Question};

use super::{Aggregate, Problem, Steps};

/// Step sizes.
///
/// Of the parameters and of the dual matrix.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Of theta at the start, eta_theta.
    pub theta: f64,
    /// Of the dual matrix, eta_w.
    pub dual: f64,
    /// eta_theta is multiplied by this four times, at the quarters of the run: the paper decays
    /// by 0.8 every 10 of 40 epochs.
    pub decay: f64,
}

/// Algorithm 2's server for one problem.
///
/// It descends in theta and ascends in the dual by the silos' sums.
pub struct DescentAscent<P> {
    problem: P,
    theta: Vec<f64>,
    rates: Rates,
    rounds: u32,
    violation: f64,
}

impl<P: Problem> DescentAscent<P> {
    /// Starts at `theta` after the census of round 0 and runs for `rounds` rounds.
    pub fn new(
        mut problem: P,
        theta: Vec<f64>,
        rates: Rates,
        rounds: u32,
        census: &Aggregate,
    ) -> Self {
        problem.begin(census);
        Self { problem, theta, rates, rounds, violation: 0.0 }
    }

    /// The problem.
    pub fn problem(&self) -> &P {
        &self.problem
    }
}

impl<P: Problem> Steps for DescentAscent<P> {
    fn ask(&self, batch: Batch) -> Question {
        Question {
            theta: self.theta.clone(),
            cells: self.problem.ask(),
            form: self.problem.form(),
            batch,
            loss: false,
        }
    }

    /// Both gradients are at the point that was asked about, so neither step sees the other.
    fn learn(&mut self, round: u32, answers: &Aggregate) {
        self.violation = self.problem.violation(answers);
        let quarter = u64::from(round - 1) * 4 / u64::from(self.rounds.max(1));
        let rate = self.rates.theta * self.rates.decay.powi(quarter as i32);
        let ascent = self.problem.dual_gradient(answers);
        let descent = self.problem.theta_gradient(&self.theta, answers);
        for (theta, slope) in self.theta.iter_mut().zip(descent) {
            *theta -= rate * slope;
        }
        let mut dual = self.problem.dual();
        dual.iter_mut().zip(ascent).for_each(|(w, slope)| *w += self.rates.dual * slope);
        self.problem.set_dual(&dual);
    }

    fn theta(&self) -> &[f64] {
        &self.theta
    }

    fn violation(&self) -> f64 {
        self.violation
    }
}
