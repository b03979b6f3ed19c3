use super::*;

fn opened(offer: &CheckedOffer) -> (MemoryLedger, GrantId) {
    let mut store = MemoryLedger::default();
    let grant = store.open(offer, Accounts::One, &Roll::default).unwrap();
    (store, grant)
}

fn reply_to(store: &MemoryLedger, entry: &Entry) -> Option<Vec<u8>> {
    store.stored(GrantId(0), &entry.request).unwrap().map(|stored| stored.reply)
}

#[test]
fn a_request_is_answered_once_and_sent_again_for_nothing() {
    let offer = gaussian(1.0, 1e-6);
    let (mut store, grant) = opened(&offer);
    let asked = entry(message(1e-3), Charge::All);
    assert_eq!(reply_to(&store, &asked), None);
    let ticket = store.reserve(grant, asked.clone(), NoiseKind::Secure).unwrap();
    assert_eq!(ticket.grant(), grant);
    // Reserved is not answered: it may be asked again, and pays again.
    let second = store.reserve(grant, asked.clone(), NoiseKind::Secure).unwrap();
    assert!(second.sequence() > ticket.sequence());
    assert_eq!(reply_to(&store, &asked), None);
    assert!(spent_of(&store, grant).powi(2) >= 2e-3);

    let receipt = store.commit(ticket, b"noisy sums", [9; 32]).unwrap();
    let Receipt { request, cost, noise, reply, .. } = receipt.clone();
    assert_eq!((request, cost, reply), (asked.request, asked.cost, [9; 32]));
    assert_eq!(noise, NoiseKind::Secure);
    assert_eq!(reply_to(&store, &asked).as_deref(), Some(&b"noisy sums"[..]));
    let spent = store.spent(grant);
    let again = store.reserve(grant, asked.clone(), NoiseKind::Secure);
    assert_eq!(again, Err(Refusal::Repeated));
    assert_eq!(store.commit(second, b"other noise", [8; 32]), Err(Refusal::Repeated));
    assert_eq!(reply_to(&store, &asked).as_deref(), Some(&b"noisy sums"[..]));
    assert_eq!((store.spent(grant), store.receipts(grant)), (spent, vec![receipt]));

    // A later run gets the same bytes, whatever has become of the grant that paid.
    store.close(grant).unwrap();
    let later = store.open(&gaussian(0.5, 1e-6), Accounts::One, &Roll::default).unwrap();
    assert_eq!(store.reserve(later, asked.clone(), NoiseKind::Secure), Err(Refusal::Repeated));
    assert!(reply_to(&store, &asked).is_some() && store.receipts(later).is_empty());
}

#[test]
fn a_closed_grant_pays_nothing_more() {
    let (mut store, grant) = opened(&gaussian(1.0, 1e-6));
    let ticket =
        store.reserve(grant, entry(message(1e-3), Charge::All), NoiseKind::Secure).unwrap();
    store.close(grant).unwrap();
    for cost in [message(1e-9), Cost::Free] {
        assert_eq!(release(&mut store, grant, cost, Charge::All), Err(Refusal::Closed));
    }
    assert_eq!(store.close(grant), Err(Refusal::Closed));
    // What was paid for may still be sent.
    store.commit(ticket, b"late", [1; 32]).unwrap();
    let unknown = GrantId(7);
    assert_eq!(release(&mut store, unknown, Cost::Free, Charge::All), Err(Refusal::Unknown));
    assert_eq!(store.close(unknown), Err(Refusal::Unknown));
    assert_eq!((store.spent(unknown), store.retired(unknown, 0.1)), (None, None));
    assert!(store.receipts(unknown).is_empty());
}

/// Thousands of rounds that claim nothing leave a count, and nothing else.
#[test]
fn what_claims_nothing_is_counted_only() {
    let (mut store, grant) = opened(&nothing());
    let revealed = Entry { request: [0; 32], ..entry(Cost::Revealed, Charge::All) };
    for round in 1..=1_000 {
        let ticket = store.reserve(grant, revealed.clone(), NoiseKind::Simulation).unwrap();
        assert_eq!(ticket.sequence(), round);
        let receipt = store.commit(ticket, b"exact sums", [3; 32]).unwrap();
        assert_eq!((receipt.cost, receipt.reply), (Cost::Revealed, [3; 32]));
    }
    assert!(store.receipts(grant).is_empty() && reply_to(&store, &revealed).is_none());
    assert_eq!((store.replies(grant), store.revealed()), (Some(1_000), true));
    release(&mut store, grant, Cost::Free, Charge::All).unwrap();
    assert_eq!((store.receipts(grant).len(), store.replies(grant)), (1, Some(1_001)));
}

#[test]
fn everything_in_the_book_is_plain_data() {
    fn same<T>(value: &T) -> String
    where
        T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
    {
        let text = serde_json::to_string(value).unwrap();
        assert_eq!(serde_json::from_str::<T>(&text).unwrap(), *value, "{text}");
        text
    }
    let (mut store, grant) = opened(&gaussian(1.0, 1e-6));
    let receipt = release(&mut store, grant, message(1e-3), Charge::All).unwrap();
    assert!(same(&receipt).contains(r#""noise":"secure""#));
    assert!(!same(&receipt).contains("charge"));
    same(&statement(&gaussian(1.0, 1e-6), &[receipt]));
    for charge in [Charge::All, Charge::Block { of: 3, at: 1 }, Charge::Units(vec![0.1, 1.0 / 3.0])]
    {
        same(&entry(planned(0.1), charge));
    }
    for cost in [Cost::Free, Cost::Pure { epsilon: 0.1 }, Cost::Revealed] {
        same(&cost);
    }
    assert_eq!(same(&NoiseKind::Simulation), r#""simulation""#);
    for accounts in [Accounts::One, Accounts::Blocks(2), Accounts::Units(3)] {
        same(&accounts);
    }
    same(&pots::policy(1.0, 1e-6, 0.1, 0.2));
    let offer = sampled(5.0, 1e-6);
    let text = same(&offer);
    assert_eq!(text, same(offer.offer()));
    same(&offer.share());
    // An offer is checked again where it is read.
    assert!(serde_json::from_str::<CheckedOffer>(&text.replace("5.0", "0.1")).is_err());
    let more = text.replace(r#""method""#, r#""other":1,"method""#);
    assert!(serde_json::from_str::<Offer>(&more).is_err());
}

#[test]
fn refusals_have_codes_and_say_what_to_do() {
    let budget = Refusal::Budget {
        pot: Pot::Rounds,
        spent: 26.0,
        asked: 1.0,
        left: 0.0,
        epsilon: 1.0,
        delta: 1e-6,
    };
    assert!(budget.to_string().contains("asked for: 1 round(s); left: 0 round(s)"), "{budget}");
    let inner = PrivacyError::NoFiniteBound;
    assert_eq!(Refusal::from(inner.clone()).code(), inner.code());
    let all = [
        Refusal::Kind,
        Refusal::Cost,
        Refusal::Slack,
        Refusal::Numbers,
        Refusal::Noise,
        Refusal::Closed,
        Refusal::Unknown,
        Refusal::Repeated,
        budget,
    ];
    let mut codes: Vec<&str> = all.iter().map(Refusal::code).collect();
    codes.dedup();
    assert_eq!(codes.len(), all.len());
    assert!(all.iter().all(|refusal| refusal.to_string().contains("store refuses")));
}
