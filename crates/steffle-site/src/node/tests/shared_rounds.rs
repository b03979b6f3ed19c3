//! Rounds whose noise sites share: over nodes, under masks, and against a server that asks one of them
//! something else.

use steffle_privacy::NoiseShares;
use steffle_privacy::ledger::{Cost, Policy, Receipt};
use steffle_server::federation::{Absences, FederationError, Gathered, Roster};
use steffle_wire::{MaskTerms, Pool, Round, RowCap, Share, TakeIn, Terms};

use super::masks::{Rogue, Shared, disagree, gathered, houses, rogue, sites};
use super::*;

const SHARE: Share = Share { round: 0.002, table: 0.15 };

pub(super) fn shares(sites: u32) -> NoiseShares {
    NoiseShares::new(sites, 1).unwrap()
}

/// Opens a run and has sites agree.
pub(super) fn agree<T: Transport>(
    federation: &mut Federation<T>,
    shares: NoiseShares,
) -> Result<(), FederationError> {
    let offer = federation.offer(Claim::Shared(shares), 1.0, 1e-6, 4)?;
    let terms = Terms::Exact(SHARE);
    federation.open(offer, |offer| Opening { terms, ..Opening::plain(offer) })?;
    let half = RowCap::quantile(0.5).unwrap();
    federation.share_rounds(shares, (SHARE.round, SHARE.table), (&[0.0; 3], half, true))
}

/// What a store says of a reply beside its number.
fn cost(receipt: &Receipt) -> (Cost, [u8; 32]) {
    (receipt.cost, receipt.reply)
}

/// What three rounds say.
pub(super) fn rounds<T: Transport>(
    federation: &mut Federation<T>,
) -> Result<Vec<String>, FederationError> {
    let one = |round: u32| {
        let mut question = question(0.1 * f64::from(round), Batch::All);
        if round == 0 {
            question.cells.iter_mut().for_each(|cell| cell.combinations.fill(0.0));
        }
        Ok(format!("{:?}", federation.round(round, &question)?))
    };
    (0..3).map(one).collect()
}

/// Totals are the same to the bit with masks and without, and every store pays at most its share of
/// every round; N - c times that is what it has spent alone.
#[test]
fn shared_rounds_are_equal_to_the_bit_with_masks_and_without() {
    for count in [3_u8, 12, 127] {
        let shares = shares(count.into());
        let run = |masked: Option<u16>| {
            let nodes = InProcess::new(houses(count.into()));
            let nodes = if masked.is_some() { nodes.masked() } else { nodes };
            let mut federation = gathered(nodes, masked).unwrap();
            agree(&mut federation, shares).unwrap();
            let said = rounds(&mut federation).unwrap();
            federation.close().unwrap();
            let spent = federation.spent().unwrap().value().powi(2);
            if masked.is_some() {
                // The run's share of the budget, and nothing that depends on records.
                let receipts = federation.receipts();
                let told = |own: &Vec<_>| format!("{:?}", own.iter().map(cost).collect::<Vec<_>>());
                assert!(receipts.iter().all(|own| told(own) == told(&receipts[0])));
                assert!(spent > 2.15 * SHARE.round, "{spent}");
            } else {
                assert!(spent <= 2.15 * SHARE.round && spent > 1.5 * SHARE.round, "{spent}");
            }
            let statement = federation.statement().unwrap();
            assert_eq!(statement.shares, Some(shares));
            assert!(statement.epsilon_alone > statement.epsilon, "{statement:?}");
            said
        };
        assert_eq!(run(None), run(Some(1)), "{count}");
    }
}

/// A shape, a cap or a scale that one site alone is told: every total afterwards is noise.
#[test]
fn a_site_that_agreed_on_something_else_adds_noise() {
    type Change = fn(&Envelope, &[u8]) -> Option<Vec<u8>>;
    let length: Change = |envelope, bytes| {
        let (_, reader) = parse(bytes).unwrap();
        match (envelope.kind, decode::<Pool>(reader)) {
            (Kind::Pool, Ok(Pool::Length { gram, .. })) => {
                Some(seal(envelope, &Pool::Length { gram, quantile: 0.9 }))
            }
            _ => None,
        }
    };
    let mut federation = gathered(rogue(length), Some(1)).unwrap();
    disagree(agree(&mut federation, shares(3)));

    let cap: Change = |envelope, bytes| {
        let (_, reader) = parse(bytes).unwrap();
        match (envelope.kind, decode::<TakeIn>(reader)) {
            (Kind::TakeIn, Ok(TakeIn::Cap { length, bits })) => {
                Some(seal(envelope, &TakeIn::Cap { length: 2.0 * length, bits }))
            }
            _ => None,
        }
    };
    let mut federation = gathered(rogue(cap), Some(1)).unwrap();
    agree(&mut federation, shares(3)).unwrap();
    disagree(rounds(&mut federation));

    let scale: Change = |envelope, bytes| {
        let (_, reader) = parse(bytes).unwrap();
        match (envelope.kind, decode::<Round<'_>>(reader)) {
            (Kind::Round, Ok(Round { question, share: Some(mut share), .. })) => {
                share.table.sigma *= 2;
                Some(seal(envelope, &Round { question, noise: None, share: Some(share) }))
            }
            _ => None,
        }
    };
    let mut federation: Federation<Rogue<Change>> = gathered(rogue(scale), Some(1)).unwrap();
    agree(&mut federation, shares(3)).unwrap();
    disagree(rounds(&mut federation));
}

