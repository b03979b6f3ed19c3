//! Dense symmetric matrices of the size of the features, and what is made of them: Gram matrices
//! over sparse rows, Cholesky factors, and the whitening of a silo's features.
//!
//! Nothing here reads `s`. A matrix is of the size of the features squared and stays in the silo
//! that made it, except where a job agrees to pool it.

mod cholesky;
mod dots;
mod features;
mod gram;
mod released;
mod symmetric;
mod whitening;

pub use cholesky::{Cholesky, NotPositive};
pub use features::Features;
pub use symmetric::Symmetric;
pub use whitening::{SHAPE_RIDGE, SHAPED, Whitening, WhiteningError};

#[cfg(test)]
mod tests;
