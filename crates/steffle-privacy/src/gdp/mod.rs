//! Gaussian differential privacy: the closed form, exact for Gaussian messages.
//!
//! # Claim
//! A list of Gaussian messages whose means differ, between two adjacent stores, by at most
//! sigma/z_t is mu-GDP with mu^2 = sum of T_t/z_t^2; [`delta`] and [`epsilon`] are the exact
//! (epsilon, delta) curve of that, rounded up, and [`mu`] inverts it, rounded down. For sampled
//! events it is an upper bound that makes no use of the sampling.
//!
//! # Proof
//! Adjacency: the attribute of one record replaced, everything else fixed; full batch.
//! 1. Given the past, the two laws of a message are normals with equal covariance and means at most
//!    1/z apart in its metric; rotated, N(0, 1) against N(1/z, 1). A smaller distance is a
//!    post-processing of the largest one.
//! 2. Log-likelihood ratios of independent normals add: N(mu^2/2, mu^2) in all, the law of the
//!    single pair N(0, 1), N(mu, 1). Adaptively: [`Filter`].
//! 3. The hockey-stick divergence of that pair is the formula at [`delta`] (Dong, Roth, Su 2022,
//!    corollary 1). It decreases in epsilon and increases in mu, so bisection inverts it.
//! 4. Sampling mixes over batches; hockey-stick divergences are jointly convex, so a round on a
//!    random batch costs at most the worst of its batches, which is step 1.
//!
//! Tests that fail when a constant is halved: `tests::closed_form_is_accurate` (every 1/2 here and
//! in the Mills ratios), `closed_form` in `tests/vectors.rs` (the sum of squares).

mod filter;

pub use filter::Filter;

use crate::error::{PrivacyError, Result};
use crate::event::Event;
use crate::normal::{cumulative, density, mills, mills_drop};
use crate::quantity::{Delta, Epsilon, Mu};

/// Every value is moved this far (relatively) to the safe side; the arithmetic is accurate to
/// about 1e-13, see `tests::closed_form_is_accurate`.
const ROUNDING: f64 = 1e-12;

/// The smallest delta at which mu-GDP is (epsilon, delta)-private, rounded up.
///
/// delta = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)
pub fn delta(epsilon: Epsilon, mu: Mu) -> f64 {
    let (epsilon, mu) = (epsilon.value(), mu.value());
    if mu == 0.0 {
        return 0.0;
    }
    (profile(epsilon / mu - 0.5 * mu, mu) * (1.0 + ROUNDING)).min(1.0)
}

/// The smallest epsilon at which mu-GDP is (epsilon, delta)-private, rounded up; 0 when delta
/// alone covers it.
pub fn epsilon(mu: Mu, delta: Delta) -> f64 {
    let (mu, delta) = (mu.value(), delta.value());
    // In t = epsilon/mu - mu/2 the profile needs no large numbers that cancel.
    let (mut low, mut high) = (-0.5 * mu, (-2.0 * delta.ln()).sqrt());
    if mu == 0.0 || profile(low, mu) <= delta {
        return 0.0;
    }
    for _ in 0..128 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if profile(middle, mu) <= delta { high = middle } else { low = middle }
    }
    mu * (high + 0.5 * mu) * (1.0 + ROUNDING)
}

/// The largest mu that is (epsilon, delta)-private, rounded down: the whole budget of a store.
pub fn mu(epsilon: Epsilon, delta: Delta) -> Mu {
    let (epsilon, delta) = (epsilon.value(), delta.value());
    let excess = |mu: f64| profile(epsilon / mu - 0.5 * mu, mu) > delta;
    // Below this mu even the upper tail bound e^(-t^2/2) is at most delta.
    let root = (-2.0 * delta.ln()).sqrt();
    let mut low = 2.0 * epsilon / ((root * root + 2.0 * epsilon).sqrt() + root);
    let mut high = low;
    for _ in 0..2100 {
        high *= 2.0;
        if excess(high) {
            break;
        }
        low = high;
    }
    for _ in 0..128 {
        let middle = low * (high / low).sqrt();
        if middle <= low || middle >= high {
            break;
        }
        if excess(middle) { high = middle } else { low = middle }
    }
    // Three times, so that reading this budget back, itself rounded up, stays within epsilon.
    Mu::try_from(low * (1.0 - 3.0 * ROUNDING)).unwrap_or(Mu::ZERO)
}

/// mu of all events together: sampling is not made use of, so this is an upper bound for it.
pub fn total(events: &[Event]) -> Result<Mu> {
    let squared: f64 = events
        .iter()
        .map(|event| event.rounds.value() / event.noise_multiplier.value().powi(2))
        .sum();
    Mu::try_from(squared.sqrt() * (1.0 + ROUNDING)).map_err(|_| PrivacyError::NoFiniteBound)
}

/// Delta at epsilon = mu (t + mu/2).
///
/// With phi the density, e^epsilon phi(t + mu) = phi(t): both terms of the closed form share the
/// factor phi(t), and what is left is a difference of Mills ratios.
fn profile(t: f64, mu: f64) -> f64 {
    if t > -5.0 || mu < 1.0 {
        density(t) * mills_drop(t, mu)
    } else {
        cumulative(-t) - density(t) * mills(t + mu)
    }
}

#[cfg(test)]
mod tests;
