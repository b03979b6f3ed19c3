//! Masks change no bit of a total, and whoever asks sites different things learns noise.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use steffle_masks::{Backing, Hash, Identity, Journal, Line, Roster as Keys, Secret, hash};
use steffle_privacy::NoiseShares;
use steffle_server::federation::{FederationError, Gathered, Roster};
use steffle_wire::{Describe, ImputedQuestion, MaskTerms, Release, TakeIn};

use super::*;

pub(super) fn houses(sites: u64) -> Vec<Node> {
    let node = |site: u64| {
        let ids = 30 * site..30 * (site + 1) + site % 3;
        Node::new(Kept { records: Some(ids.clone()), attributes: Some(ids) })
    };
    (0..sites).map(node).collect()
}

pub(super) fn gathered<T: Transport>(
    nodes: T,
    masked: Option<u16>,
) -> Result<Federation<T>, FederationError> {
    // Whoever shares noise in these tests does so against one site.
    let terms = |colluders| MaskTerms { shared: Some(1), ..MaskTerms::against(colluders) };
    let roster = Roster { masked: masked.map(terms), ..Roster::default() };
    Gathered::new(nodes, agreement().run, roster)?.join(agreement())
}

fn masked(sites: u64) -> Federation<InProcess> {
    gathered(InProcess::new(houses(sites)).masked(), Some(1)).unwrap()
}

/// Every kind of question whose answers are added up, and all totals that come back. Each release has
/// nodes of its own, which pay for it.
fn asked(sites: u64, nodes: impl Fn() -> Federation<InProcess>) -> Vec<String> {
    let terms = OneShotTerms::new(1.0.try_into().unwrap(), 1e-6.try_into().unwrap()).unwrap();
    let federation = &mut nodes();
    let mut said = vec![format!("{:?}", federation.loss(&[0.1; 3]).unwrap())];
    let few = steffle_server::train::FitRule::FewTrips;
    let tolerance = steffle_server::server::Tolerance { evaluations: 9, gradient: 1e-3 };
    let go_on = |_, _| std::ops::ControlFlow::Continue(());
    let fit = steffle_server::train::erm(federation, vec![0.0; 3], few, tolerance, go_on).unwrap();
    said.push(format!("{:?}", fit.theta));
    let offer = federation.offer(Claim::Gaussian, 1.0, 1e-6, 4).unwrap();
    let share = steffle_wire::Share { round: 0.002, table: 0.15 };
    let exact = steffle_wire::Terms::Exact(share);
    let plain = |offer: Offer| Opening { terms: exact, ..Opening::plain(offer) };
    let open = |offer: Offer| Opening { cap: Some(0.5), shaped: true, ..plain(offer) };
    federation.open(offer, open).unwrap();
    for round in 0..3 {
        let answers = federation.round(round, &question(0.1 * f64::from(round), Batch::All));
        said.push(format!("{:?}", answers.unwrap()));
    }
    federation.close().unwrap();
    let pooled = |shares| Pooling::Pooled { secure_aggregation: true, shares };
    for pooling in [Pooling::Local, pooled(None), pooled(NoiseShares::new(sites as u32, 1).ok())] {
        let federation = &mut nodes();
        let release = federation.release_once(pooling, Some(&terms)).unwrap();
        said.push(format!("{release:?}"));
        let gap = federation.estimate_gap_after(&release, &[0.0; 3], &[0.5; 3]).unwrap();
        said.push(format!("{gap:?} {:?}", federation.look(&release, &[0.2; 3]).unwrap()));
        let imputed = federation.ask_imputed(&ImputedQuestion { theta: vec![0.1; 3] }).unwrap();
        said.push(format!("{imputed:?}"));
        let look = PassQuestion::Look { theta: vec![0.1; 3], imputed: true };
        said.push(format!("{:?}", federation.ask_pass(&look).unwrap()));
    }
    let counted = nodes().count(&[vec![0.5; 3]], Some(&terms)).unwrap();
    said.push(format!("{counted:?}"));
    said
}

