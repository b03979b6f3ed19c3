#[cfg(unix)]
use std::fs::File;
use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use crate::harness::Place;

const ESCAPE: char = '\u{1b}';

#[test]
fn colour_is_off_unless_asked_for() {
    let place = Place::new("colour");
    let plain = place.run(&["data", "list"]);
    assert!(!plain.stdout.contains(ESCAPE));
    let always = place.run(&["data", "list", "--color", "always"]);
    assert!(always.stdout.contains(ESCAPE));
    let never = place.run(&["data", "list", "--color=never"]);
    assert_eq!(never.stdout, plain.stdout);
    for command in [&["train", "--lambda", "-1"][..], &["train", "--bogus"], &["--help"]] {
        let output = place.command(command).env("NO_COLOR", "1").output().unwrap();
        assert!(!output.stderr.contains(&0x1b) && !output.stdout.contains(&0x1b), "{command:?}");
    }
}

/// A terminal: what is written to the first file can be read from the second.
#[cfg(unix)]
fn terminal() -> (File, File) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave = File::options().read(true).write(true).open(name).unwrap();
    (slave, File::from(master))
}

/// Everything that was written; a terminal whose writers are gone ends with an error.
#[cfg(unix)]
fn read_all(mut terminal: File) -> String {
    let mut said = Vec::new();
    let _ = terminal.read_to_end(&mut said);
    String::from_utf8(said).unwrap()
}

#[cfg(unix)]
#[test]
fn no_color_is_obeyed_on_a_terminal() {
    let place = Place::new("colour-terminal");
    let on_terminal = |no_color: &str| {
        let (slave, master) = terminal();
        let mut command = place.command(&["data", "list"]);
        let command = command.stdout(slave).env("NO_COLOR", no_color).env("TERM", "xterm");
        let mut child = command.spawn().unwrap();
        // The command keeps a copy of its end of the terminal until it is told to let go.
        command.stdout(Stdio::null());
        let said = read_all(master);
        assert!(child.wait().unwrap().success());
        said
    };
    assert!(on_terminal("").contains(ESCAPE), "an empty NO_COLOR does not count");
    assert!(!on_terminal("1").contains(ESCAPE));
}

#[cfg(unix)]
#[test]
fn progress_is_shown_on_a_terminal_only() {
    let place = Place::new("progress");
    let (slave, master) = terminal();
    let mut command = place.command(&["train", "--out", "shown", "--json"]);
    let command = command.stderr(slave).stdout(Stdio::piped()).env("TERM", "xterm");
    let child = command.spawn().unwrap();
    command.stderr(Stdio::null());
    let said = read_all(master);
    let stdout = child.wait_with_output().unwrap().stdout;
    assert!(said.contains("Training the fair model"), "{said:?}");
    let report: Value = serde_json::from_slice(&stdout).unwrap();
    assert_eq!(report["run_dir"], "shown");
    let silent = place.run(&["train", "--rounds", "5", "--out", "silent"]);
    assert_eq!((silent.status, silent.stderr.as_str()), (0, ""));
}

#[test]
fn json_is_one_object_and_nothing_else() {
    let place = Place::new("json");
    for command in [
        &["data", "list"][..],
        &["data", "describe", "credit-card"],
        &["train", "--dry-run"],
        &["train", "--rounds", "2", "--out", "run"],
        &["train", "--lambda", "-1"],
        &["nonsense"],
    ] {
        let ran = place.run(&[command, &["--json"]].concat());
        let objects: Vec<Value> = serde_json::Deserializer::from_str(&ran.stdout)
            .into_iter()
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(objects.len(), 1, "{command:?}");
        assert!(objects[0].is_object(), "{command:?}");
        assert_eq!(objects[0].get("error").is_some(), ran.status != 0, "{command:?}");
        assert_eq!(ran.stderr.is_empty(), ran.status == 0, "{command:?}: {}", ran.stderr);
    }
}

/// The reader goes away before anything is written: that is no failure of ours.
#[test]
fn a_broken_pipe_is_success() {
    let place = Place::new("pipe");
    place.json(&["train", "--rounds", "1", "--out", "run"]);
    place.json(&["data", "partition", "adult", "--silos", "1", "--out", "parts"]);
    for command in
        [&["data", "list"][..], &["predict", "run", "parts/silo-1.csv"], &["train", "--help"]]
    {
        let mut command = place.command(command);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{said}");
        assert_eq!(said, "");
    }
}
