//! Methods that others have published, and presets of our own.

use serde_json::Value;

use crate::harness::{Place, pairs};

const MEANING: [&str; 6] = ["--data", "people.csv", "--label", "label", "--sensitive", "group"];

fn train(place: &Place, method: &str, flags: &[&str]) -> Value {
    let own = ["train", "--method", method, "--out", "run", "--force"];
    place.json(&[&own[..], &MEANING, flags].concat())
}

/// A place with 400 made-up people: two groups, two labels.
fn village(name: &str) -> Place {
    let place = Place::new(name);
    place.write("people.csv", pairs(0..400));
    place
}

#[test]
fn a_preset_is_steffle_with_its_settings() {
    let place = village("presets");
    for (method, same) in [
        ("steffle-nonprivate", &["--mode", "none", "--server", "plain"][..]),
        ("dp-fermi", &["--centralisation", "one-silo", "--server", "plain"]),
    ] {
        let short = ["--rounds", "20"];
        let preset = train(&place, method, &short);
        let spelled = train(&place, "steffle", &[&short, same].concat());
        assert_eq!(preset["test"], spelled["test"], "{method}");
        assert_eq!(preset["privacy"]["epsilon"], spelled["privacy"]["epsilon"], "{method}");
        assert_eq!(preset["method"], method);
    }
}

#[test]
fn a_preset_refuses_what_contradicts_it() {
    let place = village("presets-refuse");
    for (method, flag, value) in [
        ("dp-fermi", "--silos", "3"),
        ("dp-fermi", "--heterogeneity", "0.5"),
        ("dp-fermi", "--server", "improved"),
        ("steffle-nonprivate", "--mode", "exact"),
        ("steffle-nonprivate", "--epsilon", "1"),
    ] {
        let flags = ["train", "--method", method, flag, value];
        let refused = place.run(&[&flags[..], &MEANING].concat());
        assert_eq!(refused.status, 2, "{flags:?}");
        assert!(refused.stderr.contains(&flag[2..]), "{flags:?}: {}", refused.stderr);
    }
}

#[test]
fn a_central_method_says_who_is_trusted() {
    let place = village("trusted");
    let run = train(&place, "dp-fermi", &["--rounds", "5"]);
    let statement = run["privacy"]["statement"].as_str().unwrap();
    assert!(statement.contains("everyone but the curator"), "{statement}");
    assert_eq!((&run["silos"], &run["privacy"]["holds"]), (&1.into(), &true.into()));
    let paper = train(&place, "dp-fermi", &["--mode", "paper", "--epsilon", "3", "--rounds", "5"]);
    assert_eq!(paper["privacy"]["holds"], false);
    let honest = paper["privacy"]["honest_epsilon"].as_f64().unwrap();
    assert!(honest > 3.0, "{honest}");
}
