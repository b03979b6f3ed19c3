use std::fs;

use crate::harness::{Place, people};

const FILES: [&str; 7] = [
    "MODEL_CARD.md",
    "config.toml",
    "metrics.json",
    "model.safetensors",
    "report.html",
    "schema.json",
    "trace.jsonl",
];

/// What happens to the bytes of a file.
type Damage = fn(Vec<u8>) -> Vec<u8>;

fn trained(name: &str) -> Place {
    let place = Place::new(name);
    place.json(&["train", "--rounds", "12", "--out", "run"]);
    place.json(&["data", "partition", "adult", "--silos", "1", "--out", "parts"]);
    place
}

#[test]
fn it_holds_everything() {
    let place = trained("run-files");
    let mut names: Vec<String> = fs::read_dir(place.path("run"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, FILES);
    let trace = place.read("run/trace.jsonl");
    assert_eq!(trace.lines().count(), 12);
    for (line, round) in trace.lines().zip(1..) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["round"], round);
    }
    let model = fs::read(place.path("run/model.safetensors")).unwrap();
    let (_, header) = safetensors::SafeTensors::read_metadata(&model).unwrap();
    let metadata = header.metadata().clone().unwrap();
    for (name, expected) in [
        ("format", "steffle-run"),
        ("version", "1"),
        ("model", "logistic"),
        ("notion", "demographic-parity"),
        ("lambda", "1"),
        ("privacy", "simulation"),
        ("privacy_holds", "true"),
        ("epsilon", "1"),
    ] {
        assert_eq!(metadata.get(name).map(String::as_str), Some(expected), "{name}");
    }
    assert_eq!(metadata["schema"].len(), 64);
    let card = place.read("run/MODEL_CARD.md");
    for part in ["library_name: steffle", "## Privacy", "## Limits", "## Settings"] {
        assert!(card.contains(part), "{part}");
    }
}

#[test]
fn a_card_names_people_and_no_folder() {
    let place = Place::new("run-card");
    fs::create_dir(place.path("folder")).unwrap();
    place.write("folder/people.csv", people(0..200));
    let data = ["train", "--data", "folder/people.csv", "--label", "label", "--favourable", "high"];
    let more = ["--sensitive", "group", "--classes", "a,b", "--rounds", "1", "--out", "run"];
    place.json(&[&data[..], &more].concat());
    let card = place.read("run/MODEL_CARD.md");
    // Settings are what the run can be repeated by.
    let (shown, settings) = card.split_once("## Settings").unwrap();
    assert!(shown.contains("(people.csv)") && !shown.contains("folder/"), "{shown}");
    assert!(settings.contains("folder/people.csv"), "{settings}");
}

#[test]
fn default_names_are_numbered_and_nothing_is_overwritten() {
    let place = Place::new("run-names");
    for expected in ["runs/adult-1", "runs/adult-2"] {
        assert_eq!(place.json(&["train", "--rounds", "1"])["run_dir"], expected);
    }
    let before = fs::read(place.path("runs/adult-1/metrics.json")).unwrap();
    let again = ["train", "--rounds", "2", "--out", "runs/adult-1"];
    let ran = place.run(&again);
    assert_eq!(ran.status, 3);
    assert!(ran.stderr.contains("error[steffle::run::exists]"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--force"));
    assert_eq!(fs::read(place.path("runs/adult-1/metrics.json")).unwrap(), before);
    place.json(&[&again[..], &["--force"]].concat());
    assert_ne!(fs::read(place.path("runs/adult-1/metrics.json")).unwrap(), before);
}

#[test]
fn another_version_is_refused() {
    let place = trained("run-version");
    let path = place.path("run/model.safetensors");
    let mut model = fs::read(&path).unwrap();
    let needle = b"\"version\":\"1\"";
    let at = model.windows(needle.len()).position(|window| window == needle).unwrap();
    model[at + needle.len() - 2] = b'9';
    fs::write(&path, model).unwrap();
    for command in [
        &["predict", "run", "parts/test.csv", "--output", "labels.csv"][..],
        &["evaluate", "run", "parts/test.csv"],
    ] {
        let ran = place.run(command);
        assert_eq!(ran.status, 3);
        assert!(ran.stderr.contains("error[steffle::run::version]"), "{}", ran.stderr);
        for words in ["format version 9", "reads version 1", "the program that wrote it"] {
            assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
        }
    }
    assert!(!place.path("labels.csv").exists());
}

#[test]
fn damage_is_refused() {
    let place = trained("run-damage");
    let spoil: [(&str, Damage); 7] = [
        ("model.safetensors", |bytes| bytes[..bytes.len() / 2].to_vec()),
        ("model.safetensors", |bytes| bytes[..bytes.len() - 8].to_vec()),
        ("model.safetensors", |_| Vec::new()),
        ("model.safetensors", |_| vec![0xa5; 4096]),
        ("schema.json", |bytes| bytes[..bytes.len() / 2].to_vec()),
        ("schema.json", |_| b"{}".to_vec()),
        // Another scale for a column: a schema, but not the one of this model.
        ("schema.json", |bytes| {
            String::from_utf8(bytes)
                .unwrap()
                .replacen("\"centre\": ", "\"centre\": 1", 1)
                .into_bytes()
        }),
    ];
    for (at, (name, damage)) in spoil.into_iter().enumerate() {
        let path = place.path("run").join(name);
        let good = fs::read(&path).unwrap();
        fs::write(&path, damage(good.clone())).unwrap();
        let ran = place.run(&["evaluate", "run", "parts/test.csv"]);
        assert_eq!(ran.status, 3, "{at} {name}: {}", ran.stderr);
        assert!(ran.stderr.contains("error[steffle::run::damaged]"), "{at}: {}", ran.stderr);
        assert!(ran.stderr.contains(name), "{at}: {}", ran.stderr);
        fs::write(&path, good).unwrap();
    }
    fs::remove_file(place.path("run/schema.json")).unwrap();
    let ran = place.run(&["evaluate", "run", "parts/test.csv"]);
    assert!(ran.stderr.contains("error[steffle::run::damaged]"), "{}", ran.stderr);
}
