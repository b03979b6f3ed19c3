//! Errors of the library as Python exceptions.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use steffle_front::Error;

create_exception!(
    _steffle,
    SteffleError,
    PyValueError,
    "What was refused and why; `code` is its stable name, `help` what to do about it."
);

/// The exception of an error, with its code and what to do about it.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let help = error.help().map(keywords);
    let text = keywords(&error.to_string());
    let text = help.as_ref().map_or(text.clone(), |help| format!("{text} ({help})"));
    let exception = SteffleError::new_err(text);
    let value = exception.value(py);
    // An exception takes attributes; if one does not, its text is what matters.
    let _ = value.setattr("code", error.code());
    let _ = value.setattr("help", help);
    exception
}

/// Runs without holding up Python; a mistake of ours is an exception like others, and ends nothing.
pub(crate) fn safely<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    let caught = py.detach(|| std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)));
    if let Ok(done) = caught {
        return done.map_err(|error| raised(py, &error));
    }
    let exception = SteffleError::new_err(
        "a mistake in steffle, not in your input: please report it with what was called",
    );
    let _ = exception.value(py).setattr("code", "steffle::bug");
    Err(exception)
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
