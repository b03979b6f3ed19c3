//! Training on imputed classes: a second-order solve per lambda, each from the one before.
//!
//! With memberships `shat_ir` in place of `s` there is no more noise to fight: the penalty is a
//! function of theta, `max_W (1/n_in) sum_i psi_i` with `[s_i = r]` replaced by `shat_ir`, whose
//! maximiser W* has a closed form. By the envelope theorem its gradient is that of psi at W*:
//! `J'(2 sum_r shat_ir C_r - q)`. Memberships may lie outside `[0, 1]` (randomised response); what
//! is clamped is `P(r|u)`, and because psi is quadratic and separable in W the clamped W* is the
//! maximiser over the box, so that value and gradient still belong together.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use steffle_model::fairness::{ClassWeights, closed_form, divergence};
use steffle_wire::{CellQuestion, ImputedCell, ImputedQuestion, Transport};

use super::TrainError;
use crate::federation::{Federation, FederationError, GapEstimate, OneShot};
use crate::server::{CurvaturePair, InverseHessian, Minimum, Tolerance, memory, minimise_from};
use crate::steffle::{RIDGE, SteffleObjective};

/// A fair model for one lambda.
#[derive(Debug, Clone, PartialEq)]
pub struct Fair {
    /// The parameters.
    pub theta: Vec<f64>,
    /// `sum_c w_c D_c` of the imputed tables there.
    pub chi_square: f64,
    /// The objective there.
    pub value: f64,
    /// The largest entry of its gradient.
    pub gradient: f64,
    /// Evaluations used.
    pub evaluations: u32,
}

/// Solves for one lambda after the other on a federation whose classes are imputed.
pub struct FairPath<'a, T> {
    federation: &'a mut Federation<T>,
    objective: SteffleObjective,
    variance: f64,
    tolerance: Tolerance,
    theta: Vec<f64>,
    /// The unconstrained model.
    public: Vec<f64>,
    /// The loss's, from the unconstrained solve.
    curvature: InverseHessian,
    /// The loss's again, from the steps of the path.
    seen: VecDeque<CurvaturePair>,
}

/// The objective's two parts at one theta.
#[derive(Debug, Clone)]
pub(super) struct Evaluated {
    theta: Vec<f64>,
    pub(super) loss: f64,
    pub(super) loss_gradient: Vec<f64>,
    /// `sum_c w_c D_c` in its min-max form.
    pub(super) penalty: f64,
    pub(super) penalty_gradient: Vec<f64>,
    /// `sum_c w_c D_c` of the clamped tables.
    pub(super) chi_square: f64,
}

/// What follows from the tables of the first exchange.
struct Cells {
    /// Records in some cell.
    inside: f64,
    questions: Vec<CellQuestion>,
    /// `w_c D_c`.
    parts: Vec<f64>,
}

impl<'a, T: Transport> FairPath<'a, T> {
    /// Starts at the unconstrained model `public`. `variance` is that of a membership in a class
    /// the record is not in: 0 where memberships are exact.
    pub fn new(
        federation: &'a mut Federation<T>,
        objective: SteffleObjective,
        public: &Minimum,
        variance: f64,
        tolerance: Tolerance,
    ) -> Self {
        let (theta, curvature) = (public.theta.clone(), public.curvature.clone());
        let (public, seen) = (theta.clone(), VecDeque::new());
        Self { federation, objective, variance, tolerance, theta, public, curvature, seen }
    }

    /// The federation that it trains on.
    pub fn federation(&mut self) -> &mut Federation<T> {
        self.federation
    }

    /// Trips over the wire that the federation has made.
    pub fn trips(&self) -> u64 {
        self.federation.trips()
    }

    /// Estimates the gap of a model of this path, which was trained on `release`, by the release.
    pub fn estimate_gap(
        &mut self,
        release: &OneShot,
        theta: &[f64],
    ) -> Result<GapEstimate, FederationError> {
        self.federation.estimate_gap_after(release, &self.public, theta)
    }

    /// The objective's gradient at `theta`.
    pub fn gradient(&mut self, lambda: f64, theta: &[f64]) -> Result<Vec<f64>, TrainError> {
        let at = self.evaluate(theta)?;
        let slopes = at.loss_gradient.iter().zip(&at.penalty_gradient);
        Ok(slopes.map(|(loss, penalty)| loss + lambda * penalty).collect())
    }

    /// The optimum for `lambda`. `observe` sees (evaluations, value) and may end the work early.
    pub fn solve(
        &mut self,
        lambda: f64,
        observe: impl FnMut(u32, f64) -> ControlFlow<()>,
    ) -> Result<Fair, TrainError> {
        let (start, tolerance) = (self.theta.clone(), self.tolerance);
        let (known, first) = self.precondition(lambda)?;
        let (mut first, mut last) = (Some(first.clone()), first);
        let evaluate = |theta: &[f64]| {
            let at = match first.take() {
                Some(at) => at,
                None => self.evaluate(theta)?,
            };
            self.learn(&last, &at);
            let slopes = at.loss_gradient.iter().zip(&at.penalty_gradient);
            let gradient = slopes.map(|(loss, penalty)| loss + lambda * penalty).collect();
            let value = at.loss + lambda * at.penalty;
            last = at;
            Ok::<_, TrainError>((value, gradient))
        };
        let minimum = minimise_from(start, Some(&known), tolerance, evaluate, observe)?;
        let Minimum { theta, value, gradient, evaluations, .. } = minimum;
        if !(value.is_finite() && theta.iter().all(|value| value.is_finite())) {
            return Err(TrainError::Diverged(evaluations));
        }
        // A search that ended without a better point ends at the one before.
        let chi_square =
            if last.theta == theta { last.chi_square } else { self.evaluate(&theta)?.chi_square };
        self.theta.clone_from(&theta);
        Ok(Fair { theta, chi_square, value, gradient, evaluations })
    }

