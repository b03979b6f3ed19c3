//! Why an audit could not be made.

use steffle_privacy::PrivacyError;
use steffle_server::federation::FederationError;
use steffle_server::train::{ScheduleError, TrainError};
use steffle_wire::{CodecError, RandomisedResponseError};

/// Why an audit could not be made. A promise that is broken is no error but a
/// [`Finding`](crate::Finding).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// A number that makes no promise.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// A node or a message failed.
    #[error(transparent)]
    Federation(#[from] FederationError),
    /// No randomised response keeps the promise.
    #[error(transparent)]
    Response(#[from] RandomisedResponseError),
    /// The honest server failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The honest server's settings are refused.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// Bytes that are no message.
    #[error("a message cannot be read: {0}")]
    Message(#[from] CodecError),
    /// Too few or too many runs.
    #[error("{0} runs; allowed are {least} to {most}", least = crate::play::LEAST_RUNS, most = crate::play::MOST_RUNS)]
    Runs(u32),
    /// A confidence that is none.
    #[error("a confidence of {0}; allowed is from 0.5 to below 1, and 0.999 is usual")]
    Confidence(f64),
    /// Classes that nobody can be told apart by.
    #[error("{0} classes; allowed are 2 to 64")]
    Classes(usize),
    /// A notion that needs a column which generated people do not have.
    #[error(
        "no audit for {0}; allowed are demographic-parity, equalized-odds and equal-opportunity"
    )]
    Notion(String),
    /// The generated population is refused: a mistake in this crate.
    #[error("the generated records are refused: {0}")]
    Population(String),
    /// A mechanism whose messages change their shape from run to run.
    #[error("the messages of one run are not those of another: {0}")]
    Shape(&'static str),
    /// A mechanism whose noise cannot be measured.
    #[error("the noise that was measured has no spread that a test could use")]
    Spread,
    /// The observer asked to stop.
    #[error("interrupted after {0} runs")]
    Interrupted(u64),
}
