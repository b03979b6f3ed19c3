//! FedFDP (Ling, Fu, Wang, Li, Cheng, Chen 2024, arXiv 2402.16028): equal losses between silos,
//! with differential privacy of whole records.
//!
//! In a round silo i gets theta and the mean loss `F`, draws a secret Poisson batch, and answers
//! with both of
//!
//! - `theta_i = theta - eta / (q n_i) (sum_j c_j g_j + sigma C N(0, I))`, where
//!   `c_j = min(1 + lambda (l_j - F), C / |g_j|)`, and
//! - `F_i = (sum_j min(l_j, C_i) + sigma_l C_i N(0, 1)) / (q n_i)` at theta_i, on the same batch; the
//!   next bound is `C_i = F_i`.
//!
//! The server averages both by `n_i / n`. The sensitive attribute is nowhere in it: what it equalises
//! is the loss of silos and of hard and easy records, and fairness between groups is incidental.
//!
//! # Differences from the published code
//! - `1 + lambda (l_j - F)` below 0 is taken as 0; there it turns into `+C / |g_j|`.
//! - Sums are divided by the expected batch `q n_i`; there by a constant.
//! - The bound of the loss has a floor: from 0 it never comes back.
//! - The loss is accounted, too; there it is left out. Both releases use one batch, so that a round
//!   is one sampled Gaussian release of joint multiplier, which costs more than two on batches of
//!   their own.
//!
//! # Claim
//! All answers of a silo together are (epsilon, delta)-private for every record (x, y) of the silo,
//! where a neighbour has a record of no gradient and no loss in its place: record counts are public.
//!
//! # Proof
//! Given everybody else's coins and the answers so far, record j is in the batch with probability q.
//! If it is, it moves the first sum by `c_j |g_j| <= C` and, whatever the first answer was, the
//! second by at most C_i, which is known from the round before. With noise sigma C and sigma_l C_i
//! the pair is dominated by a Gaussian shift of `1/z`, `z^-2 = sigma^-2 + sigma_l^-2`, and mixing with
//! "not drawn" keeps the order. So a round is the event that `SampledRounds` accounts, and it admits only
//! batches of its own sampler, as many as were planned. Averages are post-processing.

use std::ops::ControlFlow;

use rand::Rng;
use steffle_attributes::noise::{NoiseSource, SimulatedNoise};
use steffle_model::model::{Classifier, Point};
use steffle_model::randomness::{Purpose, stream};
use steffle_model::record::Records;
use steffle_privacy::{
    Accountant, Delta, Epsilon, Event, Neighbours, NoiseMultiplier, Poisson, PrivacyError, Reading,
    Rounds, SampleRate, SampledRounds, Sampler, Sampling, calibrate,
};

use super::federated::{Reply, average, check_settings, check_silos, each, trace};
use super::gradients::LossGradients;
use super::{Federated, FederatedError, FederatedRound};

/// The loss's part of a round's squared cost.
const LOSS_SHARE: f64 = 0.1;

/// sigma_l of the published code.
pub const PUBLISHED_LOSS_NOISE: f64 = 1.0;

/// The first bound of a record's loss, and the smallest.
const FIRST_BOUND: f64 = 2.5;
const SMALLEST_BOUND: f64 = 1e-3;

/// Settings of FedFDP.
///
/// A published method that balances losses of silos and protects whole records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FedFdp {
    /// The weight of equal losses.
    pub lambda: f64,
    /// Rounds, T.
    pub rounds: u32,
    /// q: the probability that a record takes part in a round.
    pub rate: SampleRate,
    /// C: the longest that a record's part of the gradient sum can be.
    pub clip: f64,
    /// Step size, eta.
    pub step: f64,
    /// The noise of both releases.
    pub noise: FedFdpNoise,
}

/// The noise of both releases, each in multiples of how far one record can move it.
///
/// More noise is less cost, and a worse model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FedFdpNoise {
    /// Of clipped gradients, sigma.
    pub gradient: NoiseMultiplier,
    /// Of clipped losses, sigma_l.
    pub loss: NoiseMultiplier,
}

