//! Metrics by group that are bought: `evaluate --private` and `train --metrics-share`.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::harness::{COLUMNS, Place, columns, pairs, people};

/// Three silos of test rows beside the files of a job, a model, and a book per store.
fn place(name: &str, epsilon: &str) -> Place {
    let place = Place::new(name);
    place.write("people.csv", pairs(0..2400));
    let made = ["data", "partition", "people.csv", "--out", "parts", "--favourable", "high"];
    let meaning = ["--label", "label", "--sensitive", "group", "--classes", "a,b"];
    assert_eq!(place.run(&[&made[..], &meaning].concat()).status, 0);
    let train = ["train", "--data", "parts/job.toml", "--method", "erm", "--out", "model"];
    assert_eq!(place.run(&train).status, 0);
    let init = ["ledger", "init", "books", "--silos", "3", "--delta", "1e-6", "--epsilon", epsilon];
    assert_eq!(place.run(&[&init[..], &COLUMNS].concat()).status, 0);
    let test = place.read("parts/test.csv");
    let (header, rows) = test.split_once('\n').unwrap();
    let mut files = vec![format!("{header}\n"); 3];
    for (at, row) in rows.lines().enumerate() {
        writeln!(files[at % 3], "{row}").unwrap();
    }
    for (at, file) in files.iter().enumerate() {
        place.write(&format!("test-{at}.csv"), file);
    }
    place
}

const FILES: [&str; 6] =
    ["evaluate", "model", "test-0.csv", "test-1.csv", "test-2.csv", "--private"];

/// Within so many deviations of the truth: another seed fails once in 10^9 runs or less.
fn near(told: &Value, truth: &Value, most: f64) {
    let (told, truth) = (told.as_f64().unwrap(), truth.as_f64().unwrap());
    assert!((told - truth).abs() < most, "{told} instead of {truth}");
}

#[test]
fn counts_are_paid_from_the_books_and_repeated_for_nothing() {
    let place = place("metrics-evaluate", "6");
    let paid = ["--epsilon", "3", "--delta", "1e-6", "--ledger", "books"];
    let first = place.json(&[&FILES[..], &paid, &["--html", "metrics.html"]].concat());
    assert_eq!(first["privacy"]["kind"], "private");
    assert_eq!(first["records"], 600);
    assert_eq!(first["silo_rows"], json!([200, 200, 200]));
    let stores = first["ledger"]["stores"].as_array().unwrap();
    assert_eq!(stores.len(), 3);
    for store in stores {
        let receipt = &store["receipts"][0];
        assert_eq!((&receipt["kind"], &receipt["noise"]), (&"counts".into(), &"secure".into()));
        let spent = store["epsilon_spent"].as_f64().unwrap();
        assert!((2.999..=3.0).contains(&spent), "{spent}");
    }
    // The truth, as a curator sees it: the noise of a count has a deviation of 2.5.
    let exact = place.json(&["evaluate", "model", "parts/test.csv"]);
    assert_eq!((&first["error"], &first["favourable"]), (&exact["error"], &"high".into()));
    let groups = first["groups"].as_array().unwrap().iter();
    for (group, own) in groups.zip(exact["groups"].as_array().unwrap()) {
        near(&group["records"], &own["records"], 40.0);
        let (rate, own) = (&group["labels"][0], &own["labels"][0]);
        near(&rate["selection_rate"]["value"], &own["selection_rate"], 0.2);
    }
    let gap = &first["demographic_parity"];
    let ends = [&gap["interval"][0], &gap["interval"][1]].map(|end| end.as_f64().unwrap());
    assert!(ends[0] < ends[1] && ends[1] <= 1.0 && gap["comparisons"] == 1);
    let page = place.read("metrics.html");
    assert!(page.contains("Error and gaps between groups") && page.contains("noise and sampling"));
    assert!(page.contains("(about ") && !page.contains("<script"), "{page}");

    // The same question again: the same numbers, and nothing is spent.
    let again = place.json(&[&FILES[..], &paid].concat());
    assert_eq!(again["groups"], first["groups"]);
    assert_eq!(again["ledger"]["stores"][0]["receipts"], json!([]));
    assert_eq!(
        again["ledger"]["stores"][0]["epsilon_spent"],
        first["ledger"]["stores"][0]["epsilon_spent"]
    );
    // Another one does not fit any more.
    let more = ["--epsilon", "5.5", "--delta", "1e-6", "--ledger", "books"];
    let refused = place.run(&[&FILES[..], &more].concat());
    assert_eq!(refused.status, 4, "{}", refused.stderr);
    assert!(refused.stderr.contains("steffle::ledger::budget") && refused.stdout.is_empty());
    let verified = place.run(&["ledger", "verify", "books"]);
    assert_eq!(verified.status, 0, "{}", verified.stderr);
}

