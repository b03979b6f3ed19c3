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