impl FedFdpNoise {
    /// The least noise with which both releases of all rounds cost (epsilon, delta), the loss taking
    /// a tenth of it; refuses what no noise reaches.
    pub fn calibrated(
        rate: SampleRate,
        rounds: u32,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<Self, PrivacyError> {
        // Rounded up, so that the two together are not below what was calibrated.
        let joint = calibrate_alone(rate, rounds, epsilon, delta)?.value() * (1.0 + 1e-11);
        Ok(Self {
            gradient: NoiseMultiplier::try_from(joint / (1.0 - LOSS_SHARE).sqrt())?,
            loss: NoiseMultiplier::try_from(joint / LOSS_SHARE.sqrt())?,
        })
    }

    /// The published choice: the gradient alone is calibrated, and the loss has
    /// [`PUBLISHED_LOSS_NOISE`] at no charge.
    pub fn published(
        rate: SampleRate,
        rounds: u32,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<Self, PrivacyError> {
        Ok(Self {
            gradient: calibrate_alone(rate, rounds, epsilon, delta)?,
            loss: PUBLISHED_LOSS_NOISE.try_into()?,
        })
    }

    /// z of a round, both releases together.
    fn joint(&self) -> Result<NoiseMultiplier, PrivacyError> {
        NoiseMultiplier::joint(&[self.gradient, self.loss]).ok_or(PrivacyError::NoFiniteBound)
    }

    /// What all rounds cost, both releases included.
    pub fn epsilon(
        &self,
        rate: SampleRate,
        rounds: u32,
        delta: Delta,
    ) -> Result<Reading, PrivacyError> {
        ACCOUNTANT.epsilon(&[event(rate, rounds, self.joint()?)?], delta)
    }

    /// What the published code says that they cost: the gradient alone.
    pub fn claimed_epsilon(
        &self,
        rate: SampleRate,
        rounds: u32,
        delta: Delta,
    ) -> Result<Reading, PrivacyError> {
        ACCOUNTANT.epsilon(&[event(rate, rounds, self.gradient)?], delta)
    }
}

/// Who does the sums.
const ACCOUNTANT: Accountant = Accountant::Rdp;

/// Trains from `start` on the records of every silo, with noise and batches from `seed`, hence as a
/// simulation. `observe` sees every round and may stop it.
pub fn fed_fdp(
    model: &dyn Classifier,
    silos: &[&Records],
    settings: &FedFdp,
    start: Vec<f64>,
    seed: u64,
    mut observe: impl FnMut(&FederatedRound) -> ControlFlow<()>,
) -> Result<Federated, FederatedError> {
    let FedFdp { lambda, rounds, rate, clip, step, noise } = *settings;
    check_silos(model, silos)?;
    check_settings(lambda, rounds, &[("the clipping threshold C", clip), ("the step size", step)])?;
    let count = Rounds::try_from(u64::from(rounds))?;
    let plan = SampledRounds::new(Poisson(rate), Neighbours::AddRemove, noise.joint()?, count)?;
    let mut nodes: Vec<(Silo<'_>, SampledRounds<Poisson>)> =
        silos.iter().map(|&records| (Silo::new(model, records), plan.clone())).collect();
    let mut sent = Reply { theta: start, loss: 0.0 };
    let mut traces = Vec::with_capacity(rounds as usize);
    for round in 1..=rounds {
        let replies = each(&mut nodes, |silo, (own, plan)| {
            let node = silo as u64 + 1;
            let mut coins = stream(seed, node, Purpose::Batch, u64::from(round));
            let batch = plan.sampler().draw(own.records.len(), &mut || coins.next_u64())?;
            plan.admit(&batch)?;
            let batch: Vec<u32> = batch.members().iter().map(|&record| record as u32).collect();
            let mut draws = vec![0.0; sent.theta.len() + 1];
            SimulatedNoise::new(seed, node, u64::from(round)).add_gaussian(1.0, &mut draws);
            Ok(own.answer(model, settings, &sent, &batch, &draws))
        });
        let replies: Vec<Reply> = replies.into_iter().collect::<Result<_, FederatedError>>()?;
        let next = average(&replies, silos);
        let seen = trace(round, &sent.theta, &next.theta, Some(next.loss))?;
        sent = next;
        traces.push(seen);
        if observe(&seen).is_break() && round < rounds {
            return Err(FederatedError::Interrupted(round));
        }
    }
    Ok(Federated { theta: sent.theta, trace: traces })
}

/// A silo and what it keeps from round to round.
struct Silo<'a> {
    records: &'a Records,
    /// C_i, the bound of a record's loss.
    bound: f64,
    gradients: LossGradients,
}

impl<'a> Silo<'a> {
    fn new(model: &dyn Classifier, records: &'a Records) -> Self {
        Self { records, bound: FIRST_BOUND, gradients: LossGradients::new(model) }
    }

    /// Both releases on one batch. `draws` are the noise before it is scaled: one standard normal per
    /// parameter and one for the loss.
    fn answer(
        &mut self,
        model: &dyn Classifier,
        settings: &FedFdp,
        sent: &Reply,
        batch: &[u32],
        draws: &[f64],
    ) -> Reply {
        let FedFdp { lambda, rate, clip, step, noise, .. } = *settings;
        let expected = rate.value() * self.records.len() as f64;
        let weigh = |loss: f64, length: f64| {
            let wanted = (1.0 + lambda * (loss - sent.loss)).max(0.0);
            wanted.min(clip / length)
        };
        let point = Point::new(model, &sent.theta);
        let mut theta = self.gradients.weighted_sum(&point, self.records, batch, weigh);
        let scale = noise.gradient.value() * clip;
        for ((slope, draw), &before) in theta.iter_mut().zip(draws).zip(&sent.theta) {
            *slope = before - step / expected * (*slope + scale * draw);
        }
        let point = Point::new(model, &theta);
        let losses = self.gradients.loss(&point, self.records, batch, self.bound);
        let draw = draws.last().copied().unwrap_or_default();
        let loss = (losses + noise.loss.value() * self.bound * draw) / expected;
        self.bound = loss.max(SMALLEST_BOUND);
        Reply { theta, loss }
    }
}

fn event(rate: SampleRate, rounds: u32, z: NoiseMultiplier) -> Result<Event, PrivacyError> {
    Ok(Event {
        sampling: Sampling::Poisson(rate),
        neighbours: Neighbours::AddRemove,
        noise_multiplier: z,
        rounds: Rounds::try_from(u64::from(rounds))?,
    })
}

/// z of a round with which all of them cost (epsilon, delta).
fn calibrate_alone(
    rate: SampleRate,
    rounds: u32,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<NoiseMultiplier, PrivacyError> {
    let event = event(rate, rounds, 1.0.try_into()?)?;
    calibrate::noise_multiplier(ACCOUNTANT, event, epsilon, delta)
        .map(|found| found.noise_multiplier)
}

#[cfg(test)]
mod tests;
