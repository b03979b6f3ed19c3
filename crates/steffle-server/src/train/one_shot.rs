//! The terms of a one-shot run, and the choice of lambda from its release.

use std::ops::ControlFlow;

use steffle_privacy::{Delta, Epsilon, Mu, PrivacyError, discrete};
use steffle_wire::Share;
use steffle_wire::Transport;

use super::{Fair, FairPath, TrainError};
use crate::federation::{GapEstimate, OneShot};

/// The fair model for a target gap.
///
/// The gap is estimated from the release, which costs nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Targeted {
    /// The model.
    pub fair: Fair,
    /// The lambda that was chosen.
    pub lambda: f64,
    /// The gap of its decisions on the training records.
    pub estimate: GapEstimate,
    /// Whether that is at most the target; if not, the model is the one that came closest.
    pub reached: bool,
}

/// The smallest lambda above 0 that is tried for a target gap.
const FIRST_LAMBDA: f64 = 0.2;

/// Each lambda is this many times the one before, up to about 3000.
const FACTOR: f64 = 4.0;
const LAMBDAS: u32 = 8;

/// A step to the next lambda that lowers the gap by less than this hardly moves it; after two of them
/// no larger lambda is tried.
const HARDLY: f64 = 1e-3;

/// Times that the interval around the target is halved.
const HALVINGS: u32 = 4;

/// Models that are tried for a target gap at most.
pub const MOST_MODELS: u32 = 1 + LAMBDAS + HALVINGS;

/// Takes the smallest lambda whose model has an estimated gap of at most `target`, by the release
/// alone: nothing is asked of the attributes divisions again, so it costs no privacy. `observe`
/// sees every lambda that was tried.
pub fn target_gap<T: Transport>(
    path: &mut FairPath<'_, T>,
    release: &OneShot,
    target: f64,
    mut observe: impl FnMut(f64, GapEstimate),
) -> Result<Targeted, TrainError> {
    let mut solve = |path: &mut FairPath<'_, T>, lambda: f64| -> Result<Targeted, TrainError> {
        let fair = path.solve(lambda, |_, _| ControlFlow::Continue(()))?;
        let estimate = path.estimate_gap(release, &fair.theta)?;
        observe(lambda, estimate);
        Ok(Targeted { fair, lambda, estimate, reached: estimate.gap <= target })
    };
    let mut best = solve(path, 0.0)?;
    if best.reached {
        return Ok(best);
    }
    let (mut below, mut found) = (0.0, None);
    let (mut gap, mut idle) = (best.estimate.gap, 0);
    for step in 0..LAMBDAS {
        let next = solve(path, FIRST_LAMBDA * FACTOR.powf(f64::from(step)))?;
        if next.reached {
            found = Some(next);
            break;
        }
        below = next.lambda;
        idle = if gap - next.estimate.gap < HARDLY { idle + 1 } else { 0 };
        gap = next.estimate.gap;
        if next.estimate.gap < best.estimate.gap {
            best = next;
        }
        // Small lambdas move little, too: what does not move at 1 and above will not.
        if idle >= 2 && below >= 1.0 {
            break;
        }
    }
    let Some(mut found) = found else { return Ok(best) };
    for _ in 0..HALVINGS {
        let middle = (below.max(FIRST_LAMBDA / FACTOR) * found.lambda).sqrt();
        let next = solve(path, middle)?;
        if next.reached {
            found = next;
        } else {
            below = middle;
        }
    }
    Ok(found)
}

/// What a one-shot run promises about the store of every attributes division.
///
/// # Claim
/// A run under these terms is (epsilon, delta)-private for every store, however many lambdas,
/// notions and models are trained on its release.
///
/// # Proof
/// The one message costs at most mu^2 (`crates/steffle-attributes/src/features.rs`), the ledger refuses a
/// second one, and everything after it is a function of the message and of public columns.
/// [`discrete::budget`] takes the slack of integer noise off first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OneShotTerms {
    epsilon: Epsilon,
    delta: Delta,
    mu: Mu,
}

impl OneShotTerms {
    /// For (epsilon, delta); refuses what no noise reaches.
    pub fn new(epsilon: Epsilon, delta: Delta) -> Result<Self, PrivacyError> {
        Ok(Self { epsilon, delta, mu: discrete::budget(epsilon, delta)? })
    }

    /// mu of the message.
    pub fn mu(&self) -> Mu {
        self.mu
    }

    /// Epsilon of the claim.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// Delta of the claim.
    pub fn delta(&self) -> Delta {
        self.delta
    }

    /// What the message may cost.
    pub fn share(&self) -> Share {
        // Rounded down, so that the price never passes the budget by rounding.
        Share { round: self.mu.value().powi(2) * (1.0 - 1e-12), table: 0.0 }
    }
}
