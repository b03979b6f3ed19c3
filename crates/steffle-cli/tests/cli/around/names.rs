//! A server that names columns: of the features, the label, the strata, the ids.

use serde_json::{Value, json};
use steffle_data::Schema;
use steffle_wire::{
    Envelope, Join, Kind, Loss, Opening, Part, Reader, Refused, SchemaHash, decode, parse, payload,
    seal,
};

use crate::harness::{Place, pairs};
use crate::sites::{Relay, change, handed_out};

/// What a hostile server makes of an honest schema.
type Change = fn(&mut Value);

/// Names that lead to s, ids or units in every role that a schema has.
const CHANGES: [(&str, Change); 12] = [
    ("s as a category", |schema| {
        let own = json!({"name": "group", "levels": ["a", "b"]});
        schema["categorical"].as_array_mut().unwrap().push(own);
    }),
    ("s as a number", |schema| {
        let own = json!({"name": "group", "centre": 0.0, "scale": 1.0});
        schema["numeric"].as_array_mut().unwrap().push(own);
    }),
    ("s as a category, in other letters", |schema| {
        let own = json!({"name": " Group", "levels": ["a", "b"]});
        schema["categorical"].as_array_mut().unwrap().push(own);
    }),
    ("another sensitive column, and s as a category", |schema| {
        schema["recipe"]["sensitive"] = json!(["town"]);
        let levels = json!([{"name": "group", "levels": ["a", "b"]}]);
        schema["categorical"] = levels;
    }),
    ("s as the label", |schema| {
        schema["recipe"]["label"] = json!("group");
        schema["labels"] = json!(["a", "b"]);
        schema["recipe"]["labels"] = json!(["a", "b"]);
    }),
    ("s as the label, and another sensitive column", |schema| {
        schema["recipe"]["label"] = json!("group");
        schema["recipe"]["sensitive"] = json!(["town"]);
        schema["categorical"].as_array_mut().unwrap().retain(|own| own["name"] != "town");
    }),
    ("s to condition on", |schema| {
        schema["recipe"]["stratum"] = json!("group");
        schema["strata"] = json!(["a", "b"]);
    }),
    ("ids as a category", |schema| {
        let levels: Vec<String> = (0..40).map(|id| id.to_string()).collect();
        let own = json!({"name": "record_id", "levels": levels});
        schema["categorical"].as_array_mut().unwrap().push(own);
    }),
    ("another column of ids, and ids as a category", |schema| {
        schema["recipe"]["record_id"] = json!("town");
        let levels: Vec<String> = (0..40).map(|id| id.to_string()).collect();
        schema["categorical"] = json!([{"name": "record_id", "levels": levels}]);
    }),
    ("ids as units", |schema| schema["recipe"]["unit"] = json!("town")),
    ("new names for ids", |schema| {
        schema["recipe"]["merges"] = json!({"record_id": {"1": "2"}});
    }),
    ("a column that nobody described", |schema| {
        let own = json!({"name": "notes", "levels": ["a", "b"]});
        schema["categorical"].as_array_mut().unwrap().push(own);
    }),
];

/// A join with another schema. Where it is one, its hash is right; a server computes what it likes.
fn hostile(request: &[u8], change: Change) -> Vec<u8> {
    let (envelope, reader) = parse(request).unwrap();
    let mut join: Join = decode(reader).unwrap();
    let mut schema: Value = serde_json::from_slice(&join.schema).unwrap();
    change(&mut schema);
    join.schema = serde_json::to_vec(&schema).unwrap();
    let hash = serde_json::from_slice::<Schema>(&join.schema).map(|schema| schema.hash());
    let schema = SchemaHash(hash.unwrap_or(envelope.schema.0));
    seal(&Envelope { schema, ..envelope }, &join)
}

fn refused(reply: &[u8]) -> Option<Refused> {
    let (envelope, _) = parse(reply).unwrap();
    (envelope.part == Part::Refusal).then(|| decode(Reader::new(payload(reply))).unwrap())
}

