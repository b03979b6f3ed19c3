//! Servers, holders and sites that do what the design of masks was attacked with.

use steffle_masks::Line;
use steffle_server::federation::{FederationError, Gathered, Roster};
use steffle_wire::{Describe, FitQuestion, ImputedQuestion, MaskTerms, Metric, TakeIn};

use super::killed::{KEYS, Paid, joined_with, started};
use super::masks::{Shared, disagree, gathered, houses, rogue, site, sites};
use super::shared_rounds::{agree, rounds, shares};
use super::*;

fn terms() -> OneShotTerms {
    OneShotTerms::new(1.0.try_into().unwrap(), 1e-6.try_into().unwrap()).unwrap()
}

fn kept() -> Vec<Shared> {
    (0..3).map(|_| Shared::default()).collect()
}

fn said<T>(result: Result<T, FederationError>) -> String {
    result.err().map(|error| error.to_string()).unwrap_or_default()
}

fn image(diagonal: f64) -> FitQuestion {
    let metric = Metric { theta: vec![0.0; 3], diagonal: vec![diagonal; 3], records: 90 };
    FitQuestion::Image { metric, vectors: vec![vec![1.0; 3]] }
}

/// All refuse a question out of range, and one of them was asked another: none has answered anything, and
/// all masks from then on are noise all the same.
#[test]
fn what_is_refused_for_its_words_is_part_of_history() {
    let other = |envelope: &Envelope, _: &[u8]| {
        (envelope.kind == Kind::Fit).then(|| seal(envelope, &image(2_f64.powi(90))))
    };
    let mut federation = gathered(rogue(other), Some(1)).unwrap();
    federation.loss(&[0.1; 3]).unwrap();
    assert!(said(federation.ask_fit(&image(2_f64.powi(80)))).contains("out of range"));
    disagree(federation.loss(&[0.1; 3]));

    // One site alone is asked something that it answers: the attack with `D = 2^80` to all others.
    let other = |envelope: &Envelope, _: &[u8]| {
        (envelope.kind == Kind::Fit).then(|| seal(envelope, &image(1.0)))
    };
    let mut federation = gathered(rogue(other), Some(1)).unwrap();
    assert!(federation.ask_fit(&image(2_f64.powi(80))).is_err());
    disagree(federation.loss(&[0.1; 3]));
}

/// A refusal is noted before it is sent, is said again by the same bytes, and counts once.
#[test]
fn a_refusal_is_noted_as_an_answer_is() {
    let (usual, kept) = (MaskPolicy::default(), kept());
    let tap = Tapped { inner: sites(3, &usual, &kept), seen: Vec::new() };
    let mut federation = gathered(tap, Some(1)).unwrap();
    assert!(federation.ask_fit(&image(2_f64.powi(80))).is_err());
    let first = federation.loss(&[0.1; 3]).unwrap();
    assert_eq!(
        gathered(sites(3, &usual, &self::kept()), Some(1)).unwrap().loss(&[0.1; 3]).unwrap(),
        first
    );
    let answers = |line: &&Line| matches!(line, Line::Answer { .. });
    let noted = kept[0].0.lock().unwrap().0.iter().filter(answers).count();
    assert_eq!(noted, 4, "meet, join, the refusal, loss");
    // A process that is started again takes everything in once more, some of it twice.
    let seen = federation.into_transport().seen;
    let own: Vec<&Vec<u8>> =
        seen.iter().filter(|(node, _)| *node == NodeId::at(0)).map(|(_, bytes)| bytes).collect();
    let play = |times: usize| {
        let mut node = houses(3).remove(0).masking(site(0, 3, usual.clone(), &kept[0]));
        let all: Vec<Answer> = own
            .iter()
            .map(|message| (0..times).map(|_| node.handle(NodeId::SERVER, message)).last().unwrap())
            .collect();
        all
    };
    let once = play(1);
    assert!(refusal(&once[3]).text.contains("out of range"));
    assert_eq!(once, play(3));
    assert_eq!(parse(&once[4].reply).unwrap().0.part, Part::Reply);
}

/// Another schema for one site: what it would encode otherwise is noise.
#[test]
fn a_schema_for_one_site_alone_is_noise() {
    let other = |envelope: &Envelope, bytes: &[u8]| {
        (envelope.kind == Kind::Join).then(|| {
            let (_, reader) = parse(bytes).unwrap();
            seal(envelope, &Join { schema: b"another".to_vec(), ..decode(reader).unwrap() })
        })
    };
    let mut federation = gathered(rogue(other), Some(1)).unwrap();
    disagree(federation.loss(&[0.1; 3]));
}

