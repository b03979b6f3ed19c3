//! Everything that crosses a boundary between organisations, as versioned bytes.
//!
//! A round has a records leg (the server's [`Question`] to the records divisions, their
//! [`PublicSums`] back) and an attributes leg (the handover of model outputs, and the noisy
//! [`PrivateSums`] back). Replies are sums, never means.

mod classes;
mod codec;
mod features;
mod handover;
mod imputed;
mod message;
mod pooled;
mod question;
mod sums;

pub use classes::Classes;
pub use codec::{CodecError, Decode, Encode, Reader, Writer};
pub use features::{FeatureReply, FeatureRows, FeatureSums};
pub use handover::Handover;
pub use imputed::{ImputedCell, ImputedQuestion, ImputedSums};
pub(crate) use message::payload;
pub use message::{Envelope, Leg, NodeId, Part, RunId, SchemaHash, VERSION, open, seal};
pub use pooled::{Agreed, PooledSums};
pub use question::{Batch, CellQuestion, Form, Question, QuestionError};
pub use sums::{CellSums, PrivateSums, PublicSums};

#[cfg(test)]
mod tests;
