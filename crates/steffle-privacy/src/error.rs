//! Why a question about privacy was refused.

use thiserror::Error;

/// Everything this crate refuses, and what to ask instead.
///
/// The variants carry what was given; the messages add what is allowed. [`PrivacyError::code`] is
/// stable across versions and safe to match on in scripts.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PrivacyError {
    /// A number outside the range its type stands for.
    #[error("{name} is {given}, but must be {allowed}")]
    OutOfRange {
        /// The quantity, in words.
        name: &'static str,
        /// What was given.
        given: f64,
        /// What is allowed, and a typical value.
        allowed: &'static str,
    },
}

impl PrivacyError {
    /// The stable code of this refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::OutOfRange { .. } => "steffle::privacy::out_of_range",
        }
    }
}

/// Short for results of this crate.
pub type Result<T> = std::result::Result<T, PrivacyError>;
