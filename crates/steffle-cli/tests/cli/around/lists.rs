//! Whom a holder elsewhere answers about, and who is charged: its own list, whatever silos announce.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use steffle_wire::{Classes, Kind, Part, Reader, Units, decode, parse, payload, seal};

use crate::harness::{Place, pairs};
use crate::sites::{Relay, change, handed_out};

const SPLIT: [&str; 5] = ["--silos", "1", "--split", "--holders", "1"];

/// A records site, and a holder with a book.
fn holder(name: &str, csv: &str, flags: &[&str]) -> Place {
    let place = handed_out(name, csv, &[&SPLIT[..], flags].concat());
    change(&place, "attributes-1/silo.toml", "simulations = true", "simulations = false");
    let ledger = "wait_seconds = 5\nledger = \"../store.ledger\"\n";
    change(&place, "attributes-1/silo.toml", "wait_seconds = 5\n", ledger);
    place
}

fn init(place: &Place, flags: &[&str]) {
    let init = ["ledger", "init", "store.ledger", "--silo", "attributes-1/silo.toml"];
    let ran = place.run(&[&init[..], &["--epsilon", "0.5", "--delta", "1e-6"], flags].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

/// Before this was closed, a holder answered about everybody in its file and charged those whom silos had
/// announced: people of whom nobody had spoken lost epsilon 30 where the book promised 0.5.
#[test]
fn a_holder_answers_about_nobody_who_is_not_on_its_list() {
    let place = holder("around-list", &pairs(0..200), &[]);
    // People whom no list names.
    let mut csv = place.read("attributes-1/attributes-1.csv");
    for id in 900_000..900_040 {
        writeln!(csv, "{id},{}", if id % 2 == 0 { "a" } else { "b" }).unwrap();
    }
    place.write("attributes-1/attributes-1.csv", csv);
    init(&place, &["--pure-share", "1"]);
    let listed: BTreeSet<u64> = place
        .read("attributes-1/people.csv")
        .lines()
        .skip(1)
        .map(|line| line.parse().unwrap())
        .collect();
    let method = ["--method", "randomised-response", "--epsilon", "0.5", "--noise", "secure"];
    let mut relay = Relay::start(&place, "run", &method);
    let mut answered = 0;
    while let Some(requests) = relay.next() {
        let (replies, letters) = relay.exchange(&requests);
        for letter in &letters {
            let (envelope, _) = parse(letter).unwrap();
            if envelope.kind == Kind::Release {
                let Classes { ids, .. } = decode(Reader::new(payload(letter))).unwrap();
                assert!(ids.iter().all(|id| listed.contains(id)), "an id that is on no list");
                answered += ids.len();
            }
        }
        relay.give(&replies);
    }
    let (status, stderr) = relay.end();
    assert_eq!(status, 0, "{stderr}");
    assert_eq!(answered, listed.len());
    let book = place.json(&["ledger", "show", "store.ledger"]);
    assert_eq!(book["runs"][0]["units"].as_u64(), Some(listed.len() as u64), "{book}");
}

/// Before this was closed, 30 rows of a person that were announced as 30 people moved 30 times the charge.
#[test]
fn announced_units_are_compared_with_the_holders_own_list() {
    let csv: String = pairs(0..210)
        .lines()
        .enumerate()
        .map(|(at, line)| match at {
            0 => format!("{line},person\n"),
            at => format!("{line},p{}\n", (at - 1) / 30),
        })
        .collect();
    let place = holder("around-units", &csv, &["--unit", "person"]);
    // The holder's list says which records are one person's.
    let mut people = "record_id,person\n".to_owned();
    for line in place.read("attributes-1/people.csv").lines().skip(1) {
        let id: u64 = line.parse().unwrap();
        writeln!(people, "{id},p{}", id / 30).unwrap();
    }
    place.write("attributes-1/people.csv", people);
    init(&place, &[]);
    let flags = ["--rounds", "2", "--epsilon", "0.4", "--delta", "1e-6", "--noise", "secure"];
    let announce = |change: fn(&mut Units)| {
        let mut relay = Relay::start(&place, "run", &[&flags[..], &["--force"]].concat());
        while let Some(requests) = relay.next() {
            let replies = relay.ask_with(&requests, |letter| {
                let (envelope, reader) = parse(letter).unwrap();
                if envelope.kind == Kind::Join && envelope.part == Part::Letter {
                    let mut units: Units = decode(reader).unwrap();
                    change(&mut units);
                    *letter = seal(&envelope, &units);
                }
            });
            relay.give(&replies);
        }
        relay.end()
    };
    for change in [
        (|units: &mut Units| units.units = None) as fn(&mut Units),
        |units| units.units = Some(vec![0; units.ids.len()]),
        |units| units.ids[0] = 7_000_000,
    ] {
        let (status, stderr) = announce(change);
        assert_eq!(status, 3, "{stderr}");
        assert!(stderr.contains("record ids do not fit together"), "{stderr}");
        let book = place.json(&["ledger", "show", "store.ledger"]);
        assert_eq!(book["runs"].as_array().map(Vec::len), Some(0), "{book}");
    }
    // A refused list left nothing behind: the right one is taken.
    let (status, stderr) = announce(|_| {});
    assert_eq!(status, 0, "{stderr}");
}

/// A `silo.toml` and a book that were made before lists and columns: what to add is said, and a command adds
/// it.
#[test]
fn files_made_before_are_told_what_to_add() {
    let place = holder("around-before", &pairs(0..200), &[]);
    change(&place, "attributes-1/silo.toml", "people = \"people.csv\"\n", "");
    let ran = place.run(&["silo", "check", "attributes-1/silo.toml"]);
    assert!(ran.status == 3 && ran.stderr.contains("steffle ledger people"), "{}", ran.stderr);
    let columns = ["--sensitive", "group", "--classes", "a,b", "--record-id", "record_id"];
    let init = ["ledger", "init", "store.ledger", "--epsilon", "1", "--delta", "1e-6"];
    assert_eq!(place.run(&[&init[..], &columns].concat()).status, 0);
    let list = ["--silo", "attributes-1/silo.toml", "--list", "attributes-1/people.csv"];
    let accept = [&["ledger", "people", "store.ledger"][..], &list].concat();
    for _ in 0..2 {
        let ran = place.run(&accept);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    assert!(place.read("attributes-1/silo.toml").contains("\npeople = \"people.csv\"\n"));
    assert_eq!(place.run(&["silo", "check", "attributes-1/silo.toml"]).status, 0);
}

/// A list that its owner did not accept is not used.
#[test]
fn a_list_is_the_one_that_the_ledger_accepted() {
    let place = holder("around-accepted", &pairs(0..200), &[]);
    init(&place, &[]);
    let own = place.read("attributes-1/people.csv");
    place.write("attributes-1/people.csv", format!("{own}900001\n"));
    let flags = ["--rounds", "2", "--epsilon", "0.4", "--delta", "1e-6", "--noise", "secure"];
    let train = ["train", "--data", "job.toml", "--out", "run", "--processes"];
    let ran = place.run(&[&train[..], &flags].concat());
    assert_eq!(ran.status, 3, "{}", ran.stdout);
    assert!(ran.stderr.contains("its list of people is another"), "{}", ran.stderr);
    let accept = ["ledger", "people", "store.ledger", "--silo", "attributes-1/silo.toml"];
    assert_eq!(place.run(&accept).status, 0);
    let ran = place.run(&[&train[..], &flags].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    // Nobody is taken away.
    let fewer: String = own.split_inclusive('\n').take(50).collect();
    place.write("attributes-1/people.csv", fewer);
    let ran = place.run(&accept);
    assert!(ran.status == 3 && ran.stderr.contains("missing from it"), "{}", ran.stderr);
}
