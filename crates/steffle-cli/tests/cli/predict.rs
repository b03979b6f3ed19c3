use serde_json::json;

use crate::harness::{Place, columns, pairs};

fn trained(name: &str) -> Place {
    let place = Place::new(name);
    place.write("people.csv", pairs(0..400));
    let flags = ["train", "--data", "people.csv", "--label", "label", "--sensitive", "group"];
    let more = ["--classes", "a,b", "--favourable", "high", "--rounds", "200", "--out", "run"];
    place.json(&[&flags[..], &more].concat());
    place
}

#[test]
fn labels_and_probabilities_without_the_sensitive_column() {
    let place = trained("predict");
    let new = pairs(400..500);
    place.write("new.csv", columns(&new, |name| name != "group" && name != "label"));
    let ran = place.run(&["predict", "run", "new.csv"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut lines = ran.stdout.lines();
    assert_eq!(lines.next(), Some("record_id,label,probability_high,probability_low"));
    for (line, row) in lines.by_ref().zip(400..) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[0], row.to_string());
        let high: f64 = cells[2].parse().unwrap();
        let low: f64 = cells[3].parse().unwrap();
        assert!((high + low - 1.0).abs() < 1e-12);
        assert_eq!(cells[1], if high >= low { "high" } else { "low" });
    }
    assert_eq!(ran.stdout.lines().count(), 101);
    // The whole file at once or in a file of its own: the same lines.
    let summary = place.json(&["predict", "run", "new.csv", "--output", "labels.csv"]);
    assert_eq!(summary["records"], 100);
    assert_eq!(place.read("labels.csv"), ran.stdout);
}

#[test]
fn unseen_and_missing_values_are_counted() {
    let place = trained("predict-unseen");
    let new = "score,town,region\n50,north,hill\n50,atlantis,hill\n,utopia,\n";
    place.write("new.csv", new);
    let summary = place.json(&["predict", "run", "new.csv", "--output", "labels.csv"]);
    assert_eq!(summary["records"], 3);
    assert_eq!(summary["unseen"], json!({"town": 2}));
    assert_eq!(summary["missing"], json!({"region": 1, "score": 1}));
    // Row numbers stand in for ids.
    let ids: Vec<String> = place
        .read("labels.csv")
        .lines()
        .skip(1)
        .map(|line| line.split(',').next().unwrap().to_owned())
        .collect();
    assert_eq!(ids, ["0", "1", "2"]);
    let ran = place.run(&["predict", "run", "new.csv"]);
    assert!(ran.stderr.contains("2 cells hold a category that training never saw (town: 2)"));
}

#[test]
fn wrong_files_leave_no_output() {
    let place = trained("predict-wrong");
    place.write("no-town.csv", "score,region\n50,hill\n");
    place.write("text.csv", "score,town,region\n50,north,hill\nmuch,north,hill\n");
    let before = place.names();
    for (file, code) in
        [("no-town.csv", "unknown_column"), ("text.csv", "not_a_number"), ("no.csv", "not_found")]
    {
        let ran = place.run(&["predict", "run", file, "--output", "labels.csv"]);
        assert_eq!(ran.status, 3, "{file}");
        assert!(ran.stderr.contains(&format!("error[steffle::data::{code}]")), "{}", ran.stderr);
        assert_eq!(place.names(), before, "{file}");
    }
    let onto_itself = place.run(&["predict", "run", "people.csv", "--output", "./people.csv"]);
    assert_eq!(onto_itself.status, 2);
    assert!(onto_itself.stderr.contains("error[steffle::usage::output]"), "{}", onto_itself.stderr);
    assert_eq!(place.read("people.csv"), pairs(0..400));
}

#[test]
fn evaluation_has_metrics_with_intervals_per_group() {
    let place = trained("evaluate");
    place.write("labelled.csv", pairs(400..800));
    let found = place.json(&["evaluate", "run", "labelled.csv"]);
    assert_eq!(found["records"], 400);
    for metric in ["error", "demographic_parity", "equalized_odds", "equal_opportunity", "auc"] {
        let value = found[metric].as_f64().unwrap();
        let [low, high] = [0, 1].map(|end| found["intervals"][metric][end].as_f64().unwrap());
        assert!(low <= value && value <= high, "{metric}: {low} {value} {high}");
        assert!(low < high, "{metric}");
    }
    for group in found["groups"].as_array().unwrap() {
        assert!(group["intervals"]["error"].is_array());
        assert_eq!(group["labels"].as_array().unwrap().len(), 2);
    }
    // The error is the share of lines that predict gets wrong.
    let predicted = place.run(&["predict", "run", "labelled.csv"]).stdout;
    let labels = pairs(400..800);
    let wrong = predicted
        .lines()
        .zip(labels.lines())
        .skip(1)
        .filter(|(given, truth)| given.split(',').nth(1) != truth.split(',').next_back())
        .count();
    assert!((found["error"].as_f64().unwrap() - wrong as f64 / 400.0).abs() < 1e-12);
    let text = place.run(&["evaluate", "run", "labelled.csv"]).stdout;
    assert!(text.contains("95 % interval") && text.contains("equalized-odds gap"));
    // Another seed gives other resamples, the same seed the same.
    assert_eq!(found, place.json(&["evaluate", "run", "labelled.csv", "--seed", "0"]));
    let other = place.json(&["evaluate", "run", "labelled.csv", "--seed", "1"]);
    assert_ne!(found["intervals"], other["intervals"]);
}

#[test]
fn evaluation_says_what_it_cannot_say() {
    let place = trained("evaluate-groups");
    let one_group = pairs(400..500).replace(",b,", ",a,");
    place.write("one.csv", one_group);
    let found = place.json(&["evaluate", "run", "one.csv"]);
    assert!(found["demographic_parity"].is_null());
    let left_out =
        json!([{"group": "a", "label": "low", "records": 22}, {"group": "b", "records": 0}]);
    assert_eq!((&found["left_out"], &found["min_group"]), (&left_out, &30.into()));
    let all = place.json(&["evaluate", "run", "one.csv", "--min-group", "1"]);
    assert_eq!(all["left_out"], json!([{"group": "b", "records": 0}]));
    let text = place.run(&["evaluate", "run", "one.csv"]).stdout;
    assert!(text.contains("Not enough evidence: group b has 0 record(s)"));
    place.write("stranger.csv", pairs(400..410).replace(",b,", ",z,"));
    let found = place.json(&["evaluate", "run", "stranger.csv"]);
    let strangers = place.read("stranger.csv").matches(",z,").count();
    assert_eq!(found["without_group"], strangers, "a group that nobody declared is none");
    assert_eq!(found["records"], 10);
    // A label is public: one that nobody knows is an error.
    place.write("label.csv", pairs(400..410).replace(",high", ",utmost"));
    let ran = place.run(&["evaluate", "run", "label.csv"]);
    assert_eq!(ran.status, 3);
    assert!(ran.stderr.contains("error[steffle::data::labels]"), "{}", ran.stderr);
}