#[test]
fn totals_are_equal_to_the_bit_with_masks_and_without() {
    for sites in [3, 12] {
        let plain = || gathered(InProcess::new(houses(sites)), None).unwrap();
        assert_eq!(asked(sites, plain), asked(sites, || masked(sites)), "{sites} sites");
    }
}

/// Hands every request of a kind to one node in other words.
pub(super) struct Rogue<F> {
    inner: InProcess,
    change: F,
    replies: Vec<(Kind, Vec<u8>)>,
}

impl<F: Fn(&Envelope, &[u8]) -> Option<Vec<u8>> + Send> Transport for Rogue<F> {
    fn nodes(&self) -> usize {
        self.inner.here().len()
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        let changed: Vec<(NodeId, Vec<u8>)> = requests
            .iter()
            .map(|(node, bytes)| {
                let (envelope, _) = parse(bytes).unwrap();
                let other = (*node == NodeId::at(1)).then(|| (self.change)(&envelope, bytes));
                (*node, other.flatten().unwrap_or_else(|| bytes.to_vec()))
            })
            .collect();
        let changed: Vec<(NodeId, &[u8])> =
            changed.iter().map(|(node, bytes)| (*node, &bytes[..])).collect();
        let replies = self.inner.exchange(&changed);
        for reply in replies.iter().flatten() {
            self.replies.push((parse(reply).unwrap().0.kind, reply.clone()));
        }
        replies
    }
}

pub(super) fn rogue<F: Fn(&Envelope, &[u8]) -> Option<Vec<u8>> + Send>(change: F) -> Rogue<F> {
    Rogue { inner: InProcess::new(houses(3)).masked(), change, replies: Vec::new() }
}

pub(super) fn disagree<T>(result: Result<T, FederationError>) {
    let error = result.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("the sites disagree"), "{error}");
}

/// Another theta, another seed at joining, another state before the same question: every total that
/// could show one site is noise, and the server stops.
#[test]
fn what_one_site_is_asked_alone_is_noise() {
    let other = |envelope: &Envelope, _: &[u8]| {
        (envelope.kind == Kind::Loss).then(|| seal(envelope, &Loss { theta: vec![0.2; 3] }))
    };
    let mut federation = gathered(rogue(other), Some(1)).unwrap();
    disagree(federation.loss(&[0.1; 3]));

    let other = |envelope: &Envelope, bytes: &[u8]| {
        (envelope.kind == Kind::Join).then(|| {
            let (_, reader) = parse(bytes).unwrap();
            seal(envelope, &Join { seed: 99, ..decode(reader).unwrap() })
        })
    };
    let mut federation = gathered(rogue(other), Some(1)).unwrap();
    disagree(federation.loss(&[0.1; 3]));

    // One site takes in a rule that makes everybody a member, the others one that makes nobody: the
    // same question afterwards would be that site's table.
    let other = |envelope: &Envelope, bytes: &[u8]| {
        let (_, reader) = parse(bytes).unwrap();
        match (envelope.kind, decode::<TakeIn>(reader)) {
            (Kind::TakeIn, Ok(TakeIn::Rule(mut rule))) => {
                rule.intercepts.iter_mut().for_each(|own| *own += 1000.0);
                Some(seal(envelope, &TakeIn::Rule(rule)))
            }
            _ => None,
        }
    };
    let mut federation = gathered(rogue(other), Some(1)).unwrap();
    let terms = OneShotTerms::new(1.0.try_into().unwrap(), 1e-6.try_into().unwrap()).unwrap();
    let pooled = Pooling::Pooled { secure_aggregation: true, shares: None };
    federation.release_once(pooled, Some(&terms)).unwrap();
    disagree(federation.ask_imputed(&ImputedQuestion { theta: vec![0.1; 3] }));

    // A release by another name, whose reply has no number at all.
    let other = |envelope: &Envelope, _: &[u8]| {
        let classes = Release::Classes { epsilon: None };
        (envelope.kind == Kind::Release).then(|| seal(envelope, &classes))
    };
    let mut federation = gathered(rogue(other), Some(1)).unwrap();
    federation.release_once(Pooling::Local, None).unwrap();
    disagree(federation.ask_imputed(&ImputedQuestion { theta: vec![0.1; 3] }));
}

