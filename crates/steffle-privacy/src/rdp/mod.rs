//! Renyi differential privacy: moments of the privacy loss, added up and converted.
//!
//! # Claim
//! [`epsilon`] is an upper bound for every list of events, at the neighbours each event names. It
//! is never exact: 4 to 10 percent above the exact value is usual.
//!
//! # Proof
//! 1. Let (P, Q) dominate one round (module `loss`, where adjacency and each pair are argued). A
//!    Renyi divergence is an integral of hockey-stick divergences with positive weights, so that
//!    of the round is at most `D_a(P||Q) = ln E_P[(P/Q)^(a-1)] / (a-1)`, in both directions.
//! 2. Adaptive composition adds these for each order a (Mironov 2017).
//! 3. `epsilon = D_a + ln(1 - 1/a) - (ln delta + ln a)/(a-1)` holds for every a > 1 (Canonne,
//!    Kamath, Steinke 2020, proposition 12). Any a is valid; the search only decides how tight.
//! 4. The moment is an integral of a smooth function, by Gauss-Legendre panels; it is accurate to
//!    1e-10 (`integral_matches_the_binomial_sum`) and rounded up by 1e-9.
//!
//! Tests that fail when a constant is halved: `tests::integral_matches_the_binomial_sum` and
//! `tests::gaussian_moment_is_its_closed_form` (the integrand, its series, the range), and
//! `moments` in `tests/vectors.rs` (the sum over rounds and the conversion).

use crate::error::{PrivacyError, Result};
use crate::event::{self, Event};
use crate::loss::{Direction, Pair};
use crate::quantity::Delta;

/// Relative rounding up of every moment; see step 4 above.
const ROUNDING: f64 = 1e-9;
/// Standard deviations after which an integrand is nothing (e^-72).
const REACH: f64 = 12.0;
/// The 16-point Gauss-Legendre rule on [-1, 1] (positive half).
const GAUSS_16: [(f64, f64); 8] = [
    (0.095_012_509_837_637_44, 0.189_450_610_455_068_5),
    (0.281_603_550_779_258_9, 0.182_603_415_044_923_58),
    (0.458_016_777_657_227_37, 0.169_156_519_395_002_54),
    (0.617_876_244_402_643_7, 0.149_595_988_816_576_73),
    (0.755_404_408_355_003, 0.124_628_971_255_533_87),
    (0.865_631_202_387_831_7, 0.095_158_511_682_492_78),
    (0.944_575_023_073_232_6, 0.062_253_523_938_647_894),
    (0.989_400_934_991_649_9, 0.027_152_459_411_754_095),
];

/// An upper bound on epsilon for all events together.
pub fn epsilon(events: &[Event], delta: Delta) -> Result<f64> {
    event::check(events)?;
    let pairs: Vec<(Pair, f64)> =
        events.iter().map(|event| (Pair::of(event), event.rounds.value())).collect();
    search(&pairs, delta.value(), 1e-7).ok_or(PrivacyError::NoFiniteBound)
}

/// The same to about six digits: where finer methods start.
pub(crate) fn rough_epsilon(pairs: &[(Pair, f64)], delta: f64) -> Option<f64> {
    search(pairs, delta, 1e-3)
}

/// The smallest converted epsilon over orders 1 + lambda, to a relative `width` in lambda.
fn search(pairs: &[(Pair, f64)], delta: f64, width: f64) -> Option<f64> {
    if pairs.is_empty() {
        return Some(0.0);
    }
    let at = |log_lambda: f64| converted(pairs, log_lambda.exp(), delta);
    // Without sampling the best lambda is about sqrt(2 ln(1/delta)) / mu. Sampling makes the
    // moments smaller and the best lambda larger, up to where the integration range ends.
    let squared_distance: f64 =
        pairs.iter().map(|&(pair, rounds)| rounds * (pair.distance() * pair.distance())).sum();
    let low = (0.1 * (-2.0 * delta.ln()).sqrt() / squared_distance.sqrt()).max(1e-12);
    let largest_shift = pairs.iter().map(|(pair, _)| pair.shift()).fold(0.0, f64::max);
    let high = (1000.0 / largest_shift).max(10.0 * low);
    let (mut low, mut high) = (low.ln(), high.ln());
    let step = 0.5_f64.max((high - low) / 64.0);
    let mut best = (low, f64::INFINITY);
    let mut point = low;
    while point < high + step {
        let value = at(point);
        if value < best.1 {
            best = (point, value);
        } else if value > 3.0 * best.1 {
            break;
        }
        point += step;
    }
    (low, high) = (best.0 - step, best.0 + step);
    // Golden section: one new value per step.
    let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut left, mut right) = (high - golden * (high - low), low + golden * (high - low));
    let (mut at_left, mut at_right) = (at(left), at(right));
    while high - low > width {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - golden * (high - low);
            at_left = at(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + golden * (high - low);
            at_right = at(right);
        }
    }
    let smallest = best.1.min(at_left).min(at_right);
    smallest.is_finite().then_some(smallest.max(0.0))
}

