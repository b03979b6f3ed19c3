use steffle_model::fairness::NotionName;
use steffle_privacy::ledger::Cost;
use steffle_wire::{Closed, Encode, Envelope, Kind, NodeId, Part, RunId, decode, parse, seal};

use super::*;
use crate::tap::Heard;
use crate::{Interactive, OneShot, Server};

/// A run of five rounds, as it would be recorded.
fn recorded() -> Vec<Frame> {
    let mechanism = Interactive::new(
        3.0.try_into().unwrap(),
        1e-5.try_into().unwrap(),
        2,
        &NotionName::EqualizedOdds,
        Server::Static,
    );
    let heard = mechanism.unwrap().overheard().unwrap();
    let both = |Heard { request, reply, .. }: Heard| {
        let frame = |sent, bytes| Frame { sent, node: NodeId(1), bytes };
        [frame(Sent::Request, request), frame(Sent::Reply, reply)]
    };
    heard.into_iter().flat_map(both).collect()
}

/// The place of the first message of a kind and part.
fn place(frames: &[Frame], kind: Kind, part: Part) -> usize {
    let is = |frame: &Frame| {
        let (envelope, _) = parse(&frame.bytes).unwrap();
        (envelope.kind, envelope.part) == (kind, part)
    };
    frames.iter().position(is).unwrap()
}

/// Seals a payload again under another envelope.
fn resealed(bytes: &[u8], change: impl Fn(&mut Envelope)) -> Vec<u8> {
    struct Raw<'a>(&'a [u8]);
    impl Encode for Raw<'_> {
        fn encode(&self, writer: &mut steffle_wire::Writer) {
            writer.raw(self.0);
        }
    }
    let (mut envelope, reader) = parse(bytes).unwrap();
    change(&mut envelope);
    seal(&envelope, &Raw(reader.rest()))
}

/// Changes what the store said at the end.
fn closing(frames: &mut [Frame], change: impl Fn(&mut Closed)) -> usize {
    let at = place(frames, Kind::Close, Part::Reply);
    let (envelope, reader) = parse(&frames[at].bytes).unwrap();
    let mut closed: Closed = decode(reader).unwrap();
    change(&mut closed);
    frames[at].bytes = seal(&envelope, &closed);
    at
}

/// What is found, as text; the frames that are named.
fn found(frames: &[Frame]) -> (String, Vec<u64>) {
    let verdict = check(frames, None);
    assert_eq!(verdict.violation, !verdict.mismatches.is_empty());
    let named = verdict.mismatches.iter().filter_map(|mismatch| mismatch.frame).collect();
    let text: Vec<String> = verdict.mismatches.iter().map(ToString::to_string).collect();
    (text.join("\n"), named)
}

#[test]
fn a_run_as_it_was_is_as_it_should_be() {
    let verdict = check(&recorded(), None);
    assert_eq!(verdict.mismatches, []);
    assert_eq!((verdict.private_replies, verdict.events, verdict.nodes), (5, 5, 1));
    assert_eq!((verdict.claimed_epsilon, verdict.delta), (Some(3.0), Some(1e-5)));
    assert!(verdict.spent_mu.unwrap() > 0.5 && !verdict.violation);
}

/// Each change of the messages is found, and the message is named by its number, from 1.
#[test]
fn what_was_changed_is_named() {
    let frames = recorded();
    let reply = place(&frames, Kind::Round, Part::Reply);
    let number = reply as u64 + 1;

    let mut cut = frames.clone();
    cut[reply].bytes.truncate(90);
    assert!(
        found(&cut).0.contains(&format!("frame {number}: cannot be read")),
        "{:?}",
        found(&cut)
    );

    let mut dropped = frames.clone();
    dropped.remove(reply);
    let (text, named) = found(&dropped);
    assert!(text.contains(&format!("frame {}: no reply to", number - 1)), "{text}");
    assert!(named.len() == 2 && text.contains("no such reply was recorded"), "{text}");

    let mut dropped = frames.clone();
    dropped.remove(reply - 1);
    assert!(
        found(&dropped).0.contains(&format!("frame {}: ", number - 1)),
        "{:?}",
        found(&dropped)
    );
    assert!(found(&dropped).0.contains("to which no request waits"));

    for (at, words) in [(reply, "to which no request waits"), (reply - 1, "which waits")] {
        let mut twice = frames.clone();
        twice.insert(at + 1, frames[at].clone());
        let (text, named) = found(&twice);
        assert!(text.contains(words) && named[0] == at as u64 + 2, "{text}");
    }
}

