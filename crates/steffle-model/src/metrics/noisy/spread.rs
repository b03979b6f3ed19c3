//! One rate of several classes: how far apart they are, and how far apart chance puts them.

use super::normal::{density, normal};
use super::rate::{Measured, Ratio};
use super::tally::Tally;

/// A difference of two classes' rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pair {
    pub(super) size: f64,
    /// Its standard error.
    pub(super) error: f64,
    /// The sum of both rates' own.
    pub(super) sum: f64,
}

impl Pair {
    /// By how many errors it is beyond a gap.
    pub(super) fn excess(&self, gap: f64) -> f64 {
        (self.size - gap) / self.sum
    }
}

/// Rates of the classes that have enough evidence, and the standard error of each.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spread {
    rates: Vec<f64>,
    errors: Vec<f64>,
    /// The largest difference as it was observed, without the steadier rates.
    observed: f64,
}

impl Spread {
    /// `None` for fewer than two classes.
    pub(super) fn new(tally: &Tally, rate: &Ratio, least: f64) -> Option<Self> {
        let told = (0..tally.classes()).map(|class| rate.of_class(tally, class));
        let told: Vec<Measured> = told.filter(|own| own.enough(least)).collect();
        if told.len() < 2 {
            return None;
        }
        let errors = alone(&told, |own, other| variance(tally, rate, own, other));
        let rates = told.iter().map(|own| own.steady().0).collect();
        let observed: Vec<f64> = told.iter().map(Measured::rate).collect();
        Some(Self { rates, errors, observed: range(&observed) })
    }

    #[cfg(test)]
    pub(super) fn of(rates: &[f64], errors: &[f64]) -> Self {
        Self { rates: rates.to_vec(), errors: errors.to_vec(), observed: range(rates) }
    }

    /// The largest difference that was observed.
    pub(super) fn observed(&self) -> f64 {
        self.observed
    }

