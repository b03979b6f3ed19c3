//! `train --ledger`: runs that the stores' own books pay for.

#[cfg(unix)]
mod killed;

use serde_json::json;

use crate::harness::{COLUMNS, Place, pairs};

const TRAIN: [&str; 10] = [
    "train",
    "--data",
    "parts/job.toml",
    "--rounds",
    "4",
    "--delta",
    "1e-7",
    "--ledger",
    "books",
    "--force",
];

fn place(name: &str, rows: u64) -> Place {
    let place = Place::new(name);
    place.write("people.csv", pairs(0..rows));
    let made = ["data", "partition", "people.csv", "--out", "parts", "--favourable", "high"];
    let columns = ["--label", "label", "--sensitive", "group", "--classes", "a,b"];
    assert_eq!(place.run(&[&made[..], &columns].concat()).status, 0);
    let init = ["ledger", "init", "books", "--silos", "3", "--epsilon", "2", "--delta", "1e-6"];
    let ran = place.run(&[&init[..], &COLUMNS].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    place
}

#[test]
fn runs_add_up_in_the_books_and_end_at_the_budget() {
    let place = place("paid-add-up", 600);
    let run = place.json(&[&TRAIN[..], &["--epsilon", "1", "--out", "one"]].concat());
    assert_eq!(run["privacy"]["kind"], "private");
    assert_eq!(run["privacy"]["holds"], true);
    let spent = run["ledger"]["stores"][0]["epsilon_spent"].as_f64().unwrap();
    assert!(spent > 0.5 && spent <= 1.01, "{spent}");
    // No number by group: it would be a release of its own.
    assert!(run["test"]["demographic_parity"].is_null(), "{}", run["test"]);
    assert!(run["baseline"]["equalized_odds"].is_null());
    assert!(run["test"]["error"].is_number());
    assert_eq!((&run["test"]["groups"], &run["test"]["left_out"]), (&json!([]), &json!([])));
    let page = place.read("one/report.html");
    assert!(page.contains("The gaps between groups are not measured."), "{page}");

    let again = place.json(&[&TRAIN[..], &["--epsilon", "1", "--out", "two"]].concat());
    assert_eq!(
        (&again["ledger"]["stores"], &again["test"]),
        (&run["ledger"]["stores"], &run["test"])
    );

    // Another budget is another question: it is answered with its own noise, and paid for.
    let more = place.json(&[&TRAIN[..], &["--epsilon", "1.2", "--out", "three"]].concat());
    let total = more["ledger"]["stores"][0]["epsilon_spent"].as_f64().unwrap();
    assert!(total > spent + 0.2, "{total} after {spent}");

    let refused = place.run(&[&TRAIN[..], &["--epsilon", "1.9", "--out", "four"]].concat());
    assert_eq!(refused.status, 4, "{}", refused.stderr);
    for word in ["steffle::ledger::budget", "spent", "asked", "left"] {
        assert!(refused.stderr.contains(word), "{}", refused.stderr);
    }
    let verified = place.run(&["ledger", "verify", "books"]);
    assert_eq!(verified.status, 0, "{}", verified.stderr);
    let shown = place.json(&["ledger", "show", "books"]);
    assert!(shown.to_string().contains("epsilon_spent"), "{shown}");
}

#[test]
fn a_ledger_and_a_seed_or_processes_do_not_go_together() {
    let place = place("paid-conflicts", 600);
    let simulated = place.run(&[&TRAIN[..], &["--epsilon", "1", "--noise", "simulated"]].concat());
    assert_eq!(simulated.status, 2, "{}", simulated.stderr);
    let apart = place.run(&[&TRAIN[..], &["--epsilon", "1", "--processes"]].concat());
    assert_eq!(apart.status, 2, "{}", apart.stderr);
    let unremembered = place.run(&[
        "train",
        "--data",
        "parts/job.toml",
        "--rounds",
        "2",
        "--epsilon",
        "1",
        "--noise",
        "secure",
    ]);
    assert_eq!(unremembered.status, 0, "{}", unremembered.stderr);
    assert!(unremembered.stderr.contains("nothing but you will remember it"));
}
