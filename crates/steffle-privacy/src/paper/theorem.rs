//! The noise scales that Theorem 3.2 prescribes.

use crate::quantity::{Delta, Epsilon, GroupFraction, Rounds};

/// sigma_w of Theorem 3.2: the standard deviation of the noise on every entry of the W message
/// (a mean over the batch), `sqrt(16 T ln(1/delta) / (epsilon^2 n^2 rho))`.
///
/// With no records the answer is infinite. The theorem does not deliver what it claims, see
/// the analysis in this module; use this for reproduction only.
pub fn sigma_dual(
    epsilon: Epsilon,
    delta: Delta,
    rounds: Rounds,
    silo_records: usize,
    rho: GroupFraction,
) -> f64 {
    let numerator = 16.0 * rounds.value() * -delta.value().ln();
    (numerator / rho.value()).sqrt() / (epsilon.value() * silo_records as f64)
}

/// sigma_theta of Theorem 3.2: the standard deviation of the noise on every entry of the theta
/// message (a mean over the batch), [`sigma_dual`] times L D.
///
/// `clip` is L, the bound on one record's Jacobian; `diameter` is D, the bound on the entries of W.
pub fn sigma_theta(
    epsilon: Epsilon,
    delta: Delta,
    rounds: Rounds,
    silo_records: usize,
    rho: GroupFraction,
    clip: f64,
    diameter: f64,
) -> f64 {
    clip * diameter * sigma_dual(epsilon, delta, rounds, silo_records, rho)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_card_sigma_of_the_paper() {
        let rho = GroupFraction::try_from(0.39).unwrap();
        let epsilon = Epsilon::try_from(1.0).unwrap();
        let delta = Delta::try_from(1.0 / (22_500.0_f64 * 22_500.0)).unwrap();
        let rounds = Rounds::try_from(1200).unwrap();
        let dual = sigma_dual(epsilon, delta, rounds, 7500, rho);
        assert!((dual / 0.132_444_351_044_524_93 - 1.0).abs() < 1e-12);
        let theta = sigma_theta(epsilon, delta, rounds, 7500, rho, 2.0, 3.0);
        assert!((theta / (6.0 * dual) - 1.0).abs() < 1e-15);
    }
}