/// A holder that helps the server writes memberships 1 to one site and 0 to the others: letters are for
/// nobody under masks, whoever says that they were to be taken in is refused, and what is asked of
/// memberships then too.
#[test]
fn letters_are_not_taken_in_under_masks() {
    let kept = kept();
    let tap = Tapped { inner: sites(3, &MaskPolicy::default(), &kept), seen: Vec::new() };
    let seen = gathered(tap, Some(1)).unwrap().into_transport().seen;
    let mut node = houses(3).remove(0).masking(site(0, 3, MaskPolicy::default(), &kept[0]));
    let own = seen.iter().filter(|(to, _)| *to == NodeId::at(0));
    own.for_each(|(_, message)| drop(node.handle(NodeId::SERVER, message)));
    let envelope = Envelope {
        run: agreement().run,
        schema: agreement().schema,
        from: NodeId::at(7),
        to: NodeId::at(0),
        sequence: 40,
        round: 0,
        kind: Kind::Release,
        part: Part::Letter,
    };
    let forged = seal(&envelope, &Loss { theta: vec![0.1; 3] });
    let on = |sequence: u64, kind: Kind| Envelope {
        sequence,
        kind,
        from: NodeId::SERVER,
        part: Part::Request,
        ..envelope
    };
    assert_eq!(node.handle(NodeId::at(7), &forged), Answer::default());
    let party = node.party.as_mut().unwrap();
    let letter = party.letters().take::<Loss>(Kind::Release, 0, [NodeId::at(7)].into_iter());
    assert!(letter.is_err(), "it was kept");
    let take = seal(&on(41, Kind::TakeIn), &TakeIn::Classes { epsilon: None });
    let refused = refusal(&node.handle(NodeId::SERVER, &take));
    assert!(refused.text.contains("letters are not taken in"), "{refused}");
    let imputed = ImputedQuestion { theta: vec![0.1; 3] };
    let refused = refusal(&node.handle(NodeId::SERVER, &seal(&on(42, Kind::Imputed), &imputed)));
    assert!(refused.text.contains("does not say why"), "{refused}");
    let gap = steffle_wire::Gap { thetas: vec![vec![0.0; 3], vec![0.1; 3]] };
    let refused = refusal(&node.handle(NodeId::SERVER, &seal(&on(43, Kind::Gap), &gap)));
    assert!(refused.text.contains("the run is over"), "{refused}");
}

/// Noise is shared as all sites signed it when they met, or not at all; and one of them that was told
/// otherwise says a hello that the others do not take.
#[test]
fn noise_is_shared_as_all_sites_signed() {
    let join = |terms: MaskTerms| {
        let roster = Roster { masked: Some(terms), ..Roster::default() };
        let nodes = sites(3, &MaskPolicy::default(), &kept());
        Gathered::new(nodes, agreement().run, roster).unwrap().join(agreement()).unwrap()
    };
    let pooling = Pooling::Pooled { secure_aggregation: true, shares: Some(shares(3)) };
    let signed = MaskTerms { shared: Some(1), ..MaskTerms::against(1) };
    join(signed).release_once(pooling, Some(&terms())).unwrap();
    for other in [
        MaskTerms::against(1),
        MaskTerms { shared: Some(0), ..signed },
        MaskTerms { noise: NoiseKind::Secure, ..signed },
    ] {
        let refused = said(join(other).release_once(pooling, Some(&terms())));
        assert!(refused.contains("otherwise than all sites signed"), "{refused}");
    }
    for other in [
        MaskTerms { shared: None, ..signed },
        MaskTerms { colluders: 0, ..signed },
        MaskTerms { noise: NoiseKind::Secure, ..signed },
    ] {
        let change = move |envelope: &Envelope, _: &[u8]| {
            let masked = Some(other);
            (envelope.kind == Kind::Describe).then(|| seal(envelope, &Describe { masked }))
        };
        let refused = said(gathered(rogue(change), Some(1)));
        assert!(refused.contains("another run, roster, role, noise"), "{refused}");
    }
}

/// Hands on everything but the end of a run.
struct Unended(InProcess);

