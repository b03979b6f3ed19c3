use serde_json::Value;

use crate::harness::{Place, pairs};

fn number(value: &Value, pointer: &str) -> f64 {
    value.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}: {value}"))
}

/// The names that scripts rely on.
#[test]
fn the_json_contract() {
    let place = Place::new("contract");
    let run = place.json(&["train"]);
    for (pointer, expected) in [
        ("/method", "steffle"),
        ("/mode", "exact"),
        ("/data", "adult"),
        ("/privacy/kind", "simulation"),
        ("/run_dir", "runs/adult-1"),
    ] {
        assert_eq!(run.pointer(pointer).unwrap(), expected, "{pointer}");
    }
    for (pointer, expected) in [
        ("/features", 102.0),
        ("/rows/train", 33_916.0),
        ("/rows/test", 11_306.0),
        ("/silos", 3.0),
        ("/lambda", 1.0),
        ("/rounds", 25.0),
        ("/seed", 0.0),
    ] {
        assert_eq!(number(&run, pointer), expected, "{pointer}");
    }
    for metric in [
        "error",
        "demographic_parity",
        "demographic_parity_marginal",
        "equalized_odds",
        "equal_opportunity",
        "chi_square",
        "auc",
    ] {
        let value = number(&run, &format!("/test/{metric}"));
        assert!((0.0..=1.0).contains(&value), "{metric} {value}");
    }
    for metric in ["error", "demographic_parity", "equalized_odds"] {
        number(&run, &format!("/baseline/{metric}"));
    }
    let groups = run["test"]["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 2);
    assert_eq!(groups[0]["name"], "Female");
    assert_eq!(number(&run, "/privacy/epsilon"), 1.0);
    assert!((number(&run, "/privacy/delta") * 33_916.0 * 33_916.0 - 1.0).abs() < 1e-9);
    assert_eq!(run["privacy"]["holds"], true);
    let statement = run["privacy"]["statement"].as_str().unwrap();
    assert!(statement.contains("differentially private") && statement.contains("simulation"));
    assert!(number(&run, "/cpu_seconds") > 0.0 && number(&run, "/wall_seconds") > 0.0);
    assert!(run.get("unconstrained_seconds").is_none(), "training begins at that model");
    // Fairness was bought: the gap is smaller and the error larger than without.
    let gap = |model: &str| number(&run, &format!("/{model}/demographic_parity"));
    assert!(gap("test") < 0.75 * gap("baseline"));
    assert!((number(&run, "/baseline/error") - 0.1525).abs() < 0.01);
    let stored: Value = serde_json::from_str(&place.read("runs/adult-1/metrics.json")).unwrap();
    assert_eq!(stored, run);
}

#[test]
fn without_noise_nothing_is_claimed() {
    let run = Place::new("none").json(&["train", "--mode", "none"]);
    assert_eq!(run["privacy"]["kind"], "none");
    assert!(run["privacy"]["epsilon"].is_null() && run["privacy"]["delta"].is_null());
    assert_eq!(run["privacy"]["holds"], false);
    assert!(run["privacy"]["statement"].as_str().unwrap().contains("no privacy"));
}

#[test]
fn secure_noise_is_private_and_never_repeats() {
    let place = Place::new("secure");
    let flags = ["train", "--noise", "secure", "--rounds", "5", "--out"];
    let runs = ["one", "two"].map(|out| place.json(&[&flags[..], &[out]].concat()));
    assert_eq!(runs[0]["privacy"]["kind"], "private");
    assert_eq!(runs[0]["privacy"]["holds"], true);
    let model = |run: &str| std::fs::read(place.path(run).join("model.safetensors")).unwrap();
    // Equal by chance with probability below 2^-1000.
    assert_ne!(model("one"), model("two"));
}

#[test]
fn the_paper_mode_says_that_it_does_not_hold() {
    let place = Place::new("paper");
    let flags = ["train", "--mode", "paper", "--epsilon", "3", "--epochs", "2", "--out", "run"];
    let run = place.json(&flags);
    assert_eq!(run["privacy"]["kind"], "simulation");
    assert_eq!(run["privacy"]["holds"], false);
    assert_eq!(number(&run, "/privacy/epsilon"), 3.0);
    let delta = number(&run, "/privacy/delta");
    assert!((delta * 33_916.0 * 33_916.0 - 1.0).abs() < 1e-9);
    assert!(number(&run, "/privacy/honest_epsilon") > 3.0);
    let statement = run["privacy"]["statement"].as_str().unwrap();
    assert!(statement.starts_with("The guarantee does not hold"));
    let text = place.run(&[&flags[..], &["--force"]].concat()).stdout;
    assert!(text.contains("Privacy (simulation): the claimed epsilon 3 does not hold"), "{text}");
    let card = place.read("run/MODEL_CARD.md");
    assert!(card.starts_with("---\n") && card.contains("The guarantee does not hold"));
}

#[test]
fn text_shows_both_models_and_the_directory() {
    let place = Place::new("text");
    let text = place.run(&["train", "--rounds", "20", "--out", "here"]).stdout;
    for words in [
        "error",
        "demographic-parity gap",
        "equalized-odds gap",
        "unconstrained",
        "Female",
        "Male",
        "Run directory: here",
        "It comes from a seed, so nothing is protected.",
    ] {
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "{words} is not in\n{text}");
    }
}

