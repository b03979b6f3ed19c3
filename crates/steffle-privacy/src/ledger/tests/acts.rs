//! Allowed words and other acts.

use super::*;

fn of(method: &str, mode: &str, claim: Claim, rounds: u32) -> CheckedOffer {
    let delta = if claim == Claim::Pure { 0.0 } else { 1e-6 };
    let offer = offer_of(claim, 2.0, delta, NoiseKind::Secure);
    let notion = if method == METRICS { "equalized-odds".into() } else { offer.notion.clone() };
    let words = Offer { method: method.into(), mode: mode.into(), notion, rounds, ..offer };
    words.check().unwrap()
}

fn is_act<T>(result: &Result<T, Refusal>) -> bool {
    matches!(result, Err(Refusal::Act(_)))
}

#[test]
fn a_method_releases_its_own_kind_of_message() {
    for (method, claim, own) in [
        ("steffle", Claim::Gaussian, Kind::Sums),
        ("one-shot", Claim::Gaussian, Kind::Features),
        ("metrics", Claim::Gaussian, Kind::Counts),
        ("randomised-response", Claim::Pure, Kind::Classes),
    ] {
        for kind in [Kind::Sums, Kind::Features, Kind::Counts, Kind::Classes] {
            let mut store = MemoryLedger::default();
            let grant = store.open(&of(method, "exact", claim, 1), Accounts::One, &Roll::default);
            let cost = match claim {
                Claim::Pure => Cost::Pure { epsilon: 1.0 },
                _ => message(1e-3),
            };
            let asked = Entry { kind, ..entry(cost, Charge::All) };
            let paid = store.reserve(grant.unwrap(), asked, NoiseKind::Secure);
            assert_eq!(paid.is_ok(), kind == own, "{method} {kind:?} {paid:?}");
            assert_eq!(is_act(&paid), kind != own);
        }
    }
}

#[test]
fn a_claim_is_one_that_the_method_makes() {
    let sampled = Claim::Sampled(plan(2.0));
    for (method, mode, claim, fits) in [
        ("steffle", "exact", Claim::Gaussian, true),
        ("steffle", "poisson", Claim::Gaussian, false),
        ("steffle", "poisson", sampled, true),
        ("steffle", "exact", sampled, false),
        ("steffle", "exact", Claim::Pure, false),
        ("one-shot", "none", sampled, false),
        ("metrics", "exact", Claim::Pure, false),
        ("randomised-response", "none", Claim::Gaussian, false),
        ("another", "exact", Claim::Pure, true),
    ] {
        let mut store = MemoryLedger::default();
        let opened = store.open(&of(method, mode, claim, 3), Accounts::One, &Roll::default);
        assert_eq!(opened.is_ok(), fits, "{method} {mode} {claim:?}");
        assert_eq!(is_act(&opened), !fits);
    }
}

#[test]
fn no_round_is_beyond_those_that_were_offered() {
    let mut store = MemoryLedger::default();
    let offer = of("steffle", "exact", Claim::Gaussian, 2);
    let grant = store.open(&offer, Accounts::One, &Roll::default).unwrap();
    let mut ask = |round: Option<u32>| {
        let asked = Entry { round, ..entry(message(1e-6), Charge::All) };
        let ticket = store.reserve(grant, asked, NoiseKind::Secure)?;
        store.commit(ticket, b"reply", [1; 32])
    };
    assert!(is_act(&ask(Some(3))));
    for round in 0..=2 {
        ask(Some(round)).unwrap();
    }
    assert!(is_act(&ask(Some(3))));
    // What belongs to no round is counted.
    ask(None).unwrap();
    ask(None).unwrap();
    assert!(is_act(&ask(None)));
}
