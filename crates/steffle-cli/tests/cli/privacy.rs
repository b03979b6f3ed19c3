use serde_json::Value;

use crate::harness::{Place, pairs};

/// z 2, 256 of 7500 records by Poisson sampling, 1200 rounds: a row of the vectors that
/// `crates/steffle-privacy/tests/vectors.json` takes from other libraries.
const POISSON: &str =
    "--mechanism poisson --batch 256 --records 7500 --rounds 1200 --delta 1.975e-9";

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

fn json(place: &Place, typed: &str) -> Value {
    place.json(&words(typed))
}

fn close(value: &Value, expected: f64, tolerance: f64) {
    let found = value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    assert!((found - expected).abs() < tolerance, "{found} is not {expected}");
}

#[test]
fn one_accountant_prints_a_number_and_all_an_object() {
    let place = Place::new("privacy-account");
    let account = format!("privacy account --noise-multiplier 2 {POISSON}");
    let one = json(&place, &account);
    close(&one["epsilon"], 3.41236, 5e-4);
    assert_eq!((&one["accountant"], &one["upper_bound"]), (&"pld".into(), &true.into()));
    assert!(one["error"].as_f64().unwrap() < 0.01);
    let all = json(&place, &format!("{account} --accountant all"));
    close(&all["epsilon"]["pld"], 3.41236, 5e-4);
    close(&all["epsilon"]["paper"], 3.743_108, 1e-5);
    assert!(all["epsilon"]["rdp"].as_f64() > all["epsilon"]["pld"].as_f64());
    assert!(all["epsilon"]["gdp"].as_f64() > all["epsilon"]["rdp"].as_f64());
    assert_eq!(all["upper_bound"]["paper"], false);
    assert_eq!(all["error"]["rdp"], Value::Null);
    let text = place.run(&words(&account)).stdout;
    assert!(text.contains("upper bound") && text.contains("3.41"), "{text}");
}

#[test]
fn mechanisms_and_neighbours_are_told_apart() {
    let place = Place::new("privacy-mechanisms");
    let account = "privacy account --noise-multiplier 1 --rounds 1200 --delta 1.975e-9";
    let rate = "--mechanism poisson --rate 0.034133333333333335";
    let epsilon = |flags: &str| json(&place, &format!("{account} {flags}"))["epsilon"].clone();
    close(&epsilon(rate), 7.3137, 5e-4);
    close(&epsilon(&format!("{rate} --adjacency add-remove")), 11.0577, 5e-4);
    close(&epsilon(&format!("{rate} --contributions any")), 13.1069, 2e-3);
    let fixed = "--mechanism without-replacement --batch 256 --records 7500";
    close(&epsilon(fixed), 13.1069, 2e-3);
    let gaussian = "privacy account --noise-multiplier 10 --rounds 50 --delta 1e-9";
    close(&json(&place, gaussian)["epsilon"], 4.225_940_543, 1e-8);
    assert_eq!(json(&place, gaussian)["accountant"], "gdp");
}

#[test]
fn what_is_calibrated_is_not_overspent() {
    let place = Place::new("privacy-calibrate");
    for (flags, expected) in [
        ("--rounds 100 --delta 1.9753086419753086e-9", 53.810_089),
        (POISSON, 6.3851),
        ("--rounds 100 --delta 1.9753086419753086e-9 --accountant rdp", 56.6647),
    ] {
        let found = json(&place, &format!("privacy calibrate --epsilon 1 {flags}"));
        let z = &found["noise_multiplier"];
        close(z, expected, 5e-3 * expected);
        assert!(found["epsilon"].as_f64() <= Some(1.0));
        let read = json(&place, &format!("privacy account --noise-multiplier {z} {flags}"));
        assert_eq!(read["epsilon"], found["epsilon"]);
    }
    let all =
        json(&place, "privacy calibrate --epsilon 1 --rounds 9 --delta 1e-6 --accountant all");
    assert_eq!(all["noise_multiplier"].as_object().unwrap().len(), 4);
}

