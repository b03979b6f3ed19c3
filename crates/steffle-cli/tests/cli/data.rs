use std::collections::BTreeSet;

use crate::harness::{Place, people};

#[test]
fn lists_the_named_data_sets() {
    let list = Place::new("list").json(&["data", "list"]);
    let sets = list["data_sets"].as_array().unwrap();
    let names: Vec<&str> = sets.iter().map(|set| set["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["adult", "credit-card", "retired-adult", "bank-marketing"]);
    assert_eq!(sets[2]["shipped"], false);
}

#[test]
fn describes_what_training_would_see() {
    let place = Place::new("describe");
    let adult = place.json(&["data", "describe", "adult"]);
    assert_eq!(adult["rows"], 48_842);
    assert_eq!(adult["usable_rows"], 45_222);
    assert_eq!(adult["features"], 102);
    let credit = place.json(&["data", "describe", "credit-card"]);
    assert_eq!((&credit["rows"], &credit["features"]), (&30_000.into(), &85.into()));
    place.write("people.csv", people(0..30));
    let bare = place.json(&["data", "describe", "people.csv"]);
    assert_eq!(bare["rows"], 30);
    assert!(bare.get("groups").is_none());
    let flags = ["data", "describe", "people.csv", "--label", "label", "--sensitive", "group"];
    let full = place.json(&flags);
    assert_eq!(full["groups"].as_array().unwrap().len(), 3);
    let text = place.run(&flags).stdout;
    assert!(text.contains("favourable") && text.contains("group (group)"));
}

#[test]
fn partitions_are_whole_or_divided_and_lose_nobody() {
    let place = Place::new("partition");
    place.write("people.csv", people(0..103));
    let flags = ["data", "partition", "people.csv", "--label", "label", "--sensitive", "group"];
    let ids = |files: &serde_json::Value| -> Vec<u64> {
        let files = files.as_array().unwrap().iter();
        files
            .flat_map(|file| {
                let text = place.read(file.as_str().unwrap());
                let lines: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
                lines.into_iter().map(|line| line.split(',').next().unwrap().parse().unwrap())
            })
            .collect()
    };
    let whole = place.json(&[&flags[..], &["--silos", "4", "--out", "whole"]].concat());
    assert_eq!(whole["silos"].as_array().unwrap().len(), 4);
    let test = ids(&serde_json::json!([whole["test"]]));
    let train = ids(&whole["silos"]);
    let everybody: BTreeSet<u64> = test.iter().chain(&train).copied().collect();
    assert_eq!((test.len(), train.len(), everybody.len()), (26, 77, 103));

    let split = place.json(&[&flags[..], &["--split", "--out", "split"]].concat());
    assert_eq!(ids(&split["records"]), ids(&split["attributes"]));
    let header = |file: &str| place.read(file).lines().next().unwrap().to_owned();
    assert_eq!(header("split/records-1.csv"), "record_id,score,town,region,label");
    assert_eq!(header("split/attributes-1.csv"), "record_id,group");
    assert_eq!(place.names(), ["people.csv", "split", "whole"]);
    let again = place.run(&[&flags[..], &["--out", "whole"]].concat());
    assert_eq!(again.status, 3);
}

/// Every label has its share of the test rows: 26 of 103 people, whatever the seed.
#[test]
fn test_rows_have_every_label_s_share() {
    let place = Place::new("partition-shares");
    let everybody = people(0..103);
    place.write("people.csv", &everybody);
    let flags = ["data", "partition", "people.csv", "--label", "label", "--sensitive", "group"];
    for seed in ["1", "2", "3"] {
        let parts = place.json(&[&flags[..], &["--seed", seed, "--out", seed]].concat());
        let test = place.read(parts["test"].as_str().unwrap());
        for label in [",low", ",middle", ",high"] {
            let count = |text: &str| text.lines().filter(|line| line.ends_with(label)).count();
            let share = count(&everybody) as f64 / 4.0;
            let off = (count(&test) as f64 - share).abs();
            assert!(off <= 1.0, "seed {seed}: {} of {label}, {share} expected", count(&test));
        }
    }
}
