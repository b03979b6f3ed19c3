//! The largest difference of rates between classes, and an interval for it.

use super::super::Interval;
use super::rate::{Measured, Ratio};
use super::tally::Tally;

/// A difference of two classes' rates: its size as it was observed, and what its interval is about,
/// the size from steadier rates ([`Measured::steady`]) and its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    observed: f64,
    size: f64,
    error: f64,
}

/// The largest difference, of any of the rates, between two classes that have enough evidence for
/// it; with its interval and the number of comparisons. `None` where no two classes have.
pub(super) fn gap(tally: &Tally, rates: &[Ratio], least: f64) -> Option<(f64, Interval, usize)> {
    let mut differences = Vec::new();
    for rate in rates {
        let told = |class| (class, rate.of_class(tally, class));
        let classes: Vec<_> =
            (0..tally.classes()).map(told).filter(|(_, own)| own.enough(least)).collect();
        for (at, (_, own)) in classes.iter().enumerate() {
            let others = classes[..at].iter();
            differences.extend(others.map(|(_, other)| Difference::of(tally, rate, own, other)));
        }
    }
    let widest = differences.iter().map(|own| own.observed).reduce(f64::max)?;
    Some((widest, interval(&differences), differences.len()))
}

impl Difference {
    /// Two rates have errors of their own from sampling, and common ones from the noise: the counts of
    /// all classes sum to what is public, so that two classes' noise in a count is correlated by
    /// `-1 / (k - 1)`.
    fn of(tally: &Tally, rate: &Ratio, own: &Measured, other: &Measured) -> Self {
        let ((p, n), (q, m)) = (own.steady(), other.steady());
        let (part, whole) = (rate.part.len() as f64, rate.whole.len() as f64);
        let shared = tally.variance() / (tally.classes() as f64 - 1.0).max(1.0);
        let covariance = -shared * (part * (1.0 - p - q) + whole * p * q);
        let variance =
            own.variance(p) / (n * n) + other.variance(q) / (m * m) - 2.0 * covariance / (n * m);
        Self {
            observed: (own.rate() - other.rate()).abs(),
            size: (p - q).abs(),
            error: variance.max(0.0).sqrt(),
        }
    }
}

/// All gaps that the observed differences do not contradict at 95 %.
///
/// The size of a difference t with an error of deviation 1 is at most x with probability
/// `F_t(x) = Phi(x - t) - Phi(-x - t)`, which falls in t. A gap is never negative, so that two equal
/// tails would contradict every t where x is very small. As Feldman and Cousins (1998) do it, small
/// gaps are given one tail and large ones two: t is accepted if `a(t) <= F_t(x) <= 1 - b(t)`, with
/// `a(t) + b(t) = 5 %` and [`below`] for `a`. Both ends of what is accepted grow with x, so that they
/// cover every t with exactly 95 %.
///
/// With several differences the gap is the largest of them, whichever that is. It is no larger than
/// the largest upper end: the upper end of the one that it is does its part. It is no smaller than any
/// lower end, if all of them hold: so they share the 5 %, but for differences that cannot be the
/// largest.
fn interval(differences: &[Difference]) -> Interval {
    let upper = |own: &Difference| end(own, |x| falls_to(x, below));
    let surely = |own: &Difference| end(own, |x| falls_to(x, |_| 0.975));
    let surely = differences.iter().map(surely).fold(0.0, f64::max);
    let possible: Vec<&Difference> =
        differences.iter().filter(|own| upper(own) >= surely).collect();
    let lower = |own: &&Difference| match possible.len() {
        1 => end(own, |x| falls_to(x, |t| 0.95 + below(t))),
        several => end(own, |x| falls_to(x, |_| 1.0 - 0.05 / several as f64)),
    };
    let high = possible.iter().map(|own| upper(own)).fold(0.0, f64::max);
    let low = possible.iter().map(lower).fold(0.0, f64::max);
    [low.min(high), high].map(|end| end.clamp(0.0, 1.0))
}

/// What a number in units of the error is of a difference.
fn end(own: &Difference, of: impl Fn(f64) -> f64) -> f64 {
    if own.error > 0.0 { own.error * of(own.size / own.error) } else { own.size }
}

/// The tail in which x is too small for t: none up to 1.5 deviations, half of the 5 % from 3.5 on.
fn below(t: f64) -> f64 {
    0.025 * ((t - 1.5) / 2.0).clamp(0.0, 1.0)
}

/// The t at which `F_t(x)` has fallen to a share that does not fall; 0 where it begins below it.
fn falls_to(x: f64, share: impl Fn(f64) -> f64) -> f64 {
    let above = |t: f64| normal(x - t) - normal(-x - t) > share(t);
    if !above(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, x + 8.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        (low, high) = if above(middle) { (middle, high) } else { (low, middle) };
    }
    f64::midpoint(low, high)
}

/// Phi, to 1e-7: formula 26.2.17 of Abramowitz and Stegun.
fn normal(z: f64) -> f64 {
    const POWERS: [f64; 5] =
        [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let sum = POWERS.iter().rev().fold(0.0, |sum, power| (sum + power) * t);
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let above = density * sum;
    if z > 0.0 { 1.0 - above } else { above }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(size: f64) -> Interval {
        interval(&[Difference { observed: size, size: size / 100.0, error: 0.01 }])
            .map(|end| 100.0 * end)
    }

    #[test]
    fn a_clear_difference_has_the_usual_interval_and_a_small_one_begins_at_0() {
        for (z, share) in [(-1.959_964, 0.025), (0.0, 0.5), (1.0, 0.841_344_75), (4.0, 0.999_968)] {
            assert!((normal(z) - share).abs() < 1e-6, "{z} {}", normal(z));
        }
        let [low, high] = one(20.0);
        assert!((low - 18.04).abs() < 1e-3 && (high - 21.96).abs() < 1e-3, "{low} {high}");
        // Whether 0 is in it is the usual test.
        assert_eq!(one(1.95)[0], 0.0);
        assert!(one(1.97)[0] > 0.0);
        // However small: never a point.
        assert_eq!(one(0.0)[0], 0.0);
        assert!(one(1e-3)[1] > 1.5 && one(1e-3)[1] < 1.6, "{:?}", one(1e-3));
        // Longer with larger differences, at both ends.
        let ends: Vec<Interval> = (0..400).map(|step| one(f64::from(step) / 50.0)).collect();
        assert!(ends.windows(2).all(|pair| pair[0][0] <= pair[1][0] && pair[0][1] <= pair[1][1]));
    }

    /// The sizes whose interval has a gap are 95 % of the sizes.
    #[test]
    fn one_difference_is_covered_as_often_as_is_said() {
        for t in [0.0, 0.3, 1.0, 1.9, 2.5, 2.7, 3.5, 6.0] {
            let step = 1e-3;
            let mut covered = 0.0;
            for at in 0..12_000 {
                let x = step * (f64::from(at) + 0.5);
                let density = normal(x + step / 2.0 - t) - normal(x - step / 2.0 - t)
                    + normal(-x + step / 2.0 - t)
                    - normal(-x - step / 2.0 - t);
                let [low, high] = one(x);
                covered += if low <= t && t <= high { density } else { 0.0 };
            }
            assert!((covered - 0.95).abs() < 5e-4, "{t}: {covered}");
        }
    }
}