/// Steps 1 to 3 of the proof at order 1 + lambda.
fn converted(pairs: &[(Pair, f64)], lambda: f64, delta: f64) -> f64 {
    let total = |direction| -> f64 {
        pairs.iter().map(|&(pair, rounds)| rounds * log_moment(pair, direction, lambda)).sum()
    };
    let mut moment = total(Direction::Remove);
    if pairs.iter().any(|(pair, _)| !pair.symmetric()) {
        moment = moment.max(total(Direction::Add));
    }
    let order = 1.0 + lambda;
    moment / lambda + (-1.0 / order).ln_1p() - (delta.ln() + order.ln()) / lambda
}

/// ln E_P[(P/Q)^lambda] of one round, rounded up.
///
/// Because E_P[Q/P] = 1, the moment minus 1 is the integral of P `excess(loss, lambda)`, which has
/// no negative part: moments of 1 + 1e-14 keep all their digits.
fn log_moment(pair: Pair, direction: Direction, lambda: f64) -> f64 {
    let (forward, mirrored) = match direction {
        _ if pair.symmetric() => (true, true),
        Direction::Remove => (true, false),
        Direction::Add => (false, true),
    };
    let mut sum = Sum::default();
    // The integrand varies on the scale of the noise, or of the switch between components.
    let panel_width = (4.0 / pair.shift()).clamp(0.25, 2.0);
    for (from, to) in stretches(pair, lambda) {
        let panels = ((to - from) / panel_width).ceil().max(1.0);
        let half = 0.5 * (to - from) / panels;
        for panel in 0..panels as usize {
            let centre = from + (2.0 * panel as f64 + 1.0) * half;
            for (x, weight) in GAUSS_16 {
                for y in [centre - half * x, centre + half * x] {
                    let (log_density, loss) = pair.at(y);
                    if forward {
                        sum.add(log_density + log_excess(loss, lambda), weight * half);
                    }
                    if mirrored {
                        sum.add(log_density - loss + log_excess(-loss, lambda), weight * half);
                    }
                }
            }
        }
    }
    let log_excess_moment = sum.log();
    let moment =
        if log_excess_moment > 700.0 { log_excess_moment } else { log_excess_moment.exp().ln_1p() };
    moment * (1.0 + ROUNDING)
}

/// Where the integrand is not negligible.
fn stretches(pair: Pair, lambda: f64) -> Vec<(f64, f64)> {
    let start = pair.start();
    let (first, last) = pair.outer_peaks(lambda);
    let window = |peak: f64| ((peak - REACH).max(start), (peak + REACH).max(start + 2.0 * REACH));
    if pair.shift() < 100.0 {
        return vec![(window(first).0, window(last).1)];
    }
    // Between peaks this far apart lies nothing, and a very long line.
    let mut merged: Vec<(f64, f64)> = Vec::new();
    for (from, to) in [first, 0.0, pair.shift(), last].map(window) {
        match merged.last_mut() {
            Some(before) if from <= before.1 => before.1 = to.max(before.1),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// ln(e^(lambda loss) - 1 + lambda (e^-loss - 1)), the logarithm of something never negative.
fn log_excess(loss: f64, lambda: f64) -> f64 {
    let power = lambda * loss;
    if power.abs() < 1e-3 && loss.abs() < 1e-3 {
        let series = 1.0
            + (lambda - 1.0) * loss / 3.0
            + (lambda * lambda - lambda + 1.0) * loss * loss / 12.0;
        return (0.5 * lambda * (lambda + 1.0) * loss * loss * series).ln();
    }
    if power > 40.0 {
        return power;
    }
    if loss < -40.0 {
        // e^-loss rules, and may overflow.
        return lambda.ln() - loss;
    }
    (power.exp_m1() + lambda * (-loss).exp_m1()).max(0.0).ln()
}

/// A sum of weighted exponentials that cannot overflow.
struct Sum {
    largest: f64,
    scaled: f64,
}

impl Default for Sum {
    fn default() -> Self {
        Self { largest: f64::NEG_INFINITY, scaled: 0.0 }
    }
}

impl Sum {
    fn add(&mut self, exponent: f64, weight: f64) {
        if exponent > self.largest {
            self.scaled *= (self.largest - exponent).exp();
            self.largest = exponent;
        }
        if exponent > self.largest - 80.0 {
            self.scaled += weight * (exponent - self.largest).exp();
        }
    }

    fn log(&self) -> f64 {
        self.largest + self.scaled.ln()
    }
}

#[cfg(test)]
mod tests;
