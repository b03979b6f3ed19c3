//! What the errors of a test say about a promise, with confidence.
//!
//! # Claim
//! With probability at least `confidence`, the mechanism is not mu-GDP for any mu below
//! [`Bounds::mu`], and not (epsilon, delta)-private for any epsilon below [`Bounds::epsilon`]: both
//! hold at once, whatever the mechanism and however good or bad the test is.
//!
//! # Proof
//! 1. The test and its thresholds are functions of calibration runs. Given those, they are fixed,
//!    and the runs that are judged are independent of them and of each other: at threshold t the
//!    number of false alarms (world zero, score above t) and of hits (world one, score above t) are
//!    binomial.
//! 2. At each threshold two one-sided [Clopper-Pearson](crate::proportion) bounds are taken, each
//!    of which fails with at most its part of alpha = 1 - confidence. The parts sum to alpha
//!    ([`thresholds`]), so with probability 1 - alpha no bound fails at any threshold: all
//!    false-alarm rates a(t) are below theirs and all hit rates h(t) above theirs.
//! 3. mu-GDP means that no test has `h > Phi(Phi^-1(a) + mu)` (Dong, Roth, Su 2022, definition
//!    2.6). So mu is at least `Phi^-1(h(t)) - Phi^-1(a(t))` for every t, which grows in h and falls
//!    in a: with the bounds in their places it only gets smaller. The largest over t is still a
//!    bound, because none of them failed.
//! 4. (epsilon, delta) means `h <= e^epsilon a + delta` and, for the other world, `1 - a <=
//!    e^epsilon (1 - h) + delta`; the same argument.
//!
//! Integer noise is mu-GDP up to factors of e^1e-6 ([`steffle_privacy::discrete`]), far below what
//! any number of runs can see. Tests: `tests::honest_coins_are_rarely_accused`,
//! `tests::bounds_come_close_to_the_truth`.

use steffle_privacy::normal::quantile;

use crate::proportion::{highest, lowest};

/// What was counted at one threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Counted {
    pub(crate) threshold: f64,
    pub(crate) false_alarms: u64,
    pub(crate) hits: u64,
    /// The part of alpha that may go wrong here.
    pub(crate) alpha: f64,
}

/// Rates at one threshold, and how bad they may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rates {
    pub(crate) false_alarm: f64,
    pub(crate) hit: f64,
    pub(crate) highest_false_alarm: f64,
    pub(crate) lowest_hit: f64,
}

/// Point estimates and lower bounds of what a mechanism tells.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Bounds {
    /// mu, at least.
    pub(crate) mu: f64,
    /// mu where the bound is best.
    pub(crate) estimated_mu: f64,
    /// epsilon at the promise's delta, at least.
    pub(crate) epsilon: f64,
    /// epsilon where the bound is best.
    pub(crate) estimated_epsilon: f64,
}

impl Counted {
    /// Counts scores above a threshold.
    pub(crate) fn new(threshold: f64, alpha: f64, scores: [&[f64]; 2]) -> Self {
        let above =
            |scores: &[f64]| scores.iter().filter(|&&score| score > threshold).count() as u64;
        Self { threshold, alpha, false_alarms: above(scores[0]), hits: above(scores[1]) }
    }

    pub(crate) fn rates(&self, runs: u64) -> Rates {
        let part = 0.5 * self.alpha;
        // Half a run is added to each outcome, so that estimates are finite.
        let share = |count: u64| (count as f64 + 0.5) / (runs as f64 + 1.0);
        Rates {
            false_alarm: share(self.false_alarms),
            hit: share(self.hits),
            highest_false_alarm: highest(self.false_alarms, runs, part),
            lowest_hit: lowest(self.hits, runs, part),
        }
    }
}

impl Bounds {
    /// The best over all thresholds.
    pub(crate) fn new(rates: &[Rates], delta: f64) -> Self {
        let mut best = Self::default();
        let mut found = [f64::NEG_INFINITY; 2];
        for rates in rates {
            let Rates { false_alarm, hit, highest_false_alarm, lowest_hit } = *rates;
            let mu = quantile(lowest_hit) - quantile(highest_false_alarm);
            if mu > found[0] {
                found[0] = mu;
                best.mu = mu.max(0.0);
                best.estimated_mu = (quantile(hit) - quantile(false_alarm)).max(0.0);
            }
            let ratio = |likely: f64, less: f64| ((likely - delta).max(0.0) / less).ln();
            let both = [
                (ratio(lowest_hit, highest_false_alarm), ratio(hit, false_alarm)),
                (
                    ratio(1.0 - highest_false_alarm, 1.0 - lowest_hit),
                    ratio(1.0 - false_alarm, 1.0 - hit),
                ),
            ];
            for (epsilon, estimated) in both {
                if epsilon > found[1] {
                    found[1] = epsilon;
                    best.epsilon = epsilon.max(0.0);
                    best.estimated_epsilon = estimated.max(0.0);
                }
            }
        }
        best
    }
}

/// Levels of the calibration scores at which thresholds are put, beside 0.
const LEVELS: [f64; 14] =
    [0.002, 0.01, 0.03, 0.08, 0.16, 0.27, 0.4, 0.6, 0.73, 0.84, 0.92, 0.97, 0.99, 0.998];

/// Thresholds and the part of `alpha` that each is given, from calibration scores. Half of it goes
/// to 0, where a Gaussian mechanism is told apart best; the tails are where a leak would show that
/// happens rarely. Scores with few values get a threshold between any two, and the same part each.
pub(crate) fn thresholds(mut scores: Vec<f64>, alpha: f64) -> Vec<(f64, f64)> {
    scores.sort_by(f64::total_cmp);
    let mut values = scores.clone();
    values.dedup();
    if values.len() <= 65 {
        let between: Vec<f64> = values.windows(2).map(|pair| pair[0].midpoint(pair[1])).collect();
        let part = alpha / between.len().max(1) as f64;
        return between.into_iter().map(|threshold| (threshold, part)).collect();
    }
    let at = |level: f64| scores[((scores.len() - 1) as f64 * level) as usize];
    let others = LEVELS.map(|level| (at(level), 0.5 * alpha / LEVELS.len() as f64));
    let mut all: Vec<(f64, f64)> = others.into_iter().chain([(0.0, 0.5 * alpha)]).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

#[cfg(test)]
mod tests;
