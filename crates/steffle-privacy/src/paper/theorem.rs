//! The noise scales that Theorem 3.2 prescribes.

use crate::event::Event;
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

/// The distance by which replacing one attribute moves the W message of the paper, at most:
/// `sqrt(8 / rho) / m`. (Its sensitivity lemma prints the square of this as if it were the norm.)
pub fn dual_distance(batch: usize, rho: GroupFraction) -> f64 {
    (8.0 / rho.value()).sqrt() / batch as f64
}

/// The same exactly, for two classes whose weights are their shares and a full batch of `records`:
/// `2 / (n sqrt(rho (1 - rho)))`.
pub(super) fn dual_distance_two_classes(records: usize, rho: GroupFraction) -> f64 {
    2.0 / (records as f64 * (rho.value() * (1.0 - rho.value())).sqrt())
}

/// What Theorem 3.2 claims: its sigma over its distance is z = q sqrt(2 T ln(1/delta)) / epsilon,
/// solved for epsilon. Several events add like squares.
///
/// # Claim
/// None: this is not an upper bound. See [`crate::paper`] for what the noise gives.
pub fn claimed_epsilon(events: &[Event], delta: Delta) -> f64 {
    let squared: f64 = events
        .iter()
        .map(|event| {
            (event.sampling.rate() / event.noise_multiplier.value()).powi(2) * event.rounds.value()
        })
        .sum();
    (2.0 * squared * -delta.value().ln()).sqrt()
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
