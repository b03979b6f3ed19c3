//! Noise that sites share: who may, when a share is sent again, and what is refused.

use steffle_privacy::NoiseShares;
use steffle_privacy::ledger::Policy;

use super::*;

const SITES: u32 = 4;

fn silos() -> Vec<Node> {
    let both = |site: u64| {
        let ids = 30 * site..30 * site + 30;
        let policy =
            Policy { epsilon_alone: Some(9.0), simulations: true, ..Policy::of(3.0, 1e-6) };
        Node::new(Kept { records: Some(ids.clone()), attributes: Some(ids) })
            .keeping(Box::new(MemoryLedger::with_policy(policy).unwrap()))
    };
    (0..u64::from(SITES)).map(both).collect()
}

fn terms() -> OneShotTerms {
    OneShotTerms::new(1.0.try_into().unwrap(), 1e-6.try_into().unwrap()).unwrap()
}

fn pooling(shares: Option<NoiseShares>) -> Pooling {
    Pooling::Pooled { secure_aggregation: true, shares }
}

fn once() -> Pooling {
    pooling(Some(NoiseShares::new(SITES, 1).unwrap()))
}

/// A run of its own name and noise.
fn joined_as(nodes: Tapped, run: u8) -> Federation<Tapped> {
    let agreement = Agreement { run: RunId([run; 16]), seed: u64::from(run), ..agreement() };
    Federation::join(nodes, agreement).unwrap()
}

fn tapped() -> Tapped {
    Tapped { inner: InProcess::new(silos()), seen: Vec::new() }
}

/// With noise of each, the same question gets the same bytes in any run, for nothing. A share that was
/// sent again into another sum would be subtracted from it: there it is drawn anew, and paid for.
#[test]
fn a_share_is_sent_again_in_its_own_place_only() {
    for (pooling, again) in [(pooling(None), 0.0), (once(), 1.0)] {
        let mut first = joined_as(tapped(), 1);
        first.release_once(pooling, Some(&terms())).unwrap();
        let paid = first.spent().unwrap().value();
        assert!((paid / terms().mu().value() - 1.0).abs() < 1e-3, "{paid}");
        let mut second = joined_as(first.into_transport(), 2);
        second.release_once(pooling, Some(&terms())).unwrap();
        let paid = second.spent().unwrap().value() / paid;
        assert!((paid - again).abs() < 1e-3, "{paid} {again}");
    }
}

/// In its own run, a share that was sent is sent again to the same message; another number is another
/// message, and the run has nothing left for it.
#[test]
fn one_number_is_one_share() {
    let mut federation = joined_as(tapped(), 1);
    federation.release_once(once(), Some(&terms())).unwrap();
    let Tapped { seen, .. } = federation.into_transport();
    let to_first = |(to, _): &&(NodeId, Vec<u8>)| *to == NodeId::at(0);
    let messages: Vec<&Vec<u8>> = seen.iter().filter(to_first).map(|(_, bytes)| bytes).collect();
    let at = |which: Kind| {
        messages.iter().rposition(|bytes| parse(bytes).unwrap().0.kind == which).unwrap()
    };
    let (release, last) = (at(Kind::Release), at(Kind::Pool));
    // All that comes before the release's own answer is read from the pooled sums after it.
    let play = |again: Option<u64>| {
        let mut node = silos().remove(0);
        messages[..=release].iter().for_each(|bytes| drop(node.handle(NodeId::SERVER, bytes)));
        let repeated = match again {
            None => node.handle(NodeId::SERVER, messages[release]),
            Some(sequence) => {
                let (envelope, reader) = parse(messages[release]).unwrap();
                let asked: steffle_wire::Release = decode(reader).unwrap();
                node.handle(NodeId::SERVER, &seal(&Envelope { sequence, ..envelope }, &asked))
            }
        };
        (repeated, node.handle(NodeId::SERVER, messages[last]).reply)
    };
    let (repeated, sums) = play(None);
    assert_eq!(parse(&repeated.reply).unwrap().0.part, Part::Reply);
    assert_eq!(parse(&sums).unwrap().0.part, Part::Reply);
    let sequence = parse(messages[release]).unwrap().0.sequence;
    let refused = refusal(&play(Some(sequence + 1)).0);
    assert!(refused.code.starts_with("steffle::ledger::"), "{refused}");
}

/// Every store pays, and what is read is one message about all of them.
#[test]
fn all_sites_pay_for_one_message() {
    let mut federation = joined_as(tapped(), 1);
    let release = federation.release_once(once(), Some(&terms())).unwrap();
    assert_eq!(federation.receipts().len(), SITES as usize);
    assert!(federation.receipts().iter().all(|own| own.len() == 1));
    let said = federation.statement().unwrap();
    assert!(said.holds && said.shares == NoiseShares::new(SITES, 1).ok(), "{said:?}");
    assert!(said.epsilon_alone.unwrap() > 1.5, "{said:?}");
    federation.estimate_gap_after(&release, &[0.0; 3], &[0.5; 3]).unwrap();
}

#[test]
fn shares_of_other_sites_are_refused() {
    let refused = |nodes: Vec<Node>, shares: NoiseShares, noise: NoiseKind| {
        let agreement = Agreement { noise, ..agreement() };
        let mut federation = Federation::join(InProcess::new(nodes), agreement).unwrap();
        let refused = federation.release_once(pooling(Some(shares)), Some(&terms()));
        refused.unwrap_err().to_string()
    };
    let shares = |sites| NoiseShares::usual(sites).unwrap();
    let other = refused(silos(), shares(5), NoiseKind::Simulation);
    assert!(other.contains("shares of 5 sites in a run of 4 silos"), "{other}");
    let elsewhere = refused(apart(), shares(3), NoiseKind::Simulation);
    assert!(elsewhere.contains("attributes beside their records"), "{elsewhere}");
    // These nodes have no masks: secret noise is not shared.
    let unmasked = refused(silos(), shares(SITES), NoiseKind::Secure);
    assert!(
        unmasked.contains("not masked") && unmasked.contains("<noise-shares each>"),
        "{unmasked}"
    );
}
