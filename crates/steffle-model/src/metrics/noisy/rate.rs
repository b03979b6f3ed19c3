//! A rate of a class: part of a whole, both noisy.

use super::super::Interval;
use super::tally::Tally;

/// The 97.5 % point of the standard normal law.
pub(super) const Z: f64 = 1.959_963_984_540_054;

/// Which counts `[label][decision]` are the part, and which the whole; the part lies in the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ratio {
    pub(super) part: Vec<usize>,
    pub(super) whole: Vec<usize>,
}

impl Ratio {
    /// P(decided so).
    pub(super) fn selection(labels: usize, label: usize) -> Self {
        Self::of(labels, |_, decision| decision == label, |_| true)
    }

    /// P(decided so | it is so).
    pub(super) fn true_positive(labels: usize, label: usize) -> Self {
        Self::of(labels, |_, decision| decision == label, |own| own == label)
    }

    /// P(decided so | it is not so).
    pub(super) fn false_positive(labels: usize, label: usize) -> Self {
        Self::of(labels, |_, decision| decision == label, |own| own != label)
    }

    /// P(decided wrongly).
    pub(super) fn error(labels: usize) -> Self {
        Self::of(labels, |own, decision| own != decision, |_| true)
    }

    fn of(
        labels: usize,
        part: impl Fn(usize, usize) -> bool,
        whole: impl Fn(usize) -> bool,
    ) -> Self {
        let slots = || (0..labels * labels).filter(|slot| whole(slot / labels));
        let part = slots().filter(|slot| part(slot / labels, slot % labels)).collect();
        Self { part, whole: slots().collect() }
    }

    /// What the counts of a class, each with noise of this variance, say of it.
    pub(super) fn of_counts(&self, counts: &[f64], variance: f64) -> Measured {
        let sum = |slots: &[usize]| slots.iter().map(|&slot| counts[slot]).sum();
        Measured {
            part: sum(&self.part),
            whole: sum(&self.whole),
            part_variance: self.part.len() as f64 * variance,
            whole_variance: self.whole.len() as f64 * variance,
        }
    }

    /// The same of a class of a tally.
    pub(super) fn of_class(&self, tally: &Tally, class: usize) -> Measured {
        self.of_counts(&tally.counts(class), tally.variance())
    }
}

/// A noisy part of a noisy whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    pub(super) part: f64,
    pub(super) whole: f64,
    part_variance: f64,
    whole_variance: f64,
}

impl Measured {
    /// Records without noise that would tell as much about a rate of one half.
    pub(super) fn effective(&self) -> f64 {
        let n = self.whole.max(0.0);
        if n == 0.0 { 0.0 } else { n * n / (n + self.whole_variance) }
    }

    /// Whether that is enough to tell the rate.
    pub(super) fn enough(&self, least: f64) -> bool {
        self.whole > 0.0 && self.effective() >= least
    }

    /// The rate and the records it is of, both with half a record more of either kind: differences of
    /// such rates have normal intervals that hold for small groups. (Agresti and Caffo, 2000, take
    /// whole records; with noise in the counts that is too much.)
    ///
    /// Noise may put it below 0 or above 1, and there it stays: cut off it would err less than its
    /// [`Measured::variance`] says, and a gap of such rates was covered with 97.6 % in place of 95 %.
    pub(super) fn steady(&self) -> (f64, f64) {
        let whole = self.whole.max(0.0) + 1.0;
        ((self.part + 0.5) / whole, whole)
    }

    /// The share nearest to the steady rate: what variances are those of.
    pub(super) fn share(&self) -> f64 {
        self.steady().0.clamp(0.0, 1.0)
    }

    /// The variance of `part - p whole`, if p is the rate.
    pub(super) fn variance(&self, p: f64) -> f64 {
        let Self { part_variance: va, whole_variance: vb, .. } = *self;
        (self.whole.max(0.0) + 1.0) * p * (1.0 - p) + va * (1.0 - 2.0 * p) + p * p * vb
    }

    /// The rate.
    pub(super) fn rate(&self) -> f64 {
        if self.whole > 0.0 { (self.part / self.whole).clamp(0.0, 1.0) } else { 0.5 }
    }

    /// All rates p that the counts do not contradict at 95 %.
    ///
    /// With `A` of `n` records drawn at rate p, and noise (a, b) on both counts, the number
    /// `(A + a) - p (n + b)` has mean 0 and variance `n p (1 - p) + Va - 2 p Va + p^2 Vb`: the noise
    /// of the part is in that of the whole. The rates whose number is within 1.96 deviations of 0
    /// lie between the roots of a quadratic. Without noise it is the score interval of Wilson (1927),
    /// without sampling that of a ratio by Fieller (1954).
    pub(super) fn interval(&self) -> Interval {
        let Self { part: a, whole: b, part_variance: va, whole_variance: vb } = *self;
        let (n, z2) = (b.max(0.0), Z * Z);
        let square = b * b + z2 * n - z2 * vb;
        let linear = -2.0 * a * b - z2 * n + 2.0 * z2 * va;
        let constant = a * a - z2 * va;
        let root = linear * linear - 4.0 * square * constant;
        // A whole that may be 0 says nothing about a share of it.
        if square <= 0.0 || root < 0.0 || b <= 0.0 {
            return [0.0, 1.0];
        }
        let ends = [-1.0, 1.0].map(|sign| (-linear + sign * root.sqrt()) / (2.0 * square));
        ends.map(|end| end.clamp(0.0, 1.0))
    }
}
