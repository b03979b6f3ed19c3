//! `cargo xtask check`: everything that must be green before a commit lands, and what that needs;
//! `cargo xtask same`: whether two builds say the same.

mod check;
mod flare;
mod needs;
mod python;
mod same;
mod system;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask check [--quick | --python | --flare]
       cargo xtask same OLD NEW [CASE]

  check            installs what the tests need, then formatting, lints, all tests, documentation,
                   the Python package, a consortium on NVIDIA FLARE
  check --quick    formatting, lints, the tests that need nothing but Rust; installs nothing
  check --python   the Python package alone
  check --flare    the consortium alone
  same OLD NEW     runs about 50 cases through two `steffle` binaries and compares what they print and
                   write, times aside; CASE: only cases whose name contains it";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["check"] => needs::provide().and_then(|()| check::whole()),
        ["check", "--python"] => needs::provide().and_then(|()| python::check()),
        ["check", "--flare"] => needs::provide().and_then(|()| flare::check(None)),
        ["check", "--quick"] => needs::of_cargo().and_then(|()| check::quick()),
        ["same", old, new] => same::same(old, new, None),
        ["same", old, new, only] => same::same(old, new, Some(only)),
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
