//! Runs that nobody goes on with: what their sites do about the budget and the records they left.

use std::fs;

use serde_json::Value;

use super::Relay;
use super::faults::{PRIVATE, paid};
use crate::harness::Place;

fn book(place: &Place) -> (f64, Vec<String>) {
    let found = place.json(&["silo", "check", "silo-1/silo.toml"]);
    let open = found["ledger"]["open_runs"].as_array().unwrap();
    let open = open.iter().map(|run| run.as_str().unwrap().to_owned()).collect();
    (found["ledger"]["epsilon_spent"].as_f64().unwrap(), open)
}

#[test]
fn a_run_that_was_abandoned_is_closed_by_its_sites() {
    let place = paid("abandoned");
    let flags = [&PRIVATE[..], &["--journal", "run.journal"]].concat();
    let mut relay = Relay::start(&place, "run", &flags);
    // Until something was paid for.
    while relay.carry() {
        let books = place.json(&["ledger", "verify", "books"]);
        if books["books"][0]["replies"].as_u64().unwrap() > 0 {
            break;
        }
    }
    let close = |place: &Place, run: &str| place.run(&["ledger", "close", "books", run]);
    // A run that is under way has its book.
    let ran = close(&place, "any");
    assert!(ran.status == 3 && ran.stderr.contains("steffle::ledger::busy"), "{}", ran.stderr);
    drop(relay);
    let (_, open) = book(&place);
    assert_eq!(open.len(), 1);
    // It may be resumed, so that what it was granted is nobody else's.
    let other = [&PRIVATE[..2], &["--epsilon", "0.3"], &PRIVATE[4..], &["--seed", "2"]].concat();
    let (status, stderr) = Relay::start(&place, "other", &other).carry_all();
    assert_eq!(status, 4, "{stderr}");
    assert_eq!(close(&place, "nobody").status, 3);
    let ran = close(&place, &open[0]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("stays spent"), "{}", ran.stdout);
    let (spent, open) = book(&place);
    assert!(spent > 0.0 && spent < 1.0 && open.is_empty(), "{spent} {open:?}");
    // Nobody goes on with it.
    let (status, stderr) = Relay::start(&place, "run", &flags).carry_all();
    assert!(status != 0 && stderr.contains("silo 0 (silo-1)"), "{status} {stderr}");
    assert_eq!(book(&place).0, spent);
    // What it never asked for is there for others.
    let (status, stderr) =
        Relay::start(&place, "other", &[&other[..], &["--force"]].concat()).carry_all();
    assert_eq!(status, 0, "{stderr}");
    assert_eq!(place.run(&["ledger", "verify", "books"]).status, 0);
}

#[test]
fn records_of_long_ago_are_removed_and_the_book_stays() {
    let place = paid("cleaned");
    let (status, stderr) = Relay::start(&place, "run", &PRIVATE).carry_all();
    assert_eq!(status, 0, "{stderr}");
    let clean = |days: &str| place.json(&["silo", "clean", "silo-1/silo.toml", "--days", days]);
    // The key of the records stays.
    let count = || {
        let names = fs::read_dir(place.path("silo-1/sent")).unwrap();
        let names = names.map(|entry| entry.unwrap().path());
        names.filter(|path| path.extension().is_some_and(|kind| kind == "record")).count()
    };
    let before = book(&place);
    assert_eq!((&clean("1")["removed"], count()), (&Value::Array(Vec::new()), 1));
    assert_eq!(clean("0")["removed"].as_array().unwrap().len(), 1);
    assert_eq!((count(), book(&place)), (0, before));
}