#[test]
fn erm_is_its_own_baseline() {
    let place = Place::new("erm");
    let run = place.json(&["train", "--method", "erm", "--notion", "equalized-odds"]);
    assert_eq!(run["lambda"], 0.0);
    assert_eq!(run["test"], run["baseline"]);
    assert!(run["privacy"]["statement"].as_str().unwrap().contains("never reads the sensitive"));
}

#[test]
fn threads_do_not_change_the_bits() {
    let place = Place::new("threads");
    for (threads, out) in [("1", "one"), ("2", "two")] {
        let batch = ["train", "--batch", "all", "--rounds", "30", "--threads", threads];
        place.json(&[&batch[..], &["--out", out]].concat());
    }
    let model = |run: &str| std::fs::read(place.path(run).join("model.safetensors")).unwrap();
    assert_eq!(model("one"), model("two"));
}

#[test]
fn what_cannot_work_well_is_said_before_it_is_computed() {
    let place = Place::new("warned");
    let warnings = |flags: &[&str]| {
        let plan = place.json(&[&["train", "--dry-run"], flags].concat());
        plan["warnings"].to_string()
    };
    assert_eq!(
        warnings(&["--lambda", "20", "--server", "plain"]),
        "[]",
        "the default step shrinks with lambda"
    );
    let fast = warnings(&["--lambda", "20", "--server", "plain", "--lr-dual", "0.5"]);
    assert!(fast.contains("lambda times the dual step size is 10"), "{fast}");
    let small = warnings(&["--mode", "paper", "--epsilon", "1", "--diameter", "2"]);
    assert!(small.contains("a ball of diameter 2"), "{small}");
}

#[test]
fn a_dry_run_computes_and_writes_nothing() {
    let place = Place::new("dry");
    let plan = place.json(&["train", "--dry-run", "--mode", "paper", "--epsilon", "1"]);
    assert_eq!(plan["dry_run"], true);
    assert_eq!(number(&plan, "/rounds"), 1800.0);
    assert_eq!(number(&plan, "/parameters"), 103.0);
    assert_eq!(plan["silo_rows"], serde_json::json!([11_305, 11_305, 11_306]));
    assert_eq!(plan["config"]["batch"], 256);
    assert_eq!(plan["privacy"]["holds"], false);
    assert!(plan.get("test").is_none());
    let text = place.run(&["train", "--dry-run"]).stdout;
    assert!(text.contains("nothing is computed") && text.contains("lambda = 1.0"));
    assert_eq!(place.names(), [] as [&str; 0]);
}

#[test]
fn own_files_and_held_out_rows() {
    let place = Place::new("own-file");
    place.write("people.csv", pairs(0..400));
    let flags = ["train", "--data", "people.csv", "--label", "label", "--sensitive", "group"];
    let more = ["--favourable", "high", "--validation", "0.2", "--drop", "town", "--out", "run"];
    let run = place.json(&[&flags[..], &more, &["--classes", "a,b"]].concat());
    let (train, validation, test) =
        (number(&run, "/rows/train"), number(&run, "/rows/validation"), number(&run, "/rows/test"));
    assert_eq!((train, validation, test), (240.0, 60.0, 100.0));
    assert_eq!(number(&run, "/validation/records"), 60.0);
    // score, and two regions.
    assert_eq!(number(&run, "/features"), 3.0);
    assert_eq!(run["favourable"], "high");
}

#[test]
fn two_sensitive_columns_form_their_product() {
    let place = Place::new("product");
    place.write("people.csv", pairs(0..400));
    let flags = ["train", "--data", "people.csv", "--label", "label", "--sensitive", "group"];
    let classes = ["--classes", "a x hill,a x plain", "--classes", "b x hill, b x plain"];
    let more = ["--sensitive", "region", "--rounds", "20"];
    let run = place.json(&[&flags[..], &more, &classes].concat());
    let groups = run["test"]["groups"].as_array().unwrap();
    let names: Vec<&str> = groups.iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a x hill", "a x plain", "b x hill", "b x plain"]);
}
