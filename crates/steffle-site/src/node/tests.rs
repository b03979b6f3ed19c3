//! A node refuses by name what it does not expect, and no message ends it.

use std::borrow::Cow;

use rand::Rng;
use steffle_attributes::ClassRelease;
use steffle_attributes::noise::NoiseKind;
use steffle_attributes::{Attributes, Sensitive, UnitList};
use steffle_model::fairness::Notion;
use steffle_model::model::ModelKind;
use steffle_model::randomness::{Purpose, stream};
use steffle_model::record::{Layout, Records, Rows};
use steffle_privacy::ledger::{Claim, MemoryLedger, Offer};
use steffle_server::federation::{Agreement, Federation, Pooling, RunKind};
use steffle_server::train::OneShotTerms;
use steffle_wire::{
    Batch, CodecError, Done, Encode, Form, Letter, Loss, Lost, Opening, PassQuestion, Pull,
    PullCell, Question, SchemaHash, Transport, open,
};

use super::*;

mod acts;
mod frames;
mod hostile;
mod killed;
mod masks;
mod rare;
mod senders;
mod shared_rounds;
mod shares;

const LAYOUT: Layout = Layout { numeric: 2, categorical: 0, features: 2 };

fn records(ids: std::ops::Range<u64>) -> Records {
    let numeric = ids.clone().flat_map(|id| [(id % 7) as f32 - 3.0, (id % 3) as f32 - 1.0]);
    let rows = Rows::new(LAYOUT, ids.clone().count(), numeric.collect(), Vec::new()).unwrap();
    let labels = ids.clone().map(|id| u16::from(id % 7 + id % 2 > 4)).collect();
    Records::new(ids.collect(), rows, labels, None, 2).unwrap()
}

fn attributes(ids: std::ops::Range<u64>) -> Attributes {
    let classes = ids.clone().map(|id| (id % 2) as u16).collect();
    Attributes::new(ids.collect(), Sensitive::new(classes), 2).unwrap()
}

fn agreement() -> Agreement {
    Agreement {
        run: RunId([1; 16]),
        schema: SchemaHash([2; 32]),
        columns: Vec::new(),
        layout: LAYOUT,
        model: ModelKind::Logistic,
        scores: Scores {
            name: Scores::OUTPUTS.to_owned(),
            notion: Notion::DemographicParity,
            classes: 2,
            labels: 2,
            sharpness: 1.0,
        },
        seed: 5,
        noise: NoiseKind::Simulation,
        kind: RunKind::default(),
    }
}

/// Everybody, each for themselves.
fn people() -> UnitList {
    UnitList::index((0..1000).zip(0..))
}

/// A site whose data serve any number of runs.
struct Kept {
    records: Option<std::ops::Range<u64>>,
    attributes: Option<std::ops::Range<u64>>,
}

impl Holding for Kept {
    fn describe(&self, masked: bool) -> steffle_wire::Described {
        let Taken { records, attributes, .. } = self.made();
        Encoded::new(records, attributes).describe(masked)
    }

    fn meet(&self, columns: &[u8]) -> Result<steffle_wire::Met, Refused> {
        let Taken { records, attributes, .. } = self.made();
        Encoded::new(records, attributes).meet(columns)
    }

    fn digests(&self) -> Vec<u64> {
        let Taken { records, attributes, .. } = self.made();
        Encoded::new(records, attributes).digests()
    }

    fn take(&mut self, _: &[u8], _: &SchemaHash) -> Result<Taken, Refused> {
        Ok(self.made())
    }
}

impl Kept {
    fn made(&self) -> Taken {
        Taken {
            records: self.records.clone().map(records),
            attributes: self.attributes.clone().map(attributes),
            people: self.records.is_none().then(people),
            labels: None,
        }
    }
}

fn house() -> Vec<Node> {
    let both = |ids: std::ops::Range<u64>| {
        Node::new(Kept { records: Some(ids.clone()), attributes: Some(ids) })
    };
    vec![both(0..30), both(30..60)]
}

fn apart() -> Vec<Node> {
    let records = |ids| Node::new(Kept { records: Some(ids), attributes: None });
    let holder = |ids| Node::new(Kept { records: None, attributes: Some(ids) });
    vec![records(0..30), records(30..60), holder(0..40), holder(40..60)]
}

/// A transport that keeps every message, in the order in which nodes got them.
struct Tapped {
    inner: InProcess,
    seen: Vec<(NodeId, Vec<u8>)>,
}

impl Transport for Tapped {
    fn nodes(&self) -> usize {
        self.inner.here().len()
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        self.seen.extend(requests.iter().map(|(node, bytes)| (*node, bytes.to_vec())));
        self.inner.exchange(requests)
    }
}

