use super::*;
use NoiseKind::{Secure, Simulation};

#[test]
fn a_store_that_has_promised_privacy_reveals_nothing() {
    for promise in [gaussian(1.0, 1e-6), sampled(5.0, 1e-6), pure(1.0)] {
        let mut store = MemoryLedger::default();
        // Grants from before the promise.
        let open = store.open(&nothing(), Accounts::One, &Roll::default).unwrap();
        store.open(&promise, Accounts::One, &Roll::default).unwrap();
        let refused = Err(Refusal::Revealed { already: false });
        assert_eq!(store.open(&nothing(), Accounts::One, &Roll::default), refused);
        assert_eq!(store.open(&simulated(1e-3), Accounts::One, &Roll::default), refused);
        for noise in [Simulation, Secure] {
            let revealed = release_with(&mut store, open, Cost::Revealed, Charge::All, noise);
            assert_eq!(revealed, Err(Refusal::Revealed { already: false }));
        }
        release(&mut store, open, Cost::Free, Charge::All).unwrap();
        assert!(!store.revealed());
    }
    let refused = Refusal::Revealed { already: false }.to_string();
    assert!(refused.contains("promised") && refused.contains("nothing was released"), "{refused}");
}

/// A simulation that was opened first does not outlive a promise made later.
#[test]
fn a_promise_stops_older_simulations() {
    let mut store = MemoryLedger::with_policy(pots::policy(5.0, 1e-6, 0.0, 0.0)).unwrap();
    let old = store.open(&simulated(1.0), Accounts::One, &Roll::default).unwrap();
    store.open(&gaussian(1.0, 1e-7), Accounts::One, &Roll::default).unwrap();
    let seeded = release_with(&mut store, old, message(1e-3), Charge::All, Simulation);
    assert_eq!(seeded, Err(Refusal::Revealed { already: false }));
    // With secret noise it keeps the promise.
    release_with(&mut store, old, message(1e-3), Charge::All, Secure).unwrap();
    assert!(!store.revealed());
}

#[test]
fn a_store_that_was_revealed_promises_nothing() {
    type Breach = fn(&mut MemoryLedger) -> Result<Receipt, Refusal>;
    let breaches: [Breach; 2] = [
        |store| {
            let grant = store.open(&nothing(), Accounts::One, &Roll::default)?;
            release_with(store, grant, Cost::Revealed, Charge::All, Secure)
        },
        |store| {
            let grant = store.open(&simulated(1.0), Accounts::One, &Roll::default)?;
            release_with(store, grant, message(1e-3), Charge::All, Simulation)
        },
    ];
    for breach in breaches {
        let mut store = MemoryLedger::with_policy(pots::policy(9.0, 1e-6, 0.3, 0.3)).unwrap();
        breach(&mut store).unwrap();
        assert!(store.revealed());
        for promise in [gaussian(0.5, 1e-7), sampled(2.0, 1e-7), pure(1.0)] {
            let refused = store.open(&promise, Accounts::One, &Roll::default);
            assert_eq!(refused, Err(Refusal::Revealed { already: true }));
        }
        // Further simulations tell nothing new.
        store.open(&simulated(0.5), Accounts::One, &Roll::default).unwrap();
        store.open(&nothing(), Accounts::One, &Roll::default).unwrap();
    }
}

#[test]
fn secret_noise_that_was_offered_is_asked_for() {
    for (offer, cost) in [
        (gaussian(1.0, 1e-6), message(1e-3)),
        (sampled(5.0, 1e-6), planned(1e-3)),
        (pure(1.0), Cost::Pure { epsilon: 0.1 }),
        (gaussian(1.0, 1e-6), Cost::Free),
    ] {
        let mut store = MemoryLedger::default();
        let grant = store.open(&offer, Accounts::One, &Roll::default).unwrap();
        let seeded = release_with(&mut store, grant, cost, Charge::All, Simulation);
        assert_eq!(seeded, Err(Refusal::Noise));
        release_with(&mut store, grant, cost, Charge::All, Secure).unwrap();
        assert!(!store.revealed());
    }
}

/// A simulation refuses exactly where a private run would.
#[test]
fn a_simulation_is_accounted_like_a_private_run() {
    let mut refusals = Vec::new();
    for noise in [Secure, Simulation] {
        let offer = offer_of(Claim::Gaussian, 1.0, 1e-6, noise).check().unwrap();
        let mut store = MemoryLedger::default();
        let grant = store.open(&offer, Accounts::One, &Roll::default).unwrap();
        let mut refused = Vec::new();
        for cost in [0.02, 0.03, 0.02, 1e-3] {
            let released = release_with(&mut store, grant, message(cost), Charge::All, noise);
            refused.push(released.map(|receipt| receipt.cost));
        }
        let slack = Cost::Gaussian { squared: 0.0, slack: 2e-6, numbers: 1 };
        refused.push(release_with(&mut store, grant, slack, Charge::All, noise).map(|_| slack));
        refused.push(store.open(&offer, Accounts::One, &Roll::default).map(|_| slack));
        assert_eq!(store.revealed(), noise == Simulation);
        refusals.push(refused);
    }
    assert_eq!(refusals[0], refusals[1]);
    assert_eq!(refusals[0].iter().filter(|refused| refused.is_err()).count(), 3);
}

#[test]
fn a_private_store_is_one_from_its_first_day() {
    let mut store = MemoryLedger::default().private_only();
    let refused = Err(Refusal::Revealed { already: false });
    assert_eq!(store.open(&nothing(), Accounts::One, &Roll::default), refused);
    assert_eq!(store.open(&simulated(1.0), Accounts::One, &Roll::default), refused);
    store.open(&gaussian(1.0, 1e-6), Accounts::One, &Roll::default).unwrap();
}

/// Whoever sets a budget means it: an offer that claims nothing would read s beside it.
#[test]
fn a_policy_admits_no_simulation_unless_it_says_so() {
    let policy = Policy { simulations: false, ..pots::policy(5.0, 1e-6, 0.0, 0.0) };
    let mut store = MemoryLedger::with_policy(policy).unwrap();
    for offer in [nothing(), simulated(1.0)] {
        let refused = store.open(&offer, Accounts::One, &Roll::default);
        assert_eq!(refused, Err(Refusal::Revealed { already: false }));
    }
    assert!(store.open(&gaussian(1.0, 1e-7), Accounts::One, &Roll::default).is_ok());
}
