//! A consortium on NVIDIA FLARE, on this machine: `deploy/flare/test` has its tests, and installs
//! FLARE in an environment of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The tests that every check runs; the others (`deploy/flare/test kill all`, `bench`) take long.
const TESTS: [&[&str]; 2] = [&["poc"], &["kill", "site"]];

/// The program that lists sockets.
pub(crate) fn sockets() -> Result<PathBuf, String> {
    match Command::new("ss").arg("-V").stdout(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(PathBuf::from("ss")),
        _ => Err("`ss` does not run".to_owned()),
    }
}

/// Runs them with a program that is there, or with the one that cargo builds.
pub(crate) fn check(program: Option<&str>) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for arguments in TESTS {
        println!("$ deploy/flare/test {}", arguments.join(" "));
        let mut command = Command::new("python3");
        command.arg("deploy/flare/test").args(arguments).current_dir(&root);
        if let Some(program) = program {
            command.env("STEFFLE", root.join(program));
        }
        let ran = command.status().map_err(|error| format!("python3 did not start: {error}"))?;
        if !ran.success() {
            return Err(format!("`deploy/flare/test {}` failed", arguments.join(" ")));
        }
    }
    Ok(())
}
