//! Integer noise: what the discrete Gaussian costs beside the continuous one.
//!
//! # Claim
//! A message of N integers with iid discrete Gaussian noise of scale `sigma` (an integer of at
//! least [`SMALLEST_SCALE`]) and L2 sensitivity D is, in every composition, as private as the
//! continuous Gaussian message of `mu = D / sigma`, but for a likelihood ratio of
//! `exp(slack)` on either side and a tail of `4 N exp(epsilon - 790)`: messages whose slacks sum
//! to at most [`SLACK`] and whose mu^2 sum to at most that of [`budget`] are together
//! (epsilon, delta)-private.
//!
//! # Proof
//! 1. The sum is an integer vector, so rounding the continuous mechanism's output to integers is
//!    post-processing: it is mu-GDP, and its noise is the rounded continuous Gaussian R.
//! 2. For `|x| <= c sigma` the discrete Gaussian Z has
//!    `|ln P(Z = x) / P(R = x)| <= max(1/8, c^2/24) / sigma^2 + 4 exp(-2 pi^2 sigma^2)`: the
//!    density at x against its mean over `[x - 1/2, x + 1/2]`, by Taylor to the fourth order, and
//!    the normaliser by Poisson summation. With c = 40 that is below `67 / sigma^2`, and the tail
//!    beyond is below `exp(-790)` per coordinate.
//! 3. If two laws P, Q of everything sent satisfy (e, d) and their discrete versions differ from
//!    them by at most the factor `exp(slack)` each way, the discrete versions satisfy
//!    `(e + 2 slack, exp(slack) d)`, plus the tails. [`budget`] takes this off in advance.
//!
//! The tests that fail when a constant is halved: `tests::the_slack_bounds_the_ratio` and
//! `tests::the_budget_pays_for_the_slack`.

use crate::error::Result;
use crate::gdp;
use crate::quantity::{Delta, Epsilon, Mu};

/// The smallest noise scale, in units of the integer grid.
pub const SMALLEST_SCALE: u64 = 1 << 24;

/// What the slacks of all messages of a store may sum to.
pub const SLACK: f64 = 1e-6;

/// The slack of one message of `coordinates` integers.
pub fn slack(coordinates: usize, sigma: u64) -> f64 {
    67.0 * coordinates as f64 / (sigma as f64).powi(2)
}

/// The mu that integer messages may spend for (epsilon, delta), the slack taken off. Refuses an
/// epsilon that the slack alone would use up.
pub fn budget(epsilon: Epsilon, delta: Delta) -> Result<Mu> {
    let epsilon = Epsilon::try_from(epsilon.value() - 2.0 * SLACK)?;
    let delta = Delta::try_from(delta.value() * (-SLACK).exp() - 1e-300)?;
    Ok(gdp::mu(epsilon, delta))
}

/// The epsilon that integer messages of `mu` in all have cost: the inverse of [`budget`].
pub fn epsilon(mu: Mu, delta: Delta) -> Result<f64> {
    if mu.value() == 0.0 {
        return Ok(0.0);
    }
    let delta = Delta::try_from(delta.value() * (-SLACK).exp() - 1e-300)?;
    Ok(gdp::epsilon(mu, delta) + 2.0 * SLACK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::cumulative;

    /// `ln P(Z = x) / P(R = x)` by direct summation.
    fn log_ratio(x: i32, sigma: f64) -> f64 {
        let density = |y: i32| (-f64::from(y).powi(2) / (2.0 * sigma * sigma)).exp();
        let reach = (45.0 * sigma) as i32;
        let normaliser: f64 = (-reach..=reach).map(density).sum();
        let (low, high) = ((f64::from(x) - 0.5) / sigma, (f64::from(x) + 0.5) / sigma);
        // The lower tail keeps its digits; the law is symmetric.
        let rounded =
            cumulative(-low.abs().min(high.abs())) - cumulative(-low.abs().max(high.abs()));
        let rounded = if x == 0 { 1.0 - 2.0 * cumulative(low) } else { rounded };
        (density(x) / normaliser / rounded).ln()
    }

    #[test]
    fn the_slack_bounds_the_ratio() {
        for sigma in [16_u64, 64, 256] {
            let mut worst: f64 = 0.0;
            for share in 0..=30 {
                // Beyond 30 sigma the probabilities leave the range of a double; c = 30 there.
                let x = (f64::from(share) * sigma as f64) as i32;
                worst = worst.max(log_ratio(x, sigma as f64).abs());
            }
            let at_thirty = 30.0_f64.powi(2) / 24.0 / (sigma as f64).powi(2);
            assert!(worst <= at_thirty * 1.01, "{sigma}: {worst} above {at_thirty}");
            assert!(worst >= 0.9 * at_thirty, "{sigma}: {worst} far below {at_thirty}");
            // The constant 67 is the same bound at c = 40, so half of it would not cover c = 30.
            assert!(worst > 0.5 * slack(1, sigma) && worst < slack(1, sigma), "{sigma}: {worst}");
        }
    }

    #[test]
    fn the_budget_pays_for_the_slack() -> Result<()> {
        let (epsilon, delta) = (Epsilon::try_from(1.0)?, Delta::try_from(1e-9)?);
        let mu = budget(epsilon, delta)?;
        let plain = gdp::epsilon(mu, Delta::try_from(1e-9 * (-SLACK).exp())?);
        assert!(plain + 2.0 * SLACK <= 1.0 && plain + 1.9 * SLACK > 1.0 - SLACK, "{plain}");
        assert!(super::epsilon(mu, delta)? <= 1.0 && super::epsilon(mu, delta)? > 1.0 - 1e-9);
        assert!(budget(Epsilon::try_from(1e-6)?, delta).is_err());
        Ok(())
    }
}
