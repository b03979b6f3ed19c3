//! Why an attributes division refuses. No refusal depends on `s`.

use steffle_privacy::ledger::Refusal;
use steffle_wire::{QuestionError, Refused};

use super::PriceError;

/// Why an attributes division refuses.
///
/// The reason never depends on anybody's class.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum AttributesDivisionError {
    /// The two divisions of one silo do not hold the same records in the same order.
    #[error(
        "the two divisions of a silo hold different records ({records} records, {attributes} \
         attributes, first difference at position {position}); match them by record id first"
    )]
    NotAligned {
        /// Records in the records division.
        records: usize,
        /// Records in the attributes division.
        attributes: usize,
        /// The first position at which the ids differ.
        position: usize,
    },
    /// The question does not fit the schema.
    #[error(transparent)]
    Question(#[from] QuestionError),
    /// A handover does not fit the question.
    #[error("a handover does not fit the question: {0}")]
    Handover(&'static str),
    /// The question has no price.
    #[error(transparent)]
    Price(#[from] PriceError),
    /// The price was not reserved.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The second pass over the records did not see what was priced.
    #[error(
        "the records changed between pricing and summing; nothing was sent, and the price stays \
         spent"
    )]
    Unpriced,
}

impl From<AttributesDivisionError> for Refused {
    fn from(error: AttributesDivisionError) -> Self {
        match error {
            AttributesDivisionError::Refused(refusal) => refusal.into(),
            error => Self::new("steffle::node::attributes", error),
        }
    }
}
