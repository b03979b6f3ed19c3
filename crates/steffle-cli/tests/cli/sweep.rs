//! `steffle sweep`: grids, the results file, killing and going on, failures, the table.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{Place, Ran, pairs};

const PEOPLE: [&str; 9] = [
    "sweep",
    "--data",
    "people.csv",
    "--label",
    "label",
    "--sensitive",
    "group",
    "--classes",
    "a,b",
];

fn place(name: &str) -> Place {
    let place = Place::new(name);
    place.write("people.csv", pairs(0..400));
    place
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A line without what differs from run to run of the same settings.
fn timeless(line: &Value) -> Value {
    let mut line = line.clone();
    if let Value::Object(fields) = &mut line {
        let times = ["cpu_seconds", "wall_seconds", "unconstrained_seconds"];
        fields.retain(|key, _| !times.contains(&key.as_str()));
        fields.remove("run_dir");
    }
    line
}

fn sweep(place: &Place, more: &[&str]) -> Ran {
    place.run(&[&PEOPLE[..], more].concat())
}

/// What a line of a sweep has, as the JSON of `train` does.
const POINTERS: [&str; 25] = [
    "/method",
    "/mode",
    "/data",
    "/features",
    "/rows/train",
    "/rows/test",
    "/silos",
    "/lambda",
    "/rounds",
    "/seed",
    "/test/error",
    "/test/demographic_parity",
    "/test/auc",
    "/test/groups",
    "/baseline/error",
    "/baseline/equalized_odds",
    "/privacy/kind",
    "/privacy/holds",
    "/privacy/statement",
    "/cpu_seconds",
    "/wall_seconds",
    "/run_dir",
    "/settings/method",
    "/settings/seed",
    "/config/seed",
];

#[test]
fn a_line_per_run_with_the_names_of_train() {
    let place = place("sweep-lines");
    let methods = "fermi,randomised-response,erm,steffle";
    let grid = ["--method", methods, "--epsilon", "1,3", "--lambda", "0.5,2", "--seeds", "2"];
    let ran = sweep(&place, &[&grid[..], &["--json", "--out", "kept"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let found = lines(&ran.stdout);
    // fermi 2 x 2, randomised response and steffle 2 x 2 x 2 each, erm 2.
    assert_eq!(found.len(), 4 + 8 + 8 + 2);
    for line in &found {
        for pointer in POINTERS {
            assert!(line.pointer(pointer).is_some(), "{pointer}: {line}");
        }
        assert_eq!(line["run_dir"], "kept");
    }
    // In the order of the grid: the last axis, the seed, moves fastest.
    assert_eq!(
        found[0]["settings"],
        serde_json::json!({"lambda": 0.5, "method": "fermi", "seed": 0})
    );
    assert_eq!(found[1]["settings"]["seed"], 1);
    let kept = lines(&place.read("kept/results.jsonl"));
    let sorted = |lines: &[Value]| -> Vec<String> {
        let mut lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&kept), sorted(&found));
    // The table is for people, and its numbers for programs.
    assert!(ran.stderr.contains("Violation at equal error"), "{}", ran.stderr);
    let table: Value = serde_json::from_str(&place.read("kept/trade-off.json")).unwrap();
    assert_eq!(table["curves"].as_array().unwrap().len(), 1 + 2 + 1 + 2);

    // A run of a sweep is the run that `train` does alone; only a path starts elsewhere.
    let single = |flags: &[&str]| {
        let train = [&["train"], &PEOPLE[1..], flags, &["--json", "--seed", "1"]].concat();
        let ran = place.run(&train);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        serde_json::from_str::<Value>(&ran.stdout).unwrap()
    };
    let same = |line: &Value, alone: &Value| {
        for metric in ["error", "demographic_parity", "chi_square_soft"] {
            assert_eq!(line["test"][metric], alone["test"][metric], "{line} {alone}");
            assert_eq!(line["baseline"][metric], alone["baseline"][metric]);
        }
    };
    let of = |method: &str, lambda: f64, epsilon: Option<f64>| {
        let fits = |line: &&Value| {
            line["method"] == method
                && line["lambda"] == lambda
                && line["seed"] == 1
                && epsilon.is_none_or(|epsilon| line["privacy"]["epsilon"] == epsilon)
        };
        found.iter().find(fits).unwrap()
    };
    same(of("fermi", 0.5, None), &single(&["--method", "fermi", "--lambda", "0.5"]));
    same(of("steffle", 2.0, Some(3.0)), &single(&["--lambda", "2", "--epsilon", "3"]));
}

#[test]
fn threads_do_not_change_the_results() {
    let place = place("sweep-threads");
    let grid = ["--method", "fermi,randomised-response", "--epsilon", "1", "--lambda", "1,4"];
    let run = |threads: &str| {
        let more = ["--seeds", "3", "--threads", threads, "--out", threads, "--json"];
        let ran = sweep(&place, &[&grid[..], &more].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        lines(&ran.stdout).iter().map(timeless).collect::<Vec<_>>()
    };
    let one = run("1");
    assert_eq!(one.len(), 12);
    assert_eq!(one, run("2"));
    assert_eq!(one, run("5"));
}

#[test]
fn killed_and_started_again_it_goes_on() {
    let place = place("sweep-killed");
    let grid = ["--method", "fermi", "--lambda", "0.5,1,2", "--seeds", "60", "--threads", "1"];
    let arguments = [&PEOPLE[..], &grid, &["--out", "kept"]].concat();
    let mut child =
        place.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let results = place.path("kept/results.jsonl");
    let started = Instant::now();
    let written = || std::fs::read_to_string(&results).unwrap_or_default();
    while written().lines().count() < 6 && child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_mins(1), "no run has ended");
        sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = lines(&written());
    assert!(before.len() >= 6, "{}", before.len());
    // As if it had been killed in the middle of a line, and of a family of runs.
    let whole_lines: Vec<String> = before[..5].iter().map(Value::to_string).collect();
    let mut torn = whole_lines.join("\n");
    torn += "\n{\"config\": {\"seed\": 1, \"lam";
    std::fs::write(&results, &torn).unwrap();

    let again = place.run(&[&arguments[..], &["--json"]].concat());
    assert_eq!(again.status, 0, "{}", again.stderr);
    let after = lines(&written());
    assert_eq!(after.len(), 180, "every run once");
    assert_eq!(after[..5], before[..5], "a run that had ended is not done again");
    let by_key = |lines: &[Value]| -> BTreeMap<String, Value> {
        lines.iter().map(|line| (line["config"].to_string(), timeless(line))).collect()
    };
    let whole = place.run(&[&PEOPLE[..], &grid, &["--out", "whole", "--json"]].concat());
    assert_eq!(whole.status, 0, "{}", whole.stderr);
    assert_eq!(by_key(&after), by_key(&lines(&whole.stdout)), "as if never interrupted");
    assert_eq!(by_key(&after), by_key(&lines(&again.stdout)));
    // A third time there is nothing to do.
    let third = place.run(&arguments);
    assert_eq!(third.status, 0);
    assert_eq!(lines(&written()), after);
}

#[test]
fn a_failing_run_is_kept_with_its_reason_and_stops_nothing() {
    let place = place("sweep-failing");
    // 300 training rows in 3 and in 4 silos: the second cannot fill a batch of 90.
    let grid = ["--mode", "none", "--server", "plain", "--batch", "90", "--rounds", "5"];
    let grid =
        [&grid[..], &["--silos", "3,4", "--lambda", "0,1", "--json", "--out", "kept"]].concat();
    let ran = sweep(&place, &grid);
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("sweep::failed_runs"), "{}", ran.stderr);
    assert!(ran.stderr.contains("2 of 4 runs failed"), "{}", ran.stderr);
    let found = lines(&ran.stdout);
    let failed: Vec<&Value> = found
        .iter()
        .filter(|line| line.get("config").is_some() && line.get("error").is_some())
        .collect();
    assert_eq!(failed.len(), 2);
    for line in failed {
        assert_eq!(line["settings"]["silos"], 4);
        assert_eq!(line["error"]["code"], "steffle::config::batch");
        assert!(line["error"]["message"].as_str().unwrap().contains("90"));
    }
    assert_eq!(found.iter().filter(|line| line["test"]["error"].is_number()).count(), 2);
    // The table has what there is.
    let table: Value = serde_json::from_str(&place.read("kept/trade-off.json")).unwrap();
    assert_eq!(table["curves"][0]["seeds"], 1);
    assert_eq!(table["curves"][1]["seeds"], 0);
    // Started again, only the failed runs are tried again.
    let again = sweep(&place, &grid);
    assert_eq!(again.status, 3);
    assert_eq!(lines(&place.read("kept/results.jsonl")).len(), 6);
}

#[test]
fn wrong_grids_are_refused_before_anything_runs() {
    let place = place("sweep-wrong");
    for (flags, code, words) in [
        ("--lambda 1,-2", "config::lambda", "-2"),
        ("--lambda 1,x", "usage::arguments", "'x'"),
        ("--method fermi,magic", "config::method", "magic"),
        ("--seeds 0", "config::seeds", "1 or more"),
        ("--seeds 1,x", "config::seeds", "whole numbers"),
        ("--threads 0", "config::threads", "1 to 1024"),
        ("--at nan", "config::at", "finite"),
        ("--seeds 2 --seed 3", "usage::arguments", "--seed"),
        ("--seeds 1000001", "config::seeds", "typing error"),
        ("--violation error", "usage::arguments", "demographic-parity"),
        ("--grid none.toml", "config::unreadable", "none.toml"),
    ] {
        let flags: Vec<&str> = flags.split(' ').collect();
        let ran = sweep(&place, &flags);
        assert!(ran.status == 2 || ran.status == 3, "{flags:?}: {} {}", ran.status, ran.stderr);
        assert!(ran.stderr.contains(&format!("steffle::{code}")), "{flags:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{flags:?}: {}", ran.stderr);
    }
    let plan = sweep(&place, &["--dry-run", "--method", "fermi", "--lambda", "1,2", "--json"]);
    let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
    assert_eq!(plan["runs"].as_array().unwrap().len(), 2);
    assert!(plan["directory"].as_str().unwrap().starts_with("sweeps/people-"));
    assert_eq!(place.names(), ["people.csv"]);
}

/// Beyond its last point a curve says nothing new, and says so.
#[test]
fn values_beyond_the_end_of_a_curve_are_marked() {
    let place = Place::new("sweep-beyond");
    let flags = ["sweep", "--method", "fermi", "--lambda", "0.5", "--at", "0.01,50", "--out", "s"];
    let text = place.run(&flags);
    assert_eq!(text.status, 0, "{}", text.stderr);
    assert!(text.stdout.contains("* beyond the curve's last point"), "{}", text.stdout);
    let written: serde_json::Value = serde_json::from_str(&place.read("s/trade-off.json")).unwrap();
    let reached = &written["curves"][0]["reached"];
    assert_eq!(
        (&reached[0]["beyond_end"], &reached[1]["beyond_end"]),
        (&false.into(), &true.into())
    );
}
