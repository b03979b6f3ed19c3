//! `cargo xtask same OLD NEW`: whether two builds of the program say the same.
//!
//! Every case is a few command lines, run by each binary in a directory of its own. What is printed
//! and written must be equal byte by byte, times aside.

mod cases;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::cases::{CASES, Case, people};

/// Numbers after these words are times.
const TIMES: [&str; 2] = ["\"cpu_seconds\":", "\"wall_seconds\":"];

/// Runs the cases whose name contains `only` with both; an error if one of them differs.
pub(crate) fn same(old: &str, new: &str, only: Option<&str>) -> Result<(), String> {
    let binaries = [("old", absolute(old)?), ("new", absolute(new)?)];
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/same");
    let cases: Vec<&Case> =
        CASES.iter().filter(|case| only.is_none_or(|only| case.name.contains(only))).collect();
    let mut different = 0;
    for case in &cases {
        let [old, new] = binaries.each_ref().map(|(name, binary)| {
            let place = place.join(name);
            said(case, binary, &place).map_err(|error| format!("{}: {error}", place.display()))
        });
        match first_difference(&old?, &new?) {
            None => println!("{:36} equal", case.name),
            Some(difference) => {
                different += 1;
                println!("{:36} DIFFERENT {difference}", case.name);
            }
        }
    }
    println!("{} of {} cases are equal", cases.len() - different, cases.len());
    if different == 0 { Ok(()) } else { Err(format!("{different} cases differ")) }
}

fn absolute(binary: &str) -> Result<PathBuf, String> {
    fs::canonicalize(binary).map_err(|error| format!("{binary}: {error}"))
}

/// What a binary prints and writes: pairs of a name and a text.
fn said(case: &Case, binary: &Path, place: &Path) -> std::io::Result<Vec<(String, String)>> {
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::create_dir_all(place)?;
    fs::write(place.join("people.csv"), people(600, 3))?;
    fs::write(place.join("pairs.csv"), people(600, 2))?;
    let mut said = Vec::new();
    for (number, line) in case.lines.iter().enumerate() {
        let ran = Command::new(binary)
            .args(line.split_whitespace())
            .current_dir(place)
            .env_remove("NO_COLOR")
            .output()?;
        for (name, bytes) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
            said.push((
                format!("{name} of line {}", number + 1),
                String::from_utf8_lossy(bytes).into_owned(),
            ));
        }
        said.push((format!("status of line {}", number + 1), format!("{:?}", ran.status.code())));
    }
    written(place, place, &mut said)?;
    for (_, text) in &mut said {
        *text = without_times(text);
    }
    Ok(said)
}

/// The files below a directory, by name.
fn written(top: &Path, folder: &Path, said: &mut Vec<(String, String)>) -> std::io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            written(top, &path, said)?;
        } else {
            let name = path.strip_prefix(top).unwrap_or(&path).display().to_string();
            said.push((name, String::from_utf8_lossy(&fs::read(&path)?).into_owned()));
        }
    }
    Ok(())
}

/// Numbers that are times are left out: in JSON, and in the line of text that ends in seconds.
fn without_times(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    let next = |rest: &str| {
        let found = TIMES.iter().filter_map(|word| rest.find(word).map(|at| at + word.len()));
        found.min()
    };
    while let Some(at) = next(rest) {
        kept.push_str(&rest[..at]);
        let number = |c: char| c.is_ascii_digit() || " .eE+-".contains(c);
        rest = rest[at..].trim_start_matches(number);
    }
    kept.push_str(rest);
    let untimed = |line: &str| match line.rsplit_once(", ") {
        Some((before, last)) if last.ends_with(" s") && line.contains("seed") => before.to_owned(),
        _ => line.to_owned(),
    };
    kept.lines().map(untimed).collect::<Vec<_>>().join("\n")
}

/// Where two lists differ first, with the words around it.
fn first_difference(old: &[(String, String)], new: &[(String, String)]) -> Option<String> {
    const BEFORE: usize = 40;
    const AFTER: usize = 60;
    for ((name, a), (other, b)) in old.iter().zip(new) {
        if name != other {
            return Some(format!("in names: {name} / {other}"));
        }
        if a != b {
            let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
            let around = |text: &str| -> String {
                text.chars().skip(same.saturating_sub(BEFORE)).take(BEFORE + AFTER).collect()
            };
            return Some(format!("in {name}:\n  old: {:?}\n  new: {:?}", around(a), around(b)));
        }
    }
    (old.len() != new.len()).then(|| format!("in number of texts: {} / {}", old.len(), new.len()))
}
