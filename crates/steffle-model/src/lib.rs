//! What every party of a run shares: encoded records, models and their gradients, fairness, scores,
//! matrices and metrics.
//!
//! Numbers in, numbers out. Nothing here knows a division, a server or a message, reads a sensitive
//! class of a training record, or touches a file, a socket, a clock or a global source of randomness.

pub mod blocks;
pub mod decode;
pub mod fairness;
pub mod linear;
pub mod metrics;
pub mod model;
pub mod randomness;
pub mod record;
pub mod scores;