/// What a node answers the server.
fn ask(node: &mut Node, message: &[u8]) -> Answer {
    node.handle(NodeId::SERVER, message)
}

fn question(theta: f64, batch: Batch) -> Question {
    let zero = steffle_wire::CellQuestion {
        combinations: vec![0.5, 0.25, -0.5, 1.0],
        quadratic: vec![0.0; 2],
    };
    Question { theta: vec![theta; 3], cells: vec![zero], form: Form::Centred, batch, loss: true }
}

/// Runs that send every kind of request, each as its messages.
fn recorded(nodes: fn() -> Vec<Node>) -> Vec<Vec<(NodeId, Vec<u8>)>> {
    let mut seen = Vec::new();
    let mut with = |work: &dyn Fn(&mut Federation<Tapped>)| {
        let tapped = Tapped { inner: InProcess::new(nodes()), seen: Vec::new() };
        let mut federation = Federation::join(tapped, agreement()).unwrap();
        work(&mut federation);
        seen.push(federation.into_transport().seen);
    };
    let terms = OneShotTerms::new(1.0.try_into().unwrap(), 1e-6.try_into().unwrap()).unwrap();
    for pooling in [Pooling::Local, Pooling::Pooled { secure_aggregation: true, shares: None }] {
        with(&|federation| {
            let release = federation.release_once(pooling, Some(&terms)).unwrap();
            federation.estimate_gap_after(&release, &[0.0; 3], &[0.5; 3]).unwrap();
        });
    }
    with(&|federation| {
        federation.loss(&[0.1; 3]).unwrap();
        federation.impute(ClassRelease::Revealed).unwrap();
        let imputed = steffle_wire::ImputedQuestion { theta: vec![0.1; 3] };
        federation.ask_imputed(&imputed).unwrap();
        let theta = vec![0.1; 3];
        let look = PassQuestion::Look { theta: theta.clone(), imputed: true };
        let seen = federation.ask_pass(&look).unwrap();
        let cell = |(count, table): &(f64, Vec<f64>)| PullCell {
            count: *count,
            floor: 0.01,
            table: table.clone(),
        };
        let pull = Some(Pull { strength: 2.0, cells: seen.cells.iter().map(cell).collect() });
        let walk = PassQuestion::Walk { theta, trip: 3, step: 0.01, decay: 1e-4, pull };
        federation.ask_pass(&walk).unwrap();
        let few = steffle_server::train::FitRule::FewTrips;
        let tolerance = steffle_server::server::Tolerance { evaluations: 9, gradient: 1e-3 };
        let go_on = |_, _| std::ops::ControlFlow::Continue(());
        steffle_server::train::erm(federation, vec![0.0; 3], few, tolerance, go_on).unwrap();
    });
    with(&|federation| {
        federation.count(&[vec![0.5; 3], vec![-0.5; 3]], Some(&terms)).unwrap();
    });
    // Three silos, which add one noise together.
    if nodes().len() == 3 {
        let shares = shared_rounds::shares(3);
        with(&|federation| {
            shared_rounds::agree(federation, shares).unwrap();
            shared_rounds::rounds(federation).unwrap();
            federation.close().unwrap();
        });
        with(&|federation| {
            let pooling = Pooling::Pooled { secure_aggregation: true, shares: Some(shares) };
            federation.release_once(pooling, Some(&terms)).unwrap();
        });
    }
    with(&|federation| {
        let offer = federation.offer(Claim::Gaussian, 1.0, 1e-6, 4).unwrap();
        let share = steffle_wire::Share { round: 0.002, table: 0.15 };
        let terms = steffle_wire::Terms::Exact(share);
        let open =
            |offer: Offer| Opening { terms, cap: Some(0.5), shaped: true, ..Opening::plain(offer) };
        federation.open(offer, open).unwrap();
        for round in 0..3 {
            federation.round(round, &question(0.1 * f64::from(round), Batch::All)).unwrap();
        }
        federation.close().unwrap();
    });
    seen
}

fn refusal(answer: &Answer) -> Refused {
    let (envelope, reader) = parse(&answer.reply).unwrap();
    assert_eq!(envelope.part, Part::Refusal);
    decode(reader).unwrap()
}

