//! Where pseudo-random numbers come from: one ChaCha stream per (seed, node, purpose, round).
//!
//! No stream is shared, so neither the number of threads nor the order in which nodes work can
//! change what any of them draws.

use rand::SeedableRng;
pub use rand::rngs::ChaCha8Rng;

/// What a stream is for. Two purposes never share numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// Splitting rows into training and test.
    Split = 1,
    /// Algorithm 3.
    Partition = 2,
    /// Minibatches.
    Batch = 3,
    /// Simulated privacy noise.
    Noise = 4,
    /// The first model parameters.
    Initial = 5,
    /// The uniformly drawn iterate of Algorithm 1.
    Output = 6,
    /// Bootstrap resamples.
    Bootstrap = 7,
    /// Cutting attributes among their holders.
    AttributesCut = 8,
    /// Seeds of the runs of an audit.
    Audit = 9,
    /// Records that a silo holds out of passes.
    HeldOut = 10,
    /// The order of a pass.
    Pass = 11,
}

/// The stream of `node` (a silo's index; 0 for the server) for `purpose` in `round`.
///
/// The four numbers are the key itself, not a hash of it: different arguments are different
/// ChaCha keys, hence unrelated streams.
#[inline]
pub fn stream(seed: u64, node: u64, purpose: Purpose, round: u64) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&node.to_le_bytes());
    key[16..24].copy_from_slice(&round.to_le_bytes());
    key[24] = purpose as u8;
    ChaCha8Rng::from_seed(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn every_argument_changes_the_stream() {
        let first = |seed, node, purpose, round| stream(seed, node, purpose, round).next_u64();
        let base = first(1, 2, Purpose::Noise, 3);
        assert_eq!(base, first(1, 2, Purpose::Noise, 3));
        // Each comparison fails by chance with probability 2^-64.
        assert_ne!(base, first(2, 2, Purpose::Noise, 3));
        assert_ne!(base, first(1, 3, Purpose::Noise, 3));
        assert_ne!(base, first(1, 2, Purpose::Batch, 3));
        assert_ne!(base, first(1, 2, Purpose::Noise, 4));
    }
}
