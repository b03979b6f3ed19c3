//! The discrete Gaussian, exactly: integer arithmetic on fair bits, no floating point.
//!
//! Rejection from a discrete Laplace (Canonne, Kamath, Steinke 2020). The running time depends on
//! the noise, so noise is drawn before `s` is read.

/// Fair bits, 64 at a time.
pub(super) trait Bits {
    fn bits(&mut self) -> u64;
}

/// The largest scale: above it a product in the acceptance test could leave 128 bits.
pub const LARGEST_SCALE: u64 = 1 << 26;

/// A draw with `P(x)` proportional to `exp(-x^2 / (2 sigma^2))`, for sigma up to
/// [`LARGEST_SCALE`].
pub(super) fn gaussian(sigma: u64, bits: &mut (impl Bits + ?Sized)) -> i64 {
    debug_assert!((1..=LARGEST_SCALE).contains(&sigma));
    let (square, scale) = (u128::from(sigma) * u128::from(sigma), u128::from(sigma) + 1);
    loop {
        let (size, negative) = laplace(scale, bits);
        // Accept with probability exp(-(size - sigma^2/scale)^2 / (2 sigma^2)). A size of 2^36,
        // a thousand scales, comes up with probability e^-1000 and is drawn again.
        if size >= 1 << 36 {
            continue;
        }
        let distance = (size * scale).abs_diff(square);
        if bernoulli_exp(distance * distance, 2 * square * scale * scale, bits) {
            let size = size.cast_signed() as i64;
            return if negative { -size } else { size };
        }
    }
}

/// Size and sign of a draw with `P(x)` proportional to `exp(-|x| / scale)`.
fn laplace(scale: u128, bits: &mut (impl Bits + ?Sized)) -> (u128, bool) {
    loop {
        let rest = uniform(scale, bits);
        if !bernoulli_exp_below_one(rest, scale, bits) {
            continue;
        }
        let mut whole = 0;
        while bernoulli_exp_below_one(1, 1, bits) {
            whole += 1;
        }
        let size = rest + scale * whole;
        let negative = bits.bits() & 1 == 1;
        if size != 0 || !negative {
            return (size, negative);
        }
    }
}

/// True with probability `exp(-numerator / denominator)`.
fn bernoulli_exp(mut numerator: u128, denominator: u128, bits: &mut (impl Bits + ?Sized)) -> bool {
    while numerator > denominator {
        if !bernoulli_exp_below_one(1, 1, bits) {
            return false;
        }
        numerator -= denominator;
    }
    bernoulli_exp_below_one(numerator, denominator, bits)
}

/// The same for a fraction of at most 1: the first k at which a coin of probability
/// `fraction / k` fails is odd with this probability, by the series of the exponential.
fn bernoulli_exp_below_one(
    numerator: u128,
    denominator: u128,
    bits: &mut (impl Bits + ?Sized),
) -> bool {
    let mut k = 1;
    // Beyond k = 2^20 the product below could overflow; that far it gets with probability 1/k!.
    while uniform(denominator * k, bits) < numerator {
        k += 1;
    }
    k % 2 == 1
}

/// Uniform below `end`, by rejection.
fn uniform(end: u128, bits: &mut (impl Bits + ?Sized)) -> u128 {
    let width = 128 - (end - 1).leading_zeros();
    loop {
        let draw = if width <= 64 {
            u128::from(bits.bits() & low_bits(width))
        } else {
            let high = u128::from(bits.bits() & low_bits(width - 64));
            high << 64 | u128::from(bits.bits())
        };
        if draw < end {
            return draw;
        }
    }
}

fn low_bits(width: u32) -> u64 {
    if width == 0 { 0 } else { u64::MAX >> (64 - width) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::randomness::{ChaCha8Rng, Purpose, stream};
    use rand::Rng;

    impl Bits for ChaCha8Rng {
        fn bits(&mut self) -> u64 {
            self.next_u64()
        }
    }

    #[test]
    fn small_scales_have_the_exact_law() {
        for sigma in [1_u32, 3, 7] {
            let mut random = stream(5, u64::from(sigma), Purpose::Noise, 0);
            let (reach, far) = (4 * i64::from(sigma), 60 * i64::from(sigma));
            let mut counts = vec![0.0; 2 * reach as usize + 1];
            let draws = 200_000;
            for _ in 0..draws {
                let draw = gaussian(u64::from(sigma), &mut random).clamp(-reach, reach);
                counts[(draw + reach) as usize] += 1.0;
            }
            let density = |x: i64| (-(x as f64).powi(2) / (2.0 * f64::from(sigma * sigma))).exp();
            let all: f64 = (-far..=far).map(density).sum();
            let tail: f64 = (reach..=far).map(density).sum();
            let statistic: f64 = (-reach..=reach)
                .zip(&counts)
                .map(|(x, count)| {
                    let mass = if x.abs() == reach { tail } else { density(x) };
                    let expected = mass / all * f64::from(draws);
                    (count - expected).powi(2) / expected
                })
                .sum();
            // Chi-square with f degrees of freedom exceeds f + 6 sqrt(2 f) + 12 with probability
            // below 1e-7; the seeds are fixed.
            let freedom = 2.0 * reach as f64;
            assert!(
                statistic < freedom + 6.0 * (2.0 * freedom).sqrt() + 12.0,
                "{sigma}: {statistic}"
            );
        }
    }

    #[test]
    fn large_scales_have_the_right_moments() {
        for sigma in [1_u64 << 24, LARGEST_SCALE] {
            let mut random = stream(6, sigma, Purpose::Noise, 0);
            let draws = 20_000;
            let values: Vec<f64> =
                (0..draws).map(|_| gaussian(sigma, &mut random) as f64 / sigma as f64).collect();
            let n = f64::from(draws);
            let mean = values.iter().sum::<f64>() / n;
            let second = values.iter().map(|v| v * v).sum::<f64>() / n;
            let fourth = values.iter().map(|v| v.powi(4)).sum::<f64>() / n;
            // Six standard errors (1, sqrt 2 and sqrt 96 over sqrt n); the seeds are fixed.
            assert!(mean.abs() < 6.0 / n.sqrt(), "{mean}");
            assert!((second - 1.0).abs() < 6.0 * (2.0 / n).sqrt(), "{second}");
            assert!((fourth - 3.0).abs() < 6.0 * (96.0 / n).sqrt(), "{fourth}");
        }
    }

    #[test]
    fn probabilities_of_exponentials_are_exact() {
        let mut random = stream(7, 0, Purpose::Noise, 0);
        for (numerator, denominator) in [(0, 1), (1, 3), (1, 1), (5, 2)] {
            let draws = 100_000;
            let hits = (0..draws)
                .filter(|_| bernoulli_exp(numerator, denominator, &mut random))
                .count() as f64;
            let p = (-(numerator as f64) / denominator as f64).exp();
            let error = (p * (1.0 - p) * f64::from(draws)).sqrt();
            // Six standard errors: 2e-9 each; the seed is fixed.
            assert!(
                (hits - p * f64::from(draws)).abs() <= 6.0 * error,
                "{numerator}/{denominator}"
            );
        }
    }
}
