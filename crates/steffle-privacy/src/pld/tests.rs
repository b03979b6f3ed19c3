use super::*;
use crate::event::{Neighbours, Sampling};
use crate::quantity::Mu;

fn event(sampling: Sampling, neighbours: Neighbours, z: f64, rounds: u64) -> Event {
    Event {
        sampling,
        neighbours,
        noise_multiplier: z.try_into().unwrap(),
        rounds: rounds.try_into().unwrap(),
    }
}

fn poisson(rate: f64) -> Sampling {
    Sampling::Poisson(rate.try_into().unwrap())
}

/// The grid alone, started far above the closed form, must come down to it and not below.
#[test]
fn gaussian_pair_is_within_its_error() {
    for (z, rounds) in [
        (1e-3, 1),
        (1e-3, 10_000_000),
        (0.3, 1),
        (1.0, 7),
        (50.0, 2000),
        (1e4, 1),
        (1e4, 10_000_000),
    ] {
        for delta in [1e-2, 1e-6, 1e-15] {
            let full = event(Sampling::FullBatch, Neighbours::Replace, z, rounds);
            let exact = gdp::epsilon(gdp::total(&[full]).unwrap(), delta.try_into().unwrap());
            let pairs = [(Pair::of(&full), rounds)];
            let precision = if rounds > 2000 { Precision::FINE } else { Precision::QUICK };
            let ours = refine(&pairs, Direction::Remove, delta, 1.3 * exact, precision);
            let error = ours.error.unwrap();
            // The closed form is itself rounded up by 1e-12.
            assert!(
                ours.epsilon >= exact * (1.0 - 2e-12),
                "{z} {rounds} {delta}: {ours:?} {exact}"
            );
            assert!(ours.epsilon - error <= exact, "{z} {rounds} {delta}: {ours:?} {exact}");
            assert!(ours.epsilon <= exact * 1.01, "{z} {rounds} {delta}: {ours:?} {exact}");
        }
    }
}

/// One round has a closed form: delta = q delta_Gauss(ln(1 + (e^epsilon - 1)/q)).
#[test]
fn one_sampled_round_is_the_amplification_formula() {
    for z in [0.3, 1.0, 5.0] {
        for q in [1e-6, 1e-3, 0.2, 0.9] {
            for delta in [1e-4, 1e-9, 1e-15] {
                let once = event(poisson(q), Neighbours::Replace, z, 1);
                let ours = epsilon(&[once], delta.try_into().unwrap()).unwrap();
                let exact = if delta < q {
                    let mu = Mu::try_from(1.0 / z).unwrap();
                    let stretched = gdp::epsilon(mu, (delta / q).try_into().unwrap());
                    (q * stretched.exp_m1()).ln_1p()
                } else {
                    0.0
                };
                assert!(ours.epsilon >= exact * (1.0 - 1e-9), "{z} {q} {delta}: {ours:?} {exact}");
                assert!(ours.epsilon - ours.error.unwrap() <= exact * (1.0 + 1e-9), "{ours:?}");
            }
        }
    }
}

/// Step 2 of the proof: losses above the grid are lost probability, in every round.
#[test]
fn what_is_cut_off_counts_in_full() {
    let full = event(Sampling::FullBatch, Neighbours::Replace, 1.0, 2);
    let grid = Grid { step: 0.01, largest_loss: 1.0, reach: 9.0, cells: 10_000 };
    let masses = discretise(Pair::of(&full), Direction::Remove, grid).unwrap();
    // N(1/2, 1) above 1: 0.3085 in one round, 0.5219 in one of two.
    assert!((masses.infinite - 0.308_537_5).abs() < 1e-6);
    let parts = [Part::new(masses, 2)];
    let composed = compose(&parts, grid.step, 1.0, 10_000).unwrap_or_else(|points| {
        panic!("{points} points");
    });
    assert_eq!(composed.epsilon(0.521, 0.5), None);
    assert!(composed.epsilon(0.53, 0.5).is_some());
}

/// Step 4 of the proof, first half: a loss anywhere in a cell moves up by at most h^2/8 on average,
/// and in its middle by hardly less.
#[test]
fn rounding_drifts_by_an_eighth() {
    for step in [1e-3, 0.1, 1.0] {
        let grid = Grid { step, largest_loss: 1.0, reach: 1.0, cells: 1 };
        let drift = |f: f64| step * (-f).exp_m1() / (-step).exp_m1() - f;
        let worst = (0..1000).map(|i| drift(step * f64::from(i) / 1000.0)).fold(0.0, f64::max);
        assert!(worst <= grid.drift() && worst > 0.97 * grid.drift(), "{worst} {}", grid.drift());
    }
}

/// Second half: sums of 400 fair roundings of one step each, by their exact binomial law.
#[test]
fn rounding_deviates_no_further() {
    let (rounds, slip) = (400_u32, 1e-6_f64);
    let log_choose = |k: u32| {
        libm::lgamma(f64::from(rounds) + 1.0)
            - libm::lgamma(f64::from(k) + 1.0)
            - libm::lgamma(f64::from(rounds - k) + 1.0)
    };
    let beyond = |steps: f64| -> f64 {
        (0..=rounds)
            .filter(|&k| f64::from(k) - 200.0 > steps)
            .map(|k| (log_choose(k) - 400.0 * 2.0_f64.ln()).exp())
            .sum()
    };
    let steps = deviation(f64::from(rounds), slip);
    assert!(beyond(steps) < slip && beyond(0.75 * steps) > slip, "{steps}");
}

/// An event cut into two, and different mechanisms in one list.
#[test]
fn halves_compose_to_the_whole() {
    let delta = Delta::try_from(1e-7).unwrap();
    for neighbours in [Neighbours::ReplaceCentred, Neighbours::Replace, Neighbours::AddRemove] {
        let part = |rounds| event(poisson(0.05), neighbours, 1.5, rounds);
        let whole = epsilon(&[part(300)], delta).unwrap().epsilon;
        let halves = epsilon(&[part(120), part(180)], delta).unwrap().epsilon;
        assert!((halves / whole - 1.0).abs() < 1e-6, "{halves} {whole}");
        let with_release = [part(300), event(Sampling::FullBatch, Neighbours::Replace, 8.0, 1)];
        let both = epsilon(&with_release, delta).unwrap().epsilon;
        assert!(both > whole && both < whole + 1.0, "{both} {whole}");
    }
}

#[test]
fn lists_without_a_common_guarantee_are_refused() {
    let delta = Delta::try_from(1e-7).unwrap();
    let replaced = event(poisson(0.05), Neighbours::Replace, 1.5, 10);
    let removed = event(poisson(0.05), Neighbours::AddRemove, 1.5, 10);
    assert_eq!(epsilon(&[replaced, removed], delta), Err(PrivacyError::MixedNeighbours));
    assert_eq!(epsilon(&[], delta).unwrap(), Bounded { epsilon: 0.0, error: Some(0.0) });
}
