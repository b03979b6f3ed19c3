//! The largest difference of rates between classes, and an interval for it.

use super::super::Interval;
use super::normal::normal;
use super::rate::Ratio;
use super::spread::{Pair, Spread};
use super::tally::Tally;

/// The largest difference, of any of the rates, between two classes that have enough evidence for
/// it; with its interval and the number of comparisons. `None` where no two classes have.
pub(super) fn gap(tally: &Tally, rates: &[Ratio], least: f64) -> Option<(f64, Interval, usize)> {
    let spreads: Vec<Spread> =
        rates.iter().filter_map(|rate| Spread::new(tally, rate, least)).collect();
    let widest = spreads.iter().map(Spread::observed).reduce(f64::max)?;
    let comparisons = spreads.iter().map(|own| own.pairs().count()).sum();
    Some((widest, interval(&spreads), comparisons))
}

/// All gaps that the observed differences do not contradict at 95 %.
///
/// The size of a difference t with an error of deviation 1 is at most x with probability
/// `F_t(x) = Phi(x - t) - Phi(-x - t)`, which falls in t. A gap is never negative, so that two equal
/// tails would contradict every t where x is very small. As Feldman and Cousins (1998) do it, small
/// gaps are given one tail and large ones two: t is accepted if `a(t) <= F_t(x) <= 95 % + a(t)`, with
/// [`below`] for `a`. Both ends of what is accepted grow with x, so that they cover every t with
/// exactly 95 %.
///
/// With several differences the gap is the largest of them, whichever that is. It is no larger than
/// the largest upper end: the upper end of the one that it is does its part. What is too large for a
/// gap is told by all of them together ([`Law`]), in place of `F_t(x)`, and so is what the upper end
/// leaves to it: where others may be the largest as well, all of them being too small at once
/// ([`Law::too_small`]) is rarer than `a(t)`.
fn interval(spreads: &[Spread]) -> Interval {
    let pairs = || spreads.iter().flat_map(Spread::pairs);
    let high = pairs().map(|pair| upper(&pair)).fold(0.0, f64::max);
    let widest = pairs().map(|pair| pair.size).fold(0.0, f64::max);
    let low = falls(widest, |gap| {
        let law = Law::new(spreads, gap);
        let within = law.within(law.excess);
        within > 0.95 && within > 0.95 + law.too_small()
    });
    [low.min(high), high].map(|end| end.clamp(0.0, 1.0))
}

/// The largest gap for which one difference is not too small.
fn upper(own: &Pair) -> f64 {
    let x = own.size / own.error;
    own.error * falls(x + 8.0, |t| normal(x - t) - normal(-x - t) > below(t))
}

/// What would be observed if a gap were the true one.
///
/// What is looked at is by how much the differences are beyond the gap, in units of their errors,
/// where they are most. Its law depends on all rates and not on the gap alone, so the gap is given the
/// nearest rates that have it (the plug-in of Chuang and Lai, 2000): those further apart are moved
/// together.
struct Law {
    gap: f64,
    /// The rates that it is given.
    spreads: Vec<Spread>,
    /// By how much the observed ones are beyond it.
    excess: f64,
    /// The gap, in errors of the difference that is.
    errors: f64,
    /// An error of that difference, in the units of the excess.
    unit: f64,
}

impl Law {
    fn new(spreads: &[Spread], gap: f64) -> Self {
        let more = |a: Pair, b: Pair| if b.excess(gap) > a.excess(gap) { b } else { a };
        let leading = spreads.iter().flat_map(Spread::pairs).reduce(more);
        let of = |pair: Pair| (pair.excess(gap), gap / pair.error, pair.error / pair.sum);
        let (excess, errors, unit) = leading.map_or((0.0, 0.0, 1.0), of);
        let together = |own: &Spread| own.together(gap);
        Self { gap, spreads: spreads.iter().map(together).collect(), excess, errors, unit }
    }

    /// The probability of being beyond the gap by no more than that. Rates of records that have nothing
    /// in common are independent, and it is the product of what each says. Else it is at least that:
    /// sizes of normal differences are positively dependent (Royen, 2014).
    fn within(&self, excess: f64) -> f64 {
        self.spreads.iter().map(|own| own.within(self.gap, excess)).product()
    }

    /// The probability that all differences are too small for the gap at once: `a(t)` for a single one.
    fn too_small(&self) -> f64 {
        let (t, tail) = (self.errors, below(self.errors));
        if tail == 0.0 {
            return 0.0;
        }
        let largest = falls(t, |x| normal(x - t) - normal(-x - t) < tail);
        self.within((largest - t) * self.unit)
    }
}

/// The tail in which a difference is too small for a gap of so many errors: none up to 1.5, half of
/// the 5 % from 3.5 on.
fn below(t: f64) -> f64 {
    0.025 * ((t - 1.5) / 2.0).clamp(0.0, 1.0)
}

/// Where something ends to be true that is true up to there; 0 where it never is.
fn falls(to: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if !holds(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, to);
    for _ in 0..20 {
        let middle = f64::midpoint(low, high);
        (low, high) = if holds(middle) { (middle, high) } else { (low, middle) };
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests;
