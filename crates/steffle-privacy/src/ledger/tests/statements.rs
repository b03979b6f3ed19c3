use super::*;
use StatementKind::{None as Nothing, Private, Simulation};

fn receipt(cost: Cost, noise: NoiseKind) -> Receipt {
    let (grant, kind) = (GrantId(0), Kind::Sums);
    Receipt {
        sequence: 1,
        grant,
        request: [1; 32],
        fresh: 0,
        round: None,
        kind,
        cost,
        noise,
        reply: [2; 32],
    }
}

#[test]
fn an_offer_says_what_its_run_will_say() {
    for (offer, kind, delta) in [
        (gaussian(1.0, 1e-6), Private, 1e-6),
        (sampled(5.0, 1e-6), Private, 1e-6),
        (pure(1.0), Private, 0.0),
        (simulated(1.0), Simulation, 1e-6),
    ] {
        let said = statement(&offer, &[]);
        let epsilon = offer.offer().epsilon;
        assert_eq!((said.kind, said.holds, said.replies), (kind, true, 0));
        assert_eq!((said.epsilon, said.delta), (Some(epsilon), Some(delta)));
    }
    let said = statement(&nothing(), &[receipt(Cost::Revealed, NoiseKind::Secure)]);
    assert_eq!((said.kind, said.holds, said.replies), (Nothing, false, 1));
    assert_eq!((said.epsilon, said.delta, said.spent_mu), (None, None, None));
}

#[test]
fn what_was_spent_is_bookkeeping() {
    let offer = gaussian(1.0, 1e-6);
    let costs = [message(0.01), message(0.02), Cost::Free, message(1e-3)];
    let mut store = MemoryLedger::default();
    let grant = store.open(&offer, Accounts::One, &Roll::default).unwrap();
    for cost in costs {
        release(&mut store, grant, cost, Charge::All).unwrap();
    }
    let said = statement(&offer, &store.receipts(grant));
    let spent = said.spent_mu.unwrap();
    assert!(spent >= 0.031_f64.sqrt() && spent < 0.031_f64.sqrt() * (1.0 + 1e-14), "{spent}");
    assert_eq!(spent, spent_of(&store, grant));
    // The claim stays what was offered, however little was spent.
    assert_eq!((said.kind, said.holds, said.epsilon), (Private, true, Some(1.0)));
    assert_eq!((said.delta, said.replies), (Some(1e-6), 4));
    assert_eq!(statement(&offer, &[]).spent_mu, Some(0.0));
    assert_eq!(statement(&pure(1.0), &[]).spent_mu, None);
}

#[test]
fn receipts_only_take_away_from_a_statement() {
    let secure = |cost| receipt(cost, NoiseKind::Secure);
    let (offer, share) = (gaussian(1.0, 1e-6), squared_of(&gaussian(1.0, 1e-6)));
    let seeded = receipt(message(1e-3), NoiseKind::Simulation);
    let said = statement(&offer, &[secure(message(1e-3)), seeded.clone()]);
    assert_eq!((said.kind, said.holds), (Simulation, true));
    // Secret noise does not make a simulation private: it was not promised.
    assert_eq!(statement(&simulated(1.0), &[secure(message(1e-3))]).kind, Simulation);

    let plan_offer = sampled(5.0, 1e-6);
    let round = planned(largest_round(&plan(2.0)));
    let third = Cost::Pure { epsilon: 0.4 };
    let fits = [
        (&offer, vec![message(share)]),
        // Sums are kept by block or unit: their receipts may sum to more than the share.
        (&offer, vec![message(share), message(share)]),
        (&plan_offer, vec![round, round, Cost::Free, round]),
        (&pure(1.0), vec![third, third]),
    ];
    for (offer, costs) in fits {
        let receipts: Vec<Receipt> = costs.iter().map(|&cost| secure(cost)).collect();
        assert!(statement(offer, &receipts).holds, "{costs:?}");
    }
    let too_much = [
        (&offer, vec![Cost::Revealed]),
        (&offer, vec![message(share.next_up())]),
        (&offer, vec![message(f64::NAN)]),
        (&offer, vec![planned(1e-3)]),
        (&plan_offer, vec![round, round, round, round]),
        (&plan_offer, vec![planned(largest_round(&plan(2.0)).next_up())]),
        (&plan_offer, vec![message(1e-3)]),
        (&pure(1.0), vec![third, third, third]),
        (&pure(1.0), vec![Cost::Revealed]),
    ];
    for (offer, costs) in too_much {
        let receipts: Vec<Receipt> = costs.iter().map(|&cost| secure(cost)).collect();
        assert!(!statement(offer, &receipts).holds, "{costs:?}");
    }
}
