//! Federated averaging (McMahan et al. 2017): silos train by themselves, the server averages.
//!
//! A round: the server sends theta; silo j takes E epochs of minibatch steps on its own loss (mean
//! cross-entropy plus the ridge that all methods here have) and returns its theta_j; the server
//! takes `sum_j (n_j / n) theta_j`. There is no fairness in it and no privacy: theta_j is sent as
//! it is, and after one step it is the gradient of the silo's records.
//!
//! With lambda above 0 it is FedFair (Ling et al. 2024), which asks for equal losses between silos:
//! minimising `F_j + lambda/2 (F_j - F)^2` with the mean loss F as a constant multiplies silo j's
//! step by `1 + lambda (F_j - F)`. Below 0 that would climb; it is 0 there.

use std::ops::ControlFlow;

use steffle_model::model::head::RIDGE;
use steffle_model::model::{Classifier, Point};
use steffle_model::record::Records;
use steffle_site::division::records::Batches;
use steffle_wire::Batch;

use super::federated::{Reply, average, check_settings, check_silos, each, trace};
use super::gradients::LossGradients;
use super::{Federated, FederatedError, FederatedRound};

/// Settings of federated averaging; the defaults are those of the plain server of Algorithm 1.
///
/// Silos train on their own for a while, and the server averages what comes back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FedAvg {
    /// Rounds, T.
    pub rounds: u32,
    /// E, passes of every silo over its records in a round.
    pub local_epochs: u32,
    /// Records per local step; `None` is all of them.
    pub batch: Option<u32>,
    /// The local step size at the start.
    pub step: f64,
    /// The step size is multiplied by this at every quarter of the run.
    pub decay: f64,
    /// The weight of equal losses between silos (FedFair); 0 for none.
    pub lambda: f64,
}

impl Default for FedAvg {
    fn default() -> Self {
        let (rounds, local_epochs, batch) = (40, 1, Some(256));
        Self { rounds, local_epochs, batch, step: 0.25, decay: 0.8, lambda: 0.0 }
    }
}

/// Trains from `start` on the records of every silo. `observe` sees every round and may stop it.
pub fn fed_avg(
    model: &dyn Classifier,
    silos: &[&Records],
    settings: &FedAvg,
    start: Vec<f64>,
    seed: u64,
    mut observe: impl FnMut(&FederatedRound) -> ControlFlow<()>,
) -> Result<Federated, FederatedError> {
    check_silos(model, silos)?;
    settings.check(silos)?;
    let mut nodes: Vec<Local<'_>> = silos
        .iter()
        .enumerate()
        .map(|(silo, &records)| Local {
            records,
            batches: Batches::new(seed, silo as u64 + 1, records.clone()),
            gradients: LossGradients::new(model),
        })
        .collect();
    let mut theta = start;
    let mut rounds = Vec::with_capacity(settings.rounds as usize);
    for round in 1..=settings.rounds {
        let step = settings.step_of(round);
        let (steps, loss) = if settings.lambda > 0.0 {
            let losses = each(&mut nodes, |_, node| Reply {
                theta: Vec::new(),
                loss: node.loss(&Point::new(model, &theta)),
            });
            let mean = average(&losses, silos).loss;
            let factor = |own: f64| (1.0 + settings.lambda * (own - mean)).max(0.0);
            (losses.iter().map(|own| step * factor(own.loss)).collect(), Some(mean))
        } else {
            (vec![step; silos.len()], None)
        };
        let replies = each(&mut nodes, |silo, node| {
            let theta = node.train(model, settings, round, theta.clone(), steps[silo]);
            Reply { theta, loss: 0.0 }
        });
        let next = average(&replies, silos).theta;
        let seen = trace(round, &theta, &next, loss)?;
        theta = next;
        rounds.push(seen);
        if observe(&seen).is_break() && round < settings.rounds {
            return Err(FederatedError::Interrupted(round));
        }
    }
    Ok(Federated { theta, trace: rounds })
}

impl FedAvg {
    fn check(&self, silos: &[&Records]) -> Result<(), FederatedError> {
        let positive = [
            ("the step size", self.step),
            ("the step decay", self.decay),
            ("the number of local epochs", f64::from(self.local_epochs)),
            ("the batch", self.batch.map_or(1.0, f64::from)),
        ];
        check_settings(self.lambda, self.rounds, &positive)?;
        let longest = silos.iter().map(|records| u64::from(self.local_steps(records.len()).1));
        let steps = longest.max().unwrap_or(0).saturating_mul(u64::from(self.rounds));
        if steps > u64::from(u32::MAX) {
            let (what, allowed) = ("the number of local steps", "up to 4294967295 in all rounds");
            return Err(FederatedError::Setting { what, value: steps as f64, allowed });
        }
        Ok(())
    }

    /// Records per step and steps per round of a silo with `records` records.
    fn local_steps(&self, records: usize) -> (usize, u32) {
        let size = self.batch.map_or(records, |batch| records.min(batch as usize)).max(1);
        let steps = (records.div_ceil(size) as u64).saturating_mul(u64::from(self.local_epochs));
        (size, u32::try_from(steps).unwrap_or(u32::MAX))
    }

    /// As the plain server's: the paper decays by 0.8 every 10 of 40 epochs.
    fn step_of(&self, round: u32) -> f64 {
        let quarter = u64::from(round - 1) * 4 / u64::from(self.rounds.max(1));
        self.step * self.decay.powi(quarter as i32)
    }
}

/// A silo and what it keeps from round to round.
struct Local<'a> {
    records: &'a Records,
    batches: Batches,
    gradients: LossGradients,
}

impl Local<'_> {
    /// E epochs of minibatch steps.
    fn train(
        &mut self,
        model: &dyn Classifier,
        settings: &FedAvg,
        round: u32,
        mut theta: Vec<f64>,
        step: f64,
    ) -> Vec<f64> {
        let (size, steps) = settings.local_steps(self.records.len());
        let whole = size == self.records.len();
        let batch = if whole { Batch::All } else { Batch::Mini(size as u32) };
        for at in 0..steps {
            // Batches count from 1 over the whole run, so that every epoch is shuffled anew.
            let which = self.batches.draw(batch, (round - 1) * steps + at + 1).list();
            let sum = self.gradients.sum(&Point::new(model, &theta), self.records, &which);
            for (theta, sum) in theta.iter_mut().zip(sum) {
                *theta -= step * (sum / which.len() as f64 + 2.0 * RIDGE * *theta);
            }
        }
        theta
    }

    /// The mean loss of the silo's records, ridge aside: it is the same for all silos.
    fn loss(&mut self, point: &Point<'_>) -> f64 {
        let which = self.batches.draw(Batch::All, 0).list();
        self.gradients.loss(point, self.records, &which, f64::INFINITY) / which.len() as f64
    }
}

#[cfg(test)]
pub(crate) mod tests;
