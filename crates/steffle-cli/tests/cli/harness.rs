//! A directory of its own for every test, and the binary run in it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A working directory that is removed when the test is over.
pub(crate) struct Place(PathBuf);

impl Place {
    /// `name` is unique among the tests.
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, contents).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Names in the directory, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The binary, ready to run here.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_steffle"));
        command.args(arguments).current_dir(&self.0).env_remove("NO_COLOR");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::new(&self.command(arguments).output().unwrap())
    }

    /// The same with something on standard input.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let input = fs::File::open(self.write("input", input)).unwrap();
        Ran::new(&self.command(arguments).stdin(input).output().unwrap())
    }

    /// Runs a command that must succeed, with `--json`.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let ran = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
        serde_json::from_str(&ran.stdout).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a run of the binary said.
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn new(output: &Output) -> Self {
        Self {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout.clone()).unwrap(),
            stderr: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }
}

/// Whether a document shows what is printed, where a line `...` stands for any lines.
pub(crate) fn shows(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((line, rest)) if line == "..." => {
            (0..=printed.len()).any(|skip| shows(rest, &printed[skip..]))
        }
        Some((line, rest)) => printed.first() == Some(line) && shows(rest, &printed[1..]),
    }
}

/// Lines without the seconds at their end, which differ from run to run.
pub(crate) fn without_times(text: &str) -> Vec<String> {
    let without_time = |line: &str| match line.rsplit_once(", ") {
        Some((rest, time)) if time.ends_with(" s") => rest.to_owned(),
        _ => line.trim_end().to_owned(),
    };
    text.trim_end().lines().map(without_time).collect()
}

/// Made-up people: three groups, three labels, two regions; the label leans on group and `score`.
pub(crate) fn people(rows: std::ops::Range<u64>) -> String {
    let mut csv = "record_id,score,town,region,group,label\n".to_owned();
    for row in rows {
        let draw = |salt: u64| mix(row.wrapping_mul(1009).wrapping_add(salt)) % 1000;
        let group = ["a", "b", "c"][(draw(1) % 3) as usize];
        let town = ["north", "south", "east"][(draw(2) % 3) as usize];
        let region = ["hill", "plain"][(draw(3) % 2) as usize];
        let lean = if group == "a" { 300 } else { 0 };
        let score = draw(4) + lean;
        let label = match score + draw(5) / 2 {
            0..=550 => "low",
            551..=950 => "middle",
            _ => "high",
        };
        writeln!(csv, "{row},{}.5,{town},{region},{group},{label}", score / 10).unwrap();
    }
    csv
}

/// The same people with two labels and two groups.
pub(crate) fn pairs(rows: std::ops::Range<u64>) -> String {
    people(rows).replace(",c,", ",b,").replace(",middle\n", ",high\n")
}

/// What the owner of a store of [`pairs`] says about its columns.
pub(crate) const COLUMNS: [&str; 6] =
    ["--sensitive", "group", "--classes", "a,b", "--record-id", "record_id"];

/// The columns of `csv` whose name `keep` accepts.
pub(crate) fn columns(csv: &str, keep: impl Fn(&str) -> bool) -> String {
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let mut kept = String::new();
    for line in csv.lines() {
        let cells = line.split(',').zip(&header).filter(|(_, name)| keep(name));
        let cells: Vec<&str> = cells.map(|(cell, _)| cell).collect();
        writeln!(kept, "{}", cells.join(",")).unwrap();
    }
    kept
}

/// SplitMix64's finaliser: fixed, well mixed numbers.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
