//! What is deliberately not in the command line.

use std::path::{Path, PathBuf};

/// Every source file of the command line.
fn sources() -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    let mut found = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert!(found.len() > 30, "{} sources", found.len());
    found
}

#[test]
fn the_command_line_has_no_pipeline() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    assert!(!manifest.contains("\nsteffle.workspace"), "it depends on the algorithm");
    let words = [
        "Federation",
        "steffle::driver",
        "steffle::train",
        "steffle::baselines",
        "steffle::division",
        "FairPath",
        "encode(",
        "partition(&",
        "attributes(",
        "Summary::",
        "Schema::from_summary",
        "stream(",
    ];
    for (path, text) in sources() {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            let hit = words.iter().find(|word| line.contains(*word));
            assert!(hit.is_none(), "{} has {hit:?}: {line}", path.display());
        }
    }
}

/// Only examples in help texts and the paper's headline name a method.
#[test]
fn methods_are_listed_in_one_place() {
    let words =
        ["\"fermi\"", "\"dp-fermi\"", "\"reductions\"", "\"fedavg\"", "\"randomised-response\""];
    for (path, text) in sources() {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code = code.replace("\\\"", "");
        if path.ends_with("tests.rs") {
            continue;
        }
        let hit = words.iter().find(|word| code.contains(*word));
        assert!(hit.is_none(), "{} has {hit:?}", path.display());
    }
}
