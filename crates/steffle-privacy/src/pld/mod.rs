//! Privacy-loss distributions: the sharpest accountant for sampled rounds.
//!
//! # Claim
//! [`epsilon`] is an upper bound for every list of events, at the neighbours each event names, and
//! its `error` says how far above the exact value of the round's pair it can be at most.
//!
//! # Proof
//! Adjacency and the pair (P, Q) that dominates one round: module `loss`. Write X for the sum of
//! the losses ln(P/Q) of all rounds under P; delta(e) = E[(1 - e^(e - X))_+].
//! 1. *Rounding up.* A loss x between grid points a and a + h is moved to a or a + h with
//!    probabilities that keep E[e^-x], the mass under Q (connect the dots; Doroshenko et al. 2022).
//!    So X becomes X + S with E[e^-S | X] = 1, and (1 - e^(e - X) U)_+ is convex in U = e^-S:
//!    by Jensen no delta gets smaller. On grids coarser than 1 losses are only moved up.
//! 2. *Cutting off.* Losses above the grid count as infinite and unseen losses below it are moved
//!    up: both only add to delta.
//! 3. *Wrapping.* Circular convolution can only add mass inside the window; the probability above
//!    it is bounded by Chernoff and added.
//! 4. *How much was added.* Given X each rounding D has range h and E[e^-D] = 1; Hoeffding's lemma
//!    gives `E[D] <= h^2/8`, his inequality `P(S > T h^2/8 + s) <= e^(-2 s^2/(T h^2))`. Hence
//!    `exact(delta) >= computed(delta + k) - T h^2/8 - h sqrt(T ln(1/k) / 2)` for every k; k is
//!    delta/1000 plus what steps 2 and 3 added.
//!
//! Floating-point rounding is covered by allowances (`compose`), tested against the closed form.
//!
//! Tests that fail when a constant is halved: `tests/vectors.rs` (rate, shift, mirror image),
//! `tests::one_sampled_round_is_the_amplification_formula` (the split of a cell),
//! `tests::what_is_cut_off_counts_in_full` (step 2), `tests::gaussian_pair_is_within_its_error`
//! (the window of step 3),
//! `tests::rounding_drifts_by_an_eighth` and `tests::rounding_deviates_no_further` (step 4).

#![allow(clippy::cast_possible_wrap, reason = "positions on grids of at most 2^22 points")]

mod compose;
mod discretise;

use compose::{Part, compose, tilt_for};
use discretise::{Grid, discretise};

use crate::error::{PrivacyError, Result};
use crate::event::{self, Event};
use crate::loss::{Direction, Pair};
use crate::quantity::Delta;
use crate::{gdp, rdp};

/// How much work to spend.
///
/// Less work gives a looser bound, never a wrong one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    /// The error to aim for, relative to epsilon.
    pub relative_error: f64,
    /// The most points of a transform. Beyond it the grid gets coarser and the error larger.
    pub most_points: usize,
}

/// An epsilon between `exact` and `exact + error`.
///
/// Whoever has to be safe takes the upper end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounded {
    /// The upper bound.
    pub epsilon: f64,
    /// The exact value for the pair is at most this much smaller; `None` when only a coarser
    /// method gave a bound.
    pub error: Option<f64>,
}

impl Precision {
    /// For statements and calibration: tenths of a per mille.
    pub const FINE: Self = Self { relative_error: 1e-3, most_points: 1 << 21 };
    /// For overviews: about a percent, in milliseconds.
    pub const QUICK: Self = Self { relative_error: 1e-2, most_points: 1 << 16 };
}

/// An upper bound on epsilon for all events together, at [`Precision::FINE`].
pub fn epsilon(events: &[Event], delta: Delta) -> Result<Bounded> {
    epsilon_at(events, delta, Precision::FINE)
}

