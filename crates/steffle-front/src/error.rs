//! One error type: a stable code, what was wrong, what to do, and how a program should end.

use std::fmt;
use std::io;
use std::path::Path;

use steffle_privacy::PrivacyError;

/// Whose mistake an error is. The numbers are the exit statuses of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// A mistake in this library.
    Bug = 1,
    /// Settings are wrong.
    Usage = 2,
    /// Data, or a directory that a model was saved to, is wrong.
    Data = 3,
    /// A privacy budget does not allow it.
    Budget = 4,
    /// An observer asked to stop.
    Interrupted = 130,
}

/// Why there is no study or model.
///
/// It has a stable code, a status and, where that is known, what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    status: Status,
    code: String,
    text: String,
    help: Option<String>,
    setting: Option<Setting>,
}

/// The setting that an error is about, so that a program can point at where it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    key: String,
    /// Its value, where that alone is wrong; absent where settings contradict each other.
    given: Option<String>,
}

impl Error {
    /// Stable name, for scripts: `steffle::data::not_found`.
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// What to do about it, where that is known.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Whose mistake it is.
    pub fn status(&self) -> Status {
        self.0.status
    }

    /// The setting that is to blame, by its key.
    pub fn setting(&self) -> Option<&str> {
        self.0.setting.as_ref().map(|setting| setting.key.as_str())
    }

    /// The value of that setting, where it is wrong by itself.
    pub fn given(&self) -> Option<&str> {
        self.0.setting.as_ref().and_then(|setting| setting.given.as_deref())
    }

    /// What is wrong, without the setting and its value.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// `code` without the leading `steffle::`.
    pub(crate) fn new(status: Status, code: &str, text: impl Into<String>) -> Self {
        let code = code.strip_prefix("steffle::").unwrap_or(code).replace('-', "_");
        let code = format!("steffle::{code}");
        Self(Box::new(Inner { status, code, text: text.into(), help: None, setting: None }))
    }

    pub(crate) fn usage(code: &str, text: impl Into<String>) -> Self {
        Self::new(Status::Usage, code, text)
    }

    pub(crate) fn data(code: &str, text: impl Into<String>) -> Self {
        Self::new(Status::Data, code, text)
    }

    pub(crate) fn bug(text: impl Into<String>) -> Self {
        let help = "this is a mistake in steffle, not in your input: please report it with the \
                    command line and this message";
        Self::new(Status::Bug, "bug", text).with_help(help)
    }

    /// The value of a setting is wrong; `why` says what is allowed.
    pub(crate) fn value(key: &str, given: impl fmt::Display, why: impl Into<String>) -> Self {
        Self::usage(&format!("config::{key}"), why).about(key, Some(given.to_string()))
    }

    /// A setting contradicts another.
    pub(crate) fn conflict(key: &str, text: impl Into<String>) -> Self {
        Self::usage("config::conflict", text).about(key, None)
    }

    /// An observer asked to stop.
    pub(crate) fn cancelled() -> Self {
        Self::new(Status::Interrupted, "train::cancelled", "training was stopped by its observer")
    }

    /// Reading or writing at a path failed.
    pub(crate) fn at(path: &Path, error: &io::Error) -> Self {
        let message = format!("{}: {error}", path.display());
        match error.kind() {
            io::ErrorKind::NotFound => Self::data("data::not_found", message),
            _ => Self::data("data::io", message),
        }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// The same error, of a site.
    pub(crate) fn at_site(mut self, name: &str) -> Self {
        self.0.text = format!("site {name}: {}", self.0.text);
        self
    }

    fn about(mut self, key: &str, given: Option<String>) -> Self {
        self.0.setting = Some(Setting { key: key.to_owned(), given });
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Setting { key, given: Some(given) }) = &self.0.setting {
            write!(f, "{key} = {given} is refused: ")?;
        }
        f.write_str(&self.0.text)
    }
}

impl std::error::Error for Error {}

impl From<steffle_data::Error> for Error {
    fn from(error: steffle_data::Error) -> Self {
        Self::data(error.code(), error.to_string())
    }
}

impl From<PrivacyError> for Error {
    /// Only what was asked for reaches the accountants, so what they refuse is a wrong setting.
    fn from(error: PrivacyError) -> Self {
        Self::usage(error.code(), error.to_string())
    }
}