    /// Keeps what the loss's gradient did between two evaluations.
    fn learn(&mut self, before: &Evaluated, after: &Evaluated) {
        let difference =
            |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| b - a).collect() };
        self.seen.extend(CurvaturePair::new(
            difference(&before.theta, &after.theta),
            difference(&before.loss_gradient, &after.loss_gradient),
        ));
        if self.seen.len() > memory(after.theta.len()) {
            self.seen.pop_front();
        }
    }

    /// The inverse of the loss's Hessian, as far as gradients have shown it, plus a rank-one term
    /// per cell: `w_c D_c` is close to the square of one number, so its Hessian is close to
    /// `g g' / (2 w_c D_c)` with `g` its gradient. Returns the evaluation it took, too.
    fn precondition(&mut self, lambda: f64) -> Result<(InverseHessian, Evaluated), TrainError> {
        let theta = self.theta.clone();
        let (mut at, cells) = self.tables(&theta)?;
        let mut known = self.curvature.clone();
        self.seen.iter().for_each(|pair| known.push_pair(pair.clone()));
        for (cell, &part) in cells.parts.iter().enumerate() {
            let mut questions = cells.questions.clone();
            for (other, question) in questions.iter_mut().enumerate() {
                if other != cell {
                    question.combinations.fill(0.0);
                    question.quadratic.fill(0.0);
                }
            }
            let slope = self.fairness(&theta, questions, cells.inside)?;
            at.penalty_gradient.iter_mut().zip(&slope).for_each(|(sum, own)| *sum += own);
            if part > 0.0 {
                known.push_rank_one(lambda / (2.0 * part), &slope);
            }
        }
        Ok((known, at))
    }

    /// Both exchanges.
    pub(super) fn evaluate(&mut self, theta: &[f64]) -> Result<Evaluated, TrainError> {
        let (mut at, cells) = self.tables(theta)?;
        if !cells.questions.is_empty() {
            at.penalty_gradient = self.fairness(theta, cells.questions, cells.inside)?;
        }
        Ok(at)
    }

    /// The first exchange, and what follows from the tables.
    fn tables(&mut self, theta: &[f64]) -> Result<(Evaluated, Cells), TrainError> {
        let question = ImputedQuestion { theta: theta.to_vec(), cells: Vec::new() };
        let sums = self.federation.ask_imputed(&question)?;
        let n = (sums.held as f64).max(1.0);
        let squared: f64 = theta.iter().map(|value| value * value).sum();
        let slopes = sums.gradient.iter().zip(theta);
        let mut at = Evaluated {
            theta: question.theta,
            loss: sums.loss / n + RIDGE * squared,
            loss_gradient: slopes.map(|(sum, theta)| sum / n + 2.0 * RIDGE * theta).collect(),
            penalty: 0.0,
            penalty_gradient: vec![0.0; theta.len()],
            chi_square: 0.0,
        };
        // Without a record in a cell there is no penalty; dividing by 1 leaves it 0.
        let inside = sums.cells.iter().map(|cell| cell.count).sum::<f64>().max(1.0);
        let mut cells = Cells { inside, questions: Vec::new(), parts: Vec::new() };
        for cell in &sums.cells {
            let (question, psi, divergence) = self.maximise(cell);
            let part = cell.count / inside * divergence;
            at.penalty += psi / inside;
            at.chi_square += part;
            cells.parts.push(part);
            cells.questions.push(question);
        }
        Ok((at, cells))
    }

    /// W* of a cell as `C` and `q`, the sum of psi there, and `D_c`.
    fn maximise(&self, cell: &ImputedCell) -> (CellQuestion, f64, f64) {
        let ImputedCell { count, table } = cell;
        let labels = self.objective.labels;
        let columns: Vec<f64> =
            (0..labels).map(|u| table.iter().skip(u).step_by(labels).sum()).collect();
        // The scores of a record sum to 1, so the rows sum to the class counts.
        let counts: Vec<f64> = table.chunks_exact(labels).map(|row| row.iter().sum()).collect();
        let weights = ClassWeights::from_counts(&counts, self.floor(*count));
        let dual = closed_form(table, &columns, *count, &weights);
        let (combinations, quadratic) = (dual.combinations(&weights), dual.quadratic());
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let psi = 2.0 * dot(&combinations, table) - dot(&quadratic, &columns) - count;
        let clamped: Vec<f64> = table.iter().map(|mass| mass.max(0.0)).collect();
        (CellQuestion { combinations, quadratic }, psi, divergence(&clamped, labels))
    }

    /// The second exchange: `(1/n_in) sum_i J_i' (2 sum_r shat_ir C_r - q)`.
    fn fairness(
        &mut self,
        theta: &[f64],
        cells: Vec<CellQuestion>,
        inside: f64,
    ) -> Result<Vec<f64>, TrainError> {
        let question = ImputedQuestion { theta: theta.to_vec(), cells };
        let mut gradient = self.federation.ask_imputed(&question)?.gradient;
        gradient.iter_mut().for_each(|sum| *sum /= inside);
        Ok(gradient)
    }

    /// The smallest class weight of a cell: a count within its own noise says nothing.
    fn floor(&self, count: f64) -> f64 {
        if self.variance == 0.0 || count == 0.0 {
            return 0.0;
        }
        let noise = 3.0 * (self.variance / count).sqrt();
        noise.max(0.01).min(1.0 / self.objective.classes as f64)
    }
}
