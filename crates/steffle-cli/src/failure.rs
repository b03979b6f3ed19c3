//! One error type: a stable code, what was wrong, what to do, and the exit status.

use std::fmt;
use std::io;
use std::path::Path;

/// How the program ends. The numbers are documented in `docs/CLI.md` and do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// All went well, or the reader of our output went away.
    Ok = 0,
    /// A mistake in this program.
    Bug = 1,
    /// The command line is wrong.
    Usage = 2,
    /// Data, a configuration file or a run directory is wrong.
    Data = 3,
    /// A privacy budget does not allow it.
    Budget = 4,
    /// An audit or a threshold failed.
    Threshold = 5,
    /// Ctrl-C.
    Interrupted = 130,
}

/// Why a command ended before its work was done.
///
/// It has a stable code and, where that is known, what to do.
#[derive(Debug)]
pub struct Failure {
    pub(crate) status: Status,
    /// Stable name, for scripts: `steffle::data::not_found`.
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl Failure {
    /// Stable name, for scripts: `steffle::data::not_found`.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// What was wrong; settings are named in angle brackets, `<drop age>`, or as flags.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it, where that is known.
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// `code` without the leading `steffle::`.
    pub(crate) fn new(status: Status, code: &str, message: impl Into<String>) -> Self {
        let code = format!("steffle::{}", code.replace('-', "_"));
        Self { status, code, message: message.into(), help: None }
    }

    pub(crate) fn usage(code: &str, message: impl Into<String>) -> Self {
        Self::new(Status::Usage, code, message)
    }

    pub(crate) fn data(code: &str, message: impl Into<String>) -> Self {
        Self::new(Status::Data, code, message)
    }

    pub(crate) fn bug(message: impl Into<String>) -> Self {
        let help = "this is a mistake in steffle, not in your input: please report it with the \
                    command line and this message";
        Self::new(Status::Bug, "bug", message).help(help)
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Reading or writing at a path failed.
    pub(crate) fn at(path: &Path, error: &io::Error) -> Self {
        let message = format!("{}: {error}", path.display());
        match error.kind() {
            io::ErrorKind::NotFound => Self::data("data::not_found", message),
            _ => Self::data("data::io", message),
        }
    }

    /// Writing to standard output failed; a reader that went away is no failure.
    pub(crate) fn stdout(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Status::Ok, "closed", "the reader went away"),
            _ => Self::data("data::io", format!("standard output: {error}")),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<steffle_front::Error> for Failure {
    fn from(error: steffle_front::Error) -> Self {
        let status = match error.status() {
            steffle_front::Status::Usage => Status::Usage,
            steffle_front::Status::Data => Status::Data,
            steffle_front::Status::Budget => Status::Budget,
            steffle_front::Status::Interrupted => Status::Interrupted,
            _ => Status::Bug,
        };
        let help = error.help().map(str::to_owned);
        Self { status, code: error.code().to_owned(), message: error.to_string(), help }
    }
}

impl From<steffle_data::Error> for Failure {
    fn from(error: steffle_data::Error) -> Self {
        Self::data(error.code(), error.to_string())
    }
}

impl From<steffle_privacy::PrivacyError> for Failure {
    /// Only what was typed reaches the accountants, so what they refuse is a wrong command line.
    fn from(error: steffle_privacy::PrivacyError) -> Self {
        let code = error.code();
        Self::usage(code.strip_prefix("steffle::").unwrap_or(code), error.to_string())
    }
}
