//! PF-LD as published: minibatches, each with signs of its own.

use std::ops::ControlFlow;

use steffle_attributes::noise::NoiseSource;
use steffle_model::model::head::RIDGE;
use steffle_model::model::{Factor, Gradient, Pass, Point};
use steffle_model::record::Rows;
use steffle_privacy::{
    Accountant, Delta, Epsilon, Event, Mu, Neighbours, NoiseMultiplier, PrivacyError, Rounds,
    SampleRate, Sampling, gdp,
};
use steffle_site::division::records::Batches;
use steffle_wire::Batch;

use super::{Adam, LARGEST, sign};
use crate::Curator;

/// Settings of a published run.
///
/// They are those of the paper that the method is from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// Epochs after the warm-up, K.
    pub epochs: u32,
    /// Records per batch.
    pub batch: u32,
    /// Step size of Adam.
    pub rate: f64,
    /// Step size of the multipliers, s.
    pub step: f64,
    /// C_p, the bound on a record's gradient of h.
    pub clip: f64,
    /// The noise, if any.
    pub noise: Option<PublishedNoise>,
    /// Of the batches.
    pub seed: u64,
}

/// The published noise: multiples of the published sensitivities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PublishedNoise {
    /// sigma_p, of primal steps.
    pub primal: f64,
    /// sigma_d, of dual steps.
    pub dual: f64,
}

/// What dual steps may use of the budget, in mu^2.
const DUAL_SHARE: f64 = 0.1;

/// The published sensitivity of a dual step: every group is taken to have 2000 records.
const DUAL_SENSITIVITY: f64 = 1.0 / 2000.0 + 1.0 / 2000.0;

impl PublishedNoise {
    /// The least noise whose published account is `epsilon`: primal steps as Poisson-sampled
    /// Gaussians, dual steps as full ones. Refuses what no noise reaches.
    pub fn claiming(
        epsilon: Epsilon,
        delta: Delta,
        records: usize,
        batch: u32,
        epochs: u32,
    ) -> Result<Self, PrivacyError> {
        let mu = gdp::mu(epsilon, delta).value();
        let dual = (f64::from(epochs) / DUAL_SHARE).sqrt() / mu;
        let rate = SampleRate::try_from((f64::from(batch) / records.max(1) as f64).min(1.0))?;
        let steps = u64::from(epochs) * records.div_ceil(batch.max(1) as usize) as u64;
        let claimed = |primal: f64| -> Result<f64, PrivacyError> {
            let neighbours = Neighbours::AddRemove;
            let primal = Event {
                sampling: Sampling::Poisson(rate),
                neighbours,
                noise_multiplier: NoiseMultiplier::try_from(primal)?,
                rounds: Rounds::try_from(steps)?,
            };
            let epochs = Rounds::try_from(u64::from(epochs))?;
            let dual = Event::full_batch(NoiseMultiplier::try_from(dual)?, epochs);
            let events = [primal, Event { neighbours, ..dual }];
            Ok(Accountant::Rdp.epsilon(&events, delta)?.epsilon)
        };
        // Without sampling this is enough; halving the interval 20 times leaves a part in 10^5.
        let (mut low, mut high) = (1e-2, (steps as f64 / (1.0 - DUAL_SHARE)).sqrt() / mu * 1.5);
        for _ in 0..20 {
            let middle = (low * high).sqrt();
            let spent = claimed(middle).is_ok_and(|spent| spent <= epsilon.value());
            if spent { high = middle } else { low = middle }
        }
        claimed(high)?;
        Ok(Self { primal: high, dual })
    }

    /// What the noise gives to every record of every store.
    ///
    /// # Claim
    /// An upper bound. It is far above the published one, because a sign can flip.
    ///
    /// # Proof
    /// The exact loss gradient tells who was in a batch, so a record's batches are as announced: one
    /// per epoch. There, one class moves the gradient of `V_c` by at most its largest length in both
    /// worlds: every group mean is at most C_p long, so with two groups, whose signs are opposite,
    /// by `4 C_p`; with k groups by `4 k C_p`, the mean of the condition counted. The published
    /// sensitivity is `2 C_p / (share |B|)`. A dual step moves by at most the range of `V_c`, 1 for
    /// two groups and k for more, where the published sensitivity is 1/1000. Gaussians compose by
    /// their squared ratios.
    pub fn honest_epsilon(&self, classes: usize, batch: u32, epochs: u32, delta: Delta) -> f64 {
        let groups = if classes == 2 { 1.0 } else { classes as f64 };
        let primal = 2.0 * groups * share(classes) * f64::from(batch) / self.primal;
        let dual = groups / (DUAL_SENSITIVITY * self.dual);
        let mu = (f64::from(epochs) * (primal * primal + dual * dual)).sqrt();
        Mu::try_from(mu).map_or(f64::INFINITY, |mu| gdp::epsilon(mu, delta))
    }
}

/// The share of a batch that every group is taken to have.
fn share(classes: usize) -> f64 {
    if classes == 2 { 0.1 } else { 0.01 }
}

