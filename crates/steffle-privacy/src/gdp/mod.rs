//! Gaussian differential privacy: the closed form, exact for Gaussian messages.

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