#[test]
fn who_holds_the_attributes_does_not_matter() {
    let place = place("metrics-holders", "2");
    let sensitive = |name: &str| name == "group" || name == "record_id";
    for at in 0..3 {
        let file = place.read(&format!("test-{at}.csv"));
        place.write(&format!("records-{at}.csv"), columns(&file, |name| name != "group"));
    }
    place.write("census.csv", columns(&place.read("parts/test.csv"), sensitive));
    let simulated = ["--epsilon", "30", "--noise", "simulated"];
    let house = place.json(&[&FILES[..], &simulated].concat());
    assert_eq!(house["privacy"]["kind"], "simulation");
    let records = ["evaluate", "model", "records-0.csv", "records-1.csv", "records-2.csv"];
    let elsewhere =
        [&records[..], &["--private", "--attributes", "census.csv"], &simulated].concat();
    let central = place.json(&elsewhere);
    assert_eq!((&central["stores"], &house["stores"]), (&1.into(), &3.into()));
    assert_eq!(central["error"], house["error"]);
    // Epsilon 30: a count's noise has a deviation of about 0.3, of three stores 0.5.
    for (one, three) in
        central["groups"].as_array().unwrap().iter().zip(house["groups"].as_array().unwrap())
    {
        near(&one["records"], &three["records"], 10.0);
    }
    let statement = central["privacy"]["statement"].as_str().unwrap();
    assert!(statement.contains("attributes holders learn what was decided"), "{statement}");
}