/// No site's reply is what it would have been, and no two runs have the same.
#[test]
fn a_reply_by_itself_is_noise() {
    let replies = |masked: bool, run: u8| {
        let nodes = InProcess::new(houses(3));
        let nodes = if masked { nodes.masked() } else { nodes };
        let tap =
            Rogue { inner: nodes, change: |_: &Envelope, _: &[u8]| None, replies: Vec::new() };
        let roster = Roster { masked: masked.then(|| MaskTerms::against(1)), ..Roster::default() };
        let agreement = Agreement { run: RunId([run; 16]), ..agreement() };
        let gathered = Gathered::new(tap, agreement.run, roster).unwrap();
        let mut federation = gathered.join(agreement).unwrap();
        federation.loss(&[0.1; 3]).unwrap();
        let all = federation.into_transport().replies;
        let own = all.into_iter().filter(|(kind, _)| *kind == Kind::Loss);
        own.map(|(_, reply)| payload(&reply).to_vec()).collect::<Vec<_>>()
    };
    let (plain, one, two) = (replies(false, 1), replies(true, 1), replies(true, 2));
    for ((plain, one), two) in plain.iter().zip(&one).zip(&two) {
        assert_eq!(plain.len(), one.len());
        // Lengths are the same, and no number is: of about 100 bytes each, chance would make an eighth
        // byte equal, not half of them.
        let same = |a: &[u8], b: &[u8]| a.iter().zip(b).filter(|(a, b)| a == b).count();
        assert!(same(plain, one) < plain.len() / 2 && same(one, two) < plain.len() / 2);
    }
}

#[test]
fn a_question_out_of_range_is_refused_by_all_and_the_run_goes_on() {
    let mut federation = masked(3);
    let before = federation.loss(&[0.1; 3]).unwrap();
    assert_eq!(federation.loss(&[20_000.0; 3]).unwrap().0, f64::INFINITY);
    assert_eq!(federation.loss(&[f64::NAN; 3]).unwrap().0, f64::INFINITY);
    assert_eq!(federation.loss(&[0.1; 3]).unwrap(), before);
    let metric = |diagonal: f64| steffle_wire::Metric {
        theta: vec![0.0; 3],
        diagonal: vec![diagonal; 3],
        records: 90,
    };
    let image = |diagonal: f64, factor: f64| steffle_wire::FitQuestion::Image {
        metric: metric(diagonal),
        vectors: vec![vec![factor; 3]],
    };
    for (diagonal, factor) in [(0.0, 1.0), (2_f64.powi(80), 1.0), (1.0, 2_f64.powi(21))] {
        let error = federation.ask_fit(&image(diagonal, factor)).err().unwrap().to_string();
        assert!(error.contains("out of range"), "{error}");
    }
    federation.ask_fit(&image(1.0, 1.0)).unwrap();
}

#[test]
fn any_other_refusal_ends_the_run() {
    let mut federation = masked(3);
    federation.loss(&[0.1; 3]).unwrap();
    let error = federation.ask_imputed(&ImputedQuestion { theta: vec![0.1; 3] }).err().unwrap();
    let error = error.to_string();
    assert!(error.contains("does not say why"), "nothing was imputed, and it is not said: {error}");
    let error = federation.loss(&[0.1; 3]).err().unwrap().to_string();
    assert!(error.contains("the run is over"), "{error}");
}

