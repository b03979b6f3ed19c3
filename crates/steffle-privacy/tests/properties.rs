//! What must hold for all events, not only for those somebody computed before.
#![allow(clippy::unwrap_used, reason = "a property that cannot be evaluated must fail")]

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use steffle_privacy::pld::{self, Precision};
use steffle_privacy::{
    Accountant, Delta, Epsilon, Event, FixedBatch, Neighbours, Rounds, Sampling, calibrate, gdp,
};

/// The same cases every time; thousands more were tried once.
fn cases(cases: u32) -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(u64::from(cases));
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

/// Numbers spread evenly in their logarithm.
fn decades(low: i32, high: i32) -> impl Strategy<Value = f64> {
    (f64::from(low)..f64::from(high)).prop_map(|exponent| 10.0_f64.powf(exponent))
}

fn sampling() -> impl Strategy<Value = Sampling> {
    prop_oneof![
        Just(Sampling::FullBatch),
        decades(-4, 0).prop_map(|rate| Sampling::Poisson(rate.try_into().unwrap())),
        Just(Sampling::Poisson(1.0.try_into().unwrap())),
        (1..500_u64, 0..20_000_u64).prop_map(|(m, rest)| Sampling::WithoutReplacement(
            FixedBatch::new(m, m + rest).unwrap()
        )),
    ]
}

fn neighbours() -> impl Strategy<Value = Neighbours> {
    prop_oneof![
        Just(Neighbours::ReplaceCentred),
        Just(Neighbours::Replace),
        Just(Neighbours::AddRemove)
    ]
}

fn event(noise: impl Strategy<Value = f64>, most: u64) -> impl Strategy<Value = Event> {
    (sampling(), neighbours(), noise, 0.0..(most as f64).ln()).prop_map(
        |(sampling, neighbours, noise, log_rounds)| Event {
            sampling,
            neighbours: match sampling {
                Sampling::WithoutReplacement(_) => Neighbours::Replace,
                _ => neighbours,
            },
            noise_multiplier: noise.try_into().unwrap(),
            rounds: Rounds::try_from(log_rounds.exp() as u64).unwrap(),
        },
    )
}

/// Loss distributions at the precision of overviews, with their error.
fn quick(events: &[Event], delta: Delta) -> pld::Bounded {
    pld::epsilon_at(events, delta, Precision::QUICK).unwrap()
}

/// More of what costs privacy: more rounds, less noise, a higher rate.
fn worse(event: Event, which: usize, factor: f64) -> Event {
    let up = |value: f64| value * factor;
    match (which, event.sampling) {
        (0, _) => Event {
            rounds: Rounds::try_from(up(event.rounds.value()).ceil() as u64).unwrap(),
            ..event
        },
        (1, Sampling::Poisson(rate)) => Event {
            sampling: Sampling::Poisson(up(rate.value()).min(1.0).try_into().unwrap()),
            ..event
        },
        (1, Sampling::WithoutReplacement(fixed)) => {
            let batch = (up(fixed.batch() as f64) as u64).min(fixed.records());
            let sampling =
                Sampling::WithoutReplacement(FixedBatch::new(batch, fixed.records()).unwrap());
            Event { sampling, ..event }
        }
        _ => event.with_noise((event.noise_multiplier.value() / factor).try_into().unwrap()),
    }
}

