//! Everything that crosses a boundary between organisations, as versioned bytes.
//!
//! A round has a records leg (the server's [`Question`] to the records divisions, their
//! [`PublicSums`] back) and an attributes leg (the handover of model outputs, and the noisy
//! [`PrivateSums`] back). Replies are sums, never means, and the server reads their totals over all
//! sites ([`Summed`]).

mod classes;
mod codec;
mod counts;
mod envelope;
mod features;
mod fit;
mod gap;
mod handover;
mod imputed;
mod join;
mod meet;
mod opening;
mod pass;
mod pooled;
mod question;
mod refused;
mod release;
mod request;
mod response;
mod round;
mod summed;
mod sums;
mod sums_share;
mod terms;
mod transport;

pub use classes::Classes;
pub use codec::{CodecError, Decode, Encode, Reader, Writer, decode, decode_in};
pub use counts::{Count, CountReply, Decisions, NoisyCounts, NoisyTotals, PublicCounts};
pub use envelope::{
    Envelope, Kind, MAGIC, NodeId, Part, RunId, SIGNATURE, SchemaHash, VERSION, open, parse,
    payload, seal, seal_in, signed, split_signed,
};
pub use features::{FeatureReply, FeatureRows, FeatureShare, FeatureSums};
pub use fit::{FitQuestion, FitSums, LENGTHS, MOST_FACTORED, Metric, Tables};
pub use gap::{Gap, GapCell, GapSums, Told};
pub use handover::Handover;
pub use imputed::{ImputedCell, ImputedQuestion, ImputedSums};
pub use join::{Describe, Described, Join, MaskTerms, Role, Scores, Units};
pub use meet::{Meet, Met};
pub use opening::{Close, Closed, Opening};
pub use pass::{PassQuestion, PassSums, Pull, PullCell};
pub use pooled::{Agreed, PooledSums};
pub use question::{Batch, CellQuestion, Form, Question, QuestionError};
pub use refused::Refused;
pub use release::{Pool, Release, TakeIn};
pub use request::{Ask, Done};
pub use response::{ClassRelease, RandomisedResponse, RandomisedResponseError};
pub use round::{Loss, Round, RoundReply, RoundTotals};
pub use summed::{Added, Beyond, Masked, Numbers, Sum, SumRoom, Summand, Summed, Totals};
pub use sums::{CellSums, PrivateSums, PrivateTotals, PublicSums};
pub use sums_share::SumsShare;
pub use terms::{NoiseScale, RowCap, Share, Terms};
pub use transport::{Answer, Letter, Lost, Transport};

#[cfg(test)]
mod tests;