#[test]
fn masks_are_for_silos_with_both_divisions_that_have_met() {
    let error = gathered(InProcess::new(apart()).masked(), Some(1)).err().unwrap().to_string();
    assert!(error.contains("both divisions"), "{error}");
    let error = gathered(InProcess::new(houses(3)), Some(1)).err().unwrap().to_string();
    assert!(error.contains("steffle silo key"), "{error}");
    // At least two sites must not help.
    let nodes = InProcess::new(houses(3)).masked();
    let error = gathered(nodes, Some(2)).err().unwrap().to_string();
    assert!(error.contains("2 of 3 sites may help"), "{error}");
    // Hellos in another order: a number that is not the site's own.
    let other = |envelope: &Envelope, bytes: &[u8]| {
        (envelope.kind == Kind::Meet).then(|| {
            let (_, reader) = parse(bytes).unwrap();
            let mut meet: Meet = decode(reader).unwrap();
            meet.hellos.swap(0, 1);
            seal(envelope, &meet)
        })
    };
    let error = gathered(rogue(other), Some(1)).err().unwrap().to_string();
    assert!(error.contains("own hello"), "{error}");
    // A site that is left out.
    let other = |envelope: &Envelope, bytes: &[u8]| {
        (envelope.kind == Kind::Meet).then(|| {
            let (_, reader) = parse(bytes).unwrap();
            let mut meet: Meet = decode(reader).unwrap();
            meet.hellos.pop();
            seal(envelope, &meet)
        })
    };
    let error = gathered(rogue(other), Some(1)).err().unwrap().to_string();
    assert!(error.contains("2 sites say hello, and this site knows 3"), "{error}");
}

/// Columns are measured once: a second meeting with other measures is refused.
#[test]
fn sites_meet_once() {
    let tap = Tapped { inner: InProcess::new(houses(3)).masked(), seen: Vec::new() };
    let Tapped { mut inner, seen } = gathered(tap, Some(1)).unwrap().into_transport();
    let met = seen.iter().find(|(_, bytes)| parse(bytes).unwrap().0.kind == Kind::Meet).unwrap();
    let (envelope, reader) = parse(&met.1).unwrap();
    let meet: Meet = decode(reader).unwrap();
    let again = seal(&Envelope { sequence: 50, ..envelope }, &meet);
    let reply = inner.exchange(&[(NodeId::at(0), &again)]).remove(0).unwrap();
    let refused = refusal(&Answer { reply, letters: Vec::new() });
    assert!(refused.text.contains("met already"), "{refused}");
}

/// Lines, the secret of a run, and digests of records by epoch.
type Store = (Vec<Line>, Option<Secret>, BTreeMap<u32, Vec<u64>>);

/// What a store keeps, shared by the processes that have it one after the other.
#[derive(Clone, Default)]
pub(super) struct Shared(pub(super) Arc<Mutex<Store>>);

impl Backing for Shared {
    fn write(&mut self, line: &Line) -> Result<(), String> {
        self.0.lock().unwrap().0.push(line.clone());
        Ok(())
    }

    fn secret(&self) -> Option<Secret> {
        self.0.lock().unwrap().1.clone()
    }

    fn keep(&mut self, secret: Option<&Secret>) -> Result<(), String> {
        self.0.lock().unwrap().1 = secret.cloned();
        Ok(())
    }

    fn fresh(&mut self, begins: &Hash) -> Option<Secret> {
        let lines = self.0.lock().unwrap().0.len();
        Some(Secret { key: hash(&[begins, &lines.to_le_bytes()]), nonce: [lines as u8; 16] })
    }

    fn records(&self, epoch: u32) -> Option<Vec<u64>> {
        self.0.lock().unwrap().2.get(&epoch).cloned()
    }

    fn keep_records(&mut self, epoch: u32, records: &[u64]) -> Result<(), String> {
        self.0.lock().unwrap().2.insert(epoch, records.to_vec());
        Ok(())
    }
}

