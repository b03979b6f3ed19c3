//! `submit` against a stand-in for FLARE's program, which plays what FLARE was seen to do. The real one
//! is in `deploy/flare/test`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::harness::{Place, Ran};

const JOB: &str = r#"
version = 1
test = "people"
reply_seconds = 3
sites = [{name = "north"}, {name = "south"}]
[recipe]
label = "hired"
labels = ["no", "yes"]
sensitive = ["sex"]
classes = ["f", "m"]
"#;

/// Every job of FLARE's has a file with what it left behind; one that has none is lost. `STATUS` is what
/// FLARE says of a job, `RUNS` what its server runs.
const NVFLARE: &str = r#"#!/bin/sh
say() { printf '{"status": "ok", "data": %s}\n' "$1"; }
here=$(dirname "$0")
shift 2
case "$1 $2" in
"job submit")
    n=$(($(cat "$here/submitted" 2>/dev/null || echo 0) + 1))
    echo "$n" > "$here/submitted"
    cp -r "$4" "$here/folder-$n"
    say "{\"job_id\": \"job-$n\"}" ;;
"job wait") [ -e "$here/hangs" ] && sleep 60; say null ;;
"job meta") say "{\"status\": \"$(cat "$here/status")\"}" ;;
"job logs") say '{"logs": {"server": "{\"message\": \"steffle: progress: Training: 1 of 2\"}\n"}}' ;;
"job abort") rm -f "$here/hangs"; echo FINISHED:COMPLETED > "$here/status"; say null ;;
"job download")
    left="$6/$4/workspace/steffle"
    mkdir -p "$left" && [ -d "$here/left-$4" ] && cp -r "$here/left-$4/." "$left"; say null ;;
"system status") say '{"jobs": [], "clients": [{"client_name": "north"}, {"client_name": "south"}]}' ;;
*) echo '{"status": "error", "message": "no such command"}' ;;
esac
"#;

fn place(name: &str) -> Place {
    let place = Place::new(name);
    place.write("job.toml", JOB);
    fs::create_dir_all(place.path("kit/startup")).unwrap();
    let program = place.write("nvflare", NVFLARE);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    place.write("status", "FINISHED:COMPLETED");
    place
}

fn left(place: &Place, job: &str, result: &str) {
    let folder = format!("left-{job}");
    fs::create_dir_all(place.path(&folder).join("out")).unwrap();
    place.write(&format!("{folder}/result.json"), result);
    place.write(&format!("{folder}/out/model.safetensors"), "weights");
}

fn submit(place: &Place, more: &[&str]) -> Ran {
    let words = ["submit", "job.toml", "--kit", "kit", "--nvflare", "./nvflare", "--out", "run"];
    place.run(&[&words[..], more].concat())
}

#[test]
fn a_job_that_ends_brings_its_model_back() {
    let place = place("submit-ends");
    left(&place, "job-1", r#"{"status": 0, "said": []}"#);
    let ran = submit(&place, &["--json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["jobs"], serde_json::json!(["job-1"]));
    assert_eq!(report["sites"], serde_json::json!(["north", "south"]));
    assert_eq!(place.read("run/model.safetensors"), "weights");
    // Test rows travel by their name at the server; the name of the run is in the job.
    let told = place.read("folder-1/lead/config/config_fed_server.json");
    assert!(told.contains(r#"test = \"people\""#), "{told}");
    assert!(told.contains(report["run"].as_str().unwrap()), "{told}");
    assert!(!told.contains(&*place.path("").to_string_lossy()), "{told}");
}

#[test]
fn a_job_that_is_lost_is_followed_by_another_of_the_same_run() {
    let place = place("submit-lost");
    let away = "silo 1 (south) cannot be reached: it was not there when the job began";
    let said = format!(r#"{{"status": 3, "said": ["error[steffle::train::lost]: {away}"]}}"#);
    left(&place, "job-2", &said);
    left(&place, "job-3", r#"{"status": 0}"#);
    place.write("left-job-3/out/metrics.json", r#"{"warnings": ["north is slow"]}"#);
    let ran = submit(&place, &["--json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("job-1 was lost") && ran.stderr.contains(away), "{}", ran.stderr);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["warnings"], serde_json::json!(["north is slow"]));
    let run = |n: u32| place.read(&format!("folder-{n}/lead/config/config_fed_server.json"));
    assert_eq!(run(1), run(2));
    assert_eq!(run(1), run(3));
}

#[test]
fn a_job_that_hangs_in_the_list_is_noticed() {
    let place = place("submit-hangs");
    place.write("hangs", "");
    place.write("status", "RUNNING");
    left(&place, "job-2", r#"{"status": 0}"#);
    let ran = submit(&place, &[]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("lists it as running, and does not run it"), "{}", ran.stderr);
}

#[test]
fn a_run_ends_with_its_own_status() {
    let place = place("submit-status");
    let said = r#"{"status": 4, "said": ["progress: 1", "error[steffle::ledger::budget]: too much", "help: less"]}"#;
    left(&place, "job-1", said);
    let ran = submit(&place, &[]);
    assert_eq!(ran.status, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("error[steffle::ledger::budget]: too much"), "{}", ran.stderr);
    assert!(ran.stderr.contains("help: less") && !place.path("run").exists());
}

#[test]
fn what_cannot_be_submitted_is_refused() {
    let place = place("submit-refused");
    let ran = submit(&place, &["--attempts", "1"]);
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("submit::lost") && ran.stderr.contains("--resume job-"));
    fs::remove_dir_all(place.path("kit")).unwrap();
    assert!(submit(&place, &[]).stderr.contains("submit::kit"));
    fs::create_dir_all(place.path("kit/startup")).unwrap();
    fs::remove_file(place.path("nvflare")).unwrap();
    let ran = submit(&place, &[]);
    assert!(ran.status == 3 && ran.stderr.contains("submit::flare"), "{}", ran.stderr);
    place.write(
        "job.toml",
        JOB.replace("sites = [{name = \"north\"}, {name = \"south\"}]", "silos = [\"a.csv\"]"),
    );
    let ran = submit(&place, &[]);
    assert!(ran.status == 3 && ran.stderr.contains("submit::sites"), "{}", ran.stderr);
    for test in ["rows/test.csv", "/etc/passwd", "..", ".hidden"] {
        place.write("job.toml", JOB.replace("\"people\"", &format!("\"{test}\"")));
        let ran = submit(&place, &[]);
        assert!(ran.status == 3 && ran.stderr.contains("submit::test"), "{test}: {}", ran.stderr);
        assert!(ran.stderr.contains("lead.toml"), "{}", ran.stderr);
    }
}