#[test]
fn comparison_says_whom_to_trust_and_why() {
    let place = Place::new("privacy-compare");
    let compare = format!("privacy compare --noise-multiplier 1 {POISSON}");
    let value = json(&place, &compare);
    assert_eq!(value["trust"], "pld");
    let accountants = value["accountants"].as_array().unwrap();
    let names: Vec<&str> =
        accountants.iter().map(|entry| entry["accountant"].as_str().unwrap()).collect();
    assert_eq!(names, ["gdp", "pld", "rdp", "paper"]);
    assert!(accountants.iter().all(|entry| entry["reason"].as_str().unwrap().len() > 20));
    let text = place.run(&words(&compare)).stdout;
    assert!(text.contains("Why they differ") && text.contains("no guarantee"), "{text}");
}

#[test]
fn promises_are_explained_in_words_and_pictures() {
    let place = Place::new("privacy-explain");
    let explain = "privacy explain --epsilon 1 --delta 1e-9 --svg curve.svg";
    let value = json(&place, explain);
    close(&value["best_guess"], 0.7311, 1e-4);
    close(&value["odds_factor"], 1_f64.exp(), 1e-12);
    assert_eq!(value["not_protected"].as_array().unwrap().len(), 5);
    assert_eq!(value["trade_off"].as_array().unwrap().len(), 21);
    assert!(place.read("curve.svg").starts_with("<svg ") && value["svg"] == "curve.svg");
    let text = place.run(&words(explain)).stdout;
    for part in ["What is protected", "From whom", "For how long", "What is not protected", "##"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(place.names(), ["curve.svg"]);
}

#[test]
fn runs_are_explained_by_what_holds() {
    let place = Place::new("privacy-explain-run");
    let train = "train --rounds 2 --out";
    json(&place, &format!("{train} noisy --mode paper --epsilon 1 --batch 256"));
    let noisy = json(&place, "privacy explain noisy");
    assert_eq!(noisy["privacy"]["holds"], false);
    // What was claimed is not what is explained.
    assert_eq!(noisy["privacy"]["epsilon"], 1.0);
    assert_eq!(noisy["epsilon"], noisy["privacy"]["honest_epsilon"]);
    let text = place.run(&["privacy", "explain", "noisy"]).stdout;
    assert!(text.contains("which an honest accountant gives"), "{text}");

    json(&place, &format!("{train} bare --mode none"));
    let bare = place.run(&["privacy", "explain", "bare"]);
    assert!(bare.stdout.contains("There is no epsilon to explain"), "{}", bare.stdout);
    let refused = place.run(&["privacy", "explain", "bare", "--svg", "x.svg"]);
    assert_eq!((refused.status, place.names()), (2, vec!["bare".into(), "noisy".into()]));
}

#[test]
fn runs_are_explained_by_what_their_method_protects() {
    let place = Place::new("privacy-explain-method");
    let train = "train --epsilon 1 --force --out run --method";
    for (method, protected, from_whom, card) in [
        ("randomised-response", "sensitive attribute", "Nobody is trusted", "# Fair classifier"),
        ("dp-fermi --rounds 3", "sensitive attribute", "but the curator", "# Fair classifier"),
        ("fedfdp --rounds 3 --lambda 0", "whole record", "Not the own silo", "# Classifier for"),
        ("fedfdp --rounds 3", "whole record", "Not the own silo", "balanced silos"),
    ] {
        let run = json(&place, &format!("{train} {method}"));
        assert_eq!(run["privacy"]["honest_epsilon"], 1.0, "{method}");
        let explained = json(&place, "privacy explain run --svg run.svg");
        for (key, words) in [("protected", protected), ("from_whom", from_whom)] {
            assert!(explained[key].as_str().unwrap().contains(words), "{method} {key}");
        }
        close(&explained["best_guess"], 0.7311, 1e-4);
        let text = place.run(&["privacy", "explain", "run"]).stdout;
        assert!(!text.contains("There is no epsilon"), "{method}: {text}");
        // The noise is simulated: the card says what was done and has no tag for privacy.
        let written = place.read("run/MODEL_CARD.md");
        assert!(written.contains(card), "{method}: {written}");
        assert!(!written.contains("\"differential-privacy\""), "{method}: {written}");
        assert_eq!(written.contains("Gaps are guarded"), card == "# Fair classifier", "{method}");
        assert_eq!(explained["delta"] == 0.0, method == "randomised-response", "{method}");
    }
    json(&place, "train --method erm --force --out run");
    let bare = json(&place, "privacy explain run");
    assert!(bare["privacy"]["adjacency"].is_null() && bare["privacy"]["honest_epsilon"].is_null());
    let text = place.run(&["privacy", "explain", "run"]).stdout;
    assert!(text.contains("never reads the sensitive attribute, and"), "{text}");
}

#[test]
fn the_paper_s_noise_is_put_to_the_test() {
    let place = Place::new("privacy-paper");
    let value = json(&place, "privacy paper --data credit-card --epsilon 3");
    let analysis = &value["analyses"][0];
    close(&analysis["noise_multiplier_both"], 1.764_511, 1e-6);
    let both = &analysis["both_messages"];
    close(&both["poisson_add_remove"], 4.491, 5e-3);
    close(&both["poisson_centred"], 3.907, 5e-3);
    close(&both["without_replacement"], 5.159, 5e-3);
    close(&both["batch_revealed"], 26.9317, 1e-3);
    assert_eq!(analysis["conditions"].as_array().unwrap().len(), 6);
    let own = "privacy paper --records 900 --silos 2 --batch 90 --epochs 3 --epsilon 1 --needed";
    let own = json(&place, own);
    let needed = &own["analyses"][0]["needed"]["batch_revealed"];
    assert!(needed.as_f64() > own["analyses"][0]["noise_multiplier_both"].as_f64());
    let text = place.run(&["privacy", "paper"]).stdout;
    for part in ["credit-card", "adult", "retired-adult", "revealed"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = place.run(&["privacy", "paper", "--data", "adult", "--epsilon", "9"]).stdout;
    assert!(text.contains("Not met: T >= "), "{text}");
}

/// Every command in the manual for privacy officers prints what stands below it.
#[test]
fn the_manual_prints_what_it_says() {
    let place = Place::new("privacy-manual");
    let manual = include_str!("../../../../docs/PRIVACY.md");
    let shown: Vec<&str> =
        manual.split("```").filter_map(|block| block.strip_prefix("console\n$ steffle ")).collect();
    assert!(shown.len() >= 4, "{}", shown.len());
    for block in shown {
        let (typed, expected) = block.split_once('\n').unwrap();
        let ran = place.run(&words(typed));
        assert_eq!((ran.status, ran.stdout.as_str()), (0, expected), "steffle {typed}");
    }
}

#[test]
fn help_tells_how_other_libraries_count() {
    let help = Place::new("privacy-help").run(&["privacy", "account", "--help"]).stdout;
    for part in ["a factor of 2", "dp_accounting", "Opacus", "full replacement distance"] {
        assert!(help.contains(part), "{part}");
    }
}

/// What a run says about privacy follows from what was released, what its dry run says from the
/// offer: they agree, whatever the method and the noise.
#[test]
fn a_dry_run_says_of_privacy_what_the_run_says() {
    let place = Place::new("privacy-dry-and-real");
    let data = place.write("people.csv", pairs(0..300));
    let data = data.to_str().unwrap();
    let common = ["--data", data, "--label", "label", "--sensitive", "group", "--seed", "1"];
    for flags in [
        "--epsilon 2 --classes a,b",
        "--epsilon 2 --classes a,b --noise secure",
        "--epsilon 2 --classes a,b --batch 30 --accounting round",
        "--mode poisson --batch 40 --rounds 3 --epsilon 4 --classes a,b",
        "--method one-shot --epsilon 1 --classes a,b --noise secure",
        "--method randomised-response --epsilon 1 --classes a,b",
        "--mode paper --epsilon 3 --batch 32 --epochs 2",
        "--mode none --rounds 3",
        "--method fermi",
        "--method erm",
    ] {
        let typed: Vec<&str> = ["train"].into_iter().chain(common).chain(words(flags)).collect();
        let plan = place.json(&[&typed[..], &["--dry-run"]].concat());
        let run = place.json(&[&typed[..], &["--out", "run", "--force"]].concat());
        assert_eq!(plan["privacy"], run["privacy"], "{flags}");
        let secure = flags.contains("secure");
        let expected = if secure { "private" } else { "simulation" };
        let claims = run["privacy"]["holds"] == true;
        assert!(!claims || run["privacy"]["kind"] == expected, "{flags}");
        assert_eq!(claims, flags.contains("--classes"), "{flags}");
    }
}
