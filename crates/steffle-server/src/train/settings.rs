//! What a user may set.

use steffle_privacy::{Delta, Epsilon, NoiseShares};
use steffle_wire::RowCap;

use crate::server::{Output, Rates};

/// Settings of a run, unchecked; [`Settings::check`] makes a [`Schedule`](super::Schedule) of them.
///
/// There is no default: whoever trains says under which mode.
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
    /// How the server uses the answers.
    pub server: StepRule,
    /// Step sizes of the plain server.
    pub rates: Rates,
    /// Which iterate is returned.
    pub output: Output,
}

impl Settings {
    /// The usual steps under a mode, which nobody chooses for anybody.
    pub fn of(mode: Mode) -> Self {
        Self {
            lambda: 1.0,
            mode,
            length: Length::Epochs(40),
            batch: Some(256),
            server: StepRule::Plain,
            rates: Rates { theta: 0.25, dual: 0.1, decay: 0.8 },
            output: Output::Last,
        }
    }
}

/// How long to train.
///
/// Rounds, or passes over the largest silo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Passes over the largest silo.
    Epochs(u32),
    /// Rounds, T.
    Rounds(u32),
}

/// How the server uses the answers. All are post-processing: none costs privacy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepRule {
    /// Algorithm 1's own steps.
    Plain,
    /// Starts at the public unconstrained model, averages the messages, solves for W and steps in
    /// the metric of the public curvature.
    Improved,
    /// Steps that the caller brings ([`run`](super::run())).
    Given,
}

/// What noise and what claim.
///
/// Each says what an observer of all messages can learn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mode {
    /// No noise, no claim.
    None,
    /// Exact sensitivities, integer noise, Gaussian accounting. `batch` names public blocks.
    Exact(Exact),
    /// Secret Poisson batches of expected size `batch`.
    Poisson(Exact),
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

/// The mode whose claim holds, on all records or public blocks.
///
/// Every question is priced by the records it is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exact {
    /// epsilon of the whole run.
    pub epsilon: Epsilon,
    /// delta.
    pub delta: Delta,
    /// Where long rows are cut; `None` for the rule of [`Exact::row_cap`].
    pub cap: Option<RowCap>,
    /// Whether noise is shaped by the silo's own rows, where the model is linear.
    pub shaped: bool,
    /// Whether every unit has its own account, on full batches in silos with both divisions.
    pub by_record: bool,
    /// How all silos share one noise, on full batches with a linear model; `None` where each adds all of
    /// its own.
    pub shares: Option<NoiseShares>,
}

impl Exact {
    /// The cap for a model of so many layers: by default half of the rows keep their length, a fifth
    /// below epsilon 0.5, where noise hurts more than the bias of capping. A network's caps are about
    /// whole gradients, steep where decisions are made, and cost more: nine tenths keep their length.
    ///
    /// The bias stays while noise goes with epsilon, so that from some epsilon on (3; networks 1)
    /// ever fewer rows are cut.
    pub fn row_cap(&self, layers: usize) -> RowCap {
        let epsilon = self.epsilon.value();
        let usual = match layers {
            0 | 1 if epsilon < 0.5 => 0.2,
            0 | 1 => 1.0 - 0.5 * (3.0 / epsilon).min(1.0),
            _ => 1.0 - 0.1 * (1.0 / epsilon).min(1.0),
        };
        self.cap.or(RowCap::quantile(usual)).unwrap_or(RowCap::NONE)
    }
}
