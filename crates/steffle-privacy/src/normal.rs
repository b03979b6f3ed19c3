//! The normal distribution far into its tails, with relative accuracy.
//!
//! Privacy lives at probabilities of 1e-5 to 1e-15, where differences of ordinary distribution
//! functions have no digits left. Everything here is a ratio to the density instead.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Abscissae and weights of the 8-point Gauss-Legendre rule on [-1, 1] (positive half).
const GAUSS_8: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_3),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
    (0.960_289_856_497_536_3, 0.101_228_536_290_376_26),
];

/// The density of N(0, 1).
pub(crate) fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// P(N(0, 1) <= x), accurate relative to itself in the lower tail.
pub fn cumulative(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// The x with [`cumulative`]`(x) = probability`; infinite at 0 and 1.
pub fn quantile(probability: f64) -> f64 {
    if probability <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if probability >= 1.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (-39.0, 39.0);
    for _ in 0..64 {
        let middle = 0.5 * (low + high);
        if cumulative(middle) < probability { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Mills ratio: P(N(0, 1) > t) / density(t). Decreasing, about 1/t for large t.
pub(crate) fn mills(t: f64) -> f64 {
    if t < 5.0 {
        // Below 5 the exponential costs at most 12 units in the last place.
        return cumulative(-t) * (0.5 * t * t).exp() * (2.0 * PI).sqrt();
    }
    // Laplace's continued fraction t + 1/(t + 2/(t + 3/(t + ...))): 60 terms leave nothing above
    // rounding at t = 5, and fewer are needed beyond.
    let mut tail = t;
    for term in (1..=60_u32).rev() {
        tail = t + f64::from(term) / tail;
    }
    1.0 / tail
}

/// `mills(t) - mills(t + width)` without cancellation, for `width >= 0` and `t > -38`.
pub(crate) fn mills_drop(t: f64, width: f64) -> f64 {
    if width > 0.25 {
        return mills(t) - mills(t + width);
    }
    // The derivative of the Mills ratio is s * mills(s) - 1: integrate it.
    let centre = t + 0.5 * width;
    let slope = |s: f64| 1.0 - s * mills(s);
    let sum: f64 = GAUSS_8
        .iter()
        .map(|&(x, w)| w * (slope(centre - 0.5 * width * x) + slope(centre + 0.5 * width * x)))
        .sum();
    0.5 * width * sum
}
