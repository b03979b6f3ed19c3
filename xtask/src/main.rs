//! `cargo xtask check`: everything that must be green before a commit lands.

use std::process::{Command, ExitCode};

/// Formatting, lints, tests and documentation, in the order in which they fail fastest.
const CHECKS: [&[&str]; 4] = [
    &["fmt", "--all", "--", "--check"],
    &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
    &["test", "--workspace", "--all-targets", "--locked"],
    &["test", "--workspace", "--doc", "--locked"],
];

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("check") => check(),
        other => {
            eprintln!("xtask: unknown task {other:?}; known: check");
            ExitCode::from(2)
        }
    }
}

fn check() -> ExitCode {
    for arguments in CHECKS {
        if !cargo(arguments, None) {
            return ExitCode::FAILURE;
        }
    }
    let documentation = ["doc", "--workspace", "--no-deps", "--locked"];
    if !cargo(&documentation, Some(("RUSTDOCFLAGS", "-D warnings"))) {
        return ExitCode::FAILURE;
    }
    println!("all checks passed");
    ExitCode::SUCCESS
}

fn cargo(arguments: &[&str], variable: Option<(&str, &str)>) -> bool {
    println!("$ cargo {}", arguments.join(" "));
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments);
    if let Some((name, value)) = variable {
        command.env(name, value);
    }
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("xtask: cargo did not start: {error}");
            false
        }
    }
}