/// A node that has joined, and the envelope of its next request.
fn joined() -> (Node, Envelope) {
    let mut nodes = house();
    let agreement = agreement();
    let envelope = |sequence, kind| Envelope {
        run: agreement.run,
        schema: agreement.schema,
        from: NodeId::SERVER,
        to: NodeId::at(0),
        sequence,
        round: 0,
        kind,
        part: Part::Request,
    };
    let mut node = nodes.remove(0);
    node.handle(NodeId::SERVER, &seal(&envelope(1, Kind::Describe), &Describe::default()));
    let join = Join {
        schema: Vec::new(),
        model: "logistic".to_owned(),
        scores: agreement.scores,
        seed: 5,
        noise: NoiseKind::Simulation,
        silos: 2,
        holders: 0,
    };
    let answer = node.handle(NodeId::SERVER, &seal(&envelope(2, Kind::Join), &join));
    let expected = Envelope {
        from: NodeId::at(0),
        to: NodeId::SERVER,
        part: Part::Reply,
        ..envelope(2, Kind::Join)
    };
    let Done = decode(open(&expected, &answer.reply).unwrap()).unwrap();
    (node, envelope(3, Kind::Loss))
}

#[test]
fn the_same_request_gets_the_same_bytes_and_another_one_is_refused() {
    let (mut node, envelope) = joined();
    let request = seal(&envelope, &Loss { theta: vec![0.1; 3] });
    let first = node.handle(NodeId::SERVER, &request);
    assert_eq!(parse(&first.reply).unwrap().0.part, Part::Reply);
    assert_eq!(node.handle(NodeId::SERVER, &request), first);
    let other = seal(&envelope, &Loss { theta: vec![0.2; 3] });
    assert!(
        refusal(&node.handle(NodeId::SERVER, &other)).text.contains("trip 3 was another request")
    );
    let late = seal(&Envelope { sequence: 2, ..envelope }, &Loss { theta: vec![0.1; 3] });
    assert!(refusal(&node.handle(NodeId::SERVER, &late)).text.contains("trip 2 is over"));
    // And what was said is still what is said.
    assert_eq!(node.handle(NodeId::SERVER, &request), first);
}

#[test]
fn what_is_meant_for_somebody_else_is_refused_by_name() {
    let (mut node, envelope) = joined();
    let mut refused = |change: &dyn Fn(&mut Envelope)| {
        let mut changed = envelope;
        change(&mut changed);
        refusal(&node.handle(NodeId::SERVER, &seal(&changed, &Loss { theta: vec![0.1; 3] }))).text
    };
    assert!(refused(&|e| e.run = RunId([9; 16])).contains("another run"));
    assert!(refused(&|e| e.to = NodeId(2)).contains("to node 2"));
    assert!(refused(&|e| e.from = NodeId(2)).contains("came from the server"));
    assert!(refused(&|e| e.schema = SchemaHash([9; 32])).contains("another schema"));
    assert!(refused(&|e| e.part = Part::Reply).contains("came from the server"));
    assert!(refused(&|e| e.kind = Kind::Join).contains("joined the run already"));
    assert!(refused(&|e| e.kind = Kind::Round).contains("batch"));
    let bytes = refusal(&node.handle(NodeId::SERVER, b"no message at all")).text;
    assert!(bytes.contains("not a message") || bytes.contains("message"), "{bytes}");
}

#[test]
fn what_comes_before_its_time_is_refused() {
    let (mut node, envelope) = joined();
    let round = |round: u32, sequence: u64| {
        let envelope = Envelope { kind: Kind::Round, round, sequence, ..envelope };
        let question = Cow::Owned(question(0.1, Batch::All));
        seal(&envelope, &steffle_wire::Round { question, noise: None, share: None })
    };
    let closed = refusal(&node.handle(NodeId::SERVER, &round(1, 3)));
    assert_eq!(closed.code, "steffle::ledger::closed");
    let offer = Offer {
        run: String::new(),
        method: String::new(),
        mode: String::new(),
        notion: String::new(),
        rounds: 0,
        epsilon: 0.0,
        delta: 0.0,
        claim: Claim::Nothing,
        noise: NoiseKind::Simulation,
    };
    let opening = Envelope { kind: Kind::Open, sequence: 4, ..envelope };
    node.handle(NodeId::SERVER, &seal(&opening, &Opening::plain(offer)));
    assert_eq!(
        parse(&node.handle(NodeId::SERVER, &round(1, 5)).reply).unwrap().0.part,
        Part::Reply
    );
    assert!(refusal(&node.handle(NodeId::SERVER, &round(1, 6))).text.contains("round 1 is over"));
    let mut nodes = apart();
    let early = refusal(&nodes[2].handle(NodeId::SERVER, &round(1, 3)));
    assert!(early.text.contains("another run"), "{early}");
}

