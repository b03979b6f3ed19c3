//! What the federated baselines share: silos train by themselves, the server averages.

use rayon::prelude::*;
use serde::Serialize;
use steffle_model::model::Classifier;
use steffle_model::record::Records;
use steffle_privacy::PrivacyError;

/// What a federated baseline returns.
///
/// A model, and what its training told on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Federated {
    /// The parameters after the last round.
    pub theta: Vec<f64>,
    /// Every round.
    pub trace: Vec<FederatedRound>,
}

/// One round, as the server saw it.
///
/// The server of these methods sees what each silo sends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FederatedRound {
    /// The round; the first is 1.
    pub round: u32,
    /// Length of the step of the average.
    pub step: f64,
    /// The mean loss that the silos reported, where they report one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
}

/// Why a federated baseline did not train.
///
/// A silo failed, or the parameters are not finite any more.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum FederatedError {
    /// A setting that no run can have.
    #[error("{what} is {value}; allowed are {allowed}")]
    Setting {
        /// Which setting.
        what: &'static str,
        /// The value given.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// No silo, or one without records.
    #[error("silo {0} has no records; every silo of an average needs at least one")]
    NoRecords(usize),
    /// The rows have another layout than the model reads.
    #[error("the records of silo {0} were encoded for another schema than the model")]
    Layout(usize),
    /// No noise gives what was asked for.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// The parameters are not finite any more.
    #[error("training diverged in round {0}: the parameters are not finite; lower the step size")]
    Diverged(u32),
    /// The observer asked to stop.
    #[error("interrupted after round {0}")]
    Interrupted(u32),
}

/// What a silo sends after its own training.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    pub(super) theta: Vec<f64>,
    pub(super) loss: f64,
}

/// `sum_j (n_j / n) reply_j`.
pub(super) fn average(replies: &[Reply], silos: &[&Records]) -> Reply {
    let n: usize = silos.iter().map(|records| records.len()).sum();
    let parameters = replies.first().map_or(0, |reply| reply.theta.len());
    let mut mean = Reply { theta: vec![0.0; parameters], loss: 0.0 };
    for (reply, records) in replies.iter().zip(silos) {
        let share = records.len() as f64 / n as f64;
        mean.theta.iter_mut().zip(&reply.theta).for_each(|(mean, own)| *mean += share * own);
        mean.loss += share * reply.loss;
    }
    mean
}

/// Has every silo work, beside the others, and keeps their order.
pub(super) fn each<N: Send, R: Send>(
    nodes: &mut [N],
    work: impl Fn(usize, &mut N) -> R + Sync,
) -> Vec<R> {
    nodes.par_iter_mut().enumerate().map(|(silo, node)| work(silo, node)).collect()
}

/// Refuses silos that nothing can be averaged over.
pub(super) fn check_silos(
    model: &dyn Classifier,
    silos: &[&Records],
) -> Result<(), FederatedError> {
    if silos.is_empty() {
        return Err(FederatedError::NoRecords(0));
    }
    for (silo, records) in silos.iter().enumerate() {
        if records.is_empty() {
            return Err(FederatedError::NoRecords(silo));
        }
        if records.rows().layout() != model.layout() {
            return Err(FederatedError::Layout(silo));
        }
    }
    Ok(())
}

/// Refuses settings that are not finite numbers above 0, or that lambda cannot be.
pub(super) fn check_settings(
    lambda: f64,
    rounds: u32,
    positive: &[(&'static str, f64)],
) -> Result<(), FederatedError> {
    if !(lambda.is_finite() && lambda >= 0.0) {
        let allowed = "finite numbers from 0 up";
        return Err(FederatedError::Setting { what: "lambda", value: lambda, allowed });
    }
    let rounds = ("the number of rounds", f64::from(rounds));
    let all = positive.iter().chain([&rounds]);
    for &(what, value) in all {
        if !(value.is_finite() && value > 0.0) {
            let allowed = "finite numbers above 0";
            return Err(FederatedError::Setting { what, value, allowed });
        }
    }
    Ok(())
}

/// The step to the average, written down; refuses one that is not finite.
pub(super) fn trace(
    round: u32,
    before: &[f64],
    after: &[f64],
    loss: Option<f64>,
) -> Result<FederatedRound, FederatedError> {
    let squared: f64 = before.iter().zip(after).map(|(old, new)| (new - old).powi(2)).sum();
    if squared.is_finite() {
        Ok(FederatedRound { round, step: squared.sqrt(), loss })
    } else {
        Err(FederatedError::Diverged(round))
    }
}
