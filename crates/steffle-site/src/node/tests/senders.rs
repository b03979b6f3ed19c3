//! Who may send what to a node, by the number that its transport gives and by keys.

use steffle_masks::Identity;
use steffle_wire::signed;

use super::*;

/// Requests of a whole run, sent by another site in the server's name or in its own: nothing is answered,
/// and the run goes on as if they had not come.
#[test]
fn a_site_cannot_ask_another() {
    let run = &recorded(house)[0];
    let own: Vec<&Vec<u8>> =
        run.iter().filter(|(to, _)| *to == NodeId::at(0)).map(|(_, bytes)| bytes).collect();
    assert!(own.len() > 4, "{}", own.len());
    let (mut alone, mut disturbed) = (house().remove(0), house().remove(0));
    for message in own {
        let (envelope, reader) = parse(message).unwrap();
        let again = Envelope { from: NodeId::at(1), ..envelope };
        let in_own_name = seal(&again, &Raw(reader.rest()));
        for forged in [message, &in_own_name] {
            let answer = disturbed.handle(NodeId::at(1), forged);
            let refused = refusal(&answer);
            assert_eq!(refused.code, Refused::MESSAGE);
            assert!(refused.text.contains("came from node 2"), "{refused}");
            assert!(answer.letters.is_empty() && !disturbed.remembers(forged));
        }
        assert_eq!(
            alone.handle(NodeId::SERVER, message),
            disturbed.handle(NodeId::SERVER, message)
        );
    }
}

struct Raw<'a>(&'a [u8]);

impl Encode for Raw<'_> {
    fn encode(&self, writer: &mut steffle_wire::Writer) {
        writer.raw(self.0);
    }
}

fn key(place: u8) -> Identity {
    Identity::new(&[place + 1; 32])
}

/// Letters by two silos to a holder: whether it can list its units afterwards, or why not. `change` gets
/// the sender as the transport knows it and the letter.
fn listed(
    nodes: [Node; 3],
    change: impl Fn(NodeId, Vec<u8>) -> (NodeId, Vec<u8>),
) -> Result<(), String> {
    let mut nodes = nodes;
    let mut letters = Vec::new();
    let agreement = agreement();
    let on = |place: usize, sequence, kind| Envelope {
        run: agreement.run,
        schema: agreement.schema,
        from: NodeId::SERVER,
        to: NodeId::at(place),
        sequence,
        round: 0,
        kind,
        part: Part::Request,
    };
    let join = Join {
        schema: Vec::new(),
        model: "logistic".to_owned(),
        scores: agreement.scores.clone(),
        seed: 5,
        noise: NoiseKind::Simulation,
        silos: 2,
        holders: 1,
    };
    for (place, node) in nodes.iter_mut().enumerate() {
        let describe = seal(&on(place, 1, Kind::Describe), &Describe::default());
        node.handle(NodeId::SERVER, &describe);
        let Answer { reply, letters: own } =
            node.handle(NodeId::SERVER, &seal(&on(place, 2, Kind::Join), &join));
        assert_eq!(parse(&reply).unwrap().0.part, Part::Reply);
        letters.extend(own.into_iter().map(|letter| (NodeId::at(place), letter.bytes)));
    }
    assert_eq!(letters.len(), 2);
    for (from, letter) in letters {
        let (from, letter) = change(from, letter);
        assert!(nodes[2].handle(from, &letter).letters.is_empty());
    }
    let party = nodes[2].party.as_mut().unwrap();
    party.list_units().map_err(|refused| refused.text)
}

fn silo(ids: std::ops::Range<u64>) -> Node {
    Node::new(Kept { records: Some(ids), attributes: None })
}

fn holder() -> Node {
    Node::new(Kept { records: None, attributes: Some(0..60) })
}

fn unsigned() -> [Node; 3] {
    [silo(0..30), silo(30..60), holder()]
}

fn pinning(own: u8, others: &[u8]) -> Correspondence {
    Correspondence::new(key(own), others.iter().map(|place| key(*place).fingerprint()))
}

fn with_keys() -> [Node; 3] {
    let [first, second, holder] = unsigned();
    [
        first.corresponding(pinning(0, &[1, 2])),
        second.corresponding(pinning(1, &[0, 2])),
        holder.corresponding(pinning(2, &[0, 1])),
    ]
}

#[test]
fn letters_come_from_sites_in_their_own_name() {
    assert_eq!(listed(unsigned(), |from, letter| (from, letter)), Ok(()));
    let by_server = listed(unsigned(), |_, letter| (NodeId::SERVER, letter));
    assert!(by_server.unwrap_err().contains("no letter"), "written by the server");
    let swapped = |from: NodeId, letter| (NodeId(3 - from.0), letter);
    assert!(listed(unsigned(), swapped).unwrap_err().contains("no letter"), "another number");
}

#[test]
fn pinned_keys_decide_whose_letters_are_taken() {
    assert_eq!(listed(with_keys(), |from, letter| (from, letter)), Ok(()));
    // Who pins nobody takes signed letters as they come.
    let [first, second, _] = with_keys();
    assert_eq!(listed([first, second, holder()], |from, letter| (from, letter)), Ok(()));
    let [_, second, last] = with_keys();
    let refused = listed([silo(0..30), second, last], |from, letter| (from, letter));
    assert!(refused.unwrap_err().contains("it is not signed"));
    // The server writes a letter of its own, and signs it with a key that nobody pinned.
    let forged = listed(unsigned_but_last(), |from, letter| {
        (from, signed(letter, |message| key(9).sign_letter(message)))
    });
    assert!(forged.unwrap_err().contains("not in this site's [peers]"));
    for at in 0..76 + 8 {
        // Any byte of the envelope or the contents, under a signature that was right.
        let changed = listed(with_keys(), |from, mut letter| {
            letter[at] ^= 1;
            (from, letter)
        });
        assert!(changed.unwrap_err().contains("no letter"), "byte {at}");
    }
    let short = listed(with_keys(), |from, mut letter| {
        letter.truncate(100);
        (from, letter)
    });
    assert!(short.unwrap_err().contains("no letter"));
}

fn unsigned_but_last() -> [Node; 3] {
    let [.., last] = with_keys();
    [silo(0..30), silo(30..60), last]
}

/// A pinned site that speaks for two numbers, and a number for which two pinned sites speak.
#[test]
fn one_key_is_one_number() {
    let one_for_both = listed(unsigned_but_last(), |from, letter| {
        (from, signed(letter, |message| key(0).sign_letter(message)))
    });
    assert!(one_for_both.unwrap_err().contains("its key signed for another site"));
    let [.., last] = with_keys();
    let agreement = agreement();
    let mut letters = super::super::letters::Letters::default();
    for (sequence, signer) in [(1, 0), (2, 1), (3, 0)] {
        let on = Envelope {
            run: agreement.run,
            schema: agreement.schema,
            from: NodeId::at(0),
            to: NodeId::ALL,
            sequence,
            round: 0,
            kind: Kind::Loss,
            part: Part::Letter,
        };
        let letter = seal(&on, &Loss { theta: vec![sequence as f64] });
        let letter = signed(letter, |message| key(signer).sign_letter(message));
        let (on, _) = parse(&letter).unwrap();
        let keys = last.correspondence.as_ref();
        letters.keep(&on, super::super::sender::verified(keys, &on, &letter));
        let found = letters.take::<Loss>(Kind::Loss, 0, [NodeId::at(0)].into_iter());
        assert_eq!(found.is_ok(), signer == 0, "letter {sequence}");
    }
}