#[test]
fn small_groups_are_not_enough_evidence() {
    let place = place("metrics-evidence", "2");
    let ran = place.run(&[&FILES[..], &["--epsilon", "0.02", "--noise", "simulated"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("not enough evidence"), "{}", ran.stdout);
    assert!(ran.stdout.contains("Not enough evidence about group a: fewer than 30 effective"));
    let told = place.json(&[&FILES[..], &["--epsilon", "0.02", "--noise", "simulated"]].concat());
    assert!(told["demographic_parity"].is_null() && told["equalized_odds"].is_null());
    let rate = &told["groups"][0]["labels"][1]["selection_rate"];
    assert!(rate["value"].is_null() && rate["effective_records"].as_f64().unwrap() < 30.0);
}

#[test]
fn what_cannot_be_bought_is_refused_by_name() {
    let place = place("metrics-refused", "2");
    let cases: [(&[&str], i32, &str); 9] = [
        (&["--private"], 2, "steffle::config::epsilon"),
        (&["--private", "--epsilon", "0", "--sensitive", "group"], 2, "steffle::config::privacy"),
        (
            &["--private", "--epsilon", "1", "--delta", "2", "--sensitive", "group"],
            2,
            "steffle::config::privacy",
        ),
        (&["--private", "--epsilon", "1"], 2, "add --sensitive COLUMN"),
        (&["--private", "--epsilon", "1", "--sensitive", "town"], 3, "steffle::ledger::columns"),
        (&["--epsilon", "1"], 2, "--private"),
        (&[], 2, "steffle::config::private"),
        (
            &["--private", "--epsilon", "1", "--ledger", "books", "--noise", "simulated"],
            2,
            "steffle::config::conflict",
        ),
        (&["--private", "--epsilon", "1", "--ledger", "nobody"], 3, "nobody"),
    ];
    for (flags, status, word) in cases {
        let ran = place.run(&[&FILES[..5], flags].concat());
        assert_eq!(ran.status, status, "{flags:?} {}", ran.stderr);
        assert!(ran.stderr.contains(word), "{flags:?} {}", ran.stderr);
    }
    // Rows without ids are nobody's, and rows in two files are two people's.
    let test = place.read("parts/test.csv");
    place.write("nameless.csv", columns(&test, |name| name != "record_id"));
    let flags = ["--private", "--epsilon", "1", "--noise", "simulated"];
    let ran = place.run(&[&["evaluate", "model", "nameless.csv"], &flags[..]].concat());
    let told = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(ran.status == 3 && told.contains("no column `record_id`"), "{told}");
    assert!(told.contains("a budget belongs to people"), "{told}");
    let twice = ["evaluate", "model", "test-0.csv", "parts/test.csv"];
    let ran = place.run(&[&twice[..], &flags].concat());
    assert!(ran.status == 3 && ran.stderr.contains("test-0.csv"), "{}", ran.stderr);
}

const TRAIN: [&str; 14] = [
    "train",
    "--data",
    "people.csv",
    "--label",
    "label",
    "--sensitive",
    "group",
    "--classes",
    "a,b",
    "--silos",
    "2",
    "--method",
    "one-shot",
    "--force",
];

#[test]
fn a_share_of_the_budget_buys_the_final_metrics() {
    let place = Place::new("metrics-share");
    place.write("people.csv", people(0..1600).replace(",c,", ",b,"));
    let init = ["ledger", "init", "books", "--silos", "2", "--epsilon", "4", "--delta", "1e-6"];
    assert_eq!(place.run(&[&init[..], &COLUMNS].concat()).status, 0);
    let paid = ["--epsilon", "3", "--delta", "1e-6", "--ledger", "books", "--metrics-share", "0.4"];
    let plan = place.json(&[&TRAIN[..], &paid, &["--dry-run"]].concat());
    assert_eq!((&plan["metrics_share"], &plan["privacy"]["epsilon"]), (&0.4.into(), &3.0.into()));
    let run = place.json(&[&TRAIN[..], &paid, &["--out", "run"]].concat());
    let bought = &run["metrics"];
    assert_eq!((&bought["share"], &bought["epsilon"]), (&0.4.into(), &plan["metrics_epsilon"]));
    assert_eq!(run["privacy"]["epsilon"], 3.0);
    let statement = run["privacy"]["statement"].as_str().unwrap();
    assert!(statement.contains("A share of 0.4 of the budget"), "{statement}");
    // Exact numbers by group are in no file; bought ones are.
    assert_eq!(
        (&run["test"]["groups"], &run["test"]["demographic_parity"]),
        (&json!([]), &Value::Null)
    );
    assert!(bought["groups"][0]["labels"][0]["selection_rate"]["value"].is_number(), "{bought}");
    for file in ["run/MODEL_CARD.md", "run/report.html"] {
        let text = place.read(file);
        assert!(text.contains("noisy counts on the test rows"), "{file}: {text}");
    }
    // Two runs in every book, about other people: whoever is trained on pays 0.6 of mu^2, whoever is
    // tested on 0.4, and nobody more than epsilon 3.
    let show = place.json(&["ledger", "show", "books"]);
    for book in show["books"].as_array().unwrap() {
        let runs = book["runs"].as_array().unwrap();
        let methods: Vec<&str> = runs.iter().map(|run| run["method"].as_str().unwrap()).collect();
        assert_eq!(methods, ["metrics", "one-shot"]);
        let mu = |at: usize| runs[at]["mu"].as_f64().unwrap().powi(2);
        assert!((mu(0) / (mu(0) + mu(1)) - 0.4).abs() < 1e-3, "{runs:?}");
        assert!(book["epsilon_spent"].as_f64().unwrap() < 2.5);
    }
    let printed = place.run(&[&TRAIN[..], &paid, &["--seed", "1", "--out", "again"]].concat());
    // Another split: somebody is in both, and the budget of 4 is not enough for that.
    assert!(printed.status == 4 || printed.stderr.contains("book of silo"), "{}", printed.stderr);
}

#[test]
fn metrics_that_could_not_be_paid_for_are_refused_before_training() {
    let place = Place::new("metrics-share-refused");
    place.write("people.csv", pairs(0..600));
    let methods = ["--methods", "one-shot"];
    let init = ["ledger", "init", "books", "--silos", "2", "--epsilon", "4", "--delta", "1e-6"];
    assert_eq!(place.run(&[&init[..], &methods, &COLUMNS].concat()).status, 0);
    let paid = ["--epsilon", "1", "--ledger", "books", "--metrics-share"];
    let refused = place.run(&[&TRAIN[..], &paid, &["0.2"]].concat());
    assert_ne!(refused.status, 0);
    assert!(refused.stderr.contains("metrics") && refused.stderr.contains("one-shot"));
    let show = place.json(&["ledger", "show", "books"]);
    assert_eq!(show["books"][0]["runs"], json!([]));
    // What is no share, and what has no Gaussian messages.
    let refused = place.run(&[&TRAIN[..], &paid, &["1"]].concat());
    assert!(refused.status == 2 && refused.stderr.contains("metrics-share"), "{}", refused.stderr);
    let response: Vec<&str> = TRAIN
        .iter()
        .map(|word| if *word == "one-shot" { "randomised-response" } else { word })
        .collect();
    let refused = place.run(&[&response[..], &paid, &["0.2"]].concat());
    assert!(refused.status == 2 && refused.stderr.contains("Gaussian"), "{}", refused.stderr);
}

#[test]
fn a_choice_is_charged_for_every_candidate() {
    let place = place("metrics-choose", "3");
    for (lambda, name) in [("0", "plain"), ("2", "some"), ("40", "fair")] {
        let train = ["train", "--data", "parts/job.toml", "--method", "steffle-nonprivate"];
        let ran = place.run(&[&train[..], &["--lambda", lambda, "--out", name]].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    let on = ["--on", "test-0.csv", "test-1.csv", "test-2.csv"];
    let asked = [&["choose", "plain", "some", "fair"], &on[..]].concat();
    let paid = ["--epsilon", "2", "--delta", "1e-6", "--ledger", "books"];
    let chosen = place.json(&[&asked[..], &paid].concat());
    let stores = chosen["ledger"]["stores"].as_array().unwrap();
    for store in stores {
        let receipts = store["receipts"].as_array().unwrap();
        assert_eq!(receipts.len(), 3, "one message per candidate");
        let squared = |at: usize| receipts[at]["cost"]["gaussian"]["squared"].as_f64().unwrap();
        assert!((squared(0) / squared(2) - 1.0).abs() < 1e-6);
        let spent = store["epsilon_spent"].as_f64().unwrap();
        assert!((1.999..=2.0).contains(&spent), "{spent}");
    }
    let statement = chosen["privacy"]["statement"].as_str().unwrap();
    assert!(statement.contains("3 messages of noisy counts per store"), "{statement}");
    // The rule, applied again to what was printed.
    let candidates = chosen["candidates"].as_array().unwrap();
    let told = |own: &Value| Some((own["error"].as_f64()?, own["gap"]["value"].as_f64()?));
    let best = candidates
        .iter()
        .filter(|own| told(own).is_some_and(|(_, gap)| gap <= 0.05))
        .min_by(|a, b| told(a).unwrap().0.total_cmp(&told(b).unwrap().0))
        .or(candidates.iter().min_by(|a, b| told(a).unwrap().1.total_cmp(&told(b).unwrap().1)));
    assert_eq!(chosen["chosen"], best.unwrap()["run"]);
    // Models of other columns are no candidates, and a choice without evidence is none.
    place.write("others.csv", people(0..400).replace("score", "points"));
    let meaning = ["--label", "label", "--sensitive", "group", "--method", "erm", "--out", "other"];
    let ran = place.run(&[&["train", "--data", "others.csv"], &meaning[..]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mixed = [&["choose", "plain", "other"], &on[..], &["--epsilon", "1"]].concat();
    let refused = place.run(&mixed);
    assert!(refused.status == 3 && refused.stderr.contains("choose::models"), "{}", refused.stderr);
    let little = ["--epsilon", "0.001", "--noise", "simulated"];
    let refused = place.run(&[&asked[..], &little].concat());
    assert!(
        refused.status == 3 && refused.stderr.contains("choose::evidence"),
        "{}",
        refused.stderr
    );
    let printed = place.run(&[&asked[..], &["--epsilon", "9", "--noise", "simulated"]].concat());
    assert_eq!(printed.status, 0, "{}", printed.stderr);
    for words in ["chosen", "each has 1/3 of the budget", "simulation"] {
        assert!(printed.stdout.replace('\n', " ").contains(words), "{}", printed.stdout);
    }
}

#[test]
fn a_sweep_of_private_runs_says_what_each_costs_and_what_is_free() {
    let place = Place::new("metrics-sweep");
    place.write("people.csv", pairs(0..600));
    let data = ["--data", "people.csv", "--label", "label", "--sensitive", "group"];
    let asked = ["sweep", "--classes", "a,b", "--method", "one-shot", "--noise", "secure"];
    let grid = ["--epsilon", "0.5,1", "--lambda", "1,2", "--out", "grid"];
    let ran = place.run(&[&asked[..], &data, &grid].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let said = ran.stderr.replace('\n', " ");
    for words in
        ["Run by run:", "epsilon 0.5 at delta", "epsilon 1 at delta", "is free", "steffle choose"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
}
