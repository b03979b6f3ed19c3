mod accounts;
mod acts;
mod alone;
mod book;
mod owner;
mod pots;
mod promises;
mod rolls;
mod statements;

use super::*;
use crate::error::PrivacyError;
use crate::event::{Event, Neighbours, Sampling};

fn offer_of(claim: Claim, epsilon: f64, delta: f64, noise: NoiseKind) -> Offer {
    Offer {
        run: String::new(),
        method: "steffle".into(),
        mode: "exact".into(),
        notion: "demographic-parity".into(),
        rounds: 25,
        epsilon,
        delta,
        claim,
        noise,
    }
}

fn gaussian(epsilon: f64, delta: f64) -> CheckedOffer {
    offer_of(Claim::Gaussian, epsilon, delta, NoiseKind::Secure).check().unwrap()
}

fn pure(epsilon: f64) -> CheckedOffer {
    let offer = offer_of(Claim::Pure, epsilon, 0.0, NoiseKind::Secure);
    Offer { method: "randomised-response".into(), mode: "none".into(), ..offer }.check().unwrap()
}

fn nothing() -> CheckedOffer {
    offer_of(Claim::Nothing, f64::NAN, -1.0, NoiseKind::Simulation).check().unwrap()
}

fn simulated(epsilon: f64) -> CheckedOffer {
    offer_of(Claim::Gaussian, epsilon, 1e-6, NoiseKind::Simulation).check().unwrap()
}

/// Three rounds on a tenth of the units. It costs about epsilon 1.1 at delta 1e-6 for z = 2.
fn plan(z: f64) -> Event {
    Event {
        sampling: Sampling::Poisson(0.1.try_into().unwrap()),
        neighbours: Neighbours::ReplaceCentred,
        noise_multiplier: z.try_into().unwrap(),
        rounds: 3.try_into().unwrap(),
    }
}

fn sampled(epsilon: f64, delta: f64) -> CheckedOffer {
    let offer = offer_of(Claim::Sampled(plan(2.0)), epsilon, delta, NoiseKind::Secure);
    Offer { mode: "poisson".into(), ..offer }.check().unwrap()
}

fn squared_of(offer: &CheckedOffer) -> f64 {
    let Share::Gaussian { squared, .. } = offer.share() else { panic!("{:?}", offer.share()) };
    squared
}

fn message(squared: f64) -> Cost {
    Cost::Gaussian { squared, slack: 1e-15, numbers: 10 }
}

fn planned(squared: f64) -> Cost {
    Cost::Planned { squared, slack: 1e-15, numbers: 10 }
}

/// An entry with a request of its own.
fn entry(cost: Cost, charge: Charge) -> Entry {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let mut request = [0; 32];
    request[..8].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    let kind = if let Cost::Pure { .. } = cost { Kind::Classes } else { Kind::Sums };
    Entry { request, fresh: 0, round: None, kind, cost, charge }
}

/// Reserves and commits.
fn release(
    store: &mut MemoryLedger,
    grant: GrantId,
    cost: Cost,
    charge: Charge,
) -> Result<Receipt, Refusal> {
    release_with(store, grant, cost, charge, NoiseKind::Secure)
}

fn release_with(
    store: &mut MemoryLedger,
    grant: GrantId,
    cost: Cost,
    charge: Charge,
    noise: NoiseKind,
) -> Result<Receipt, Refusal> {
    let ticket = store.reserve(grant, entry(cost, charge), noise)?;
    store.commit(ticket, b"reply", [1; 32])
}

fn spent_of(store: &MemoryLedger, grant: GrantId) -> f64 {
    store.spent(grant).unwrap().value()
}

fn is_budget<T: std::fmt::Debug>(result: &Result<T, Refusal>, which: Pot) -> bool {
    matches!(result, Err(Refusal::Budget { pot, .. }) if *pot == which)
}

#[test]
fn shares_are_what_the_accountants_allow() {
    for (epsilon, delta) in [(1.0, 1e-6), (9.0, 1e-9), (100.0, 1e-6)] {
        let mu = crate::discrete::budget(epsilon.try_into().unwrap(), delta.try_into().unwrap());
        let mu = mu.unwrap().value();
        let squared = squared_of(&gaussian(epsilon, delta));
        assert!(squared <= mu * mu && squared > mu * mu * (1.0 - 1e-15), "{squared}");
    }
    assert_eq!(pure(0.3).share(), Share::Pure { epsilon: 0.3 });
    assert_eq!(nothing().share(), Share::Nothing);

    // What the accountant reads is enough, and a thousandth less is not.
    let check = |epsilon: f64, event: Event| {
        offer_of(Claim::Sampled(event), epsilon, 1e-6, NoiseKind::Secure).check()
    };
    let (left, delta) =
        (crate::discrete::reduced(1.0.try_into().unwrap(), 1e-6.try_into().unwrap()))
            .map(|(_, delta)| (2.0 * crate::discrete::SLACK, delta))
            .unwrap();
    let costs = crate::pld::epsilon(&[plan(2.0)], delta).unwrap().epsilon + left;
    assert!(check(costs * (1.0 + 1e-12), plan(2.0)).is_ok());
    let refused = check(costs * 0.999, plan(2.0)).unwrap_err();
    assert_eq!(refused.code(), "steffle::privacy::overspent");
    // Without the slack of integer noise it would just fit.
    assert!(check(costs - 0.5 * left, plan(2.0)).is_err());
    assert!(check(costs, plan(1.99)).is_err());
    assert!(check(65.0, plan(2.0)).is_err());
    let presence = Event { neighbours: Neighbours::AddRemove, ..plan(2.0) };
    assert_eq!(check(30.0, presence), Err(PrivacyError::OtherNeighbours));

    let refused = |claim, epsilon, delta| {
        offer_of(claim, epsilon, delta, NoiseKind::Secure).check().unwrap_err().code()
    };
    let range = "steffle::privacy::out_of_range";
    for claim in [Claim::Gaussian, Claim::Sampled(plan(2.0))] {
        for (epsilon, delta) in [
            (0.0, 1e-6),
            (f64::NAN, 1e-6),
            (f64::INFINITY, 1e-6),
            (1.0, 0.0),
            (1.0, 1.0),
            (1.0, f64::NAN),
            (1.0, 1e-300),
        ] {
            assert_eq!(refused(claim, epsilon, delta), range, "{claim:?} {epsilon} {delta}");
        }
    }
    for (epsilon, delta) in [(0.0, 0.0), (f64::NAN, 0.0), (1.0, 1e-9), (1.0, f64::NAN)] {
        assert_eq!(refused(Claim::Pure, epsilon, delta), range, "{epsilon} {delta}");
    }
}
