//! Methods to compare with, each as published but for the errors that its page names.
//!
//! They run in one process and hand values over as they are. Of a federated one, what would be sent
//! is what a silo's training returns and nothing else.

mod curator;
mod fed_avg;
mod fed_fdp;
mod federated;
mod gradients;
mod pf_ld;
mod reductions;
pub mod theory;

pub use curator::{Curator, CuratorError};
pub use fed_avg::{FedAvg, fed_avg};
pub use fed_fdp::{FedFdp, FedFdpNoise, PUBLISHED_LOSS_NOISE, fed_fdp};
pub use federated::{Federated, FederatedError, FederatedRound};
pub use pf_ld::{PfLd, Published, PublishedNoise, pf_ld, published};
pub use reductions::{Reduced, reductions};

#[cfg(test)]
mod tests;