impl Transport for Unended {
    fn nodes(&self) -> usize {
        self.0.here().len()
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        let ends = |bytes: &[u8]| parse(bytes).unwrap().0.kind == Kind::Close;
        if requests.iter().any(|(_, bytes)| ends(bytes)) {
            let lost = |(node, _): &(NodeId, &[u8])| Err(Lost { node: *node, why: String::new() });
            return requests.iter().map(lost).collect();
        }
        self.0.exchange(requests)
    }
}

/// A share that was sent under one roster is in a sum over its sites. The same run, number and question
/// under another roster would put it into a second one: there it is another question, and refused.
#[test]
fn a_share_is_not_sent_again_under_a_second_roster() {
    let pooling = Pooling::Pooled { secure_aggregation: true, shares: Some(shares(3)) };
    for keys in [KEYS, [1, 2, 99]] {
        let (kept, paid) = (kept(), [(); 3].map(|()| Paid::default()));
        let nodes = |keys: [u8; 3]| {
            let node = |place: u8| {
                let at = usize::from(place);
                started(place, &kept[at], &paid[at], keys)
            };
            InProcess::new((0..3).map(node).collect())
        };
        let mut federation = joined_with(Unended(nodes(KEYS)), NoiseKind::Secure, 1);
        assert!(federation.release_once(pooling, Some(&terms())).is_err(), "it does not end");
        // All processes are started again; the third site has another key, and everybody accepts it.
        // The run of another roster is over; by other words it begins anew, under its name.
        let colluders = u16::from(keys == KEYS);
        let mut federation = joined_with(nodes(keys), NoiseKind::Secure, colluders);
        let again = federation.release_once(pooling, Some(&terms()));
        if keys == KEYS {
            again.unwrap();
            let paid = federation.spent().unwrap().value() / terms().mu().value();
            assert!((paid - 1.0).abs() < 1e-3, "paid once: {paid}");
        } else {
            let refused = said(again);
            assert!(refused.contains("only the same question gets the same reply"), "{refused}");
        }
    }
}

/// What a site says of itself under masks: what it holds and its hello, no number of records and nothing
/// about columns.
#[test]
fn a_description_under_masks_has_no_number() {
    let tap = Tapped { inner: sites(3, &MaskPolicy::default(), &kept()), seen: Vec::new() };
    let seen = gathered(tap, Some(1)).unwrap().into_transport().seen;
    let (_, message) =
        seen.iter().find(|(_, bytes)| parse(bytes).unwrap().0.kind == Kind::Describe).unwrap();
    let mut node =
        houses(3).remove(0).masking(site(0, 3, MaskPolicy::default(), &Shared::default()));
    let reply = node.handle(NodeId::SERVER, message).reply;
    let (_, reader) = parse(&reply).unwrap();
    let Described { records, summary, hello, .. } = decode(reader).unwrap();
    assert_eq!((records, summary.len()), (0, 0));
    assert_eq!(hello.len(), steffle_masks::Hello::BYTES);
}

/// Whatever a site's records are, the same questions are answered: features are cut, sums that could leave
/// their range are written as the largest.
#[test]
fn no_record_makes_a_site_refuse() {
    struct Vast(Kept);
    impl Holding for Vast {
        fn describe(&self, masked: bool) -> Described {
            self.0.describe(masked)
        }

        fn meet(&self, columns: &[u8]) -> Result<steffle_wire::Met, Refused> {
            self.0.meet(columns)
        }

        fn digests(&self) -> Vec<u64> {
            self.0.digests()
        }

        fn take(&mut self, schema: &[u8], hash: &SchemaHash) -> Result<Taken, Refused> {
            let taken = self.0.take(schema, hash)?;
            let own = taken.records.as_ref().unwrap();
            let numeric = own.ids().iter().flat_map(|id| [1e30 * (id % 3) as f32, -1e37]);
            let rows = Rows::new(LAYOUT, own.len(), numeric.collect(), Vec::new()).unwrap();
            let labels = own.labels().to_vec();
            let records = Records::new(own.ids().to_vec(), rows, labels, None, 2).unwrap();
            Ok(Taken { records: Some(records), ..taken })
        }
    }
    let mut nodes = houses(3);
    nodes[1] = Node::new(Vast(Kept { records: Some(30..61), attributes: Some(30..61) }));
    let mut federation = gathered(InProcess::new(nodes).masked(), Some(1)).unwrap();
    for theta in [0.0, 1.0, -16_384.0, 16_384.0] {
        assert!(federation.loss(&[theta; 3]).unwrap().0.is_finite(), "{theta}");
        let curvature = FitQuestion::Curvature { theta: vec![theta; 3] };
        federation.ask_fit(&curvature).unwrap();
        for diagonal in [-20, 0, 40] {
            federation.ask_fit(&image(2_f64.powi(diagonal))).unwrap();
        }
    }
    assert_eq!(federation.loss(&[16_385.0; 3]).unwrap().0, f64::INFINITY, "by its words alone");
}

