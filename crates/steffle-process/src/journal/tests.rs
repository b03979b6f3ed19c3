use std::fs;

use steffle_wire::{Describe, Envelope, Kind, Part, SchemaHash, seal};

use super::*;
use crate::transcript::read;

/// Says of every request how often it was asked.
struct Echo {
    asked: u64,
    /// The node that does not reply, from this trip on.
    away: Option<(u32, u64)>,
}

impl Transport for Echo {
    fn nodes(&self) -> usize {
        2
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        self.asked += 1;
        let reply = |&(node, request): &(NodeId, &[u8])| match self.away {
            Some((away, from)) if away == node.0 && self.asked >= from => {
                Err(Lost { node, why: "away".to_owned() })
            }
            _ => Ok([request, &node.0.to_le_bytes()].concat()),
        };
        requests.iter().map(reply).collect()
    }
}

/// A request of a run.
fn request(trip: u64) -> Vec<u8> {
    let envelope = Envelope {
        run: RunId([3; 16]),
        schema: SchemaHash([0; 32]),
        from: NodeId::SERVER,
        to: NodeId::ALL,
        sequence: trip,
        round: 0,
        kind: Kind::Describe,
        part: Part::Request,
    };
    seal(&envelope, &Describe::default())
}

/// Six trips to two nodes; what came, and how often the nodes were asked.
fn run(journal: &Journal, away: Option<(u32, u64)>) -> (Vec<Result<Vec<u8>, Lost>>, u64) {
    let mut carried = Journalled::new(Echo { asked: 0, away }, Some(journal.clone()));
    let mut came = Vec::new();
    for trip in 0..6 {
        let bytes = request(trip);
        let replies = carried.exchange(&[(NodeId(1), &bytes), (NodeId(2), &bytes)]);
        let stop = replies.iter().any(Result::is_err) && away.is_none();
        came.extend(replies);
        if stop {
            break;
        }
    }
    (came, carried.transport.asked)
}

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("steffle-journal-{name}-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        Self(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Wherever the file ends, the run goes on: exchanges that all nodes had answered are not asked
/// again, the rest is, and what comes out is the same file.
#[test]
fn a_journal_that_was_cut_anywhere_goes_on() {
    let place = Place::new("cut");
    let journal = Journal::open(&place.0, true).unwrap();
    let (wanted, asked) = run(&journal, None);
    assert_eq!(asked, 6);
    let unfinished = fs::read(&place.0).unwrap();
    journal.end().unwrap();
    drop(journal);
    let whole = fs::read(&place.0).unwrap();
    assert_eq!(read(&whole).unwrap().len(), 24);
    let mut fewest = 6;
    for end in 0..=unfinished.len() {
        fs::write(&place.0, &whole[..end]).unwrap();
        // Fewer bytes than a journal begins with are no journal.
        let Ok(journal) = Journal::open(&place.0, true) else {
            assert!((1..8).contains(&end), "{end}");
            continue;
        };
        let before = journal.answered() as u64;
        let (came, asked) = run(&journal, None);
        assert_eq!((came, asked), (wanted.clone(), 6 - before), "cut at {end}");
        fewest = fewest.min(asked);
        journal.end().unwrap();
        drop(journal);
        assert_eq!(fs::read(&place.0).unwrap(), whole, "cut at {end}");
    }
    assert_eq!(fewest, 0, "a run that was recorded to its end asks nobody");
}

#[test]
fn a_journal_is_of_one_run_and_one_process() {
    let place = Place::new("one");
    let journal = Journal::open(&place.0, true).unwrap();
    assert_eq!(journal.run(), None);
    run(&journal, None);
    assert!(matches!(Journal::open(&place.0, true), Err(JournalError::Busy(_))));
    drop(journal);
    let journal = Journal::open(&place.0, true).unwrap();
    assert_eq!(journal.run(), Some(RunId([3; 16])));
    let mut carried = Journalled::new(Echo { asked: 0, away: None }, Some(journal));
    let replies = carried.exchange(&[(NodeId(1), &request(9))]);
    let refused = replies[0].as_ref().unwrap_err().to_string();
    assert!(refused.contains("of another run"), "{refused}");
    assert_eq!(carried.transport.asked, 0);
    drop(carried);
    fs::write(&place.0, b"something else").unwrap();
    assert!(matches!(Journal::open(&place.0, true), Err(JournalError::Damaged(..))));
}

/// Nodes that forget are asked again and have to say the same; a changed byte is noticed.
#[test]
fn nodes_that_forget_are_asked_again() {
    let place = Place::new("again");
    let journal = Journal::open(&place.0, true).unwrap();
    let (wanted, _) = run(&journal, None);
    drop(journal);
    let journal = Journal::open(&place.0, false).unwrap();
    assert_eq!(run(&journal, None), (wanted, 6));
    drop(journal);
    let journal = Journal::open(&place.0, false).unwrap();
    let (came, _) = run(&journal, Some((9, 0)));
    assert!(came.iter().all(Result::is_ok));
    drop(journal);
    let journal = Journal::open(&place.0, false).unwrap();
    let (came, _) = run(&journal, Some((2, 3)));
    let refused = came[4].as_ref().unwrap_err().to_string();
    assert!(refused.contains("does not say what the journal has"), "{refused}");
}

/// A node that is lost is asked again by a run that stops for it, and stays lost in one that goes on.
#[test]
fn whoever_is_lost_stays_lost_where_the_run_went_on() {
    for drops in [false, true] {
        let place = Place::new(&format!("lost-{drops}"));
        let journal = Journal::open(&place.0, true).unwrap().dropping(drops);
        let (came, _) = run(&journal, Some((2, 4)));
        assert_eq!(came.iter().filter(|reply| reply.is_err()).count(), 3);
        drop(journal);
        let journal = Journal::open(&place.0, true).unwrap().dropping(drops);
        assert_eq!(journal.answered(), if drops { 6 } else { 3 });
        let (again, asked) = run(&journal, Some((9, 0)));
        assert_eq!(again == came, drops);
        assert_eq!(asked, if drops { 0 } else { 3 });
    }
}
