//! Where sites share noise, a store has two totals: the claim's, and its own share's alone.

use super::*;
use crate::NoiseShares;

fn shared(epsilon: f64, sites: u32, colluders: u32) -> CheckedOffer {
    let claim = Claim::Shared(NoiseShares::new(sites, colluders).unwrap());
    offer_of(claim, epsilon, 1e-6, NoiseKind::Secure).check().unwrap()
}

fn store(epsilon: f64, epsilon_alone: Option<f64>) -> MemoryLedger {
    let policy = Policy { epsilon_alone, ..pots::policy(epsilon, 1e-6, 0.0, 0.0) };
    MemoryLedger::with_policy(policy).unwrap()
}

fn open(store: &mut MemoryLedger, offer: &CheckedOffer) -> Result<GrantId, Refusal> {
    store.open(offer, Accounts::One, &Roll::default)
}

#[test]
fn a_policy_below_what_a_share_alone_costs_refuses() {
    let offer = shared(0.25, 12, 5);
    let alone = offer.epsilon_alone().unwrap();
    assert!(alone > 0.5 && alone < 0.8, "{alone}");
    // Plenty for the claim, and nothing said about the rest: no noise is shared.
    assert!(is_budget(&open(&mut store(0.3, None), &offer), Pot::Alone));
    assert!(is_budget(&open(&mut store(0.3, Some(alone * 0.999)), &offer), Pot::Alone));
    open(&mut store(0.3, Some(alone * 1.001)), &offer).unwrap();
    // It limits both.
    assert!(is_budget(&open(&mut store(0.2, Some(9.0)), &offer), Pot::Gaussian));
    let refused = open(&mut store(0.3, None), &offer).unwrap_err().to_string();
    assert!(refused.contains("if all other sites help the server (epsilon alone)"), "{refused}");
    assert!(refused.contains("made for epsilon 0.3"), "{refused}");
}

#[test]
fn messages_charge_both_pots_also_where_noise_is_not_shared() {
    let (offer, own) = (shared(0.5, 12, 5), gaussian(0.5, 1e-6));
    let mut store = store(2.0, Some(4.0));
    let balance = |store: &MemoryLedger| store.book().balance(None).unwrap();
    let squared = squared_of(&offer);
    let grant = open(&mut store, &offer).unwrap();
    let near = |found: f64, squared: f64| assert!((found / squared.sqrt() - 1.0).abs() < 1e-12);
    near(balance(&store).gaussian.taken, squared);
    near(balance(&store).alone.taken, 7.0 * squared);
    // What it never reserved goes back to both.
    release(&mut store, grant, message(squared / 4.0), Charge::All).unwrap();
    store.close(grant).unwrap();
    near(balance(&store).gaussian.taken, squared / 4.0);
    near(balance(&store).alone.taken, 7.0 * squared / 4.0);
    open(&mut store, &own).unwrap();
    near(balance(&store).gaussian.taken, 1.25 * squared);
    near(balance(&store).alone.taken, 2.75 * squared);
    assert_eq!(balance(&store).alone_epsilon, 4.0);
}

#[test]
fn runs_without_shared_noise_are_never_refused_by_the_second_pot() {
    let mut store = store(1.0, None);
    let offer = gaussian(1.0, 1e-6);
    let grant = open(&mut store, &offer).unwrap();
    release(&mut store, grant, message(squared_of(&offer)), Charge::All).unwrap();
    store.close(grant).unwrap();
    assert!(is_budget(&open(&mut store, &gaussian(0.01, 1e-6)), Pot::Gaussian));
}

#[test]
fn a_policy_promises_no_less_alone() {
    let of = |epsilon_alone| Policy { epsilon_alone, ..pots::policy(1.0, 1e-6, 0.2, 0.1) };
    for wrong in [0.5, 0.0, f64::NAN, f64::INFINITY] {
        assert!(MemoryLedger::with_policy(of(Some(wrong))).is_err(), "{wrong}");
    }
    let balance = MemoryLedger::with_policy(of(Some(3.0))).unwrap().book().balance(None).unwrap();
    assert!((balance.gaussian_epsilon - 0.7).abs() < 1e-12);
    assert!((balance.alone_epsilon - 2.7).abs() < 1e-12);
}

#[test]
fn a_statement_says_whom_the_claim_is_against() {
    let offer = shared(0.25, 12, 5);
    let said = statement(&offer, &[]);
    assert_eq!(said.epsilon, Some(0.25));
    assert_eq!(said.shares, Some(NoiseShares::new(12, 5).unwrap()));
    assert_eq!(said.epsilon_alone, offer.epsilon_alone());
    assert_eq!(statement(&gaussian(0.25, 1e-6), &[]).epsilon_alone, None);
    let text = serde_json::to_string(offer.offer()).unwrap();
    assert_eq!(&serde_json::from_str::<Offer>(&text).unwrap(), offer.offer());
}
