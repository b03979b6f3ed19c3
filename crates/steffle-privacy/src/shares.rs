//! Noise once for all sites: each adds a share, and only the sum of all is read.
//!
//! # Claim
//! N sites add, to integers each, iid discrete Gaussian noise of one integer scale s of at least
//! [`SMALLEST_SCALE`](crate::discrete::SMALLEST_SCALE); whoever sees the sum over all of them and
//! knows what c of them sent sees the sum over the other h = N - c with noise that is, per number,
//! as good as `N_Z(h s^2)`: all of [`crate::discrete`] holds for it with `sigma^2 = h s^2` and the
//! slack of scale s. Whoever knows what all others sent sees one site's sum with `N_Z(s^2)`, at h
//! times the cost in mu^2 ([`NoiseShares::alone`]).
//!
//! # Proof
//! 1. *Two shares.* Let X, Y be discrete Gaussians of scales a and b, W one of scale
//!    `sqrt(a^2 + b^2)` and `v^2 = a^2 b^2 / (a^2 + b^2)`. Completing the square,
//!    `P(X + Y = z) ~ exp(-z^2 / (2 (a^2 + b^2))) R(z)` with
//!    `R(z) = sum_x exp(-(x - m)^2 / (2 v^2))`, `m = z a^2 / (a^2 + b^2)`. By Poisson summation
//!    `R(z) = sqrt(2 pi) v (1 + 2 sum_{k >= 1} exp(-2 pi^2 v^2 k^2) cos(2 pi k m))`, which lies within
//!    `1 -+ r`, `r = 2 sum_k exp(-2 pi^2 v^2 k^2)`, of a constant. So
//!    `P(X + Y = z) / P(W = z) = R(z) / E[R(W)]` and its logarithm is at most
//!    `ln((1 + r)/(1 - r))` in size, for *every* z. For `v^2 >= 1/8` that is below
//!    `5 exp(-2 pi^2 v^2)` (at 1/8: r is 0.1697, the logarithm 0.3427, the bound 0.4240; the quotient
//!    falls towards 4 as v grows). Kairouz, Liu and Steinke (2021) have the same theorem.
//! 2. *More shares.* A further share changes a ratio of two laws, where both get it, no more than it
//!    was: it averages numerators and denominators by the same weights. So the logarithm for h shares
//!    of scale s is at most the sum of 1 with `v^2 = s^2 k / (k + 1)`, k from 1 to h - 1
//!    ([`convolution`]).
//! 3. *Slack.* At s = 2^24 this is below `exp(-10^15)` for any number of sites, and
//!    [`discrete::slack`] takes `67/s^2` where `66.7/(h s^2)` is needed. One
//!    slack, of scale s, pays for both readings.
//! 4. *Tails.* A discrete Gaussian is subgaussian with its scale (Canonne, Kamath, Steinke 2020), hence
//!    the sum of h with `sqrt(h) s`: outside of 40 of these lies at most `2 exp(-800)`, as before.
//! 5. *Concentrated* (above an epsilon of 64): the sum is within 2. of `N_Z(h s^2)` pointwise, which
//!    moves a Renyi divergence of order a by at most `(2 a - 1)/(a - 1)` times 1.; nothing at 2^24
//!    beside the factor `1 - 3e-12` of the conversion.
//!
//! What is assumed beside it: nobody reads less than the sum over all sites, and no share is missing.
//! Tests that fail when a constant is halved: `tests::sums_of_shares_are_as_good_as_one_draw`,
//! `tests::a_share_alone_costs_what_the_others_do_not_add`.

use serde::{Deserialize, Serialize};

use crate::discrete;
use crate::error::{PrivacyError, Result};
use crate::quantity::{Delta, Epsilon, Mu};
use crate::rounding::product_up;

/// How many sites add a share of the noise, and how many of them may help the server.
///
/// ```
/// use steffle_privacy::NoiseShares;
/// let shares = NoiseShares::usual(12)?;
/// assert_eq!((shares.colluders(), shares.honest()), (5, 7));
/// assert!(NoiseShares::new(12, 11).is_err());
/// # Ok::<(), steffle_privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Given", into = "Given")]
pub struct NoiseShares {
    sites: u32,
    colluders: u32,
}

/// Not yet checked.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    sites: u32,
    colluders: u32,
}

impl NoiseShares {
    /// Most sites that add up in one ring.
    pub const MOST: u32 = 127;

    /// The shares of so many sites, of which so many may help the server. Refuses fewer than three
    /// sites (of two, each subtracts its own share), and fewer than two that do not help.
    pub fn new(sites: u32, colluders: u32) -> Result<Self> {
        if !(3..=Self::MOST).contains(&sites) {
            return Err(PrivacyError::OutOfRange {
                name: "the number of silos that share noise",
                given: f64::from(sites),
                allowed: "from 3 to 127: of two silos each could subtract its own share",
            });
        }
        if colluders > sites - 2 {
            return Err(PrivacyError::OutOfRange {
                name: "the number of colluding silos",
                given: f64::from(colluders),
                allowed: "at most the number of silos minus 2: two shares have to stay unknown",
            });
        }
        Ok(Self { sites, colluders })
    }

    /// The usual ones: less than half of the sites may help the server.
    pub fn usual(sites: u32) -> Result<Self> {
        Self::new(sites, sites.saturating_sub(1) / 2)
    }

