//! The Python package in an environment of its own: built, looked at, tested.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the environment is.
const PLACE: &str = "target/python";

/// What the checks install there, pinned: the package's own needs, what builds and judges it, what it is
/// used with, and what its notebook and trackers are run by.
const PACKAGES: [&str; 18] = [
    "numpy==2.4.6",
    "pandas==3.1.1",
    "scikit-learn==1.9.1",
    "maturin==1.16.0",
    "mypy==2.4.1",
    "pytest==9.2.0",
    "ruff==0.17.4",
    "dp-accounting==0.6.0",
    "fairlearn==0.15.0",
    "ipykernel==7.4.0",
    "matplotlib==3.11.2",
    "mlflow-skinny==3.17.2",
    "nbclient==0.11.0",
    "nbformat==5.11.1",
    "onnxruntime==1.31.1",
    "polars==2.1.0",
    "pyarrow==26.0.1",
    "tensorboard==2.21.0",
];

/// The same without what it needs itself, which is gigabytes: its accountants need none of that.
const ALONE: &str = "opacus==1.6.0";

/// A Python that can make environments.
pub(crate) fn found() -> Result<PathBuf, String> {
    const PROGRAM: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";
    let ran = Command::new("python3").args(["-c", PROGRAM]).output();
    match ran {
        Ok(ran) if ran.status.success() => Ok(PathBuf::from("python3")),
        Ok(_) => Err("python3 is older than 3.11, or has no venv".to_owned()),
        Err(error) => Err(format!("python3 does not start: {error}")),
    }
}

/// Builds the package, then lints, types, tests and examples.
pub(crate) fn check() -> Result<(), String> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PLACE);
    if !place.join("bin/python").exists() {
        run(Path::new("python3"), &["-m", "venv", &place.to_string_lossy()])?;
    }
    let bin = |name: &str| place.join("bin").join(name);
    run(&bin("python"), &[&["-m", "pip", "install", "--quiet"], &PACKAGES[..]].concat())?;
    run(&bin("python"), &["-m", "pip", "install", "--quiet", "--no-deps", ALONE])?;
    run(&bin("maturin"), &["develop", "--quiet", "--profile", "dev", "--locked"])?;
    run(&bin("ruff"), &["check", "python", "deploy/flare"])?;
    run(&bin("mypy"), &[])?;
    run(&bin("stubtest"), &["steffle._steffle"])?;
    let tests = ["--quiet", "--doctest-modules", "python/steffle", "python/tests"];
    run(&bin("python"), &[&["-m", "pytest"], &tests[..]].concat())
}

fn run(program: &Path, arguments: &[&str]) -> Result<(), String> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    println!("$ {name} {}", arguments.join(" "));
    let environment = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PLACE);
    let status = Command::new(program)
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .env("VIRTUAL_ENV", environment)
        .status()
        .map_err(|error| format!("{name} did not start: {error}"))?;
    let failed = || format!("`{name} {}` failed", arguments.join(" "));
    status.success().then_some(()).ok_or_else(failed)
}
