//! Crate borders are trust borders: what a crate cannot reach, it cannot read.
#![allow(clippy::unwrap_used)] // a test that cannot ask cargo has to fail

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Our own crates that each of ours depends on, tests aside.
fn depends() -> BTreeMap<String, BTreeSet<String>> {
    let asked = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let told: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap();
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap().to_owned();
    let packages = told["packages"].as_array().unwrap();
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
    reaches_only("steffle-site", &["steffle-model", "steffle-privacy", "steffle-wire"]);
    for name in ["steffle-data", "steffle-process"] {
        assert!(!reached(name).contains("steffle-server"), "{name} reaches the server");
    }
}

#[test]
fn accounting_and_mathematics_are_leaves() {
    reaches_only("steffle-privacy", &[]);
    reaches_only("steffle-model", &[]);
    reaches_only("steffle-wire", &["steffle-model", "steffle-privacy"]);
}
