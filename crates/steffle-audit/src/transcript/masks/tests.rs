use steffle_attributes::noise::NoiseKind;
use steffle_attributes::{Attributes, Sensitive};
use steffle_model::fairness::Notion;
use steffle_model::model::ModelKind;
use steffle_model::record::{Layout, Records, Rows};
use steffle_server::federation::{Agreement, Gathered, Pooling, Roster, RunKind};
use steffle_server::train::OneShotTerms;
use steffle_site::node::{Encoded, InProcess, Node};
use steffle_wire::{
    Closed, Join, Lost, MaskTerms, NodeId, RunId, SchemaHash, Scores, Transport, seal,
};

use super::super::{Sent, check};
use super::*;

/// A number, and a column of four levels of which two records have the last.
const LAYOUT: Layout = Layout { numeric: 1, categorical: 1, features: 5 };
const RARE: u32 = 4;

fn site(place: u64) -> Node {
    let ids = 30 * place..30 * (place + 1);
    let code = |id: u64| if id == 7 || id == 38 { RARE } else { 1 + (id % 3) as u32 };
    let numbers = ids.clone().map(|id| (id % 7) as f32 - 3.5).collect();
    let rows = Rows::new(LAYOUT, 30, numbers, ids.clone().map(code).collect()).unwrap();
    let labels = ids.clone().map(|id| u16::from(id % 7 > 3)).collect();
    let records = Records::new(ids.clone().collect(), rows, labels, None, 2).unwrap();
    let classes = Sensitive::new(ids.clone().map(|id| (id % 2) as u16).collect());
    let attributes = Attributes::new(ids.collect(), classes, 2).unwrap();
    Node::new(Encoded::new(Some(records), Some(attributes)))
}

struct Tap(InProcess, Vec<Frame>);

impl Transport for Tap {
    fn nodes(&self) -> usize {
        3
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        let frame = |sent, node, bytes: &[u8]| Frame { sent, node, bytes: bytes.to_vec() };
        self.1.extend(requests.iter().map(|(node, bytes)| frame(Sent::Request, *node, bytes)));
        let replies = self.0.exchange(requests);
        for ((node, _), reply) in requests.iter().zip(&replies) {
            self.1.push(frame(Sent::Reply, *node, reply.as_ref().unwrap()));
        }
        replies
    }
}

/// A one-shot run of three sites that pool under masks.
fn recorded() -> Vec<Frame> {
    let scores = Scores {
        name: Scores::OUTPUTS.to_owned(),
        notion: Notion::DemographicParity,
        classes: 2,
        labels: 2,
        sharpness: 1.0,
    };
    let agreement = Agreement {
        run: RunId([1; 16]),
        schema: SchemaHash([2; 32]),
        columns: Vec::new(),
        layout: LAYOUT,
        model: ModelKind::Logistic,
        scores,
        seed: 5,
        noise: NoiseKind::Simulation,
        kind: RunKind::default(),
    };
    let nodes = Tap(InProcess::new((0..3).map(site).collect()).masked(), Vec::new());
    let roster = Roster { masked: Some(MaskTerms::against(1)), ..Roster::default() };
    let mut federation =
        Gathered::new(nodes, agreement.run, roster).unwrap().join(agreement).unwrap();
    federation.loss(&[0.1; 6]).unwrap();
    let terms = OneShotTerms::new(1.0.try_into().unwrap(), 1e-6.try_into().unwrap()).unwrap();
    let pooled = Pooling::Pooled { secure_aggregation: true, shares: None };
    federation.release_once(pooled, Some(&terms)).unwrap();
    federation.into_transport().1
}

/// The places of all messages of a kind and part.
fn places(frames: &[Frame], kind: Kind, part: Part) -> Vec<usize> {
    let is = |at: &usize| {
        let (envelope, _) = parse(&frames[*at].bytes).unwrap();
        (envelope.kind, envelope.part) == (kind, part)
    };
    (0..frames.len()).filter(is).collect()
}

fn found(frames: &[Frame]) -> String {
    let found = check(frames, None).mismatches;
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn totals_of_a_masked_run_are_made_again() {
    let frames = recorded();
    let verdict = check(&frames, None);
    assert_eq!(verdict.mismatches, []);
    // Meeting, loss, entries, Gram matrix, cap, moments.
    assert_eq!(verdict.totals, Some(6));
    assert_eq!((verdict.private_replies, verdict.events, verdict.nodes), (3, 3, 3));
}

/// Another question to one site, a reply that is not its own, a store that was paid less often than it answered,
/// and a matrix that shows a record: each is named.
#[test]
fn what_does_not_add_up_is_named() {
    let frames = recorded();
    let mut other = frames.clone();
    let at = places(&frames, Kind::Loss, Part::Request)[1];
    let (envelope, _) = parse(&frames[at].bytes).unwrap();
    other[at].bytes = seal(&envelope, &Loss { theta: vec![0.2; 6] });
    assert!(found(&other).contains("sites are asked the same"), "{}", found(&other));
    let at = places(&frames, Kind::Join, Part::Request)[2];
    let (envelope, reader) = parse(&frames[at].bytes).unwrap();
    let mut other = frames.clone();
    other[at].bytes = seal(&envelope, &Join { seed: 9, ..decode(reader).unwrap() });
    assert!(found(&other).contains("sites are asked the same"), "{}", found(&other));

    let replies = places(&frames, Kind::Loss, Part::Reply);
    let mut changed = frames.clone();
    let last = changed[replies[1]].bytes.len() - 1;
    changed[replies[1]].bytes[last] ^= 1;
    assert!(found(&changed).contains("masks do not cancel"), "{}", found(&changed));

    let at = places(&frames, Kind::Close, Part::Reply)[0];
    let (envelope, reader) = parse(&frames[at].bytes).unwrap();
    let mut closed: Closed = decode(reader).unwrap();
    closed.receipts.clear();
    let mut fewer = frames.clone();
    fewer[at].bytes = seal(&envelope, &closed);
    assert!(found(&fewer).contains("no event of the ledger paid"), "{}", found(&fewer));

    // A server that did not keep its word about columns of few records.
    let mut shown = frames.clone();
    for at in places(&frames, Kind::Pool, Part::Request) {
        let (envelope, reader) = parse(&frames[at].bytes).unwrap();
        if let Ok(Pool::Gram { secure_aggregation, without }) = decode(reader) {
            assert_eq!(without, [RARE + 1]);
            let all = Pool::Gram { secure_aggregation, without: Vec::new() };
            shown[at].bytes = seal(&envelope, &all);
        }
    }
    assert!(found(&shown).contains("1 column(s) that fewer than five"), "{}", found(&shown));
}
