//! The checks themselves, in the order in which they fail fastest.

use std::process::Command;

const FORMATTING: &[&str] = &["fmt", "--all", "--", "--check"];
const LINTS: &[&str] =
    &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
/// What can be left out is left out once.
const WITHOUT_PARQUET: &[&str] =
    &["clippy", "-p", "steffle-cli", "--no-default-features", "--locked", "--", "-D", "warnings"];
const TESTS: &[&str] = &["test", "--workspace", "--all-targets", "--locked"];
const EXAMPLES_IN_TEXT: &[&str] = &["test", "--workspace", "--doc", "--locked"];
const DOCUMENTATION: &[&str] = &["doc", "--workspace", "--no-deps", "--locked"];

/// Tests that need more than Rust are in modules of this name: `needs_chromium`, ...
const MORE_THAN_RUST: &str = "needs_";

/// All of them.
pub(crate) fn whole() -> Result<(), String> {
    for arguments in [FORMATTING, LINTS, WITHOUT_PARQUET, TESTS, EXAMPLES_IN_TEXT, DOCUMENTATION] {
        cargo(arguments)?;
    }
    crate::python::check()?;
    crate::flare::check(Some("target/debug/steffle"))?;
    println!("all checks passed");
    Ok(())
}

/// Those for the minutes between commits.
pub(crate) fn quick() -> Result<(), String> {
    let tests = [TESTS, &["--", "--skip", MORE_THAN_RUST]].concat();
    for arguments in [FORMATTING, LINTS, &tests] {
        cargo(arguments)?;
    }
    println!(
        "quick checks passed; left out: tests in {MORE_THAN_RUST}* (the HTML report in Chromium), \
         examples in documentation, documentation, the Python package, a consortium on NVIDIA FLARE. `cargo xtask check` runs everything"
    );
    Ok(())
}

fn cargo(arguments: &[&str]) -> Result<(), String> {
    println!("$ cargo {}", arguments.join(" "));
    // Only documentation reads the flags, so they can stand here for all.
    let status = Command::new(env!("CARGO"))
        .args(arguments)
        .env("RUSTDOCFLAGS", "-D warnings")
        .status()
        .map_err(|error| format!("cargo did not start: {error}"))?;
    let failed = || format!("`cargo {}` failed", arguments.join(" "));
    status.success().then_some(()).ok_or_else(failed)
}
