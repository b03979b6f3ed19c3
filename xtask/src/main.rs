//! `cargo xtask check`: everything that must be green before a commit lands, and what that needs.

mod check;
mod needs;
mod system;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask check [--quick]

  check            installs what the tests need, then formatting, lints, all tests, documentation
  check --quick    formatting, lints, the tests that need nothing but Rust; installs nothing";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["check"] => needs::provide().and_then(|()| check::whole()),
        ["check", "--quick"] => needs::of_cargo().and_then(|()| check::quick()),
        _ => {
            eprintln!("xtask: unknown task {}\n{USAGE}", words.join(" "));
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask: {reason}");
            ExitCode::FAILURE
        }
    }
}
