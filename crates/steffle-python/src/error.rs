//! Errors of the library as Python exceptions.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use steffle_cli::Failure;
use steffle_front::Error;

create_exception!(
    _steffle,
    SteffleError,
    PyValueError,
    "What was refused and why; `code` is its stable name, `help` what to do about it."
);

/// The exception of an error, with its code and what to do about it.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error.code(), &error.to_string(), error.help())
}

/// The same of what the command line refuses.
pub(crate) fn refused(py: Python<'_>, failure: &Failure) -> PyErr {
    let text = |text: &str| flags(text);
    let help = failure.advice().map(text);
    exception(py, failure.code(), &text(failure.message()), help.as_deref())
}

fn exception(py: Python<'_>, code: &str, message: &str, help: Option<&str>) -> PyErr {
    let help = help.filter(|help| !help.is_empty()).map(keywords);
    let text = keywords(message);
    let text = help.as_ref().map_or(text.clone(), |help| format!("{text} ({help})"));
    let exception = SteffleError::new_err(text);
    let value = exception.value(py);
    // An exception takes attributes; if one does not, its text is what matters.
    let _ = value.setattr("code", code);
    let _ = value.setattr("help", help);
    exception
}

/// The exception of a mistake of ours.
pub(crate) fn bug(py: Python<'_>) -> PyErr {
    let text = "a mistake in steffle, not in your input: please report it with what was called";
    exception(py, "steffle::bug", text, None)
}

/// Runs what takes no time worth interrupting; a mistake of ours is an exception like others, and ends
/// nothing.
pub(crate) fn safely<T: Send, E: Send>(
    py: Python<'_>,
    raise: impl FnOnce(Python<'_>, &E) -> PyErr,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    let caught = py.detach(|| std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)));
    match caught {
        Ok(done) => done.map_err(|error| raise(py, &error)),
        Err(_) => Err(bug(py)),
    }
}

/// Flags of the command line, `--noise-multiplier`, as keyword arguments: `noise_multiplier`.
fn flags(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for (at, part) in text.split("--").enumerate() {
        let end = part.find(|c: char| !(c == '-' || c.is_ascii_lowercase())).unwrap_or(part.len());
        if at == 0 {
            shown += part;
            continue;
        }
        let (name, rest) = part.split_at(end);
        shown += &if name == "lambda" { "lam".to_owned() } else { name.replace('-', "_") };
        shown += rest;
    }
    shown
}

/// Settings that the library names, `<batch all>`, as the keyword arguments that they are here:
/// `batch='all'`.
pub(crate) fn keywords(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let (before, from) = rest.split_at(start);
        shown.push_str(before);
        let inside = &from[1..];
        let end = inside.find(['<', '>']).filter(|&end| inside[end..].starts_with('>'));
        let named = end.map(|end| &inside[..end]).filter(|named| {
            let key = named.split(' ').next().unwrap_or_default();
            !key.is_empty() && key.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase())
        });
        let Some(named) = named else {
            shown.push('<');
            rest = inside;
            continue;
        };
        let (key, value) = named.split_once(' ').unwrap_or((named, ""));
        shown += &if key == "lambda" { "lam".to_owned() } else { key.replace('-', "_") };
        if !value.is_empty() {
            shown.extend(["='", value, "'"]);
        }
        rest = &inside[named.len() + 1..];
    }
    shown + rest
}
