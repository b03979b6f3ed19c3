//! What a division releases its sums under: its own decision, not the server's.

use std::sync::Arc;

use steffle_privacy::{NoiseMultiplier, Poisson};

/// The terms of a run at one attributes division.
///
/// They are fixed when a run is opened, and the ledger refuses what they do not cover.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Terms {
    /// No noise, no claim.
    #[default]
    Open,
    /// Gaussian noise of fixed scale on the mean over the announced records, as the paper
    /// prescribes it.
    OfMean(Arc<NoiseScale>),
    /// Exact sensitivity at the question, integer noise, a fixed share of the budget per round.
    Exact(Share),
    /// Every unit by a secret coin, exact sensitivity over all announced records, integer noise of
    /// a fixed multiplier.
    Poisson {
        /// The coin.
        sampler: Poisson,
        /// z of both messages together.
        noise_multiplier: NoiseMultiplier,
        /// The table's part of `1 / z^2`.
        table: f64,
    },
}

/// What a full round may cost, in mu^2.
///
/// A round has two messages, the table of classes and the sums for theta, which divide it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// mu_t^2 of a round with both messages.
    pub round: f64,
    /// The table's part of it; the theta message has the rest.
    pub table: f64,
}

/// The noise of one reply, as standard deviations.
///
/// The paper's mode names it; claims that hold never do.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseScale {
    /// Of every coordinate of the theta messages.
    pub theta: f64,
    /// Of every entry of row r of each cell's table, `[cell][class]`.
    pub table: Vec<Vec<f64>>,
}

impl Share {
    /// The default part of the table: between 5 and 15 % all are equally good, more is worse.
    pub const TABLE: f64 = 0.15;
}

/// Where long rows are cut: the share of the silo's rows that keep their length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowCap(f64);

impl RowCap {
    /// Every row keeps its length.
    pub const NONE: Self = Self(1.0);

    /// The quantile of the rows' lengths; values outside (0, 1] are `None`.
    pub fn quantile(share: f64) -> Option<Self> {
        (share > 0.0 && share <= 1.0).then_some(Self(share))
    }

    /// The quantile.
    pub fn share(self) -> f64 {
        self.0
    }
}
