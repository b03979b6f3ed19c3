//! What an adversary found who started from the promise and the code: each was accepted, and is not.

use std::fmt::Write as _;

use crate::harness::{Place, pairs};
use crate::sites::{change, handed_out, train};

const COLUMNS: [&str; 6] = ["--label", "label", "--sensitive", "group", "--classes", "a,b"];
const OWNER: [&str; 6] = ["--sensitive", "group", "--classes", "a,b", "--record-id", "record_id"];
const SMALL: [&str; 6] = ["--rounds", "2", "--epsilon", "0.9", "--delta", "1e-6"];

fn book(place: &Place, flags: &[&str]) {
    let init = ["ledger", "init", "people.ledger", "--epsilon", "1", "--delta", "1e-6"];
    let ran = place.run(&[&init[..], &OWNER, flags].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

/// A job that names columns by their place made s the feature `town` of a run that called itself private.
#[test]
fn a_job_beside_a_ledger_does_not_say_how_files_are_written() {
    let place = Place::new("around-dialect");
    place.write("people.csv", pairs(0..200));
    let cut = ["data", "partition", "people.csv", "--silos", "1", "--out", "parts"];
    assert_eq!(place.run(&[&cut[..], &COLUMNS].concat()).status, 0);
    book(&place, &[]);
    let own = place.read("parts/job.toml");
    let columns =
        "columns = [\"record_id\", \"score\", \"group\", \"region\", \"town\", \"label\"]";
    for said in [
        format!("{own}\n[recipe.dialect]\n{columns}\n"),
        format!("{own}\n[recipe.dialect]\nencoding = \"latin-1\"\n"),
        format!("{own}\n[train]\n{columns}\n"),
    ] {
        place.write("parts/job.toml", &said);
        let train = ["train", "--data", "parts/job.toml", "--out", "run"];
        let ran = place.run(&[&train[..], &SMALL, &["--ledger", "people.ledger"]].concat());
        assert_eq!(ran.status, 3, "{said}: {}", ran.stdout);
        assert!(ran.stderr.contains("ledger::dialect"), "{}", ran.stderr);
    }
}

/// 200 people with one visit in each of two files: the same people, although no record is.
#[test]
fn a_person_with_other_rows_in_every_run_pays_from_one_account() {
    let place = Place::new("around-visits");
    for (file, rows) in [("may.csv", 0..200), ("june.csv", 200..400)] {
        let mut csv = String::new();
        for (at, line) in pairs(rows).lines().enumerate() {
            let person = if at == 0 { "person".to_owned() } else { format!("p{}", at - 1) };
            writeln!(csv, "{line},{person}").unwrap();
        }
        place.write(file, csv);
    }
    book(&place, &["--unit", "person"]);
    let run = |file: &str| {
        let train = ["train", "--data", file, "--out", file.trim_end_matches(".csv")];
        let paid = ["--ledger", "people.ledger", "--unit", "person"];
        place.run(&[&train[..], &COLUMNS, &SMALL, &paid].concat())
    };
    let first = run("may.csv");
    assert_eq!(first.status, 0, "{}", first.stderr);
    // No record is known, so the owner is asked; whose rows they are, the column says.
    let asked = run("june.csv");
    assert!(asked.status == 3 && asked.stderr.contains("ledger::strangers"), "{}", asked.stderr);
    assert_eq!(place.run(&["ledger", "admit", "people.ledger"]).status, 0);
    let second = run("june.csv");
    assert_eq!(second.status, 4, "{}", second.stderr);
    assert!(second.stderr.contains("ledger::budget"), "{}", second.stderr);
}

/// Everybody has a new id, and a file of test rows has some that the book knows.
#[test]
fn test_rows_do_not_speak_for_strangers() {
    let place = Place::new("around-strangers");
    place.write("people.csv", pairs(0..300));
    let cut = ["data", "partition", "people.csv", "--silos", "1", "--out", "parts"];
    assert_eq!(place.run(&[&cut[..], &COLUMNS].concat()).status, 0);
    book(&place, &[]);
    let train = ["train", "--data", "parts/job.toml", "--ledger", "people.ledger", "--force"];
    let flags = ["--rounds", "2", "--epsilon", "0.3", "--delta", "1e-6", "--out", "run"];
    let ran = place.run(&[&train[..], &flags].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let known = place.read("parts/silo-1.csv");
    let mut renamed = String::new();
    for (at, line) in known.lines().enumerate() {
        let new = if at == 0 { "" } else { "77" };
        writeln!(renamed, "{new}{line}").unwrap();
    }
    place.write("parts/test.csv", known);
    place.write("parts/silo-1.csv", renamed);
    let ran = place.run(&[&train[..], &flags].concat());
    assert_eq!(ran.status, 3, "{}", ran.stdout);
    assert!(ran.stderr.contains("ledger::strangers"), "{}", ran.stderr);
}

/// A small epsilon at a large delta took the whole pot of a site that allows epsilon 0.5 in one run.
#[test]
fn a_sites_limit_is_at_the_delta_of_its_ledger() {
    let place = handed_out("around-delta", &pairs(0..200), &["--silos", "2"]);
    for site in 1..=2 {
        let file = format!("silo-{site}/silo.toml");
        let book = format!("book-{site}.ledger");
        let init = ["ledger", "init", &book, "--epsilon", "8", "--delta", "1e-6", "--silo", &file];
        assert_eq!(place.run(&init).status, 0);
        let ledger = format!("wait_seconds = 5\nledger = \"../{book}\"\n");
        change(&place, &file, "wait_seconds = 5\n", &ledger);
        change(&place, &file, "simulations = true\n", "simulations = false\nepsilon = 0.5\n");
    }
    let run = |epsilon: &str, delta: &str| {
        let asked = ["--rounds", "2", "--noise", "secure", "--force"];
        train(&place, "run", &[&asked[..], &["--epsilon", epsilon, "--delta", delta]].concat())
    };
    for (epsilon, delta) in [("1", "1e-6"), ("0.1", "0.1"), ("0.1", "0.5")] {
        let ran = run(epsilon, delta);
        assert_eq!(ran.status, 3, "{epsilon} {delta}: {}", ran.stderr);
        assert!(ran.stderr.contains("at most 0.5 in one run"), "{}", ran.stderr);
    }
    let ran = run("0.4", "1e-6");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

/// The dialect of a run directory gave the attributes file's columns other names, so that the ledger for
/// one attribute paid for another.
#[test]
fn a_run_directory_does_not_say_how_attributes_are_written() {
    let place = Place::new("around-attributes");
    place.write("people.csv", pairs(0..300));
    let trained = ["train", "--data", "people.csv", "--out", "run", "--rounds", "2"];
    let ran = place.run(&[&trained[..], &COLUMNS].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut attributes = String::new();
    for (at, line) in pairs(0..300).lines().enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        let hiv = if at == 0 { "hiv" } else { ["pos", "neg"][at % 2] };
        writeln!(attributes, "{},{},{hiv}", cells[0], cells[4]).unwrap();
    }
    place.write("attributes.csv", attributes);
    let records = crate::harness::columns(&pairs(0..300), |name| name != "group");
    place.write("records.csv", records);
    book(&place, &[]);
    let schema = place.read("run/schema.json");
    let columns = "\"recipe\": {\"dialect\": {\"columns\": [\"record_id\", \"other\", \"group\"]},";
    let changed = schema.replacen("\"recipe\": {", columns, 1);
    assert_ne!(schema, changed);
    place.write("run/schema.json", changed);
    let evaluate =
        ["evaluate", "run", "records.csv", "--attributes", "attributes.csv", "--private"];
    let paid = ["--epsilon", "0.5", "--delta", "1e-6", "--ledger", "people.ledger", "--json"];
    let ran = place.run(&[&evaluate[..], &paid].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    // With the columns of the directory nobody would have a declared class. 150 or so have each; noise of
    // this deviation is 100 off with a probability below 1e-30.
    let found: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    for group in found["groups"].as_array().unwrap() {
        assert!(group["records"].as_f64().unwrap() > 30.0, "{group}");
    }
}
