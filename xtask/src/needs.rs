//! What the checks need beside a Rust compiler: looked for before anything is compiled, got where
//! that is possible, named all at once where it is not.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::system::{System, Wanted};

#[path = "../../crates/steffle-report/tests/devtools/chromium.rs"]
mod chromium;

/// Something the checks need.
struct Need {
    /// Its name and what it is for.
    what: &'static str,
    /// Looks for it.
    found: fn() -> Result<PathBuf, String>,
    /// What to ask a package manager for.
    wanted: Wanted,
}

const CARGO: [Need; 2] = [
    Need {
        what: "rustfmt, for the formatting check",
        found: || subcommand("fmt"),
        wanted: Wanted::Component("rustfmt"),
    },
    Need {
        what: "clippy, for the lints",
        found: || subcommand("clippy"),
        wanted: Wanted::Component("clippy"),
    },
];

const MORE: [Need; 3] = [
    Need {
        what: "Chromium, for the HTML report, which is tested in a real browser",
        found: chromium::chromium,
        wanted: Wanted::Chromium,
    },
    Need {
        what: "Python 3.11 or newer with venv, for the Python package and NVIDIA FLARE",
        found: crate::python::found,
        wanted: Wanted::Python,
    },
    Need {
        what: "ss, which tells where servers under test listen",
        found: crate::flare::sockets,
        wanted: Wanted::Sockets,
    },
];

/// Everything for all checks, installed if this is root on a system whose packages are known.
pub(crate) fn provide() -> Result<(), String> {
    get(&CARGO.iter().chain(&MORE).collect::<Vec<_>>(), true)
}

/// What the quick checks need; installs nothing.
pub(crate) fn of_cargo() -> Result<(), String> {
    get(&CARGO.iter().collect::<Vec<_>>(), false)
}

fn get(needs: &[&Need], install: bool) -> Result<(), String> {
    let missing = missing(needs);
    if missing.is_empty() {
        return Ok(());
    }
    let system = System::here();
    let commands = system.commands(&missing.iter().map(|need| need.wanted).collect::<Vec<_>>());
    if !(install && system.may_install()) {
        return Err(message(&missing, &commands, &system));
    }
    for need in &missing {
        println!("missing: {}", need.what);
    }
    for command in &commands {
        println!("$ {command}");
        let done = Command::new("sh").args(["-c", command]).status();
        if !done.is_ok_and(|status| status.success()) {
            return Err(format!("`{command}` failed; {}", message(&missing, &commands, &system)));
        }
    }
    let still = self::missing(&missing);
    if still.is_empty() { Ok(()) } else { Err(message(&still, &commands, &system)) }
}

fn missing<'a>(needs: &[&'a Need]) -> Vec<&'a Need> {
    needs.iter().copied().filter(|need| (need.found)().is_err()).collect()
}

fn message(missing: &[&Need], commands: &[String], system: &System) -> String {
    let needs = missing.iter().map(|need| {
        let why = (need.found)().err().unwrap_or_default();
        format!("  - {}\n    ({why})\n", need.what)
    });
    let commands = commands.iter().map(|command| format!("    {command}\n"));
    format!(
        "the checks need what is not here:\n{}To get it on {}:\n{}then run `cargo xtask check` \
         again. `cargo xtask check --quick` needs rustfmt and clippy only.",
        needs.collect::<String>(),
        system.name(),
        commands.collect::<String>()
    )
}

/// A subcommand of the cargo that runs this.
fn subcommand(name: &str) -> Result<PathBuf, String> {
    let cargo = env!("CARGO");
    let mut command = Command::new(cargo);
    command.args([name, "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(PathBuf::from(cargo)),
        _ => Err(format!("`cargo {name}` does not run")),
    }
}