/// Sites with keys of their own share secret noise, in rounds and once; without masks, or under masks that
/// one machine made for all, they do not.
#[test]
fn secret_noise_is_shared_under_keys_of_the_sites_alone() {
    let terms = OneShotTerms::new(1.0.try_into().unwrap(), 1e-6.try_into().unwrap()).unwrap();
    let pooling = Pooling::Pooled { secure_aggregation: true, shares: Some(shares(3)) };
    let secret = Agreement { noise: NoiseKind::Secure, ..agreement() };
    let join = |nodes: InProcess, masked: Option<u16>| {
        let (shared, noise) = (Some(1), NoiseKind::Secure);
        let masked = masked.map(|colluders| MaskTerms { colluders, noise, shared });
        let roster = Roster { masked, ..Roster::default() };
        Gathered::new(nodes, secret.run, roster).unwrap().join(secret.clone()).unwrap()
    };
    let own = || {
        let kept: Vec<Shared> = (0..3).map(|_| Shared::default()).collect();
        join(sites(3, &MaskPolicy::default(), &kept), Some(1))
    };
    let mut federation = own();
    agree(&mut federation, shares(3)).unwrap();
    let first = rounds(&mut federation).unwrap();
    federation.close().unwrap();
    let mut again = own();
    agree(&mut again, shares(3)).unwrap();
    assert_ne!(rounds(&mut again).unwrap(), first, "nobody has the noise twice");
    own().release_once(pooling, Some(&terms)).unwrap();

    for mut federation in
        [join(InProcess::new(houses(3)), None), join(InProcess::new(houses(3)).masked(), Some(1))]
    {
        let refused = agree(&mut federation, shares(3)).unwrap_err().to_string();
        assert!(refused.contains("not masked"), "{refused}");
    }
}

/// With noise of each, a round gets the same bytes in any run, for nothing. A share that was sent again
/// into another sum would be subtracted from it: there it is drawn anew, and paid for.
#[test]
fn a_share_of_a_round_is_sent_again_in_its_own_place_only() {
    let policy = Policy { epsilon_alone: Some(9.0), simulations: true, ..Policy::of(3.0, 1e-6) };
    let ledger = || Box::new(MemoryLedger::with_policy(policy.clone()).unwrap());
    let nodes = || houses(3).into_iter().map(|node| node.keeping(ledger())).collect();
    let run = |nodes: InProcess, run: u8, shares: Option<NoiseShares>| {
        let agreement = Agreement { run: RunId([run; 16]), seed: u64::from(run), ..agreement() };
        let mut federation = Federation::join(nodes, agreement).unwrap();
        if let Some(shares) = shares {
            agree(&mut federation, shares).unwrap();
        } else {
            let offer = federation.offer(Claim::Gaussian, 1.0, 1e-6, 4).unwrap();
            let terms = Terms::Exact(SHARE);
            let opening = |offer| Opening { terms, ..Opening::plain(offer) };
            federation.open(offer, opening).unwrap();
        }
        rounds(&mut federation).unwrap();
        federation.close().unwrap();
        (federation.spent().unwrap().value(), federation.into_transport())
    };
    for (shares, again) in [(None, 0.0), (Some(shares(3)), 1.0)] {
        let (first, kept) = run(InProcess::new(nodes()), 1, shares);
        let (second, _) = run(kept, 2, shares);
        assert!((second / first - again).abs() < 1e-3, "{shares:?}: {first} {second}");
    }
}

/// A run that may go on without a silo has a sum that lacks its share.
#[test]
fn a_run_that_may_lose_a_silo_shares_no_noise() {
    let join = || {
        let roster = Roster { drops: Some(Absences::default()), ..Roster::default() };
        let nodes = InProcess::new(houses(3));
        Gathered::new(nodes, agreement().run, roster).unwrap().join(agreement()).unwrap()
    };
    let terms = OneShotTerms::new(1.0.try_into().unwrap(), 1e-6.try_into().unwrap()).unwrap();
    let pooling = |shares| Pooling::Pooled { secure_aggregation: true, shares };
    let once = join().release_once(pooling(Some(shares(3))), Some(&terms));
    assert!(matches!(once, Err(FederationError::MissingShares)), "{once:?}");
    let rounds = agree(&mut join(), shares(3));
    assert!(matches!(rounds, Err(FederationError::MissingShares)), "{rounds:?}");
    join().release_once(pooling(None), Some(&terms)).unwrap();
}
