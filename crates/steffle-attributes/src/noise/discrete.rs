//! The discrete Gaussian, exactly: integer arithmetic on fair bits, no floating point.
//!
//! Rejection from a discrete Laplace (Canonne, Kamath, Steinke 2020), arranged so that no product of
//! two large numbers is formed. The running time depends on the noise, so noise is drawn before `s`
//! is read.
//!
//! # Claim
//! [`gaussian`] returns y with probability proportional to `exp(-y^2 / (2 sigma^2))`, for every
//! integer sigma from 1 to [`LARGEST_SCALE`] and every `|y| < 2^20 sigma`; what lies beyond would
//! come up with probability below `exp(-2^38)` and never does.
//!
//! # Proof
//! Write `size = rest + sigma whole` with `0 <= rest < sigma`: every size has one such pair.
//! 1. *Proposal.* `rest` is uniform and kept with probability `exp(-rest/sigma)`, `whole` counts
//!    coins of probability `exp(-1)` before the first failure, and a fair coin is the sign:
//!    a signed size has probability `(1 - 1/e) / (2 sigma) exp(-size/sigma)`. Zero would have two
//!    signs; minus zero is drawn again, so that every integer y has this probability once.
//! 2. *Acceptance* with probability `exp(-u^2/2)`, `u = |size/sigma - 1|`:
//!    `exp(-size/sigma) exp(-(size/sigma - 1)^2/2) = exp(-1/2) exp(-size^2/(2 sigma^2))`.
//!    So one [`attempt`] gives y with probability
//!    `(1 - 1/e) exp(-1/2) / (2 sigma) exp(-y^2/(2 sigma^2))`, else nothing, and attempts are
//!    independent.
//! 3. *Splitting.* With n whole and x in `[0, 1]` such that `u = n + x`, namely
//!    `(whole - 1, rest/sigma)`, or `(0, 1 - rest/sigma)` if whole = 0, the acceptance is
//!    `u^2/2 = n^2/2 + n x + x^2/2`: n^2 coins of `exp(-1/2)`, n of `exp(-x)`, one of `exp(-x^2/2)`.
//! 4. *Exponentials.* [`exponential`] tosses coins of probability p/1, p/2, p/3 ... The first k all
//!    succeed with probability `p^k/k!`, so the first failure is at an odd toss with probability
//!    `(1 - p) + (p^2/2! - p^3/3!) + ... = exp(-p)`. A coin of probability `x^2/(2k)` is
//!    one of `1/(2k)` and two of x, all of which have to show heads.
//! 5. *No overflow.* The only product is `sigma whole`, below `2^100 2^20`.
//!
//! The test that fails when a constant is halved: `tests::one_attempt_has_the_exact_law`, which
//! follows every path of coins through [`attempt`].

/// Fair bits, 64 at a time, and what is made of them.
pub(super) trait Bits {
    fn bits(&mut self) -> u64;

    /// Uniform below `end`, by rejection.
    fn below(&mut self, end: u128) -> u128 {
        let width = 128 - (end - 1).leading_zeros();
        loop {
            let draw = match width {
                0 => 0,
                1..=64 => u128::from(self.bits() >> (64 - width)),
                _ => {
                    let high = u128::from(self.bits() >> (128 - width));
                    high << 64 | u128::from(self.bits())
                }
            };
            if draw < end {
                return draw;
            }
        }
    }

    /// True with probability `numerator / denominator`, a fraction of at most 1.
    fn chance(&mut self, numerator: u128, denominator: u128) -> bool {
        self.below(denominator) < numerator
    }
}

/// The largest scale. Sums of integers and their noise stay far inside 128 bits with it.
pub(crate) const LARGEST_SCALE: u128 = 1 << 100;

/// Sizes of so many scales are drawn again.
pub(crate) const LARGEST_WHOLE: u32 = 1 << 20;

/// A draw with `P(y)` proportional to `exp(-y^2 / (2 sigma^2))`, for sigma from 1 to
/// [`LARGEST_SCALE`].
pub(super) fn gaussian(sigma: u128, bits: &mut (impl Bits + ?Sized)) -> i128 {
    debug_assert!((1..=LARGEST_SCALE).contains(&sigma));
    loop {
        if let Some(draw) = attempt(sigma, bits) {
            return draw;
        }
    }
}

/// One proposal, if it is accepted.
fn attempt(sigma: u128, bits: &mut (impl Bits + ?Sized)) -> Option<i128> {
    let rest = bits.below(sigma);
    if !exponential(bits, |bits, toss| bits.chance(1, toss) && bits.chance(rest, sigma)) {
        return None;
    }
    let mut whole = 0;
    while exponential(bits, |bits, toss| bits.chance(1, toss)) {
        whole += 1;
        if whole == LARGEST_WHOLE {
            return None;
        }
    }
    let negative = bits.chance(1, 2);
    if (whole, rest, negative) == (0, 0, true) {
        return None;
    }
    // x is `part / sigma`.
    let (n, part) = if whole == 0 { (0, sigma - rest) } else { (whole - 1, rest) };
    // Cheap coins first: all have to succeed, in any order.
    for _ in 0..n {
        for _ in 0..n {
            if !exponential(bits, |bits, toss| bits.chance(1, 2 * toss)) {
                return None;
            }
        }
        if !exponential(bits, |bits, toss| bits.chance(1, toss) && bits.chance(part, sigma)) {
            return None;
        }
    }
    let squared = exponential(bits, |bits, toss| {
        bits.chance(1, 2 * toss) && bits.chance(part, sigma) && bits.chance(part, sigma)
    });
    if !squared {
        return None;
    }
    let size = (rest + sigma * u128::from(whole)).cast_signed();
    Some(if negative { -size } else { size })
}

/// True with probability `exp(-p)`, where `coin(_, k)` is true with probability `p / k`, p at most 1.
fn exponential<B: Bits + ?Sized>(bits: &mut B, coin: impl Fn(&mut B, u128) -> bool) -> bool {
    let mut toss = 1;
    while coin(bits, toss) {
        toss += 1;
    }
    toss % 2 == 1
}

#[cfg(test)]
mod tests;
