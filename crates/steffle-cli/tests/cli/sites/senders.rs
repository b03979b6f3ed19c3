//! Who may send what to a site's process, and what a site that cannot take part tells.

use std::fs;

use super::faults::{PRIVATE, paid};
use super::relay::Relay;
use super::{change, expected, handed_out, model};
use crate::harness::{Place, pairs, people};

const ROUNDS: [&str; 4] = ["--rounds", "3", "--epsilon", "1"];

/// The refusal in a reply.
fn refused(reply: &[u8]) -> String {
    // The part of a message is its eighth byte; 3 is a refusal.
    assert_eq!(reply[7], 3, "{}", String::from_utf8_lossy(reply));
    String::from_utf8_lossy(&reply[76..]).into_owned()
}

/// Another site sends the server's own requests, before the server does: the book is as it was, and the run
/// does not notice.
#[test]
fn a_site_does_not_spend_the_book_of_another() {
    let place = paid("senders-requests");
    let book = || fs::read(place.path("books/silo-000.ledger")).unwrap();
    let mut relay = Relay::start(&place, "run", &PRIVATE);
    let mut sent = 0;
    let fresh = book();
    while let Some(requests) = relay.next() {
        let before = book();
        for (node, request) in requests.iter().filter(|(node, _)| *node == 1) {
            let place = *node as usize - 1;
            assert!(refused(&relay.hand(place, 2, request)).contains("came from node 2"));
            // In its own name.
            let mut own = request.clone();
            own[8..12].copy_from_slice(&2_u32.to_le_bytes());
            assert!(refused(&relay.hand(place, 2, &own)).contains("came from node 2"));
            assert!(refused(&relay.hand(place, 0, &own)).contains("came from the server"));
            sent += 1;
        }
        assert_eq!(book(), before);
        let replies = relay.ask(&requests);
        relay.give(&replies);
    }
    let (status, stderr) = relay.end();
    assert!(sent > 4 && status == 0, "{sent} {stderr}");
    assert_ne!(book(), fresh, "the server was answered");
}

/// Gives all sites keys, and the fingerprints of all others.
fn with_keys(place: &Place, sites: &[&str]) {
    let key = |site: &&str| {
        let file = format!("{site}/site.key");
        place.json(&["silo", "key", &file])["fingerprint"].as_str().unwrap().to_owned()
    };
    let keys: Vec<String> = sites.iter().map(key).collect();
    for site in sites {
        let others = sites.iter().zip(&keys).filter(|(other, _)| *other != site);
        let peers: Vec<String> =
            others.map(|(other, key)| format!("\"{other}\" = \"{key}\"\n")).collect();
        let own = format!("[masks]\nkey = \"site.key\"\n[peers]\n{}[policy]\n", peers.concat());
        change(place, &format!("{site}/silo.toml"), "[policy]\n", &own);
    }
}

const SITES: [&str; 3] = ["records-1", "records-2", "attributes-1"];

/// Keys change no bit; a site that does not sign, or signs with a key that is not pinned, is not heard.
#[test]
fn letters_are_signed_where_keys_are_pinned() {
    let flags = ["--silos", "2", "--split", "--holders", "1"];
    let place = handed_out("senders-letters", &people(0..300), &flags);
    let wanted = expected(&place, &ROUNDS);
    let shown = |site: &str| {
        let ran = place.run(&["silo", "check", &format!("{site}/silo.toml")]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(shown("attributes-1").contains("are whoever runs the server"));
    with_keys(&place, &SITES);
    assert!(shown("attributes-1").contains("that records-1, records-2 signed, and no others"));
    let run = || {
        let mut relay = Relay::start(&place, "run", &[&ROUNDS[..], &["--force"]].concat());
        relay.carry_all()
    };
    let (status, stderr) = run();
    assert_eq!((status, model(&place, "run")), (0, wanted.clone()), "{stderr}");
    assert_eq!(expected(&place, &ROUNDS), wanted, "in one process");
    // Another key than the one that was pinned: whoever runs the server plays the site.
    fs::remove_file(place.path("records-1/site.key")).unwrap();
    place.json(&["silo", "key", "records-1/site.key"]);
    let (status, stderr) = run();
    assert!(status == 3 && stderr.contains("not in this site's [peers]"), "{stderr}");
    change(&place, "records-1/silo.toml", "[masks]\nkey = \"site.key\"\n", "");
    let text = place.read("records-1/silo.toml");
    let (before, rest) = text.split_once("[peers]\n").unwrap();
    let (_, after) = rest.split_once("[policy]\n").unwrap();
    place.write("records-1/silo.toml", format!("{before}[policy]\n{after}"));
    let (status, stderr) = run();
    assert!(status == 3 && stderr.contains("it is not signed"), "{stderr}");
}

/// A file that cannot be used: others learn that, the site's log says why.
#[test]
fn a_site_that_cannot_take_part_does_not_say_why() {
    let place = handed_out("senders-unusable", &pairs(0..200), &["--silos", "2"]);
    change(&place, "silo-2/silo.toml", "label = \"label\"", "label = \"canary\"");
    let mut relay = Relay::start(&place, "run", &ROUNDS);
    let requests = relay.next().unwrap();
    let replies = relay.ask(&requests);
    let reply = replies[1].as_ref().unwrap();
    let text = refused(reply);
    assert!(text.contains("this site cannot take part"), "{text}");
    assert!(!text.contains("canary") && !text.contains("silo-2.csv"), "{text}");
    relay.give(&replies);
    let (status, stderr) = relay.end();
    assert!(status == 3 && stderr.contains("its owner finds the reason in its log"), "{stderr}");
    assert!(!stderr.contains("canary"), "{stderr}");
    let ran = place.run(&["node", "--stdio", "--silo", "silo-2/silo.toml"]);
    assert!(ran.status == 3 && ran.stderr.contains("canary"), "{}", ran.stderr);
}

/// What a record says about the data that it is about cannot be computed from the data.
#[test]
fn a_record_does_not_tell_what_its_site_holds() {
    let make = |name: &str| {
        let place = handed_out(name, &pairs(0..100), &["--silos", "2"]);
        let (status, stderr) = Relay::start(&place, "run", &ROUNDS).carry_all();
        assert_eq!(status, 0, "{stderr}");
        let mut records = fs::read_dir(place.path("silo-1/sent")).unwrap();
        let record = records.find_map(|entry| {
            let path = entry.unwrap().path();
            path.extension().is_some_and(|kind| kind == "record").then_some(path)
        });
        let record = fs::read(record.unwrap()).unwrap();
        let key = fs::read(place.path("silo-1/sent/record.key")).unwrap();
        assert!(key.len() == 32 && !record.windows(32).any(|bytes| bytes == key));
        // After the beginning and the frame's head: whose record it is.
        record[8 + 13..8 + 13 + 32].to_vec()
    };
    // The same file, twice: whoever guesses a cell of it has nothing to compare with.
    assert_ne!(make("senders-record-1"), make("senders-record-2"));
}
