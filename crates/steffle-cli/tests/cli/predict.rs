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

#[test]
fn rows_that_cannot_be_read_are_skipped_counted_and_listed() {
    let place = trained("predict-skip");
    let new = "score,town,region\n50,north,hill\nmuch,north,hill\n50,north\n1e300,south,plain\n\
               20,south,plain\n";
    place.write("new.csv", new);
    let stops = place.run(&["predict", "run", "new.csv"]);
    assert_eq!(stops.status, 3);
    let told =
        place.json(&["predict", "run", "new.csv", "--on-error", "skip", "--output", "labels.csv"]);
    assert_eq!((&told["records"], &told["skipped"]), (&json!(2), &json!(3)));
    let rows: Vec<&serde_json::Value> =
        told["skipped_rows"].as_array().unwrap().iter().map(|row| &row["row"]).collect();
    assert_eq!(rows, [2, 3, 4]);
    let reasons = told["skipped_rows"].to_string();
    for word in ["`much` is not a number", "2 cells", "not a finite number"] {
        assert!(reasons.contains(word), "{reasons}");
    }
    // Rows keep their numbers, and what is predicted for the others.
    place.write("good.csv", "score,town,region\n50,north,hill\n20,south,plain\n");
    let good = place.run(&["predict", "run", "good.csv"]).stdout;
    let chances = |text: &str| -> Vec<String> {
        text.lines().skip(1).map(|line| line.split_once(',').unwrap().1.to_owned()).collect()
    };
    let skipped = place.read("labels.csv");
    assert_eq!(chances(&skipped), chances(&good));
    assert!(skipped.lines().nth(2).unwrap().starts_with("4,"), "{skipped}");
    // The others are told in the notation that they are written in.
    place.write("comma.csv", "score;town;region\n50,5;north;hill\nmuch;north;hill\n");
    let flags = ["predict", "run", "comma.csv", "--on-error", "skip", "--decimal", "comma"];
    let ran = place.run(&flags);
    assert_eq!(ran.stdout.lines().count(), 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("1 rows were skipped"), "{}", ran.stderr);
}

#[test]
fn many_files_ids_thresholds_and_standard_input() {
    let place = trained("predict-many");
    place.write("one.csv", columns(&pairs(400..420), |name| name != "label"));
    place.write("two.csv", columns(&pairs(420..430), |name| name != "label"));
    let both = place.run(&["predict", "run", "one.csv", "two.csv", "--id", "town"]);
    let mut lines = both.stdout.lines();
    assert_eq!(lines.next(), Some("file,town,label,probability_high,probability_low"));
    let files: Vec<&str> = lines.map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(files, [vec!["one.csv"; 20], vec!["two.csv"; 10]].concat());
    let towns = ["north", "south", "east"];
    assert!(
        both.stdout.lines().skip(1).all(|line| towns.contains(&line.split(',').nth(1).unwrap()))
    );
    // The same in Parquet, which the program reads back.
    let flags = ["predict", "run", "one.csv", "two.csv", "--output", "labels.parquet"];
    assert_eq!(place.json(&flags)["records"], 30);
    let described = place.json(&[
        "data",
        "describe",
        "labels.parquet",
        "--label",
        "label",
        "--sensitive",
        "file",
    ]);
    assert_eq!(described["rows"], 30, "{described}");

    let all = place.run(&["predict", "run", "one.csv", "--threshold", "0"]).stdout;
    assert!(all.lines().skip(1).all(|line| line.contains(",high,")), "{all}");
    let none = place.run(&["predict", "run", "one.csv", "--threshold", "1"]).stdout;
    assert!(none.lines().skip(1).all(|line| line.contains(",low,")), "{none}");
    let half = place.run(&["predict", "run", "one.csv", "--threshold", "0.5"]).stdout;
    let usual = place.run(&["predict", "run", "one.csv"]).stdout;
    assert_eq!(half, usual);
    let wrong = place.run(&["predict", "run", "one.csv", "--threshold", "1.5"]);
    assert!(wrong.stderr.contains("error[steffle::config::threshold]"), "{}", wrong.stderr);
    let absent = place.run(&["predict", "run", "one.csv", "--id", "nobody"]);
    assert!(absent.stderr.contains("error[steffle::data::unknown_column]"), "{}", absent.stderr);

    let piped = place.run_with(&["predict", "run", "-"], place.read("one.csv").as_bytes());
    assert_eq!((piped.status, &piped.stdout), (0, &usual), "{}", piped.stderr);
    let bad = place.run_with(&["predict", "run", "-"], b"score\n1\n");
    assert_eq!(bad.status, 3);
    assert!(bad.stderr.contains("standard input: "), "{}", bad.stderr);
    let twice = place.run(&["predict", "run", "-", "-"]);
    assert!(twice.stderr.contains("error[steffle::usage::arguments]"), "{}", twice.stderr);
}

#[test]
fn models_are_exported_whole_and_alike() {
    let place = trained("export");
    let told = place.json(&["export", "run", "--format", "onnx"]);
    assert_eq!(told["output"], "run/model.onnx");
    assert_eq!(told["numbers"], json!(["score"]));
    assert_eq!(told["names"], json!(["town", "region"]));
    place.json(&["export", "run", "--format", "onnx", "--output", "again.onnx"]);
    let bytes = |name: &str| std::fs::read(place.path(name)).unwrap();
    assert_eq!(bytes("run/model.onnx"), bytes("again.onnx"));
    assert_eq!(bytes("again.onnx").len() as u64, told["bytes"].as_u64().unwrap());
    // What is known about privacy goes with it.
    let text = String::from_utf8_lossy(&bytes("again.onnx")).into_owned();
    assert!(text.contains("privacy_holds") && text.contains("LabelEncoder"));
    assert_eq!(place.run(&["export", "run", "--format", "tables"]).status, 2);
}
