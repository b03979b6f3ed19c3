//! Crate borders are trust borders: what a crate cannot reach, it cannot read.
#![allow(clippy::unwrap_used)] // a test that cannot ask cargo has to fail

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// What cargo says of our crates.
fn packages() -> Vec<serde_json::Value> {
    let asked = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let told: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap();
    told["packages"].as_array().unwrap().clone()
}

/// Our own crates that each of ours depends on, tests aside.
fn depends() -> BTreeMap<String, BTreeSet<String>> {
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap().to_owned();
    let packages = packages();
    let ours: BTreeSet<String> = packages.iter().map(name).collect();
    let edges = |package: &serde_json::Value| {
        let all = package["dependencies"].as_array().unwrap().iter();
        let normal = all.filter(|dependency| dependency["kind"].is_null()).map(name);
        normal.filter(|name| ours.contains(name)).collect()
    };
    packages.iter().map(|package| (name(package), edges(package))).collect()
}

/// All that a crate reaches, however far.
fn reached(name: &str) -> BTreeSet<String> {
    let depends = depends();
    let mut found = BTreeSet::new();
    let mut open = vec![name.to_owned()];
    while let Some(next) = open.pop() {
        let new = depends[&next].iter().filter(|name| found.insert((*name).clone()));
        open.extend(new.cloned().collect::<Vec<_>>());
    }
    found
}

fn reaches_only(name: &str, allowed: &[&str]) {
    let reached = reached(name);
    let allowed = allowed.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(reached, allowed, "what {name} reaches");
}

#[test]
fn the_server_reaches_no_site_and_no_data() {
    reaches_only("steffle-server", &["steffle-model", "steffle-privacy", "steffle-wire"]);
}

#[test]
fn no_site_knows_the_server() {
    let shared = ["steffle-model", "steffle-privacy", "steffle-wire"];
    reaches_only("steffle-attributes", &shared);
    let own = ["steffle-attributes", "steffle-masks"];
    reaches_only("steffle-site", &[&shared[..], &own].concat());
    for name in ["steffle-data", "steffle-process"] {
        assert!(!reached(name).contains("steffle-server"), "{name} reaches the server");
    }
}

#[test]
fn accounting_and_mathematics_are_leaves() {
    reaches_only("steffle-privacy", &[]);
    reaches_only("steffle-model", &[]);
    reaches_only("steffle-masks", &[]);
    reaches_only("steffle-wire", &["steffle-model", "steffle-privacy"]);
}

/// Silence in place of noise, and the integers under it, are for tests: no dependency of a program
/// asks for them.
#[test]
fn no_program_is_built_for_an_attack() {
    for package in packages() {
        for dependency in package["dependencies"].as_array().unwrap() {
            let features = dependency["features"].as_array().unwrap();
            let attacks = features.iter().any(|feature| feature == "attack");
            assert!(!attacks || dependency["kind"] == "dev", "{} attacks", package["name"]);
        }
        let features = package["features"].as_object().unwrap();
        for (name, turned_on) in features {
            let said = turned_on.to_string();
            assert!(!said.contains("/attack"), "{}: feature {name}", package["name"]);
        }
    }
}

#[test]
fn nobody_but_the_program_knows_the_attacks() {
    // The Python package is the program too.
    let program = ["steffle-cli", "steffle-python"];
    for name in depends().keys().filter(|name| !program.contains(&name.as_str())) {
        assert!(!reached(name).contains("steffle-audit"), "{name} reaches the attacks");
    }
    assert!(reached("steffle-audit").contains("steffle-site"), "they attack what sites run");
}
