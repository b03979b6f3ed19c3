//! Integer noise: what the discrete Gaussian costs beside the continuous one.
//!
//! # Claim
//! Take messages of integers with iid discrete Gaussian noise of integer scales of at least
//! [`SMALLEST_SCALE`], chosen adaptively, of at most [`MOST_NUMBERS`] numbers in all, whose slacks
//! ([`slack`]) sum to at most [`SLACK`]. If their `mu^2 = (L2 sensitivity / sigma)^2` sum to at most
//! that of [`budget`], or if they are the rounds of a sampled plan that costs, with continuous noise,
//! at most [`reduced`]`(epsilon, delta)`, they are together (epsilon, delta)-private.
//!
//! # Proof
//! Let P, Q be the laws of everything sent (and of all secret coins) from two adjacent stores with
//! continuous noise, rounded to integers, and P~, Q~ those with discrete noise.
//! 1. The sums are integers, so rounding the continuous mechanism's output is post-processing: P and
//!    Q are as private as it is. Its noise is the rounded continuous Gaussian R.
//! 2. *One number.* Let `|x| <= c sigma`. The density of the continuous Gaussian at x, over its mean
//!    on `[x - 1/2, x + 1/2]`, is `1 / E[exp(-x t/sigma^2 - t^2/(2 sigma^2))]` with t uniform on
//!    `[-1/2, 1/2]`. The expectation is at most `sinh(a)/a <= exp(a^2/6)` with
//!    `a = x/(2 sigma^2)`, and at least `exp(-1/(8 sigma^2))`. The normaliser of the discrete
//!    Gaussian Z differs from the continuous one by a factor of at most
//!    `1 + 4 exp(-2 pi^2 sigma^2)` (Poisson summation). So
//!    `|ln P(Z = x)/P(R = x)| <= max(1/8, c^2/24)/sigma^2 + 4 exp(-2 pi^2 sigma^2)`; with c = 40
//!    that is below `66.7/sigma^2`. That [`slack`] takes 67 instead covers all rounding below.
//! 3. *All numbers.* Let s be the sum of the slacks, G the transcripts on which all noise is within
//!    40 sigma in the world at hand, N the most numbers. Ratios of 2 multiply: on G, P~ and P differ
//!    by at most `e^s` either way, also when scales and shapes follow from what was sent before.
//!    Outside of G lies at most `t = N exp(-790)`: a tail of 40 sigma has `2 exp(-800)` for Z and
//!    `exp(-799.9)` for R, and the expected number of such events is at most N times that.
//! 4. If P and Q satisfy (e, d), then for every event E
//!    `P~(E) <= e^s P(E) + t <= e^s (e^e Q(E) + d) + t` and `Q(E) <= e^s Q~(E) + t`, hence
//!    `P~(E) <= exp(e + 2 s) Q~(E) + e^s d + 2 N exp(e + s - 790)`.
//! 5. For epsilon up to [`LARGEST_EPSILON`] the last term is below `exp(-702) < 1e-300`. With
//!    `e = epsilon - 2 SLACK` and `d = delta (1 - 2 SLACK)`, `e^s d <= delta (1 - SLACK)`, and the
//!    `delta SLACK` that is left, above 1e-296, covers the last term.
//! 6. *Above [`LARGEST_EPSILON`]* nothing is compared with the continuous noise. Messages of discrete
//!    Gaussian noise whose `mu^2` sum to at most `mu^2` are `rho = mu^2/2` concentrated
//!    differentially private (Canonne, Kamath, Steinke 2020, theorem 4; adaptively, as a filter:
//!    Feldman, Zrnic 2021), hence `(rho + 2 sqrt(rho ln(1/delta)), delta)`-private (Bun, Steinke
//!    2016). What is (64, delta)-private is also (epsilon, delta)-private, so the larger of both
//!    budgets is one.
//!
//! The tests that fail when a constant is halved: `tests::the_slack_bounds_the_ratio` (67),
//! `tests::the_budget_pays_for_the_slack` (both factors 2), `tests::the_tail_is_paid_for` (the
//! bounds on epsilon, numbers and delta), `tests::concentrated_budgets_are_inverse_and_joined`
//! (the factor 1/2 and 2 of 6).

use crate::error::{PrivacyError, Result};
use crate::gdp;
use crate::quantity::{Delta, Epsilon, Mu};

/// The smallest noise scale, in units of the integer grid.
pub const SMALLEST_SCALE: u64 = 1 << 24;