proptest! {
    #![proptest_config(cases(48))]

    /// Upper bounds stay above what is known to be below, and below what is known to be above.
    #[test]
    fn accountants_agree_on_who_is_larger(event in event(decades(-1, 2), 10_000), delta in decades(-12, -2)) {
        let delta = Delta::try_from(delta).unwrap();
        let moments = Accountant::Rdp.epsilon(&[event], delta).unwrap().epsilon;
        let closed = Accountant::Gdp.epsilon(&[event], delta).unwrap().epsilon;
        let losses = quick(&[event], delta);
        let exact_at_least = losses.error.map_or(0.0, |error| losses.epsilon - error);
        prop_assert!(exact_at_least <= moments * (1.0 + 1e-9), "{losses:?} rdp {moments}");
        prop_assert!(exact_at_least <= closed * (1.0 + 1e-9), "{losses:?} gdp {closed}");
        prop_assert!(losses.epsilon <= moments.min(closed) * (1.0 + 1e-5) + 1e-12);
        if event.sampling == Sampling::FullBatch {
            prop_assert!(losses.epsilon >= closed * (1.0 - 1e-9), "{losses:?} gdp {closed}");
            prop_assert!(moments >= closed);
        }
    }

    #[test]
    fn more_costs_more(
        event in event(decades(-1, 2), 10_000),
        delta in decades(-12, -2),
        which in 0..3_usize,
        factor in 1.01..4.0_f64,
    ) {
        let delta = Delta::try_from(delta).unwrap();
        let worse = worse(event, which, factor);
        for accountant in [Accountant::Gdp, Accountant::Rdp, Accountant::Paper] {
            let less = accountant.epsilon(&[event], delta).unwrap().epsilon;
            let more = accountant.epsilon(&[worse], delta).unwrap().epsilon;
            // Moments are minimised over the order to about 1e-9.
            prop_assert!(more >= less * (1.0 - 1e-8), "{accountant:?} {more} {less}");
        }
        let (less, more) = (quick(&[event], delta), quick(&[worse], delta));
        let slack = less.error.unwrap_or(less.epsilon);
        prop_assert!(more.epsilon >= less.epsilon - slack, "{more:?} {less:?}");
    }

    #[test]
    fn halves_compose_to_the_whole(event in event(decades(-1, 2), 5_000), delta in decades(-12, -2)) {
        let delta = Delta::try_from(delta).unwrap();
        let half = |rounds: u64| Event { rounds: rounds.try_into().unwrap(), ..event };
        let first = event.rounds.count().div_ceil(2);
        let whole = Event { rounds: (2 * first).try_into().unwrap(), ..event };
        for accountant in [Accountant::Gdp, Accountant::Rdp, Accountant::Paper] {
            let once = accountant.epsilon(&[whole], delta).unwrap().epsilon;
            let twice = accountant.epsilon(&[half(first), half(first)], delta).unwrap().epsilon;
            prop_assert!((twice - once).abs() <= 1e-8 * once, "{accountant:?} {twice} {once}");
        }
        let (once, twice) = (quick(&[whole], delta), quick(&[half(first), half(first)], delta));
        let slack = once.error.unwrap_or(once.epsilon);
        prop_assert!((twice.epsilon - once.epsilon).abs() <= slack, "{twice:?} {once:?}");
    }

    /// The closed form, its inverses and each other.
    #[test]
    fn gaussian_conversions_are_inverse_and_safe(epsilon in decades(-6, 4), delta in decades(-15, -1)) {
        let (epsilon, delta) = (Epsilon::try_from(epsilon).unwrap(), Delta::try_from(delta).unwrap());
        let mu = gdp::mu(epsilon, delta);
        prop_assert!(gdp::delta(epsilon, mu) <= delta.value());
        let back = gdp::epsilon(mu, delta);
        prop_assert!(back <= epsilon.value() && back >= epsilon.value() * (1.0 - 1e-6), "{back}");
    }
}

proptest! {
    #![proptest_config(cases(24))]

    /// z from 1e-3 to 1e4, rounds to 1e7, delta to 1e-15, rates to 1: a finite number, and soon.
    #[test]
    fn extreme_inputs_give_finite_bounds(event in event(decades(-3, 4), 10_000_000), delta in decades(-15, 0)) {
        let delta = Delta::try_from(delta).unwrap();
        let losses = quick(&[event], delta);
        prop_assert!(losses.epsilon.is_finite() && losses.epsilon >= 0.0, "{losses:?}");
        for accountant in [Accountant::Gdp, Accountant::Rdp, Accountant::Paper] {
            let reading = accountant.epsilon(&[event], delta).unwrap();
            prop_assert!(reading.epsilon.is_finite() && reading.epsilon >= 0.0, "{reading:?}");
        }
    }

    #[test]
    fn calibration_never_overspends(
        event in event(Just(1.0), 3_000),
        epsilon in decades(-1, 1),
        delta in decades(-10, -3),
        accountant in prop_oneof![Just(Accountant::Gdp), Just(Accountant::Rdp), Just(Accountant::Paper)],
    ) {
        let (epsilon, delta) = (Epsilon::try_from(epsilon).unwrap(), Delta::try_from(delta).unwrap());
        let found = calibrate::noise_multiplier(accountant, event, epsilon, delta).unwrap();
        let z = found.noise_multiplier.value();
        let spent = accountant.epsilon(&[event.with_noise(found.noise_multiplier)], delta).unwrap();
        prop_assert_eq!(spent, found.reading);
        prop_assert!(spent.epsilon <= epsilon.value());
        // A little less noise would not do, unless none was needed.
        let less = event.with_noise((z * (1.0 - 3.0 * calibrate::WIDTH)).try_into().unwrap());
        let over = accountant.epsilon(&[less], delta).unwrap().epsilon;
        prop_assert!(over > epsilon.value() || z < 2e-4, "{z} {over}");
    }
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn calibration_of_loss_distributions_never_overspends(
        event in event(Just(1.0), 1_000),
        epsilon in decades(-1, 1),
        delta in decades(-10, -3),
    ) {
        let (epsilon, delta) = (Epsilon::try_from(epsilon).unwrap(), Delta::try_from(delta).unwrap());
        let found = calibrate::noise_multiplier(Accountant::Pld, event, epsilon, delta).unwrap();
        let again = event.with_noise(found.noise_multiplier);
        let spent = Accountant::Pld.epsilon(&[again], delta).unwrap();
        prop_assert!(spent.epsilon <= epsilon.value());
    }
}
