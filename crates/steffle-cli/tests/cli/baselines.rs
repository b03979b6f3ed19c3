//! Methods that others have published, and presets of our own.

use serde_json::Value;

use crate::harness::{Place, pairs, people};

const MEANING: [&str; 8] =
    ["--data", "people.csv", "--label", "label", "--sensitive", "group", "--classes", "a,b"];

fn number(value: &Value, pointer: &str) -> f64 {
    value.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}: {value}"))
}

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
        ("dp-fermi", &["--silos", "1", "--server", "plain", "--lr-theta", "1"]),
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
    let paper = train(&place, "dp-fermi", &["--mode", "paper", "--epsilon", "3", "--batch", "50"]);
    assert_eq!(paper["privacy"]["holds"], false);
    let honest = paper["privacy"]["honest_epsilon"].as_f64().unwrap();
    assert!(honest > 3.0, "{honest}");
}

#[test]
fn every_baseline_runs_on_every_notion_and_says_what_holds() {
    let place = village("baselines");
    for (method, flags, kind, holds) in [
        ("pf-ld", &["--epsilon", "3"][..], "simulation", true),
        ("pf-ld", &["--mode", "none"], "none", false),
        ("pf-ld", &["--sign", "batch", "--epsilon", "3", "--batch", "50"], "simulation", false),
        ("pf-ld", &["--sign", "batch", "--mode", "none"], "none", false),
        ("reductions", &[], "none", false),
    ] {
        for notion in
            ["demographic-parity", "equalized-odds", "equal-opportunity", "accuracy-parity"]
        {
            let run = train(
                &place,
                method,
                &[flags, &["--notion", notion, "--favourable", "high"]].concat(),
            );
            assert_eq!(run["privacy"]["kind"], kind, "{method} {flags:?}");
            assert_eq!(run["privacy"]["holds"], holds, "{method} {flags:?}");
            assert!(number(&run, "/test/error") < 0.5, "{method} {flags:?} {notion}");
        }
        // What was written down gives the same run again.
        let first = train(&place, method, flags);
        let again = place.json(&["train", "--config", "run/config.toml", "--out", "again"]);
        assert_eq!(first["test"], again["test"], "{method} {flags:?}");
        std::fs::remove_dir_all(place.path("again")).unwrap();
    }
}

#[test]
fn baselines_refuse_what_they_are_not_defined_for() {
    let place = village("baselines-refuse");
    for (flags, words) in [
        (&["--method", "pf-ld", "--silos", "3"][..], "silos"),
        (&["--method", "pf-ld", "--sign", "released", "--mode", "paper"], "sign"),
        (&["--method", "pf-ld", "--sign", "batch", "--mode", "exact"], "mode"),
        (&["--method", "steffle", "--sign", "batch"], "pf-ld"),
        (&["--method", "reductions", "--epsilon", "1"], "adds no noise"),
        (&["--method", "reductions", "--rounds", "5"], "rounds"),
        (&["--method", "reductions", "--mode", "none"], "mode means nothing"),
        (&["--method", "fermi", "--mode", "none"], "mode means nothing"),
        (&["--method", "one-shot", "--mode", "none"], "mode means nothing"),
        (&["--method", "one-shot", "--accounting", "round"], "accounting means nothing"),
        (&["--method", "erm", "--mode", "none"], "mode none"),
        (
            &["--method", "randomised-response", "--epsilon", "1", "--mode", "none"],
            "mode means nothing",
        ),
        (&["--method", "pf-ld", "--notion", "none"], "use --method erm"),
        (&["--method", "dp-fermi", "--notion", "none"], "use --method erm"),
        (&["--method", "reductions", "--notion", "none"], "use --method erm"),
        (
            &["--method", "randomised-response", "--epsilon", "1", "--notion", "none"],
            "use --method erm",
        ),
        (&["--method", "dp-fermi", "--epsilon", "1e-9"], "0.00001 or more"),
    ] {
        let refused = place.run(&[&["train"], flags, &MEANING].concat());
        assert_eq!(refused.status, 2, "{flags:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(words), "{flags:?}: {}", refused.stderr);
    }
    place.write("people.csv", people(0..300));
    for method in ["pf-ld", "reductions"] {
        let refused = place.run(&[&["train", "--method", method], &MEANING[..]].concat());
        assert_eq!(refused.status, 3, "{}", refused.stderr);
        assert!(refused.stderr.contains("2 labels"), "{}", refused.stderr);
    }
}

#[test]
fn published_signs_say_that_the_claim_does_not_hold() {
    let place = village("sign-batch");
    let run = train(&place, "pf-ld", &["--sign", "batch", "--epsilon", "2", "--batch", "50"]);
    let statement = run["privacy"]["statement"].as_str().unwrap();
    assert!(statement.starts_with("The guarantee does not hold"), "{statement}");
    assert_eq!(number(&run, "/privacy/epsilon"), 2.0);
    assert!(number(&run, "/privacy/honest_epsilon") > 100.0);
    assert_eq!(run["mode"], "paper");
}

/// Published without noise on Adult: error 0.1793 at a gap of 0.0393, from an unconstrained model
/// with error 0.1555; so 2.4 points of error for that gap. Ours takes about a point less
/// (docs/RESULTS.md), on another split of the same rows: 1.2 points are allowed.
#[test]
fn pf_ld_without_noise_is_near_its_published_point() {
    let place = Place::new("pf-ld-published");
    let flags = ["train", "--method", "pf-ld", "--sign", "batch", "--mode", "none"];
    let run = place.json(&[&flags[..], &["--lambda", "5", "--out", "run"]].concat());
    let excess = number(&run, "/test/error") - number(&run, "/baseline/error");
    assert!((excess - 0.0238).abs() < 0.012, "{excess}");
    assert!((number(&run, "/test/demographic_parity") - 0.0393).abs() < 0.01);
}

/// At equal error, over four seeds. Fixed seeds, hence fixed results.
#[test]
fn fermi_meets_reductions_within_half_a_point() {
    let place = Place::new("fermi-reductions");
    let flags = ["sweep", "--method", "fermi,reductions", "--lambda", "0.5,1,2,3,4,6,8"];
    let ran = place.run(&[&flags[..], &["--seeds", "4", "--out", "swept", "--json"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let both: Value = serde_json::from_str(&place.read("swept/trade-off.json")).unwrap();
    for (at, excess) in [0.5, 1.0, 1.5].into_iter().enumerate() {
        let of = |curve: usize| {
            let reached = format!("/curves/{curve}/reached/{at}");
            assert_eq!(number(&both, &format!("{reached}/excess")), excess);
            number(&both, &format!("{reached}/violation"))
        };
        assert!((of(0) - of(1)).abs() < 0.5, "{} against {} at {excess}", of(0), of(1));
    }
}