    /// Sites, N.
    pub fn sites(self) -> u32 {
        self.sites
    }

    /// Sites that may help the server, c.
    pub fn colluders(self) -> u32 {
        self.colluders
    }

    /// Sites whose shares the claim counts on, N - c.
    pub fn honest(self) -> u32 {
        self.sites - self.colluders
    }

    /// The epsilon that is left if all other sites help the server, of a claim of (epsilon, delta).
    pub fn alone(self, epsilon: Epsilon, delta: Delta) -> Result<f64> {
        let mu = discrete::budget(epsilon, delta)?.value();
        discrete::epsilon(Mu::try_from(mu * f64::from(self.honest()).sqrt())?, delta)
    }
}

/// mu^2 of a share alone, of a message that costs `squared` where `honest` shares count; rounded up.
pub(crate) fn squared_alone(squared: f64, honest: u32) -> f64 {
    product_up(squared, f64::from(honest))
}

/// How far, at most, the logarithm of a probability under the sum of `honest` discrete Gaussians of
/// this scale is from that under one of their variance; for scales of at least 1/2.
pub fn convolution(honest: u32, scale: f64) -> f64 {
    let two = 2.0 * std::f64::consts::PI.powi(2) * scale * scale;
    let of = |k: u32| 5.0 * (-two * f64::from(k) / f64::from(k + 1)).exp();
    (1..honest).map(of).sum()
}

impl TryFrom<Given> for NoiseShares {
    type Error = PrivacyError;

    fn try_from(Given { sites, colluders }: Given) -> Result<Self> {
        Self::new(sites, colluders)
    }
}

impl From<NoiseShares> for Given {
    fn from(NoiseShares { sites, colluders }: NoiseShares) -> Self {
        Self { sites, colluders }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The law of a discrete Gaussian on -reach..=reach.
    fn law(scale: f64, reach: i32) -> Vec<f64> {
        let weight = |x: i32| (-0.5 * (f64::from(x) / scale).powi(2)).exp();
        let all: f64 = (-10 * reach..=10 * reach).map(weight).sum();
        (-reach..=reach).map(|x| weight(x) / all).collect()
    }

    /// The law of the sum of two, by the definition.
    fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
        let mut both = vec![0.0; a.len() + b.len() - 1];
        for (i, a) in a.iter().enumerate() {
            b.iter().enumerate().for_each(|(j, b)| both[i + j] += a * b);
        }
        both
    }

    /// Exact laws of sums, at scales where the bound is no longer nothing: it holds at every number
    /// within five deviations and, for two shares, is not four times too large.
    #[test]
    fn sums_of_shares_are_as_good_as_one_draw() {
        for (scale, honest) in
            [(0.5, 2), (0.5, 3), (0.6, 7), (0.75, 2), (0.75, 5), (1.0, 2), (1.0, 4)]
        {
            let reach = 24;
            let own = law(scale, reach);
            let shares = (1..honest).fold(own.clone(), |shares, _| sum(&shares, &own));
            // Every share reaches so far to either side.
            let (middle, deviation) =
                (i32::try_from(honest).unwrap() * reach, scale * f64::from(honest).sqrt());
            let one = law(deviation, middle);
            let within = (5.0 * deviation) as i32;
            let far = (middle - within..=middle + within)
                .map(|at| (shares[at as usize] / one[at as usize]).ln().abs())
                .fold(0.0, f64::max);
            let bound = convolution(honest, scale);
            assert!(far <= bound * (1.0 + 1e-9) + 1e-12, "{scale} {honest}: {far} {bound}");
            assert!(honest > 2 || far > 0.25 * bound, "{scale} {honest}: {far} {bound}");
        }
        assert_eq!(convolution(127, discrete::SMALLEST_SCALE as f64), 0.0);
    }

    /// The figures of the design: 12 silos of which 5, and 100 of which 49, help the server.
    #[test]
    fn a_share_alone_costs_what_the_others_do_not_add() {
        let (epsilon, delta) = (0.25.try_into().unwrap(), 8.7e-10.try_into().unwrap());
        let alone = |sites, colluders| {
            NoiseShares::new(sites, colluders).unwrap().alone(epsilon, delta).unwrap()
        };
        assert!((alone(12, 5) - 0.69).abs() < 0.01, "{}", alone(12, 5));
        assert!((alone(100, 49) - 1.95).abs() < 0.01, "{}", alone(100, 49));
        assert!(alone(12, 5) < alone(12, 4));
        assert_eq!(squared_alone(0.25, 7), 1.75);
    }

    #[test]
    fn two_shares_stay_unknown() {
        for (sites, colluders) in [(0, 0), (1, 0), (2, 0), (3, 2), (12, 11), (12, 12), (128, 5)] {
            assert!(NoiseShares::new(sites, colluders).is_err(), "{sites} {colluders}");
        }
        for (sites, colluders) in [(3, 0), (3, 1), (12, 10), (127, 125)] {
            assert_eq!(NoiseShares::new(sites, colluders).unwrap().honest(), sites - colluders);
        }
        let wrong = serde_json::from_str::<NoiseShares>(r#"{"sites": 3, "colluders": 2}"#);
        assert!(wrong.is_err());
        let usual = [3, 4, 12, 100].map(|sites| NoiseShares::usual(sites).unwrap().colluders());
        assert_eq!(usual, [1, 1, 5, 49]);
    }
}