/// A run that ended without a word leaves its spending behind: whoever describes the node again
/// finds the same ledger.
#[test]
fn a_new_run_finds_the_budget_of_the_last_one() {
    let terms = OneShotTerms::new(1.0.try_into().unwrap(), 1e-6.try_into().unwrap()).unwrap();
    let node = Node::new(Kept { records: Some(0..30), attributes: Some(0..30) })
        .keeping(Box::new(MemoryLedger::default()));
    let nodes = InProcess::new(vec![node]);
    let mut first = Federation::join(nodes, agreement()).unwrap();
    first.release_once(Pooling::Local, Some(&terms)).unwrap();
    let nodes = first.into_transport();
    // Other noise, or the same question would get the same bytes at no cost.
    let other = Agreement { run: RunId([7; 16]), model: ModelKind::Softmax, ..agreement() };
    let mut second = Federation::join(nodes, other).unwrap();
    let refused = second.release_once(Pooling::Local, Some(&terms)).unwrap_err().to_string();
    assert!(refused.contains("spent"), "{refused}");
}

/// An id that two silos claim is one record: the holder names both.
#[test]
fn ids_that_two_silos_claim_are_refused_by_the_holder() {
    let records = |ids| Node::new(Kept { records: Some(ids), attributes: None });
    let holder = Node::new(Kept { records: None, attributes: Some(0..60) });
    let nodes = InProcess::new(vec![records(0..30), records(25..60), holder]);
    let mut federation = Federation::join(nodes, agreement()).unwrap();
    let refused = federation.open_plainly().unwrap_err().to_string();
    assert!(refused.contains("5 record ids come from both node 1 and node 2"), "{refused}");
}

/// A site's own policy stands above what it is offered.
#[test]
fn what_a_site_does_not_allow_is_refused() {
    let offered = |allows: Allows, claim: Claim| {
        let nodes = InProcess::new(house()).each(|node| node.allowing(allows.clone()));
        let mut federation = Federation::join(nodes, agreement()).unwrap();
        let offer = federation.offer(claim, 1.0, 1e-6, 4).unwrap();
        federation.open(offer, Opening::plain).map_err(|error| error.to_string())
    };
    assert!(offered(Allows::default(), Claim::Gaussian).is_ok());
    for (allows, word) in [
        (Allows { epsilon: Some(0.5), ..Allows::default() }, "at most 0.5"),
        (Allows { rounds: Some(3), ..Allows::default() }, "at most 3"),
        (Allows { methods: vec!["one-shot".to_owned()], ..Allows::default() }, "one-shot"),
        (Allows { secret: true, ..Allows::default() }, "secret noise"),
    ] {
        let refused = offered(allows, Claim::Gaussian).unwrap_err();
        assert!(refused.contains(word) && refused.contains("silo 0"), "{refused}");
    }
}

#[test]
fn requests_survive_the_trip() {
    for (_, message) in recorded(house).iter().chain(&recorded(apart)).flatten() {
        let (envelope, reader) = parse(message).unwrap();
        let again = encode_again(&envelope, reader).unwrap();
        assert_eq!(&again, message, "{envelope}");
    }
}

/// What a request says, written once more.
fn encode_again(envelope: &Envelope, reader: Reader<'_>) -> Result<Vec<u8>, CodecError> {
    use steffle_wire::{
        Close, Count, FitQuestion, Gap, ImputedQuestion, Pool, Release, Round, TakeIn,
    };
    Ok(match envelope.kind {
        Kind::Unknown => Vec::new(),
        Kind::Describe => seal(envelope, &decode::<Describe>(reader)?),
        Kind::Join => seal(envelope, &decode::<Join>(reader)?),
        Kind::Meet => seal(envelope, &decode::<Meet>(reader)?),
        Kind::Open => seal(envelope, &decode::<Opening>(reader)?),
        Kind::Loss => seal(envelope, &decode::<Loss>(reader)?),
        Kind::Round => seal(envelope, &decode::<Round>(reader)?),
        Kind::Release => seal(envelope, &decode::<Release>(reader)?),
        Kind::Pool => seal(envelope, &decode::<Pool>(reader)?),
        Kind::TakeIn => seal(envelope, &decode::<TakeIn>(reader)?),
        Kind::Imputed => seal(envelope, &decode::<ImputedQuestion>(reader)?),
        Kind::Fit => seal(envelope, &decode::<FitQuestion>(reader)?),
        Kind::Gap => seal(envelope, &decode::<Gap>(reader)?),
        Kind::Count => seal(envelope, &decode::<Count>(reader)?),
        Kind::Pass => seal(envelope, &decode::<PassQuestion>(reader)?),
        Kind::Close => seal(envelope, &decode::<Close>(reader)?),
    })
}