/// A site of its own key, with what it keeps.
pub(super) fn site(place: u8, sites: u8, policy: MaskPolicy, kept: &Shared) -> Masking {
    let identity = |place: u8| Identity::new(&[place + 1; 32]);
    let all = (0..sites).map(|place| (identity(place).fingerprint(), format!("site {place}")));
    let journal = Journal::new(kept.0.lock().unwrap().0.clone(), Box::new(kept.clone()));
    Masking::new(identity(place), Keys::new(all).unwrap(), policy, journal)
}

pub(super) fn sites(count: u8, policy: &MaskPolicy, kept: &[Shared]) -> InProcess {
    let mut places = 0..count;
    InProcess::new(houses(count.into())).each(|node| {
        let place = places.next().unwrap();
        node.masking(site(place, count, policy.clone(), &kept[usize::from(place)]))
    })
}

#[test]
fn two_sites_add_up_by_their_own_policy_alone_and_a_site_may_insist() {
    let kept = vec![Shared::default(); 3];
    let usual = MaskPolicy::default();
    let error = gathered(sites(2, &usual, &kept), Some(0)).err().unwrap().to_string();
    assert!(error.contains("each knows the other's part"), "{error}");
    let two = MaskPolicy { min_sites: 2, ..usual.clone() };
    gathered(sites(2, &two, &kept), Some(0)).unwrap().loss(&[0.1; 3]).unwrap();

    let kept: Vec<Shared> = (0..3).map(|_| Shared::default()).collect();
    let strict = MaskPolicy { colluders: 1, ..usual.clone() };
    let error = gathered(sites(3, &strict, &kept), Some(0)).err().unwrap().to_string();
    assert!(error.contains("wants at least 1"), "{error}");
    let terms = OneShotTerms::new(1.0.try_into().unwrap(), 1e-6.try_into().unwrap()).unwrap();
    let against = |colluders| {
        let kept: Vec<Shared> = (0..3).map(|_| Shared::default()).collect();
        let mut federation = gathered(sites(3, &strict, &kept), Some(1)).unwrap();
        let shares = NoiseShares::new(3, colluders).ok();
        let pooling = Pooling::Pooled { secure_aggregation: true, shares };
        federation.release_once(pooling, Some(&terms)).map(drop)
    };
    let error = against(0).unwrap_err().to_string();
    assert!(error.contains("0 of 3 sites may help the server"), "{error}");
    against(1).unwrap();
    let require = MaskPolicy { require: true, ..usual.clone() };
    let error = gathered(sites(3, &require, &kept), None).err().unwrap().to_string();
    assert!(error.contains("under masks only"), "{error}");
    let few = MaskPolicy { questions: Some(3), ..usual };
    let mut federation = gathered(sites(3, &few, &kept), Some(1)).unwrap();
    federation.loss(&[0.1; 3]).unwrap();
    let error = federation.loss(&[0.1; 3]).err().unwrap().to_string();
    assert!(error.contains("at most 3 questions"), "{error}");
}

/// A store that answered under one roster refuses another one and the clear; one that answered in the
/// clear refuses masks.
#[test]
fn a_store_has_one_roster() {
    let usual = MaskPolicy { min_sites: 2, ..MaskPolicy::default() };
    let kept: Vec<Shared> = (0..3).map(|_| Shared::default()).collect();
    gathered(sites(3, &usual, &kept), Some(1)).unwrap().loss(&[0.1; 3]).unwrap();
    let error = gathered(sites(2, &usual, &kept), Some(0)).err().unwrap().to_string();
    assert!(error.contains("under another roster"), "{error}");
    let error = gathered(sites(3, &usual, &kept), None).err().unwrap().to_string();
    assert!(error.contains("under another roster"), "{error}");
    gathered(sites(3, &usual, &kept), Some(1)).unwrap().loss(&[0.1; 3]).unwrap();

    let kept: Vec<Shared> = (0..3).map(|_| Shared::default()).collect();
    gathered(sites(3, &usual, &kept), None).unwrap().loss(&[0.1; 3]).unwrap();
    let error = gathered(sites(3, &usual, &kept), Some(1)).err().unwrap().to_string();
    assert!(error.contains("without masks"), "{error}");
}

