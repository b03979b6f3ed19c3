//! From sums that nobody may see to a reply: price, reserve, add noise, release.

use crate::model::Gradient;
use crate::noise::{NoiseKind, NoiseSource};
use crate::protocol::{Encode, PrivateSums, Writer};

/// The noise of one reply, as standard deviations.
#[derive(Debug, Clone, PartialEq)]
pub enum NoiseScale {
    /// None at all: no privacy.
    None,
    /// Independent Gaussians.
    Gaussian {
        /// Of every coordinate of the theta messages.
        theta: f64,
        /// Of every entry of row r of each cell's table, `[cell][class]`.
        table: Vec<Vec<f64>>,
    },
}

/// What a reply will be released under. Computed without reading `s`.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a price is nothing until it is reserved"]
pub struct Price {
    noise: NoiseScale,
}

impl NoiseScale {
    /// The same noise in units `factor` times smaller: from means to sums.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        match self {
            Self::None => Self::None,
            Self::Gaussian { theta, table } => Self::Gaussian {
                theta: theta * factor,
                table: table
                    .iter()
                    .map(|cell| cell.iter().map(|scale| scale * factor).collect())
                    .collect(),
            },
        }
    }
}

impl Price {
    pub(super) fn new(noise: NoiseScale) -> Self {
        Self { noise }
    }

    /// The noise that the reply will get.
    pub fn noise(&self) -> &NoiseScale {
        &self.noise
    }

    /// Takes the price as spent. A ledger stands here: it writes the price down, durably, and
    /// only then reserves it.
    pub fn reserve(self) -> Reserved {
        Reserved { noise: self.noise }
    }
}

/// A price that was written down; it opens one reply.
#[derive(Debug)]
pub struct Reserved {
    noise: NoiseScale,
}

/// Sums over the real `s`. They have no accessor, no `Debug` and no encoding:
///
/// ```compile_fail
/// fn send(sums: &steffle::division::attributes::Unreleased) {
///     use steffle::protocol::{Encode, Writer};
///     sums.encode(&mut Writer::default());
/// }
/// ```
pub struct Unreleased {
    pub(super) tables: Vec<Vec<f64>>,
    pub(super) thetas: Vec<Gradient>,
}

impl Unreleased {
    /// Adds the sums of another part of the batch.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.tables.iter_mut().zip(&other.tables) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
        for (mine, theirs) in self.thetas.iter_mut().zip(&other.thetas) {
            mine.merge(theirs);
        }
    }

    /// Adds the noise that was paid for and lets the sums go.
    ///
    /// # Proof definition
    /// Given the question, the public columns and the noise scale, which are the same for
    /// adjacent stores, the released value is a Gaussian around the sums: the division reads `s`
    /// nowhere else. Whether that is (epsilon, delta) for some epsilon is the accountant's
    /// answer to the scale and the sensitivity, not this function's.
    pub fn release(
        self,
        reserved: Reserved,
        noise: &mut impl NoiseSource,
    ) -> Released<PrivateSums> {
        let mut sums = PrivateSums {
            tables: self.tables,
            thetas: self.thetas.iter().map(Gradient::flatten).collect(),
        };
        let Reserved { noise: scale } = reserved;
        if let NoiseScale::Gaussian { theta, table } = &scale {
            for message in &mut sums.thetas {
                noise.add_gaussian(*theta, message);
            }
            for (cell, scales) in sums.tables.iter_mut().zip(table) {
                let columns = cell.len() / scales.len().max(1);
                for (row, &scale) in cell.chunks_exact_mut(columns).zip(scales) {
                    noise.add_gaussian(scale, row);
                }
            }
        }
        Released { value: sums, kind: noise.kind(), noised: scale != NoiseScale::None }
    }
}

/// A value that has met its noise. Only this can be put into a reply.
#[derive(Debug)]
pub struct Released<T> {
    value: T,
    kind: NoiseKind,
    noised: bool,
}

impl<T> Released<T> {
    /// The released value.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// Where its noise came from; `None` when it had none.
    pub fn noise_kind(&self) -> Option<NoiseKind> {
        self.noised.then_some(self.kind)
    }
}

impl Encode for Released<PrivateSums> {
    fn encode(&self, writer: &mut Writer) {
        self.value.write(writer);
    }
}
