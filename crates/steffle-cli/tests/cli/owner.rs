//! The ledger says who people are: names in recipes, jobs and run directories do not.

use std::fs;

use crate::harness::{COLUMNS, Place, pairs};

const MEANING: [&str; 6] = ["--label", "label", "--sensitive", "group", "--classes", "a,b"];

/// People with their ids and, for an attacker, another column of ids; a book of epsilon 2.
fn place(name: &str) -> Place {
    let place = Place::new(name);
    let csv = pairs(0..400);
    let lines = csv.lines().enumerate().map(|(at, line)| match at {
        0 => format!("{line},alias\n"),
        _ => format!("{line},{}\n", 100_000 + at),
    });
    place.write("people.csv", lines.collect::<String>());
    place.json(&[&INIT[..], &COLUMNS].concat());
    place
}

const INIT: [&str; 7] = ["ledger", "init", "people.ledger", "--epsilon", "2", "--delta", "1e-6"];

/// Trains a paid one-shot run; `data` is a table or a job.
fn train(data: &str, more: &[&'static str]) -> Vec<String> {
    let method = ["--method", "one-shot", "--delta", "1e-6", "--ledger", "people.ledger"];
    let words = [&["train", "--data", data][..], &method, more].concat();
    words.into_iter().map(str::to_owned).collect()
}

fn run(place: &Place, words: &[String]) -> crate::harness::Ran {
    place.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Records and lines in the book.
fn known(place: &Place) -> (u64, u64) {
    let shown = place.json(&["ledger", "show", "people.ledger"]);
    (shown["records"].as_u64().unwrap(), shown["entries"].as_u64().unwrap())
}

/// A job whose recipe names the other column of ids.
fn job(place: &Place) {
    let made = ["data", "partition", "people.csv", "--out", "parts", "--silos", "1"];
    let made = place.run(&[&made[..], &MEANING, &["--favourable", "high"]].concat());
    assert_eq!(made.status, 0, "{}", made.stderr);
    let mut job = place.read("parts/job.toml");
    let named = "record_id = \"record_id\"\n";
    job = job.replace(named, "").replace("[recipe]\n", "[recipe]\nrecord_id = \"alias\"\n");
    // The files are those that have it.
    job = job.replace("\"silo-1.csv\"", "\"../people.csv\"");
    job = job.replace("\"test.csv\"", "\"../people.csv\"");
    place.write("parts/job.toml", job);
}

#[test]
fn a_ledger_says_what_its_columns_are() {
    let place = place("owner-shown");
    for command in ["show", "verify"] {
        let ran = place.run(&["ledger", command, "people.ledger"]);
        assert!(ran.stdout.contains("Record ids are in `record_id`"), "{}", ran.stdout);
    }
    for command in ["show", "verify", "export"] {
        let columns = &place.json(&["ledger", command, "people.ledger"])["columns"];
        assert_eq!(columns["sensitive"][0], "group", "{command}");
        assert_eq!(columns["record_id"], "record_id", "{command}");
    }
    // Named once, for life.
    let columns = ["ledger", "columns", "people.ledger"];
    assert_eq!(place.run(&[&columns[..], &COLUMNS].concat()).status, 0);
    let other = ["--sensitive", "group", "--classes", "a,b", "--record-id", "alias"];
    let refused = place.run(&[&columns[..], &other].concat());
    assert_eq!(refused.status, 3);
    assert!(refused.stderr.contains("steffle::ledger::columns"), "{}", refused.stderr);
    let missing = place.run(&["ledger", "init", "new", "--epsilon", "1", "--delta", "1e-6"]);
    assert!(missing.status == 2 && missing.stderr.contains("--sensitive"), "{}", missing.stderr);
}

#[test]
fn a_ledger_without_columns_says_how_to_add_them() {
    let place = place("owner-before");
    // A book of before: its first line alone.
    let book = place.read("people.ledger");
    let first = format!("{}\n", book.lines().next().unwrap());
    fs::write(place.path("people.ledger"), first).unwrap();
    let words = train("people.csv", &["--label", "label", "--epsilon", "1"]);
    let refused = run(&place, &words);
    assert_eq!(refused.status, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains("steffle::ledger::no_columns"), "{}", refused.stderr);
    assert!(refused.stderr.contains("steffle ledger columns"), "{}", refused.stderr);
    let columns = ["ledger", "columns", "people.ledger"];
    assert_eq!(place.run(&[&columns[..], &COLUMNS].concat()).status, 0);
    let ran = run(&place, &words);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

/// Break 3: whoever names the ids says who pays.
#[test]
fn another_id_column_is_refused_in_jobs_and_run_directories() {
    let place = place("owner-alias");
    let plain = [&MEANING[..], &["--epsilon", "1.9", "--out", "honest"]].concat();
    let ran = run(&place, &train("people.csv", &plain));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let before = known(&place);
    job(&place);
    let refused = run(&place, &train("parts/job.toml", &["--epsilon", "1.9", "--out", "alias"]));
    assert_eq!(refused.status, 3, "{}", refused.stderr);
    let words = "record-id: `alias` is given, and the ledger says `record_id`";
    assert!(refused.stderr.contains(words), "{}", refused.stderr);
    // A run directory that says so is no better.
    let model = ["train", "--data", "parts/job.toml", "--method", "erm", "--out", "model"];
    assert_eq!(place.run(&model).status, 0);
    for command in [
        &["evaluate", "model", "people.csv", "--private"][..],
        &["choose", "model", "model", "--on", "people.csv"],
    ] {
        let paid = ["--epsilon", "1", "--delta", "1e-6", "--ledger", "people.ledger"];
        let refused = place.run(&[command, &paid].concat());
        assert_eq!(refused.status, 3, "{}", refused.stderr);
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    assert_eq!(known(&place), before);
}

#[test]
fn people_without_ids_or_with_new_ones_are_refused() {
    let place = place("owner-strangers");
    let paid = |out| [&MEANING[..], &["--epsilon", "0.5", "--out", out]].concat();
    let csv = place.read("people.csv");
    let nameless = crate::harness::columns(&csv, |name| name != "record_id");
    place.write("nameless.csv", nameless);
    let refused = run(&place, &train("nameless.csv", &paid("nameless")));
    assert!(refused.status == 3 && refused.stderr.contains("record_id"), "{}", refused.stderr);
    assert_eq!(known(&place).0, 0);

    assert_eq!(run(&place, &train("people.csv", &paid("first"))).status, 0);
    let before = known(&place);
    place.write("renamed.csv", pairs(1_000_000..1_000_400));
    let refused = run(&place, &train("renamed.csv", &paid("second")));
    assert!(refused.stderr.contains("steffle::ledger::strangers"), "{}", refused.stderr);
    assert!(refused.stderr.contains("steffle ledger admit"), "{}", refused.stderr);
    assert_eq!(known(&place), before);
    // The owner's word is good once.
    assert_eq!(place.run(&["ledger", "admit", "people.ledger"]).status, 0);
    assert_eq!(place.json(&["ledger", "show", "people.ledger"])["admitted"], true);
    let ran = run(&place, &train("renamed.csv", &paid("second")));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(place.json(&["ledger", "show", "people.ledger"])["admitted"], false);
}

/// Break 5: a refused offer leaves no list of records.
#[test]
fn a_refused_offer_leaves_the_ledger_as_it_was() {
    let place = place("owner-refused");
    let before = known(&place);
    let dear = [&MEANING[..], &["--epsilon", "3", "--out", "dear"]].concat();
    let refused = run(&place, &train("people.csv", &dear));
    assert_eq!(refused.status, 4, "{}", refused.stderr);
    assert_eq!(known(&place), before);
}

#[test]
fn what_is_left_open_is_filled_in_and_what_contradicts_is_refused() {
    let place = place("owner-open");
    let ran = run(&place, &train("people.csv", &["--label", "label", "--epsilon", "0.5"]));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for (flags, word) in [
        (&["--sensitive", "town", "--classes", "north,south,east"][..], "sensitive: `town`"),
        (&["--classes", "b,a"], "classes: `b`, `a`"),
        (&["--unit", "alias"], "unit: `alias`"),
    ] {
        let flags = [&["--label", "label", "--epsilon", "0.5"], flags].concat();
        let refused = run(&place, &train("people.csv", &flags));
        assert_eq!(refused.status, 3, "{}", refused.stderr);
        assert!(refused.stderr.contains("steffle::ledger::columns"), "{}", refused.stderr);
        assert!(refused.stderr.contains(word), "{}", refused.stderr);
    }
}

#[test]
fn a_prediction_reads_no_column_that_its_owner_calls_sensitive() {
    let place = place("owner-predict");
    let model = ["train", "--data", "people.csv", "--method", "erm", "--out", "model"];
    assert_eq!(place.run(&[&model[..], &MEANING].concat()).status, 0);
    let predict = ["predict", "model", "people.csv", "--sensitive"];
    assert_eq!(place.run(&[&predict[..], &["group"]].concat()).status, 0);
    let refused = place.run(&[&predict[..], &["group,Town"]].concat());
    assert_eq!(refused.status, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains("column `town` as a feature"), "{}", refused.stderr);
}
