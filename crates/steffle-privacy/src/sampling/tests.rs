use super::*;

/// SplitMix64: a fixed stream, so these tests always see the same draws.
fn coin(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

fn rate(value: f64) -> SampleRate {
    value.try_into().unwrap()
}

#[test]
fn poisson_draws_at_its_rate() {
    let mut coin = coin(1);
    let drawn: usize =
        (0..200).map(|_| Poisson(rate(0.1)).draw(1000, &mut coin).unwrap().members().len()).sum();
    // 200,000 coins at 0.1: standard deviation 134; five of them fail one seed in 1.7 million.
    assert!((drawn as f64 - 20_000.0).abs() < 670.0, "{drawn}");
    assert_eq!(Poisson(rate(1.0)).draw(7, &mut coin).unwrap().members(), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn fixed_batches_have_their_size_and_favour_nobody() {
    let (mut coin, sampler) = (coin(2), FixedBatch::new(3, 10).unwrap());
    let mut seen = [0_u32; 10];
    for _ in 0..10_000 {
        let batch = sampler.draw(10, &mut coin).unwrap();
        assert_eq!(batch.members().len(), 3);
        assert!(batch.members().windows(2).all(|pair| pair[0] < pair[1]));
        batch.members().iter().for_each(|&member| seen[member] += 1);
    }
    // Each 3000 times, standard deviation 46; five of them in ten cells fail one seed in 170,000.
    assert!(seen.iter().all(|&times| times.abs_diff(3000) < 230), "{seen:?}");
    assert!(sampler.draw(11, &mut coin).is_err());
}

#[test]
fn plans_refuse_other_batches_and_more_rounds() {
    let mut coin = coin(3);
    let z = NoiseMultiplier::try_from(2.0).unwrap();
    let rounds = Rounds::try_from(2).unwrap();
    let mut plan = SampledRounds::new(Poisson(rate(0.5)), Neighbours::Replace, z, rounds).unwrap();
    let other = Poisson(rate(0.4)).draw(9, &mut coin).unwrap();
    assert_eq!(plan.admit(&other).unwrap_err().code(), "steffle::privacy::other_sampler");
    for _ in 0..2 {
        plan.admit(&plan.sampler().draw(9, &mut coin).unwrap()).unwrap();
    }
    let batch = plan.sampler().draw(9, &mut coin).unwrap();
    assert_eq!(plan.admit(&batch), Err(PrivacyError::RoundsUsedUp { planned: 2 }));
    assert_eq!(plan.event().sampling, Sampling::Poisson(rate(0.5)));
    let fixed = FixedBatch::new(2, 9).unwrap();
    assert!(SampledRounds::new(fixed, Neighbours::AddRemove, z, rounds).is_err());
}
