//! What a user may set.

use steffle_privacy::{Delta, Epsilon};

use crate::server::{Output, Rates};

/// Settings of a run, unchecked; [`Settings::check`] makes a [`Plan`](super::Plan) of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// lambda, the weight of fairness.
    pub lambda: f64,
    /// What noise and what claim.
    pub mode: Mode,
    /// T, or epochs.
    pub length: Length,
    /// m; `None` is all records in every round.
    pub batch: Option<u32>,
    /// Step sizes.
    pub rates: Rates,
    /// Which iterate is returned.
    pub output: Output,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lambda: 1.0,
            mode: Mode::None,
            length: Length::Epochs(40),
            batch: Some(256),
            rates: Rates { theta: 0.25, dual: 0.1, decay: 0.8 },
            output: Output::Last,
        }
    }
}

/// How long to train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Passes over the largest silo.
    Epochs(u32),
    /// Rounds, T.
    Rounds(u32),
}

/// What noise and what claim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mode {
    /// No noise, no claim.
    None,
    /// The paper's noise, whose claim does not hold.
    Paper(Paper),
}

/// The paper's mode: closed-form noise of Theorem 3.2, clipping, a ball for W.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paper {
    /// Nominal epsilon.
    pub epsilon: Epsilon,
    /// Nominal delta.
    pub delta: Delta,
    /// L, the clipping threshold of a record's theta gradient.
    pub clip: f64,
    /// D, the diameter of the ball that W is kept in.
    pub diameter: f64,
}