#[test]
fn other_runs_trips_and_senders_are_named() {
    let frames = recorded();
    let request = place(&frames, Kind::Round, Part::Request);
    let other = |at: usize, change: &dyn Fn(&mut Envelope)| {
        let mut altered = frames.clone();
        altered[at].bytes = resealed(&frames[at].bytes, change);
        found(&altered).0
    };
    let text = other(request, &|envelope| envelope.run = RunId([9; 16]));
    assert!(text.contains(&format!("frame {}: a message of another run", request + 1)), "{text}");
    let text = other(request, &|envelope| envelope.sequence -= 1);
    assert!(text.contains("was another request"), "{text}");
    let text = other(request + 1, &|envelope| envelope.round += 1);
    assert!(text.contains(&format!("frame {}: ", request + 2)), "{text}");
    let text = other(request + 1, &|envelope| envelope.from = NodeId(7));
    assert!(text.contains("node 7"), "{text}");
    let text = other(request, &|envelope| envelope.part = Part::Letter);
    assert!(text.contains("a letter"), "{text}");
}

#[test]
fn events_that_do_not_fit_are_named() {
    let mut less = recorded();
    let at = closing(&mut less, |closed| closed.receipts.truncate(4));
    let last = place(&less, Kind::Close, Part::Request);
    let (text, named) = found(&less);
    assert!(text.contains("(Sums, round 4) that no event"), "{text}");
    assert_eq!(named, [last as u64], "the last round is before the end: {text}");

    let mut more = recorded();
    closing(&mut more, |closed| closed.receipts.push(closed.receipts[0].clone()));
    let (text, named) = found(&more);
    assert!(text.contains("event 1 (Sums, round 0") && named.contains(&(at as u64 + 1)), "{text}");

    let mut dear = recorded();
    closing(&mut dear, |closed| {
        if let Cost::Gaussian { squared, .. } = &mut closed.receipts[2].cost {
            *squared *= 1.5;
        }
    });
    let (text, _) = found(&dear);
    assert!(text.contains("its events cost mu") && text.contains("and the plan allows"), "{text}");

    let mut other = recorded();
    closing(&mut other, |closed| closed.receipts[1].cost = Cost::Revealed);
    assert!(found(&other).0.contains("mu inf"), "{:?}", found(&other));

    let mut open = recorded();
    open.truncate(open.len() - 2);
    assert!(found(&open).0.contains("never ended"));
}

/// A release whose reply stays in its house, or goes on to silos, has its event too.
#[test]
fn releases_once_are_paid_for_as_well() {
    let notion = NotionName::DemographicParity;
    let (epsilon, delta) = (1.0.try_into().unwrap(), 1e-5.try_into().unwrap());
    let heard = OneShot::new(epsilon, delta, 3, &notion).unwrap().overheard().unwrap();
    let frames: Vec<Frame> = heard
        .into_iter()
        .flat_map(|Heard { request, reply, .. }| {
            let node = parse(&reply).unwrap().0.from;
            let frame = |sent, bytes| Frame { sent, node, bytes };
            [frame(Sent::Request, request), frame(Sent::Reply, reply)]
        })
        .collect();
    let verdict = check(&frames, None);
    assert_eq!(verdict.mismatches, []);
    assert_eq!((verdict.private_replies, verdict.events, verdict.nodes), (1, 1, 2));
}

fn written(frames: &[Frame]) -> Vec<u8> {
    let mut tape = Tape::new(Vec::new()).unwrap();
    for Frame { sent, node, bytes } in frames {
        tape.frame(*sent, *node, bytes).unwrap();
    }
    tape.finish().unwrap()
}

#[test]
fn a_file_is_read_as_it_was_written_or_not_at_all() {
    let frames = recorded();
    let few = &frames[..4];
    let bytes = written(few);
    assert_eq!(read(&bytes).unwrap(), few);
    assert_eq!(read(&written(&[])).unwrap(), []);
    for end in 0..bytes.len() {
        assert!(read(&bytes[..end]).is_err(), "cut at {end}");
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(read(&damaged).is_err(), "byte {at}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert_eq!(read(&longer), Err(TranscriptError::Checksum(4)));
    assert_eq!(read(b"something else"), Err(TranscriptError::Magic));
    let mut newer = bytes.clone();
    newer[6] = 9;
    assert_eq!(read(&newer), Err(TranscriptError::Version(9)));
}

/// A disk that is full is told at once, and no half of a transcript passes for one.
#[test]
fn what_cannot_be_written_is_told() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 =
                self.0.checked_sub(bytes.len()).ok_or_else(|| std::io::Error::other("full"))?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    assert!(Tape::new(Full(4)).is_err());
    let mut tape = Tape::new(Full(100)).unwrap();
    let written = tape.frame(Sent::Request, NodeId(1), &[0; 200]);
    assert_eq!(written.unwrap_err().to_string(), "full");
}