/// What the slacks of all messages of a store may sum to.
pub const SLACK: f64 = 1e-6;

/// The most numbers that a store may ever send with noise: large scales have next to no slack, so
/// that would not limit them.
pub const MOST_NUMBERS: u64 = 1 << 32;

/// Up to here integer noise is compared with continuous noise; above it sampled plans are refused.
pub const LARGEST_EPSILON: f64 = 64.0;

/// Smaller deltas are refused: the tails of the noise would not fit beside them.
pub const SMALLEST_DELTA: f64 = 1e-290;

/// Conversions of 6 are moved this far (relatively) to the safe side; a handful of roundings.
const ROUNDING: f64 = 1e-12;

/// The slack of one message of `numbers` integers.
pub fn slack(numbers: u64, sigma: f64) -> f64 {
    67.0 * numbers as f64 / sigma.powi(2)
}

/// What is left of (epsilon, delta) for the same messages with continuous noise, as an accountant
/// reads them. Refuses an epsilon that the slack alone would use up or that is above
/// [`LARGEST_EPSILON`], and a delta below [`SMALLEST_DELTA`].
///
/// ```
/// let (epsilon, delta) = steffle_privacy::discrete::reduced(1.0.try_into()?, 1e-9.try_into()?)?;
/// assert!(epsilon.value() < 1.0 && delta.value() < 1e-9);
/// # Ok::<(), steffle_privacy::PrivacyError>(())
/// ```
pub fn reduced(epsilon: Epsilon, delta: Delta) -> Result<(Epsilon, Delta)> {
    let given = epsilon.value();
    let refused = |allowed| PrivacyError::OutOfRange { name: "epsilon", given, allowed };
    if given > LARGEST_EPSILON {
        return Err(refused("at most 64 for sampled rounds with integer noise"));
    }
    let left = Epsilon::try_from(given - 2.0 * SLACK)
        .map_err(|_| refused("above 2e-6, which is what integer noise takes off"))?;
    Ok((left, reduced_delta(delta)?))
}

/// The mu that integer messages may spend for (epsilon, delta), the slack taken off. Refuses an
/// epsilon that the slack alone would use up, and a delta below [`SMALLEST_DELTA`].
pub fn budget(epsilon: Epsilon, delta: Delta) -> Result<Mu> {
    let compared = epsilon.value().min(LARGEST_EPSILON).try_into()?;
    let (left, left_delta) = reduced(compared, delta)?;
    let mu = gdp::mu(left, left_delta);
    if epsilon == compared {
        return Ok(mu);
    }
    // sqrt(rho) = sqrt(L + epsilon) - sqrt(L) with L = ln(1/delta), without cancellation.
    let log = -delta.value().ln();
    let root = epsilon.value() / ((log + epsilon.value()).sqrt() + log.sqrt());
    let concentrated = root * 2.0_f64.sqrt() * (1.0 - 3.0 * ROUNDING);
    Mu::try_from(mu.value().max(concentrated))
}

/// The epsilon that integer messages of `mu` in all have cost, rounded up: the inverse of
/// [`budget`]. Refuses a delta below [`SMALLEST_DELTA`], and a mu that has no finite epsilon.
pub fn epsilon(mu: Mu, delta: Delta) -> Result<f64> {
    if mu.value() == 0.0 {
        return Ok(0.0);
    }
    let compared = gdp::epsilon(mu, reduced_delta(delta)?) + 2.0 * SLACK;
    let (rho, log) = (0.5 * mu.value() * mu.value(), -delta.value().ln());
    let concentrated = (rho + 2.0 * (rho * log).sqrt()) * (1.0 + ROUNDING);
    // Both are upper bounds, the first where it applies; both grow with mu, and so does this.
    let epsilon = match compared {
        ..=LARGEST_EPSILON => compared.min(concentrated),
        _ => concentrated,
    };
    if epsilon.is_finite() { Ok(epsilon) } else { Err(PrivacyError::NoFiniteBound) }
}

fn reduced_delta(delta: Delta) -> Result<Delta> {
    if delta.value() < SMALLEST_DELTA {
        let allowed = "at least 1e-290, beside which the tails of integer noise are nothing";
        return Err(PrivacyError::OutOfRange { name: "delta", given: delta.value(), allowed });
    }
    Delta::try_from(delta.value() * (1.0 - 2.0 * SLACK))
}

#[cfg(test)]
mod tests;
