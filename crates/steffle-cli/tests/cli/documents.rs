//! The documents against the program and the sources: what they name has to exist.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{Place, without_times};

/// Every document that people read, from the root of the repository.
const DOCUMENTS: [&str; 13] = [
    "README.md",
    "ARCHITECTURE.md",
    "GLOSSARY.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs/CLI.md",
    "docs/DATA.md",
    "docs/FIRST_TABLE.md",
    "docs/LEDGER.md",
    "docs/PRIVACY.md",
    "docs/PYTHON.md",
    "deploy/flare/README.md",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What stands between backticks in a line.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The command lines of a document: lines of code that start with `steffle`, with or without a
/// prompt, or that run it through cargo.
fn command_lines(document: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in document.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        let code = fenced || line.starts_with("    ");
        let line = line.trim().trim_start_matches("$ ");
        let line = line.replace("cargo run --release -- ", "steffle ");
        if let Some(typed) = line.strip_prefix("steffle ").filter(|_| code) {
            let words = typed.split_whitespace();
            let words = words.take_while(|word| !["|", ">", "#"].contains(word));
            found.push(words.map(str::to_owned).collect());
        }
    }
    found
}

#[test]
fn command_lines_in_the_documents_exist() {
    let place = Place::new("documents-commands");
    let mut checked = 0;
    for name in DOCUMENTS {
        for words in command_lines(&read(name)) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut command = vec![words[0]];
            let mut help = place.run(&[&command[..], &["--help"]].concat());
            // Some commands do something by themselves, too.
            let chosen = words.get(1).is_some_and(|word| !word.starts_with("--"));
            if help.stdout.contains("\nCommands:\n") && chosen {
                command.push(words[1]);
                help = place.run(&[&command[..], &["--help"]].concat());
            }
            assert_eq!(help.status, 0, "{name}: no command {command:?}");
            for flag in words.iter().filter(|word| word.starts_with("--")) {
                let flag = flag.split('=').next().unwrap();
                let known = help.stdout.split([' ', ',', '\n']).any(|word| word == flag);
                assert!(known, "{name}: {command:?} has no {flag}");
            }
            checked += 1;
        }
    }
    assert!(checked > 15, "only {checked} command lines were found");
}

/// Times differ from run to run; all else is the same to the bit.
#[test]
fn the_demo_is_what_the_program_prints() {
    let readme = read("README.md");
    let demo = readme.split("<!-- demo -->").nth(1).unwrap();
    let demo = demo.split("```").nth(1).unwrap();
    let (typed, shown) = demo.trim_start().split_once('\n').unwrap();
    assert_eq!(typed, "$ steffle train");
    let printed = Place::new("documents-demo").run(&["train"]).stdout;
    assert_eq!(
        without_times(shown),
        without_times(&printed),
        "paste the new output into README.md"
    );
}

#[test]
fn paths_in_the_documents_exist() {
    for name in DOCUMENTS {
        let text = read(name);
        let folder = root().join(name).parent().unwrap().to_path_buf();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            if target.contains("://") {
                continue;
            }
            let linked = if path.is_empty() { root().join(name) } else { folder.join(path) };
            assert!(linked.exists(), "{name} links to {target}");
            let there = heading.is_empty() || headings(&linked).iter().any(|own| own == heading);
            assert!(there, "{name} links to {target}, which has no such heading");
        }
        for path in text.lines().flat_map(quoted) {
            if path.starts_with("crates/") && !path.contains("NAME") {
                assert!(root().join(path).exists(), "{name} names {path}");
            }
        }
    }
}

/// Headings as the addresses that links use.
fn headings(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let titles = text.lines().filter(|line| line.starts_with('#'));
    let address = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        title.chars().filter(|c| c.is_alphanumeric() || *c == '-').collect()
    };
    titles.map(address).collect()
}

/// A row of the glossary ends with a name and a file: the file has to hold the name.
#[test]
fn glossary_names_are_where_it_says() {
    let mut checked = 0;
    for line in read("GLOSSARY.md").lines().filter(|line| line.starts_with("| ")) {
        let columns: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        let [.., names, place] = &columns[..] else { panic!("{line}") };
        let Some(place) = quoted(place).next() else { continue };
        let source = read(place);
        let name = quoted(names).next().unwrap_or_else(|| panic!("no name: {line}"));
        let name = name.trim_end_matches("()").rsplit("::").next().unwrap();
        let words = source.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        assert!(words.into_iter().any(|word| word == name), "{place} has no {name}: {line}");
        checked += 1;
    }
    assert!(checked > 100, "only {checked} rows were found");
}

/// In a row of the invariants, a file is followed by the tests in it.
#[test]
fn invariants_name_tests_that_exist() {
    let checked = named_tests("ARCHITECTURE.md", "Invariants");
    assert!(checked > 25, "only {checked} tests were found");
}

/// The same of the attacks on masks.
#[test]
fn attacks_on_masks_name_tests_that_exist() {
    let checked = named_tests("docs/PRIVACY.md", "Masks");
    assert!(checked > 60, "only {checked} tests were found");
}

/// How many tests the tables of a part of a document name in their last column; all of them exist.
fn named_tests(document: &str, part: &str) -> usize {
    let text = read(document);
    let part = text.split("\n## ").find(|own| own.starts_with(part)).unwrap();
    let mut checked = 0;
    for line in part.lines().filter(|line| line.starts_with("| ")) {
        let guards = line.trim_end_matches([' ', '|']).rsplit(" | ").next().unwrap();
        let mut source = String::new();
        for word in quoted(guards) {
            if word.starts_with("crates/") {
                source = read(word);
            } else if word.contains('_') && word != "compile_fail" {
                let test = format!("#[test]\n    fn {word}(");
                let indented = source.replace("\nfn ", "\n    fn ");
                let indented = indented.replace("\n    #[test]", "\n#[test]");
                assert!(indented.contains(&test), "no test {word}: {line}");
                checked += 1;
            }
        }
        if guards.contains("compile_fail") {
            assert!(source.contains("```compile_fail"), "no such example: {line}");
        }
    }
    checked
}
