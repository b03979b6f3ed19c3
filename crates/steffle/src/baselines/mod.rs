//! Methods to compare with, each as published but for the errors that its page names.

mod curator;
mod pf_ld;
mod reductions;

pub use curator::{Curator, CuratorError};
pub use pf_ld::{PfLd, Published, PublishedNoise, published};
pub use reductions::{Reduced, reductions};

#[cfg(test)]
mod tests;
