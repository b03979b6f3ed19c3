//! Every error code of the sources is in the manual.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What codes are about.
const ABOUT: [&str; 12] = [
    "usage",
    "config",
    "data",
    "run",
    "sweep",
    "reproduce",
    "train",
    "node",
    "submit",
    "ledger",
    "privacy",
    "audit",
];

/// Checks that refuse a setting by its key: `config::KEY`.
const CHECKS: [&str; 7] =
    [".positive", ".number", ".count", ".word", ".explained", "Error::value", "refuse"];

/// The text of all sources but tests, file by file.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") && name != "tests.rs" {
            let text = fs::read_to_string(&path).unwrap();
            found.push(text.split("#[cfg(test)]").next().unwrap_or_default().to_owned());
        }
    }
}

/// Codes as they are written in a source: `"data::no-rows"`, with or without the program's name.
fn written(source: &str, codes: &mut BTreeSet<String>) {
    for text in source.split('"').skip(1).step_by(2) {
        let code = text.strip_prefix("steffle::").unwrap_or(text).replace('-', "_");
        let Some((about, kind)) = code.split_once("::") else { continue };
        let word = |c: char| c.is_ascii_lowercase() || c == '_';
        if ABOUT.contains(&about) && !kind.is_empty() && kind.chars().all(word) {
            codes.insert(code);
        }
    }
}

/// Keys that a check refuses: the first argument after its name, `given.count("rounds")`.
fn refused(source: &str, codes: &mut BTreeSet<String>) {
    for check in CHECKS {
        for rest in source.split(check).skip(1) {
            // A type may stand between: word::<Mode>("mode").
            let rest = match rest.strip_prefix("::<") {
                Some(typed) => typed.split_once('>').map_or("", |(_, rest)| rest),
                None => rest,
            };
            let Some(quoted) = rest.strip_prefix("(\"") else { continue };
            let key = quoted.split('"').next().unwrap_or_default();
            if !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
                codes.insert(format!("config::{}", key.replace('-', "_")));
            }
        }
    }
}

/// The codes of the manual: in a row, those after the first share what it is about.
fn documented() -> BTreeSet<String> {
    let manual = include_str!("../../../../docs/CLI.md");
    let rows = manual.split("## Error codes").nth(1).unwrap();
    let mut codes = BTreeSet::new();
    for row in rows.lines().filter(|line| line.starts_with("| `steffle::")) {
        let mut about = "";
        let (first, rest) = row.trim_start_matches("| ").split_once(" | ").unwrap();
        // The keys of settings are listed with what they are.
        let words = if first.contains("::KEY") { rest } else { first };
        for word in first.split('`').chain(words.split('`')).filter(|word| !word.contains(' ')) {
            let word = word.strip_prefix("steffle::").unwrap_or(word);
            let (own, kind) = word.split_once("::").unwrap_or((about, word));
            about = own;
            codes.insert(format!("{about}::{kind}"));
        }
    }
    codes
}

#[test]
fn every_error_code_is_in_the_manual() {
    let mut codes = BTreeSet::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut all = Vec::new();
    for name in ["cli", "front", "data", "privacy", "ledger", "site", "server", "process", "audit"]
    {
        sources(&crates.join(format!("steffle-{name}/src")), &mut all);
    }
    for source in &all {
        written(source, &mut codes);
        refused(source, &mut codes);
    }
    assert!(codes.len() > 120, "only {} codes were found", codes.len());
    for known in ["train::pool", "config::target_gap", "config::row_cap", "data::no_rows"] {
        assert!(codes.contains(known), "{known} is not found in the sources");
    }
    let documented = documented();
    let missing: Vec<&String> = codes.difference(&documented).collect();
    assert!(missing.is_empty(), "not in docs/CLI.md: {missing:?}");
}
