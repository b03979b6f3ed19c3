use super::*;

pub(super) fn policy(epsilon: f64, delta: f64, pure_share: f64, sampled_share: f64) -> Policy {
    let (methods, modes, notions) = (Vec::new(), Vec::new(), Vec::new());
    let (simulations, open_runs) = (true, 100);
    Policy {
        epsilon,
        delta,
        epsilon_alone: None,
        pure_share,
        sampled_share,
        methods,
        modes,
        notions,
        simulations,
        open_runs,
    }
}

#[test]
fn the_first_claim_makes_the_pots_of_a_store_without_a_policy() {
    let offer = gaussian(1.0, 1e-6);
    let mut store = MemoryLedger::default();
    // What claims nothing, and what is refused, makes no pots.
    store.open(&nothing(), Accounts::One, &Roll::default).unwrap();
    assert_eq!(
        store.open(&gaussian(5.0, 1e-6), Accounts::Blocks(0), &Roll::default),
        Err(Refusal::Kind)
    );
    let grant = store.open(&offer, Accounts::One, &Roll::default).unwrap();
    let share = squared_of(&offer);
    release(&mut store, grant, message(0.36 * share), Charge::All).unwrap();

    let again = store.open(&offer, Accounts::One, &Roll::default);
    let Err(Refusal::Budget { pot: Pot::Gaussian, spent, asked, left, epsilon, delta }) = again
    else {
        panic!("{again:?}")
    };
    // An open grant is charged its whole share.
    assert_eq!((spent, asked, left), (share.sqrt(), share.sqrt(), 0.0));
    assert_eq!((epsilon, delta), (1.0, 1e-6));
    assert!(is_budget(&store.open(&pure(1e-3), Accounts::One, &Roll::default), Pot::Pure));
    assert!(is_budget(
        &store.open(&sampled(5.0, 1e-6), Accounts::One, &Roll::default),
        Pot::Sampled
    ));

    store.close(grant).unwrap();
    let again = store.open(&offer, Accounts::One, &Roll::default).unwrap_err();
    let said = again.to_string();
    // mu 0.236704 in all, six tenths of it spent, eight tenths left.
    for words in [
        "asked for: mu 0.236704",
        "left: mu 0.189363 of its pot for Gaussian messages",
        "made for epsilon 1 at delta 1e-6",
        "after mu 0.142023 that is spent",
        "nothing was released",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(again.code(), "steffle::ledger::budget");
    // Smaller runs fit in what is left, and together never spend more than the pot.
    let smaller = gaussian(0.5, 1e-6);
    let mut all = 0.36 * share;
    for _ in 0..20 {
        let Ok(grant) = store.open(&smaller, Accounts::One, &Roll::default) else { break };
        release(&mut store, grant, message(squared_of(&smaller)), Charge::All).unwrap();
        store.close(grant).unwrap();
        all += squared_of(&smaller);
    }
    assert!(all <= share && all + squared_of(&smaller) > share, "{all} of {share}");
}

#[test]
fn a_closed_grant_keeps_the_total_of_its_dearest_account() {
    let offer = gaussian(1.0, 1e-6);
    let share = squared_of(&offer);
    let half = |cost: f64| (cost / share * 16.0).round() / 16.0;
    for (accounts, charges) in [
        (Accounts::Blocks(2), [Charge::Block { of: 2, at: 0 }, Charge::Block { of: 2, at: 1 }]),
        (
            Accounts::Units(2),
            [Charge::Units(vec![share / 4.0, 0.0]), Charge::Units(vec![0.0, share / 4.0])],
        ),
    ] {
        let mut store = MemoryLedger::default();
        let grant = store.open(&offer, accounts, &Roll::default).unwrap();
        for charge in charges {
            release(&mut store, grant, message(share / 4.0), charge).unwrap();
        }
        // Another ticket that is never committed is spent all the same.
        let lost = entry(message(share / 4.0), Charge::All);
        drop(store.reserve(grant, lost, NoiseKind::Secure).unwrap());
        assert_eq!(half(spent_of(&store, grant).powi(2)), 0.5);
        store.close(grant).unwrap();
        let rest = store.open(&offer, Accounts::One, &Roll::default).unwrap_err();
        let Refusal::Budget { spent, left, .. } = rest else { panic!("{rest:?}") };
        assert_eq!((half(spent * spent), half(left * left)), (0.5, 0.5), "{accounts:?}");
    }
}

#[test]
fn a_policy_splits_its_budget_for_life() {
    let whole = policy(8.0, 1e-6, 0.125, 0.25);
    let mut store = MemoryLedger::with_policy(whole.clone()).unwrap();
    // Pure 1, sampled (2, 2.5e-7), Gaussian (5, 7.5e-7): each exactly, and no more.
    store.open(&pure(0.5), Accounts::One, &Roll::default).unwrap();
    assert!(is_budget(&store.open(&pure(0.500_001), Accounts::One, &Roll::default), Pot::Pure));
    store.open(&pure(0.5), Accounts::One, &Roll::default).unwrap();
    assert!(is_budget(&store.open(&pure(1e-9), Accounts::One, &Roll::default), Pot::Pure));

    assert!(is_budget(
        &store.open(&sampled(2.001, 1e-8), Accounts::One, &Roll::default),
        Pot::Sampled
    ));
    assert!(is_budget(
        &store.open(&sampled(2.0, 2.501e-7), Accounts::One, &Roll::default),
        Pot::SampledDelta
    ));
    store.open(&sampled(2.0, 2.5e-7), Accounts::One, &Roll::default).unwrap();

    assert!(is_budget(
        &store.open(&gaussian(5.001, 7.5e-7), Accounts::One, &Roll::default),
        Pot::Gaussian
    ));
    assert!(is_budget(
        &store.open(&gaussian(5.0, 7.51e-7), Accounts::One, &Roll::default),
        Pot::Gaussian
    ));
    store.open(&gaussian(5.0, 7.5e-7), Accounts::One, &Roll::default).unwrap();
    assert!(is_budget(
        &store.open(&gaussian(1e-3, 1e-7), Accounts::One, &Roll::default),
        Pot::Gaussian
    ));

    // Shares of one: all of it, to the bit.
    for (policy, offer) in [
        (policy(0.3, 0.0, 1.0, 0.0), pure(0.3)),
        (policy(5.0, 1e-7, 0.0, 1.0), sampled(5.0, 1e-7)),
        (policy(0.3, 1e-7, 0.0, 0.0), gaussian(0.3, 1e-7)),
    ] {
        let mut store = MemoryLedger::with_policy(policy).unwrap();
        store.open(&offer, Accounts::One, &Roll::default).unwrap();
        assert!(matches!(
            store.open(&offer, Accounts::One, &Roll::default),
            Err(Refusal::Budget { .. })
        ));
    }
    // Parts that sum to a little more than one in binary never give more than the whole.
    let mut store = MemoryLedger::with_policy(policy(3.0, 1e-6, 0.1, 0.9)).unwrap();
    store.open(&pure(0.3), Accounts::One, &Roll::default).unwrap();
    let rest = store.open(&sampled(2.700_000_01, 1e-7), Accounts::One, &Roll::default);
    assert!(is_budget(&rest, Pot::Sampled));
    assert!(is_budget(
        &store.open(&gaussian(1e-3, 1e-9), Accounts::One, &Roll::default),
        Pot::Gaussian
    ));
}

/// Plans whose epsilons fit still add up their deltas.
#[test]
fn deltas_of_sampled_plans_add_up() {
    let mut store = MemoryLedger::with_policy(policy(25.0, 1e-6, 0.0, 0.8)).unwrap();
    for _ in 0..3 {
        store.open(&sampled(5.0, 2.6e-7), Accounts::One, &Roll::default).unwrap();
    }
    assert!(is_budget(
        &store.open(&sampled(5.0, 2.6e-7), Accounts::One, &Roll::default),
        Pot::SampledDelta
    ));
    store.open(&sampled(5.0, 1e-8), Accounts::One, &Roll::default).unwrap();
    assert!(is_budget(
        &store.open(&sampled(5.0, 1e-9), Accounts::One, &Roll::default),
        Pot::Sampled
    ));
}

/// What one pot has left helps no other, and only Gaussian grants give back.
#[test]
fn pots_are_never_exchanged() {
    let mut store = MemoryLedger::with_policy(policy(15.0, 1e-6, 0.3, 0.4)).unwrap();
    let spend = [pure(4.5), sampled(6.0, 4e-7)];
    for offer in &spend {
        let grant = store.open(offer, Accounts::One, &Roll::default).unwrap();
        store.close(grant).unwrap();
    }
    for offer in &spend {
        assert!(matches!(
            store.open(offer, Accounts::One, &Roll::default),
            Err(Refusal::Budget { .. })
        ));
    }
    // Nothing was ever released, and still a Gaussian run gets no more than its pot.
    assert!(is_budget(
        &store.open(&gaussian(4.6, 6e-7), Accounts::One, &Roll::default),
        Pot::Gaussian
    ));
    let grant = store.open(&gaussian(4.4, 5.9e-7), Accounts::One, &Roll::default).unwrap();
    store.close(grant).unwrap();
    store.open(&gaussian(4.4, 5.9e-7), Accounts::One, &Roll::default).unwrap();
    assert!(is_budget(&store.open(&pure(0.1), Accounts::One, &Roll::default), Pot::Pure));
}

#[test]
fn policies_that_promise_nothing_are_refused() {
    for (wrong, name) in [
        (policy(0.0, 1e-6, 0.0, 0.0), "epsilon"),
        (policy(f64::NAN, 1e-6, 0.0, 0.0), "epsilon"),
        (policy(f64::INFINITY, 1e-6, 0.0, 0.0), "epsilon"),
        (policy(1.0, 0.0, 0.5, 0.0), "delta"),
        (policy(1.0, 0.0, 0.0, 1.0), "delta"),
        (policy(1.0, 1.0, 0.0, 0.0), "delta"),
        (policy(1.0, f64::NAN, 1.0, 0.0), "delta"),
        (policy(1.0, 1e-295, 0.0, 0.0), "delta"),
        (policy(1.0, 1e-6, -0.1, 0.0), "pure share"),
        (policy(1.0, 1e-6, f64::NAN, 0.0), "pure share"),
        (policy(1.0, 1e-6, 0.0, 1.1), "sampled share"),
        (policy(1.0, 1e-6, 0.6, 0.5), "sum of the pure and the sampled share"),
        (policy(1.0, 1e-6, 0.5, 0.499_999_9), "epsilon"),
    ] {
        let refused = MemoryLedger::with_policy(wrong.clone()).unwrap_err().to_string();
        assert!(refused.starts_with(&format!("{name} is ")), "{wrong:?}: {refused}");
    }
}

#[test]
fn a_policy_names_what_it_allows() {
    let lists = Policy {
        methods: vec!["steffle".into(), "one-shot".into()],
        modes: vec!["exact".into()],
        notions: vec!["demographic-parity".into()],
        ..policy(10.0, 1e-6, 0.0, 0.0)
    };
    let mut store = MemoryLedger::with_policy(lists).unwrap();
    let named = offer_of(Claim::Gaussian, 1.0, 1e-6, NoiseKind::Secure);
    let others = [
        Offer { method: "fermi".into(), ..named.clone() },
        Offer { mode: "none".into(), ..named.clone() },
        Offer { notion: "equalized-odds".into(), ..named.clone() },
    ];
    for (other, what) in others.into_iter().zip(["methods", "modes", "notions"]) {
        let refused =
            store.open(&other.check().unwrap(), Accounts::One, &Roll::default).unwrap_err();
        assert!(matches!(&refused, Refusal::Policy { what: which, .. } if *which == what));
        assert!(refused.to_string().contains(what), "{refused}");
    }
    store.open(&named.check().unwrap(), Accounts::One, &Roll::default).unwrap();
}