/// Trains from `start`, which is the warm-up: the unconstrained model. `observe` sees (epoch,
/// `sum_c V_c` as released, noise included) and may end the work early. The model is logistic.
pub fn published(
    curator: &Curator<'_>,
    settings: &Published,
    start: Vec<f64>,
    noise: &mut dyn NoiseSource,
    mut observe: impl FnMut(u32, f64) -> ControlFlow<()>,
) -> Vec<f64> {
    let Curator { model, records, .. } = *curator;
    let Published { epochs, batch, rate, .. } = *settings;
    let mut batches = Batches::new(settings.seed, 1, records.clone());
    let per_epoch = (records.len() as u32).div_ceil(batch.max(1));
    let mut multipliers = vec![0.0; curator.sizes.len()];
    let mut theta = start;
    let mut adam = Adam::new(rate, theta.len());
    let mut step = Step::new(curator);
    for epoch in 0..epochs {
        for place in 0..per_epoch {
            let which = batches.draw(Batch::Mini(batch), 1 + epoch * per_epoch + place).list();
            let mut gradient = step.gradient(curator, &theta, &which, &multipliers, settings.clip);
            if let Some(PublishedNoise { primal, .. }) = settings.noise {
                let groups = share(curator.imputed.classes());
                let scale = primal * 2.0 * settings.clip / (groups * f64::from(batch));
                let own = multipliers.iter().filter(|own| **own > 0.0);
                own.for_each(|own| noise.add_gaussian(own * scale, &mut gradient));
            }
            adam.step(&mut theta, &gradient);
        }
        let probabilities = Point::new(model, &theta).probabilities(records.rows());
        let violations = curator.violations(|row| curator.outcome(row, probabilities[2 * row + 1]));
        let mut all: Vec<f64> =
            violations.iter().map(|own| own.iter().map(|v| v.abs()).sum()).collect();
        if let Some(PublishedNoise { dual, .. }) = settings.noise {
            noise.add_gaussian(dual * DUAL_SENSITIVITY, &mut all);
        }
        let seen = all.iter().sum();
        for (own, violation) in multipliers.iter_mut().zip(all) {
            *own += settings.step * violation.clamp(0.0, LARGEST);
        }
        if observe(epoch + 1, seen).is_break() {
            break;
        }
    }
    theta
}

/// Buffers of a primal step.
pub(super) struct Step {
    rows: Rows,
    pass: Pass,
    sum: Gradient,
    slopes: Vec<Vec<f64>>,
    /// Per condition, n_c and the sum of h; per condition and group the same, then the sign over
    /// the count.
    conditions: Vec<[f64; 2]>,
    groups: Vec<Vec<[f64; 2]>>,
}

impl Step {
    pub(super) fn new(curator: &Curator<'_>) -> Self {
        Self {
            rows: Rows::empty(curator.model.layout()),
            pass: Pass::default(),
            sum: Gradient::new(curator.model),
            slopes: vec![Vec::new()],
            conditions: vec![[0.0; 2]; curator.sizes.len()],
            groups: curator.counts.iter().map(|counts| vec![[0.0; 2]; counts.len()]).collect(),
        }
    }

    /// The gradient of loss and Lagrangian on a batch, before noise. A group without a record there
    /// has no part in it.
    pub(super) fn gradient(
        &mut self,
        curator: &Curator<'_>,
        theta: &[f64],
        which: &[u32],
        multipliers: &[f64],
        clip: f64,
    ) -> Vec<f64> {
        let Curator { model, records, imputed, cells, .. } = curator;
        let Self { rows, pass, sum, slopes, conditions, groups } = self;
        rows.gather(records.rows(), which);
        model.forward(&Point::new(*model, theta), rows, pass);
        let h = |at: usize| pass.probabilities[2 * at + 1];
        conditions.fill([0.0; 2]);
        groups.iter_mut().for_each(|groups| groups.fill([0.0; 2]));
        for (at, &row) in which.iter().enumerate() {
            let Some(cell) = cells[row as usize] else { continue };
            let outcome = curator.outcome(row as usize, h(at));
            conditions[cell] = [conditions[cell][0] + 1.0, conditions[cell][1] + outcome];
            for (group, share) in groups[cell].iter_mut().zip(imputed.of(row as usize)) {
                *group = [group[0] + share, group[1] + share * outcome];
            }
        }
        // From here on a group has its sign over its count, a condition the sum of signs over its own.
        for ([size, total], groups) in conditions.iter_mut().zip(groups.iter_mut()) {
            let mean = *total / size.max(1.0);
            let mut signs = 0.0;
            for [count, total] in groups {
                let own = if *count > 0.0 { sign(*total / *count - mean) } else { 0.0 };
                signs += own;
                *count = if own == 0.0 { 0.0 } else { own / *count };
            }
            *total = signs / size.max(1.0);
        }
        let n = which.len().max(1) as f64;
        slopes[0].clear();
        slopes[0].extend(which.iter().enumerate().map(|(at, &row)| {
            let (row, p) = (row as usize, h(at));
            let loss = (p - f64::from(records.labels()[row])) / n;
            let Some(cell) = cells[row].filter(|cell| multipliers[*cell] > 0.0) else {
                return loss;
            };
            let slope = p * (1.0 - p);
            let length = slope * rows.squared_norm(at).sqrt();
            let clipped = if length > clip { slope * clip / length } else { slope };
            let shares = groups[cell].iter().zip(imputed.of(row));
            let own: f64 = shares.map(|([sign, _], share)| sign * share).sum();
            loss + multipliers[cell] * curator.turn(row) * clipped * (own - conditions[cell][1])
        }));
        sum.clear();
        sum.add_plain(&Factor::layers(model.blocks(), slopes, rows, &pass.hidden));
        let mut gradient = sum.flatten();
        let decay = gradient.iter_mut().zip(theta);
        decay.for_each(|(slope, theta)| *slope += 2.0 * RIDGE * theta);
        gradient
    }
}