/// One row is erased between two runs: the site says so to nobody's profit. A change by enough records at
/// enough sites begins a new epoch, and totals go on.
#[test]
fn data_that_changed_are_answered_about_where_enough_sites_changed() {
    let usual = MaskPolicy { min_change: 2, ..MaskPolicy::default() };
    let (kept, runs) = (kept(), std::cell::Cell::new(0));
    let run = |changed: &[(u8, u64)]| {
        let nodes = (0..3_u8).map(|place| {
            let by = changed.iter().find(|(at, _)| *at == place).map_or(0, |(_, by)| *by);
            let first = 30 * u64::from(place);
            let ids = first..first + 30 + by;
            let node = Node::new(Kept { records: Some(ids.clone()), attributes: Some(ids) });
            node.masking(site(place, 3, usual.clone(), &kept[usize::from(place)]))
        });
        runs.set(runs.get() + 1);
        let agreement = Agreement { run: RunId([runs.get(); 16]), ..agreement() };
        let roster = Roster { masked: Some(MaskTerms::against(1)), ..Roster::default() };
        let nodes = InProcess::new(nodes.collect());
        let mut all = Gathered::new(nodes, agreement.run, roster)?.join(agreement)?;
        all.loss(&[0.1; 3])
    };
    let first = run(&[]).unwrap();
    assert_eq!(run(&[]).unwrap(), first);
    assert!(said(run(&[(0, 1)])).contains("fewer than 2 records"), "one row");
    assert!(said(run(&[(0, 5)])).contains("the data of 1 site(s) have changed"), "one site");
    assert!(said(run(&[(0, 5), (2, 9)])).contains("at least 3 change together"), "one honest site");
    assert_eq!(run(&[]).unwrap(), first, "as they were");
    assert_ne!(run(&[(0, 5), (1, 2), (2, 9)]).unwrap(), first);
    assert!(said(run(&[])).contains("fewer than 2 records"), "and not back");
    run(&[(0, 5), (1, 2), (2, 9)]).unwrap();
}

/// What a site's records would cost is a number about them: a server that offers too much, or asks for noise that
/// is too small, is told that the book refuses, and not by how much.
#[test]
fn a_refusal_of_the_book_has_no_number() {
    let nodes = || {
        let one = |place| started(place, &Shared::default(), &Paid::default(), KEYS);
        InProcess::new((0..3).map(one).collect())
    };
    let refused = |text: String, words: &str| {
        assert!(text.contains(words) && !text.contains("mu "), "{text}");
    };
    let shares = shares(3);
    let mut federation = gathered(nodes(), Some(1)).unwrap();
    let offer = federation.offer(Claim::Shared(shares), 5.0, 1e-6, 4).unwrap();
    refused(said(federation.open(offer, Opening::plain)), "steffle ledger show");
    // All sites are asked for a thousandth of the noise.
    let mut federation = gathered(Quiet(nodes()), Some(1)).unwrap();
    agree(&mut federation, shares).unwrap();
    refused(said(rounds(&mut federation)), "does not say why");
}

/// A server that asks for small shares of noise.
struct Quiet(InProcess);

impl Transport for Quiet {
    fn nodes(&self) -> usize {
        self.0.here().len()
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        let (envelope, reader) = parse(requests[0].1).unwrap();
        if envelope.kind != Kind::Round {
            return self.0.exchange(requests);
        }
        let mut round: steffle_wire::Round<'_> = decode(reader).unwrap();
        if let Some(scale) = &mut round.share {
            scale.table.shift += 10;
        }
        let bytes = seal(&envelope, &round);
        let all: Vec<_> = requests.iter().map(|(node, _)| (*node, &bytes[..])).collect();
        self.0.exchange(&all)
    }
}
