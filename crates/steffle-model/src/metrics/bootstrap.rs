//! Intervals for everything that is a function of counts, by resampling the counts.

use rand_distr::{Binomial, Distribution};

use super::confusion::Joint;
use crate::randomness::{ChaCha8Rng, Purpose, stream};

/// A lower and an upper end.
///
/// At 95 % unless something else is said.
pub type Interval = [f64; 2];

/// How intervals are made: a percentile bootstrap at 95 %.
///
/// A resample draws, for every group apart, as many records as the group has, with replacement.
/// Groups keep their sizes (no group vanishes from a resample); labels and decisions vary within
/// them. Rows are not touched: a group's table of counts is drawn from a multinomial, which is
/// the same law and costs the size of the table, not of the data.
///
/// A gap is never negative, so the interval of a gap near zero lies above the truth: read its
/// upper end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bootstrap {
    /// Resamples to draw.
    pub resamples: usize,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self { resamples: 500, seed: 0 }
    }
}

impl Bootstrap {
    /// Probability that an interval aims to cover.
    pub const LEVEL: f64 = 0.95;

    /// `measure` of every resample.
    pub(super) fn measures<M>(self, joint: &Joint, measure: impl Fn(&Joint) -> M) -> Vec<M> {
        let mut resample = joint.clone();
        let redraw = |round| {
            let mut rng = stream(self.seed, 0, Purpose::Bootstrap, round as u64);
            let mut start = 0;
            for group in joint.kinds.chunk_by(|a, b| a.group == b.group) {
                let end = start + group.len();
                multinomial(&joint.counts[start..end], &mut resample.counts[start..end], &mut rng);
                start = end;
            }
            measure(&resample)
        };
        (0..self.resamples).map(redraw).collect()
    }
}

/// The middle 95 % of the values that are there; absent when fewer than half are.
pub(super) fn interval(values: impl IntoIterator<Item = Option<f64>>) -> Option<Interval> {
    let all: Vec<Option<f64>> = values.into_iter().collect();
    let mut present: Vec<f64> = all.iter().copied().flatten().collect();
    if present.is_empty() || 2 * present.len() < all.len() {
        return None;
    }
    present.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - Bootstrap::LEVEL) / 2.0;
    Some([quantile(&present, tail), quantile(&present, 1.0 - tail)])
}

/// Linear interpolation between order statistics.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let below = sorted[position.floor() as usize];
    below + (sorted[position.ceil() as usize] - below) * position.fract()
}

/// As many draws as there are counts, with probabilities proportional to the counts.
fn multinomial(counts: &[u64], drawn: &mut [u64], rng: &mut ChaCha8Rng) {
    let mut mass: u64 = counts.iter().sum();
    let mut left = mass;
    for (drawn, &count) in drawn.iter_mut().zip(counts) {
        *drawn = if count == mass {
            left
        } else {
            // The share is in [0, 1), so the distribution always exists.
            Binomial::new(left, count as f64 / mass as f64).map_or(0, |law| law.sample(rng))
        };
        left -= *drawn;
        mass -= count;
    }
}