fn site(name: &str, silos: &str) -> Place {
    let place = handed_out(name, &pairs(0..200), &["--silos", silos]);
    let init = ["ledger", "init", "one.ledger", "--silo", "silo-1/silo.toml"];
    let ran = place.run(&[&init[..], &["--epsilon", "0.1", "--delta", "1e-6"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    change(&place, "silo-1/silo.toml", "simulations = true", "simulations = false");
    let ledger = "wait_seconds = 5\nledger = \"../one.ledger\"\n";
    change(&place, "silo-1/silo.toml", "wait_seconds = 5\n", ledger);
    place
}

/// Before this was closed, a join that lists s as a feature was accepted, and the exact losses that
/// followed told the class of 40 of 40 people; a refusal printed a cell.
#[test]
fn no_name_in_a_schema_leads_to_s() {
    let place = site("around-names", "2");
    let mut relay = Relay::start(&place, "run", &["--rounds", "2", "--epsilon", "1"]);
    let mut tried = 0;
    while let Some(requests) = relay.next() {
        let (node, request) = &requests[0];
        let (envelope, _) = parse(request).unwrap();
        if envelope.kind == Kind::Join {
            for (what, change) in CHANGES {
                let join = hostile(request, change);
                let reply = relay.ask(&[(*node, join.clone())]).remove(0).unwrap();
                let refusal = refused(&reply).unwrap_or_else(|| panic!("{what} was accepted"));
                // A code and words from a list: no cell, and no name of a column.
                assert!(!refusal.text.contains("group"), "{what}: {refusal}");
                assert!(!refusal.text.contains("row"), "{what}: {refusal}");
                let (envelope, _) = parse(&join).unwrap();
                let loss = seal(
                    &Envelope { kind: Kind::Loss, sequence: envelope.sequence + 1, ..envelope },
                    &Loss { theta: vec![0.0; 8] },
                );
                let reply = relay.ask(&[(*node, loss)]).remove(0).unwrap();
                assert!(refused(&reply).is_some(), "{what}: a loss was answered");
                tried += 1;
            }
            break;
        }
        let replies = relay.ask(&requests);
        relay.give(&replies);
    }
    assert_eq!(tried, CHANGES.len());
    // The honest join is answered: none of the others left anything behind.
    relay.kill_server();
    let found = place.json(&["ledger", "show", "one.ledger"]);
    assert_eq!(found["runs"].as_array().map(Vec::len), Some(0), "{found}");
}

/// A scale of t / f32::MAX made a site refuse exactly where one of its records exceeds t.
#[test]
fn no_scale_in_a_schema_makes_a_site_refuse() {
    let place = site("around-scales", "2");
    for scale in [1e-300, 1e-40, 1e-30, 3e-37] {
        let mut relay =
            Relay::start(&place, "run", &["--rounds", "2", "--epsilon", "1", "--force"]);
        let mut joined = false;
        while let Some(requests) = relay.next() {
            let (node, request) = &requests[0];
            let (envelope, reader) = parse(request).unwrap();
            if envelope.kind == Kind::Join {
                let mut join: Join = decode(reader).unwrap();
                let mut schema: Value = serde_json::from_slice(&join.schema).unwrap();
                schema["numeric"][0]["scale"] = json!(scale);
                join.schema = serde_json::to_vec(&schema).unwrap();
                let hash = serde_json::from_slice::<Schema>(&join.schema).unwrap().hash();
                let join = seal(&Envelope { schema: SchemaHash(hash), ..envelope }, &join);
                let reply = relay.ask(&[(*node, join)]).remove(0).unwrap();
                assert!(refused(&reply).is_none(), "{scale}: {:?}", refused(&reply));
                joined = true;
                break;
            }
            let replies = relay.ask(&requests);
            relay.give(&replies);
        }
        assert!(joined);
        relay.kill_server();
    }
}

/// With words in the offer that a site allows, rounds of another method were answered.
#[test]
fn allowed_words_do_not_allow_other_acts() {
    let place = site("around-words", "1");
    change(&place, "silo-1/silo.toml", "[policy]\n", "[policy]\nmethods = [\"one-shot\"]\n");
    let private = ["--rounds", "2", "--epsilon", "0.05", "--delta", "1e-6", "--noise", "secure"];
    for notion in ["demographic-parity", "equal-opportunity"] {
        let mut relay = Relay::start(&place, "run", &[&private[..], &["--force"]].concat());
        let mut acts = 0;
        while let Some(requests) = relay.next() {
            let (node, request) = &requests[0];
            let (envelope, reader) = parse(request).unwrap();
            if envelope.kind == Kind::Open {
                let mut opening: Opening = decode(reader).unwrap();
                opening.offer.method = "one-shot".into();
                opening.offer.notion = notion.into();
                let reply = relay.ask(&[(*node, seal(&envelope, &opening))]).remove(0).unwrap();
                let word = refused(&reply);
                if notion == "equal-opportunity" {
                    assert!(word.unwrap().text.contains("the run is about"), "another notion");
                    acts += 1;
                    break;
                }
                assert!(word.is_none(), "{word:?}");
                let done = relay.ask(&requests[1..]);
                relay.give(&[vec![Ok(reply)], done].concat());
                continue;
            }
            if envelope.kind == Kind::Round {
                let reply = relay.ask(&requests[..1]).remove(0).unwrap();
                let refusal = refused(&reply).expect("a round of another method was answered");
                assert_eq!(refusal.code, "steffle::ledger::act", "{refusal}");
                acts += 1;
                break;
            }
            let replies = relay.ask(&requests);
            relay.give(&replies);
        }
        assert_eq!(acts, 1, "{notion}");
        relay.kill_server();
    }
    let book = place.json(&["ledger", "show", "one.ledger"]);
    assert_eq!(book["epsilon_spent"].as_f64().map(|spent| spent < 0.051), Some(true), "{book}");
}

/// Two columns of the name of a sensitive one, as joins of tables write them.
#[test]
fn a_header_that_has_s_twice_is_refused() {
    let place = Place::new("around-twice");
    for copy in ["group", "Group", " group ", "GROUP"] {
        let csv: String = pairs(0..200)
            .lines()
            .enumerate()
            .map(|(at, line)| match at {
                0 => format!("{line},{copy}\n"),
                _ => format!("{line},{}\n", line.split(',').nth(4).unwrap()),
            })
            .collect();
        place.write("people.csv", csv);
        let columns = ["--label", "label", "--sensitive", "group", "--classes", "a,b"];
        for command in [
            &["train", "--data", "people.csv", "--out", "run", "--epsilon", "1"][..],
            &["data", "partition", "people.csv", "--silos", "2", "--out", "parts"],
            &["data", "describe", "people.csv"],
        ] {
            let ran = place.run(&[command, &columns].concat());
            assert_eq!(ran.status, 3, "{copy} {command:?}: {}", ran.stdout);
            assert!(ran.stderr.contains("sensitive_twice"), "{copy}: {}", ran.stderr);
        }
    }
    // A records file must not have it in other letters either.
    let place = handed_out("around-records", &pairs(0..200), &["--silos", "2", "--split"]);
    let csv = place.read("records-1/records-1.csv");
    place.write("records-1/records-1.csv", csv.replacen("town", "GROUP", 1));
    let ran = place.run(&["silo", "check", "records-1/silo.toml"]);
    assert!(ran.status == 3 && ran.stderr.contains("sensitive_in_records"), "{}", ran.stderr);
}

/// A cell of s that opens a quote decided which rows there are, and so did any quote that is not closed.
#[test]
fn a_quote_that_is_not_closed_is_refused() {
    let place = Place::new("around-quotes");
    let columns = ["--label", "label", "--sensitive", "group", "--classes", "a,b"];
    for (what, row, from, to) in [
        ("a quote in a feature", 20, "north", "\"north"),
        ("a quote in s", 20, ",a,", ",\"a,"),
        ("a line break in s", 30, ",a,", ",\"a\n\","),
    ] {
        let all = pairs(0..200);
        let mut lines: Vec<String> = all.lines().map(str::to_owned).collect();
        let at = (row..lines.len()).find(|&at| lines[at].contains(from)).unwrap();
        lines[at] = lines[at].replacen(from, to, 1);
        place.write("people.csv", lines.join("\n") + "\n");
        let train = ["train", "--data", "people.csv", "--out", "run", "--epsilon", "1"];
        let ran = place.run(&[&train[..], &columns].concat());
        assert_eq!(ran.status, 3, "{what}: {}", ran.stdout);
        assert!(ran.stderr.contains("a quote"), "{what}: {}", ran.stderr);
        assert!(!ran.stderr.contains("`a`"), "{what}: {}", ran.stderr);
    }
}
