//! What a method returns.

use serde::Serialize;
use steffle::train::{RoundTrace, Theorem};
use steffle_baselines::FederatedRound;
use steffle_privacy::ledger::Statement;

use crate::fairer::Fairer;
use crate::methods::{ExcessReport, OneShotReport};

/// What a method found, beside the unconstrained model.
///
/// A model is made of it and of the plan.
pub struct Trained {
    pub(crate) theta: Vec<f64>,
    pub(crate) baseline: Vec<f64>,
    pub(crate) rounds: u32,
    /// Trips over the wire, those of the unconstrained model included; absent where methods have all
    /// data in one place, or silos that train by themselves.
    pub(crate) trips: Option<u64>,
    pub(crate) trace: Vec<Trace>,
    pub(crate) theorem: Option<Theorem>,
    /// What the stores may say about what they released, where the method asked them.
    pub(crate) statement: Option<Statement>,
    /// mu that the dearest store spent.
    pub(crate) spent: Option<f64>,
    pub(crate) signal_to_noise: Option<f64>,
    /// How far rounds tell the groups apart, and whether so little that nothing was changed.
    pub(crate) evidence: Option<Fairer>,
    pub(crate) unchanged: bool,
    /// Where released numbers can tell.
    pub(crate) fairer: Option<Fairer>,
    /// Where the run chose it.
    pub(crate) lambda: Option<f64>,
    pub(crate) one_shot: Option<OneShotReport>,
    /// Where error was limited.
    pub(crate) excess: Option<ExcessReport>,
    /// What to tell the user.
    pub(crate) warnings: Vec<String>,
    pub(crate) took: Took,
    /// What the unconstrained model took, where training does not begin at it: then `took` is without.
    pub(crate) apart: Option<Took>,
}

/// What training took, in seconds.
///
/// On the wall and of all processors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Took {
    /// On the wall.
    #[serde(rename = "wall_seconds")]
    pub wall: f64,
    /// The same over all threads; absent where the system does not tell.
    #[serde(rename = "cpu_seconds")]
    pub cpu: Option<f64>,
}

impl Took {
    /// One after the other.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        let cpu = self.cpu.zip(other.cpu).map(|(own, other)| own + other);
        Self { wall: self.wall + other.wall, cpu }
    }
}

/// A round or an evaluation, as the server saw it: a line of `trace.jsonl`.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Trace {
    /// A round of Algorithm 1.
    Round(RoundTrace),
    /// A round of silos that train by themselves.
    Federated(FederatedRound),
    /// An evaluation of the loss.
    Evaluation {
        /// Its number.
        round: u32,
        /// The loss.
        loss: f64,
    },
    /// An evaluation of the loss and the fairness penalty.
    Fair {
        /// Its number.
        round: u32,
        /// The sum of both.
        objective: f64,
    },
    /// A lambda that was tried for a target gap.
    Tried {
        /// The weight of fairness.
        lambda: f64,
        /// The gap of its model, estimated from the release.
        gap: f64,
        /// The standard error of the estimate.
        standard_error: f64,
    },
    /// A lambda that was tried where error is limited.
    Bounded {
        /// The weight of fairness.
        lambda: f64,
        /// The error on validation rows above the unconstrained model's.
        excess: f64,
    },
}
