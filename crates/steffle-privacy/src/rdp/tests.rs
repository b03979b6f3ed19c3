use super::*;
use crate::event::{FixedBatch, Neighbours, Sampling};
use crate::quantity::{NoiseMultiplier, Rounds};

fn event(sampling: Sampling, neighbours: Neighbours, z: f64, rounds: u64) -> Event {
    Event {
        sampling,
        neighbours,
        noise_multiplier: NoiseMultiplier::try_from(z).unwrap(),
        rounds: Rounds::try_from(rounds).unwrap(),
    }
}

fn poisson(rate: f64) -> Sampling {
    Sampling::Poisson(rate.try_into().unwrap())
}

/// ln sum_k C(n, k) (1-q)^(n-k) q^k e^(k(k-1)/(2 z^2)): the moment of order n, exactly.
fn binomial_sum(q: f64, z: f64, order: u32) -> f64 {
    let log_choose = |k: u32| {
        libm::lgamma(f64::from(order) + 1.0)
            - libm::lgamma(f64::from(k) + 1.0)
            - libm::lgamma(f64::from(order - k) + 1.0)
    };
    let terms: Vec<f64> = (0..=order)
        .map(|k| {
            let (k64, rest) = (f64::from(k), f64::from(order - k));
            log_choose(k) + rest * (1.0 - q).ln() + k64 * q.ln() + k64 * (k64 - 1.0) / (2.0 * z * z)
        })
        .collect();
    let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + terms.iter().map(|term| (term - largest).exp()).sum::<f64>().ln()
}

#[test]
fn integral_matches_the_binomial_sum() {
    for z in [0.05, 0.3, 1.0, 4.0, 30.0] {
        for q in [1e-3, 0.03, 0.5, 0.99] {
            for order in [2, 3, 8, 33] {
                let pair = Pair::of(&event(poisson(q), Neighbours::AddRemove, z, 1));
                let ours = log_moment(pair, Direction::Remove, f64::from(order) - 1.0);
                let exact = binomial_sum(q, z, order);
                let tolerance = 2e-9 * exact + 1e-13;
                assert!((ours - exact).abs() < tolerance, "z {z} q {q} a {order}: {ours} {exact}");
            }
        }
    }
}

#[test]
fn gaussian_moment_is_its_closed_form() {
    for z in [1e-3, 0.1, 1.0, 50.0, 1e4] {
        for lambda in [0.01, 1.0, 7.5, 200.0] {
            let full = event(Sampling::FullBatch, Neighbours::Replace, z, 1);
            let ours = log_moment(Pair::of(&full), Direction::Remove, lambda);
            let exact = lambda * (lambda + 1.0) / (2.0 * z * z);
            assert!((ours / exact - 1.0).abs() < 2e-9, "z {z} lambda {lambda}: {ours} {exact}");
            for (sampling, neighbours) in [
                (poisson(1.0), Neighbours::AddRemove),
                (poisson(1.0), Neighbours::Replace),
                (Sampling::WithoutReplacement(FixedBatch::new(5, 5).unwrap()), Neighbours::Replace),
            ] {
                let pair = Pair::of(&event(sampling, neighbours, z, 1));
                for direction in [Direction::Remove, Direction::Add] {
                    let ours = log_moment(pair, direction, lambda);
                    assert!((ours / exact - 1.0).abs() < 2e-9, "{sampling:?} z {z} {lambda}");
                }
            }
        }
    }
}

#[test]
fn gaussian_matches_the_continuous_optimum() {
    for (z, rounds, delta, expected) in [
        (1.0, 1, 1e-5, 4.728_386_984_943_314),
        (20.0, 200, 1e-9, 4.436_684_222_232_656),
        (0.5, 1, 1e-5, 10.724_824_112_939_173),
    ] {
        let full = event(Sampling::FullBatch, Neighbours::Replace, z, rounds);
        let ours = epsilon(&[full], delta.try_into().unwrap()).unwrap();
        assert!((ours / expected - 1.0).abs() < 1e-8, "{ours} {expected}");
    }
}
