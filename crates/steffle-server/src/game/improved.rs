//! The improved server: everything that post-processing can do with the same messages.
//!
//! It starts at the public unconstrained model, keeps book of the groups' tables and of how they move with
//! theta ([`Cell`]), and takes Newton's steps on the loss plus the penalty that it believes in, in the metric
//! of the public curvature. All of it is a function of what was released, so none of it costs privacy.
//!
//! Without noise it is the optimum's own method: slopes are the last messages', steps nearly whole. The
//! more noise there is in what it knows, the shorter the steps are, and the more is averaged.

use steffle_model::model::Block;
use steffle_model::scores::Objective as _;
use steffle_wire::{Batch, CellQuestion, Form, Question};

use super::OutputScores;
use super::cell::Cell;
use super::shrinkage::Shrinkage;
use super::slopes::dot;
use crate::server::{Aggregate, CurvaturePair, InverseHessian, Steps};

/// Steps are this part of a Newton step where slopes are mostly noise, and where they have none: the curvature
/// is an estimate, and so is the gradient.
const STEP: (f64, f64) = (0.2, 0.7);

/// No step is longer than this before [`STEP`] is applied, in the metric of the loss, with noise and
/// without: at 0.3 outputs of a logistic model move by about one logit.
const LONGEST: (f64, f64) = (0.3, 1.0);

/// How much noise in the slopes, in units of what slopes are expected to be, makes steps careful.
const CAREFUL: f64 = 1e-5;

/// Moves that are shorter than this, in the metric of the loss, tell nothing about its curvature: before the
/// groups are told apart moves go where the loss hardly bends, and what they show of it is mostly rounding.
const SHORT: f64 = 1e-3;

/// A step after which this much more is left to go was too long.
const WORSE: f64 = 1.5;

/// A network's loss is taken to bend at least this much in every direction: where it hardly bends,
/// the curvature of the start soon says nothing, and steps along it would be long and mostly noise.
const LEAST_BEND: f64 = 1e-2;

/// The rest is for slopes with next to no noise, and makes runs end where [`FairPath`](crate::train::FairPath)
/// does. From this lambda on, with two groups, the way to a fair model begins at the one that tells nobody apart:
/// of two minima the lower one is then nearer to it than to the unconstrained model.
const FAR: f64 = 16.0;

/// With more groups lambda is this in the first round, and doubles with every other until it is what was asked
/// for: a round tells one combination of slopes, and long steps by those of the first are wrong for the others.
const FIRST: f64 = 4.0;

/// And no step is longer than a radius, of this at first: it is halved when a step has missed the tables that were
/// predicted by more than half of what it was to do, and doubled when by less than a quarter.
const RADIUS: f64 = 0.5;
const MISSED: (f64, f64) = (0.25, 0.5);

/// The radius is kept within these.
const RADII: (f64, f64) = (0.02, 1.0);

/// The improved server of SteFFLe for any number of groups and labels.
///
/// Every round tells one combination of the groups' slopes; it learns all of them.
#[derive(Debug, Clone)]
pub struct Improved {
    lambda: f64,
    ridge: f64,
    theta: Vec<f64>,
    /// Where the last question was asked, for predictions, and the loss's gradient there.
    before: Vec<f64>,
    slope: Option<Vec<f64>>,
    /// The inverse Hessian of the loss, from public gradients.
    curvature: InverseHessian,
    /// Whether gradients of rounds tell more of it: those of all records of a linear model do.
    bends: bool,
    /// The model's last layer: its outputs' slopes sum to 0 where it has one per label.
    last: Block,
    cells: Vec<Cell>,
    /// n_in, records in some cell.
    inside: f64,
    noisy: bool,
    /// What is left to go at the last point, and the part of steps that this has left.
    left: Option<f64>,
    stride: f64,
    /// Rounds that were answered, and the longest step of the next.
    rounds: i32,
    radius: f64,
    /// Whether no step was made yet.
    waits: bool,
}

impl Improved {
    /// Starts at `theta`, the public optimum, with the curvature that its solution has shown; the
    /// census is round 0's answer, and rounds are about `whole` silos or batches.
    pub fn new(
        objective: OutputScores,
        lambda: f64,
        blocks: &[Block],
        (theta, curvature): (Vec<f64>, InverseHessian),
        census: &Aggregate,
        whole: bool,
    ) -> Self {
        let layered = blocks.len() > 1;
        let curvature = if layered { curvature.lifted(LEAST_BEND) } else { curvature };
        let cell = |cell| Cell::new(cell, objective.columns());
        Self {
            lambda,
            ridge: super::RIDGE,
            before: theta.clone(),
            slope: None,
            theta,
            curvature,
            bends: whole && !layered,
            last: blocks[blocks.len() - 1],
            cells: census.cells.iter().map(cell).collect(),
            inside: census.in_cells().max(1.0),
            noisy: census.cells.iter().any(|cell| cell.table_variance > 0.0),
            left: None,
            stride: 1.0,
            rounds: 0,
            radius: RADIUS,
            waits: true,
        }
    }