    /// All differences, of rates that are steadier than what was observed.
    pub(super) fn pairs(&self) -> impl Iterator<Item = Pair> {
        let all = (0..self.rates.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        all.map(|(a, b)| Pair {
            size: (self.rates[a] - self.rates[b]).abs(),
            error: self.own(a).hypot(self.own(b)),
            sum: self.own(a) + self.own(b),
        })
    }

    /// The nearest rates, in units of the errors, that are no further apart than a gap.
    ///
    /// They lie between two ends, and the squared distance is convex in where the lower one is: its
    /// derivative rises.
    pub(super) fn together(&self, gap: f64) -> Self {
        let pull = |low: f64| {
            let one = |(class, rate): (usize, &f64)| {
                (rate.clamp(low, low + gap) - rate) / self.own(class).powi(2)
            };
            self.rates.iter().enumerate().map(one).sum::<f64>()
        };
        let (mut low, mut high) = (-1.0, 1.0);
        for _ in 0..30 {
            let middle = f64::midpoint(low, high);
            (low, high) = if pull(middle) < 0.0 { (middle, high) } else { (low, middle) };
        }
        let low = f64::midpoint(low, high);
        let rates = self.rates.iter().map(|rate| rate.clamp(low, low + gap)).collect();
        Self { rates, errors: self.errors.clone(), observed: self.observed.min(gap) }
    }

    fn own(&self, class: usize) -> f64 {
        self.errors[class].max(TINY)
    }

    /// The probability that no pair of rates drawn about these is beyond a gap by more than an excess.
    ///
    /// Two rates differ by at most `gap + excess (error_a + error_b)` if and only if the intervals
    /// `rate +- (gap / 2 + excess error)` of both have a point in common, and intervals of a line that
    /// have one pairwise have one together. So the probability is that of the largest lower end being
    /// no larger than any upper end: one integral over where the largest lower end is.
    pub(super) fn within(&self, gap: f64, excess: f64) -> f64 {
        let count = self.rates.len();
        let half: Vec<f64> = (0..count).map(|class| gap / 2.0 + excess * self.own(class)).collect();
        if count == 2 {
            let (size, most) = (self.rates[0] - self.rates[1], half[0] + half[1]);
            let law = |to: f64| normal((to - size) / self.own(0).hypot(self.own(1)));
            return (law(most) - law(-most)).max(0.0);
        }
        (0..count).map(|own| self.largest(own, &half)).sum::<f64>().min(1.0)
    }

    /// That part of it in which the largest lower end is that of one class.
    fn largest(&self, own: usize, half: &[f64]) -> f64 {
        let others = || (0..self.rates.len()).filter(|&class| class != own);
        // A step resolves the steepest of the other classes' laws.
        let steepest = others().map(|class| self.own(class)).fold(f64::INFINITY, f64::min);
        let step = 0.5 * (2.0 * steepest / self.own(own)).clamp(FINEST, 1.0);
        let steps = (WIDEST / step) as i32;
        let at = |at: i32| {
            let t = f64::from(at) * step;
            let end = self.rates[own] + t * self.own(own) - half[own];
            let reached = |class: usize| {
                let law = |to: f64| normal((to - self.rates[class]) / self.own(class));
                (law(end + half[class]) - law(end - half[class])).max(0.0)
            };
            density(t) * others().map(reached).product::<f64>()
        };
        step * (-steps..=steps).map(at).sum::<f64>()
    }
}

/// Errors below it are taken for it: a rate that is known is known to that.
const TINY: f64 = 1e-9;
/// Errors on either side that are integrated over.
const WIDEST: f64 = 5.0;
/// Steps are no finer than that share of an error.
const FINEST: f64 = 0.02;

fn range(rates: &[f64]) -> f64 {
    let ends = |(low, high): (f64, f64), rate: &f64| (low.min(*rate), high.max(*rate));
    let (low, high) = rates.iter().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
    high - low
}

/// The variance of the difference of two classes' rates.
///
/// They have errors of their own from sampling, and common ones from the noise: the counts of all
/// classes sum to what is public, so that two classes' noise in a count is correlated by `-1 / (k - 1)`.
fn variance(tally: &Tally, rate: &Ratio, own: &Measured, other: &Measured) -> f64 {
    let (p, q) = (own.share(), other.share());
    let (n, m) = (own.steady().1, other.steady().1);
    let (part, whole) = (rate.part.len() as f64, rate.whole.len() as f64);
    let shared = tally.variance() / (tally.classes() as f64 - 1.0).max(1.0);
    let covariance = -shared * (part * (1.0 - p - q) + whole * p * q);
    let variance =
        own.variance(p) / (n * n) + other.variance(q) / (m * m) - 2.0 * covariance / (n * m);
    variance.max(0.0)
}

/// Independent errors of every class whose squares sum to the variances of the pairs: exactly for two
/// and three classes, by least squares for more (noise that all classes share cancels in a pair), and
/// never less than what sampling alone gives a class: where another class is far noisier, least squares
/// would take it from those that are known well.
fn alone(told: &[Measured], pair: impl Fn(&Measured, &Measured) -> f64) -> Vec<f64> {
    let count = told.len();
    let of =
        |a: usize| (0..count).filter(|&b| b != a).map(|b| pair(&told[a], &told[b])).sum::<f64>();
    let sums: Vec<f64> = (0..count).map(of).collect();
    if count == 2 {
        return vec![(sums[0] / 2.0).sqrt(); 2];
    }
    let all = sums.iter().sum::<f64>() / (2.0 * (count as f64 - 1.0));
    let own = |(sum, own): (&f64, &Measured)| {
        let (p, n) = (own.share(), own.steady().1);
        ((sum - all) / (count as f64 - 2.0)).max(p * (1.0 - p) / n).sqrt()
    };
    sums.iter().zip(told).map(own).collect()
}