/// An upper bound on epsilon for all events together.
pub fn epsilon_at(events: &[Event], delta: Delta, precision: Precision) -> Result<Bounded> {
    event::check(events)?;
    let pairs: Vec<(Pair, u64)> =
        events.iter().map(|event| (Pair::of(event), event.rounds.count())).collect();
    let both = [Direction::Remove, Direction::Add];
    let symmetric = pairs.iter().all(|(pair, _)| pair.symmetric());
    let mut worst = Bounded { epsilon: 0.0, error: Some(0.0) };
    let start = starting_point(events, &pairs, delta)?;
    for &direction in if symmetric { &both[..1] } else { &both[..] } {
        let one = refine(&pairs, direction, delta.value(), start, precision);
        if one.epsilon > worst.epsilon {
            worst = one;
        }
    }
    Ok(worst)
}

/// An upper bound that needs no grid: the better of moments and of no amplification at all.
fn starting_point(events: &[Event], pairs: &[(Pair, u64)], delta: Delta) -> Result<f64> {
    let unsampled = gdp::epsilon(gdp::total(events)?, delta);
    let weighted: Vec<(Pair, f64)> = pairs.iter().map(|&(p, rounds)| (p, rounds as f64)).collect();
    let start = rdp::rough_epsilon(&weighted, delta.value())
        .map_or(unsampled, |moments| moments.min(unsampled));
    if start.is_finite() { Ok(start) } else { Err(PrivacyError::NoFiniteBound) }
}

/// Composes on a grid that fits the best bound so far, until the error is small enough.
fn refine(
    pairs: &[(Pair, u64)],
    direction: Direction,
    delta: f64,
    start: f64,
    precision: Precision,
) -> Bounded {
    let mut best = Bounded { epsilon: start, error: None };
    for _ in 0..4 {
        if best.epsilon == 0.0 {
            return Bounded { epsilon: 0.0, error: Some(0.0) };
        }
        let Some(pass) = on_grid(pairs, direction, delta, best.epsilon, precision) else { break };
        let was = best.epsilon;
        best.error = pass.error.map(|error| (best.epsilon - pass.epsilon + error).max(0.0));
        if pass.epsilon <= best.epsilon {
            best = pass;
        }
        // A bound that moved little has already fixed the grid.
        if best.epsilon > 0.8 * was {
            break;
        }
    }
    best
}

/// One pass: grid, discretise, compose, read.
fn on_grid(
    pairs: &[(Pair, u64)],
    direction: Direction,
    delta: f64,
    bound: f64,
    precision: Precision,
) -> Option<Bounded> {
    let rounds = pairs.iter().map(|&(_, rounds)| rounds as f64).sum::<f64>();
    let slip = delta / 1000.0;
    // Step 4 of the proof, solved for the step: drift is of second order, a tenth is enough for it.
    let error = precision.relative_error * bound;
    let (for_deviation, for_drift) = (0.9 * error, 0.1 * error);
    let deviation = deviation(rounds, slip);
    let mut grid = Grid {
        step: (for_deviation / deviation)
            .min((8.0 * for_drift / rounds).sqrt().max(for_drift / rounds)),
        largest_loss: 2.0 * bound + 80.0,
        reach: (2.0 * (2e9 * rounds / delta).ln()).sqrt(),
        cells: precision.most_points / 2,
    };
    for _ in 0..12 {
        let parts: Option<Vec<Part>> = pairs
            .iter()
            .map(|&(pair, rounds)| Some(Part::new(discretise(pair, direction, grid)?, rounds)))
            .collect();
        let Some(parts) = parts else {
            grid.step *= 2.0;
            continue;
        };
        let (tilt, near) = tilt_for(&parts, grid.step, delta);
        match compose(&parts, grid.step, tilt, precision.most_points) {
            Ok(composed) => {
                let epsilon = composed.epsilon(delta, near)?;
                let moved = rounds * grid.drift() + grid.step * deviation;
                let exact = composed.epsilon_from_below(delta + slip, near) - moved;
                return Some(Bounded { epsilon, error: Some(epsilon - exact.max(0.0)) });
            }
            Err(points) if points.is_finite() => {
                grid.step *= (points / precision.most_points as f64 * 1.01).max(1.1);
            }
            Err(_) => return None,
        }
    }
    None
}

/// How many steps the roundings of all rounds exceed their mean by, except with probability `slip`.
fn deviation(rounds: f64, slip: f64) -> f64 {
    (0.5 * rounds * -slip.ln()).sqrt()
}

#[cfg(test)]
mod tests;
