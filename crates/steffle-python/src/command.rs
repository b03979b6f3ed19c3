//! The command line, as a program and as a function.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::error::{refused, safely};

/// The `steffle` command with these words, the program's own path first; returns its exit status.
///
/// It takes over Ctrl-C and ends the process by itself on it: for a process that does nothing else.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| steffle_cli::command(words))
}

/// What a command that only computes answers, as JSON.
#[pyfunction]
pub(crate) fn answer(py: Python<'_>, words: Vec<String>) -> PyResult<String> {
    safely(py, refused, || steffle_cli::answer(&words)).map(|value| value.to_string())
}