    /// Learns curvature from the loss's gradient after a move. What is 1 on the move, and as curved as the
    /// loss, is returned.
    fn bend(&mut self, moved: &[f64], slope: &[f64]) -> Option<Vec<f64>> {
        if !self.bends {
            return None;
        }
        let before = self.slope.replace(slope.to_vec())?;
        let change: Vec<f64> =
            slope.iter().zip(&before).map(|(now, before)| now - before).collect();
        let bend = dot(&change, moved);
        if bend < SHORT * SHORT {
            return None;
        }
        let along = change.iter().map(|change| change / bend).collect();
        if let Some(pair) = CurvaturePair::new(moved.to_vec(), change) {
            self.curvature.push_pair(pair);
        }
        Some(along)
    }

    /// How little of what is known is noise: 1 where nothing is.
    fn trust(&self) -> f64 {
        let doubt = self.cells.iter().map(Cell::doubt).fold(0.0, f64::max);
        1.0 / (1.0 + doubt / CAREFUL)
    }

    /// Whether slopes have next to no noise and gradients of all records show how the loss bends, and if so
    /// whether there are more than two groups.
    fn silent(&self) -> Option<bool> {
        let many = self.cells.iter().any(Cell::many);
        (self.bends && self.trust() > 0.5).then_some(many)
    }

    /// This round's lambda.
    fn lambda_now(&self) -> f64 {
        match self.silent() {
            Some(true) => self.lambda.min(FIRST * 2.0_f64.powi(self.rounds - 1)),
            _ => self.lambda,
        }
    }

    /// The part of a Newton step to take, of which `left` is to be gained and whose `length` is in the loss's
    /// metric.
    fn part(&mut self, left: f64, length: f64) -> f64 {
        let trust = self.trust();
        let between = |(noisy, silent): (f64, f64)| noisy + trust * (silent - noisy);
        if trust > 0.5 {
            let longer = self.left.is_some_and(|before| left > WORSE * before);
            self.stride =
                if longer { (0.5 * self.stride).max(0.1) } else { (1.3 * self.stride).min(1.0) };
            self.left = Some(left);
        }
        let mut longest = between(LONGEST);
        if self.silent() == Some(true) {
            let missed = self.cells.iter().map(Cell::missed).fold(0.0, f64::max);
            let factor = match missed {
                little if little < MISSED.0 => 2.0,
                much if much > MISSED.1 => 0.5,
                _ => 1.0,
            };
            self.radius = (factor * self.radius).clamp(RADII.0, RADII.1);
            longest = longest.min(self.radius);
        }
        let cut = if length > longest { longest / length } else { 1.0 };
        cut * between(STEP) * self.stride
    }
}

impl Steps for Improved {
    fn ask(&self, batch: Batch) -> Question {
        let cells: Vec<CellQuestion> = self.cells.iter().map(Cell::question).collect();
        let theta = self.theta.clone();
        Question { theta, cells, form: Form::Centred, batch, loss: false }
    }

    fn learn(&mut self, _: u32, answers: &Aggregate) {
        let moved: Vec<f64> =
            self.theta.iter().zip(&self.before).map(|(now, before)| now - before).collect();
        let slopes = answers.gradient.iter().zip(&self.theta);
        let mut descent: Vec<f64> =
            slopes.map(|(sum, theta)| sum / answers.records + 2.0 * self.ridge * theta).collect();
        let along = self.bend(&moved, &descent);
        self.rounds = self.rounds.saturating_add(1);
        let shrinkage = Shrinkage::new(&self.curvature, answers);
        let mut metric = self.curvature.clone();
        let mut terms = Vec::new();
        for (cell, answer) in self.cells.iter_mut().zip(&answers.cells) {
            let noise = answers.theta_variance;
            cell.learn(answer, noise, (&moved, along.as_deref()), self.last, &shrinkage);
        }
        let lambda = self.lambda_now();
        for cell in &self.cells {
            let strength = lambda * cell.count / self.inside;
            let penalty = cell.penalty();
            for (total, part) in descent.iter_mut().zip(&penalty.gradient) {
                *total += strength * part;
            }
            for (weight, vector) in penalty.terms {
                metric.push_rank_one(strength * weight, &vector);
                terms.push((strength * weight, vector));
            }
        }
        self.before.copy_from_slice(&self.theta);
        if !self.cells.iter().all(Cell::ready) {
            return;
        }
        if std::mem::take(&mut self.waits) && self.lambda >= FAR && self.silent() == Some(false) {
            self.theta.fill(0.0);
            return;
        }
        let step = metric.apply(&descent);
        // The rank-one terms taken off again: what is left is the loss's part.
        let gain = dot(&step, &descent);
        let off: f64 = terms.iter().map(|(weight, v)| weight * dot(v, &step).powi(2)).sum();
        let part = self.part(gain.max(0.0).sqrt(), (gain - off).max(0.0).sqrt());
        self.theta.iter_mut().zip(&step).for_each(|(theta, d)| *theta -= part * d);
    }

    fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// `sum_c w_c D_c` of the filtered tables.
    fn violation(&self) -> f64 {
        self.cells.iter().map(|cell| cell.count / self.inside * cell.divergence()).sum()
    }

    fn evidence(&self) -> Option<f64> {
        let best = self.cells.iter().filter_map(Cell::evidence).fold(0.0, f64::max);
        self.noisy.then_some(best)
    }
}
