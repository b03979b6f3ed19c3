//! Theorem 3.2 of the paper, for reproduction: the noise it prescribes and what that noise gives.

mod theorem;

pub use theorem::{sigma_dual, sigma_theta};
