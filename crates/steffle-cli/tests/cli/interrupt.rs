//! Signals in the middle of a run.

#![cfg(unix)]

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::harness::Place;

#[test]
fn ctrl_c_leaves_nothing() {
    interrupted_by("INT");
}

#[test]
fn a_request_to_terminate_leaves_nothing() {
    interrupted_by("TERM");
}

fn interrupted_by(signal: &str) {
    let place = Place::new(&format!("interrupt-{signal}"));
    let mut child = place
        .command(&["train", "--rounds", "100000000", "--out", "deep/run"])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The run has started once its place is reserved.
    let started = Instant::now();
    while !place.path("deep/.run.unfinished").exists() {
        assert!(started.elapsed() < Duration::from_mins(1), "the run did not start");
        sleep(Duration::from_millis(10));
    }
    sleep(Duration::from_millis(300));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
    let ended = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > Duration::from_mins(2) {
            child.kill().unwrap();
            panic!("SIG{signal} did not end the run");
        }
        sleep(Duration::from_millis(10));
    };
    assert_eq!(ended.code(), Some(130));
    assert_eq!(place.names(), [] as [&str; 0]);
}

#[test]
fn ctrl_c_in_a_sweep_says_what_is_kept() {
    let place = Place::new("interrupt-sweep");
    let flags = ["sweep", "--method", "fermi", "--lambda", "0.5,1", "--seeds", "500"];
    let child = place
        .command(&[&flags[..], &["--threads", "1", "--out", "s"]].concat())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let lines = || std::fs::read_to_string(place.path("s/results.jsonl")).unwrap_or_default();
    while !lines().contains('\n') {
        assert!(started.elapsed() < Duration::from_mins(2), "no run ended");
        sleep(Duration::from_millis(10));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &pid]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("of 1000 runs are kept in s"), "{said}");
}
