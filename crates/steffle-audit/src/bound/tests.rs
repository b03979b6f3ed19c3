use super::*;
use rand::{Rng, SeedableRng};
use steffle_model::randomness::ChaCha8Rng;
use steffle_privacy::normal::cumulative;

fn uniform(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() as f64 + 0.5) / 2.0_f64.powi(64)
}

/// Log-likelihood ratios of N(0, 1) against N(mu, 1) in both worlds.
fn scores(mu: f64, runs: usize, random: &mut ChaCha8Rng) -> [Vec<f64>; 2] {
    [0.0, 1.0].map(|world| {
        let mut draw = |_| mu * (quantile(uniform(random)) + (world - 0.5) * mu);
        (0..runs).map(&mut draw).collect()
    })
}

fn found(mu: f64, runs: usize, alpha: f64, random: &mut ChaCha8Rng) -> Bounds {
    let before = scores(mu, 400, random).concat();
    let judged = scores(mu, runs, random);
    let scores = [&judged[0][..], &judged[1][..]];
    let rates: Vec<Rates> = thresholds(before, alpha)
        .iter()
        .map(|&(threshold, part)| Counted::new(threshold, part, scores).rates(runs as u64))
        .collect();
    Bounds::new(&rates, 1e-5)
}

/// 600 audits of mechanisms that tell exactly what they claim, at a confidence of 80 %: at most a
/// fifth may be above. Seeds are fixed; with others it would fail less than once in 10^9 times even
/// if a fifth really were (5 + 6 standard deviations above).
#[test]
fn honest_coins_are_rarely_accused() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let (mut mus, mut epsilons) = (0, 0);
    for audit in 0..600 {
        let mu = [0.7, 1.0, 1.5][audit % 3];
        let bounds = found(mu, 400, 0.2, &mut random);
        mus += u32::from(bounds.mu > mu);
        let claimed =
            steffle_privacy::gdp::epsilon(mu.try_into().unwrap(), 1e-5.try_into().unwrap());
        epsilons += u32::from(bounds.epsilon > claimed);
    }
    assert!(mus <= 120, "{mus}");
    // Two one-sided bounds at 15 thresholds are careful, but not so careful that they say nothing.
    assert!(mus >= 1, "{mus}");
    assert!(epsilons <= 120, "{epsilons}");
}

#[test]
fn bounds_come_close_to_the_truth() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    for mu in [0.3, 1.0, 1.5, 3.0] {
        let bounds = found(mu, 40_000, 1e-3, &mut random);
        assert!(bounds.mu <= mu && bounds.mu >= mu - 0.1, "{mu} {bounds:?}");
        // Its standard error is below 0.02 for every one of these.
        assert!((bounds.estimated_mu - mu).abs() < 0.06, "{mu} {bounds:?}");
        assert!(bounds.mu <= bounds.estimated_mu);
    }
    assert_eq!(found(1e-3, 4000, 1e-3, &mut random).mu, 0.0);
}

#[test]
fn parts_of_alpha_sum_to_alpha() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let many = thresholds(scores(1.0, 500, &mut random).concat(), 0.01);
    let few = thresholds([vec![-1.0; 40], vec![0.0; 3], vec![1.0; 50]].concat(), 0.01);
    assert_eq!(few.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [-0.5, 0.5]);
    for thresholds in [many, few] {
        let sum: f64 = thresholds.iter().map(|(_, part)| part).sum();
        assert!((sum - 0.01).abs() < 1e-15, "{sum}");
        assert!(thresholds.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }
}

/// Rates of N(0, 1) against N(mu, 1), known exactly: the bounds are the formulas of the proof.
#[test]
fn known_rates_give_known_bounds() {
    let (mu, at) = (1.2, 0.5);
    let (alarm, hit) = (1.0 - cumulative(at), 1.0 - cumulative(at - mu));
    let rates = Rates { false_alarm: alarm, hit, highest_false_alarm: alarm, lowest_hit: hit };
    let bounds = Bounds::new(&[rates], 0.01);
    assert!((bounds.mu - mu).abs() < 1e-12 && (bounds.estimated_mu - mu).abs() < 1e-12);
    let expected = f64::max(((hit - 0.01) / alarm).ln(), ((1.0 - alarm - 0.01) / (1.0 - hit)).ln());
    assert!((bounds.epsilon - expected).abs() < 1e-12);
}