/// A process that is started again in the middle of a run answers what was answered with the same
/// bytes and goes on; with other data, or another question under a number that was used, it does not.
#[test]
fn a_site_that_is_started_again_says_the_same_or_nothing() {
    let usual = MaskPolicy::default();
    let kept: Vec<Shared> = (0..3).map(|_| Shared::default()).collect();
    let tap = Tapped { inner: sites(3, &usual, &kept), seen: Vec::new() };
    let mut federation = gathered(tap, Some(1)).unwrap();
    let first = federation.loss(&[0.1; 3]).unwrap();
    let seen = federation.into_transport().seen;
    let own: Vec<&Vec<u8>> =
        seen.iter().filter(|(node, _)| *node == NodeId::at(0)).map(|(_, bytes)| bytes).collect();
    let again = |nodes: Vec<Node>| {
        let node = nodes.into_iter().next().unwrap();
        node.masking(site(0, 3, usual.clone(), &kept[0]))
    };
    let mut node = again(houses(3));
    let replies: Vec<Answer> = own.iter().map(|message| ask(&mut node, message)).collect();
    let parts: Vec<Part> = replies.iter().map(|own| parse(&own.reply).unwrap().0.part).collect();
    assert_eq!(parts, [Part::Reply; 4], "describe, meet, join, loss");
    let mut node = again(houses(3));
    let once_more: Vec<Answer> = own.iter().map(|message| ask(&mut node, message)).collect();
    assert_eq!(replies, once_more);
    assert!(first.0.is_finite());

    // Another question under the number of the last one, after a restart.
    let mut node = again(houses(3));
    own[..3].iter().for_each(|message| drop(ask(&mut node, message)));
    let (envelope, _) = parse(own[3]).unwrap();
    let other = ask(&mut node, &seal(&envelope, &Loss { theta: vec![0.3; 3] }));
    assert!(refusal(&other).text.contains("answered with something else"), "{other:?}");

    // Edited data: few records are noticed at once, and more say another hello.
    for (policy, words) in [
        (usual.clone(), "fewer than 50 records"),
        (MaskPolicy { min_change: 0, ..usual.clone() }, "own hello"),
    ] {
        let kept: Vec<Shared> = (0..3).map(|_| Shared::default()).collect();
        let tap = Tapped { inner: sites(3, &policy, &kept), seen: Vec::new() };
        let mut federation = gathered(tap, Some(1)).unwrap();
        federation.loss(&[0.1; 3]).unwrap();
        let seen = federation.into_transport().seen;
        let own = seen.iter().filter(|(node, _)| *node == NodeId::at(0));
        let edited = Node::new(Kept { records: Some(1..31), attributes: Some(1..31) });
        let mut node = edited.masking(site(0, 3, policy, &kept[0]));
        let answers: Vec<Answer> = own.map(|(_, message)| ask(&mut node, message)).collect();
        assert!(
            answers.iter().any(|answer| {
                let (envelope, _) = parse(&answer.reply).unwrap();
                envelope.part == Part::Refusal && refusal(answer).text.contains(words)
            }),
            "{words}"
        );
        let (envelope, _) = parse(&answers[3].reply).unwrap();
        assert_eq!(envelope.part, Part::Refusal, "nothing about other data is sent");
    }
    let mut node = again(houses(3));
    // A new run is a new secret, and the old one is gone.
    let describe = Envelope { run: RunId([8; 16]), sequence: 1, kind: Kind::Describe, ..envelope };
    let describe = Envelope { to: NodeId::at(0), schema: SchemaHash([0; 32]), ..describe };
    let before = kept[0].secret();
    node.handle(
        NodeId::SERVER,
        &seal(&describe, &Describe { masked: Some(MaskTerms::against(1)) }),
    );
    assert!(kept[0].secret() != before);
}
