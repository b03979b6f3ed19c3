//! Clopper and Pearson's bounds of a probability, from how often something happened.

/// The smallest probability under which `count` or more of `runs` is not rarer than `alpha`: below
/// the true one with probability at least `1 - alpha`, whatever that is.
///
/// # Proof definition
/// `P(X >= count)` grows with p, so the true p lies below the bound only if its own tail at `count`
/// is at most alpha, and a tail is at most alpha with probability at most alpha (Clopper, Pearson
/// 1934). Moved by 1e-9 of itself to the safe side, which is more than the arithmetic is off by.
pub(crate) fn lowest(count: u64, runs: u64, alpha: f64) -> f64 {
    if count == 0 {
        return 0.0;
    }
    let (a, b) = (count as f64, (runs - count) as f64 + 1.0);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..64 {
        let middle = 0.5 * (low + high);
        if at_least(middle, a, b) <= alpha { low = middle } else { high = middle }
    }
    low * (1.0 - 1e-9)
}

/// The largest probability that is still plausible: above the true one with probability at least
/// `1 - alpha`.
pub(crate) fn highest(count: u64, runs: u64, alpha: f64) -> f64 {
    1.0 - lowest(runs - count, runs, alpha)
}

/// `P(X >= a)` of a binomial of `a + b - 1` trials: the incomplete beta function ratio `I_p(a, b)`.
fn at_least(p: f64, a: f64, b: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return p.clamp(0.0, 1.0);
    }
    let front =
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * p.ln() + b * (-p).ln_1p();
    // The fraction converges fast below the mean, and both sides sum to 1.
    if p < (a + 1.0) / (a + b + 2.0) {
        front.exp() * fraction(p, a, b) / a
    } else {
        1.0 - front.exp() * fraction(1.0 - p, b, a) / b
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method. It needs about the
/// root of the larger argument in steps, so that the limit is never met below 1e8 runs.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut product = d;
    for step in 1..100_000_u32 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut last = 1.0;
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            last = c * d;
            product *= last;
        }
        if (last - 1.0).abs() < 1e-14 {
            break;
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tails summed term by term, to ten digits.
    #[test]
    fn bounds_are_where_the_tail_is_alpha() {
        let tail = |p: f64, count: u64, runs: u64| -> f64 {
            let mut term = (1.0 - p).powi(runs as i32);
            let mut below = 0.0;
            for x in 0..count {
                below += term;
                term *= (runs - x) as f64 / (x + 1) as f64 * p / (1.0 - p);
            }
            1.0 - below
        };
        for (count, runs) in [(1, 10), (3, 10), (10, 10), (40, 100), (500, 1000)] {
            for alpha in [0.05, 1e-3] {
                let low = lowest(count, runs, alpha);
                assert!((tail(low, count, runs) / alpha - 1.0).abs() < 1e-5, "{count} {runs}");
            }
        }
        assert_eq!((lowest(0, 50, 0.01), highest(50, 50, 0.01)), (0.0, 1.0));
        // The rule of three: nothing in n runs is at most ln(1/alpha)/n, nearly.
        assert!((highest(0, 1000, 0.05) - (1.0 - 0.05_f64.powf(1e-3))).abs() < 1e-9);
    }

    #[test]
    fn many_runs_are_the_normal_approximation() {
        let (count, runs) = (300_000, 1_000_000);
        // The 0.001 quantile of a normal is -3.0902; the next term is of order 1 / runs.
        let normal = 0.3 - 3.090_232 * (0.3 * 0.7 / 1e6_f64).sqrt();
        assert!((lowest(count, runs, 1e-3) - normal).abs() < 5e-6);
        assert!((highest(count, runs, 1e-3) - (0.6 - normal)).abs() < 5e-6);
    }
}
