//! Training on imputed classes: a second-order solve per lambda, each from the one before.

mod few_trips;
mod passes;

use std::collections::VecDeque;
use std::ops::ControlFlow;

use steffle_wire::{ImputedQuestion, ImputedSums, PassSums, Transport};

use super::penalty::{Penalised, Penalty, Term};
use super::{FitRule, TrainError};
use crate::federation::{Federation, FederationError, GapEstimate, OneShot};
use crate::game::OutputScores;
use crate::server::fit::{Aim, Imaged, Point, Slope, means};
use crate::server::{
    CurvaturePair, Found, InverseHessian, Minimum, Tolerance, memory, minimise_from,
};

/// A fair model for one lambda.
///
/// With what its fairness costs in the objective.
#[derive(Debug, Clone, PartialEq)]
pub struct Fair {
    /// The parameters.
    pub theta: Vec<f64>,
    /// `sum_c w_c D_c` of the imputed tables there.
    pub chi_square: f64,
    /// The objective there.
    pub value: f64,
    /// The largest entry of its gradient; infinite where nobody asked for one.
    pub gradient: f64,
    /// Evaluations used.
    pub evaluations: u32,
}

impl FitRule {
    /// Trips that a solve for `lambda` takes at most after [`erm`](super::erm()) by this rule, where
    /// the one before it, if there was any, was for a lambda of at least a quarter of it.
    pub fn most_fair_trips(
        self,
        layers: usize,
        parameters: usize,
        lambda: f64,
        tolerance: Tolerance,
    ) -> u32 {
        if self.by_passes(layers) {
            return passes::TRIPS;
        }
        if !self.in_few_trips(layers) {
            // The last point may be evaluated once more.
            return tolerance.evaluations + 1;
        }
        few_trips::most(parameters, lambda)
    }
}

/// Solves for one lambda after the other on a federation whose classes are imputed.
///
/// Each solution is the start of the next.
pub struct FairPath<'a, T> {
    federation: &'a mut Federation<T>,
    penalty: Penalty,
    tolerance: Tolerance,
    /// The unconstrained model.
    public: Minimum,
    theta: Vec<f64>,
    lambda: f64,
    /// The loss's curvature, from the steps of the path; where gradients are all there is.
    seen: VecDeque<CurvaturePair>,
    /// Where silos send more than gradients: how the path goes on.
    descent: Option<few_trips::Going>,
    /// Where they make passes: the tables of the unconstrained model.
    looked: Option<PassSums>,
    /// What the tables of the unconstrained model tell.
    evidence: Option<f64>,
}

/// Loss and tables at one theta, as means over all records, and their gradients.
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
    /// The penalty's curvature.
    terms: Vec<(f64, Vec<f64>)>,
}

/// `L + lambda sum_c w_c D_c`.
struct FairAim<'a> {
    penalty: &'a Penalty,
    records: f64,
    lambda: f64,
    /// The lambda that was asked for, where this one is on the way to it.
    asked: f64,
}

impl FairAim<'_> {
    fn penalised(&self, values: &[f64]) -> Penalised {
        let tables: Vec<f64> = values[1..].iter().map(|mean| mean * self.records).collect();
        self.penalty.at(&tables)
    }

    /// A combination of gradients of tables.
    fn combined(&self, tables: &[Imaged], first: usize, weights: &[f64]) -> Imaged {
        let some = tables.first().is_some_and(|table| !table.image.is_empty());
        let mut total = Imaged::zero(tables.first().map_or(0, |table| table.own.len()), some);
        for (table, weight) in tables.iter().skip(first).zip(weights) {
            total.add(weight * self.records, table);
        }
        total
    }
}

impl Aim for FairAim<'_> {
    fn value(&self, values: &[f64]) -> f64 {
        values[0] + self.lambda * self.penalised(values).value
    }

    fn told(&self, values: &[f64]) -> f64 {
        values[0] + self.asked * self.penalised(values).value
    }

    fn slope(&self, at: &Point) -> Slope {
        let (mut gradient, tables) = (at.gradients[0].clone(), &at.gradients[1..]);
        let Penalised { gradient: weights, terms, .. } = self.penalised(&at.values);
        if self.lambda == 0.0 || tables.is_empty() {
            return Slope { gradient, terms: Vec::new() };
        }
        gradient.add(self.lambda, &self.combined(tables, 0, &weights));
        let term = |term: &Term| {
            (self.lambda * term.weight, self.combined(tables, term.first, &term.vector))
        };
        Slope { gradient, terms: terms.iter().map(term).collect() }
    }
}

impl<'a, T: Transport> FairPath<'a, T> {
    /// Starts at the unconstrained model `public`, and asks silos for what it did; for gradients, where
    /// these are all there is, to `tolerance`. `variance` is that of a membership in
    /// a class the record is not in: 0 where memberships are exact.
    pub fn new(
        federation: &'a mut Federation<T>,
        objective: OutputScores,
        public: &Minimum,
        variance: f64,
        tolerance: Tolerance,
    ) -> Self {
        let penalty = Penalty { objective, variance, counts: Vec::new() };
        let (public, theta) = (public.clone(), public.theta.clone());
        Self {
            federation,
            penalty,
            tolerance,
            public,
            theta,
            lambda: 0.0,
            seen: VecDeque::new(),
            descent: None,
            looked: None,
            evidence: None,
        }
    }

    /// How far the classes that were released tell the groups apart, by the unconstrained model: the
    /// divergence that they show over what their noise alone would show. `None` where they have none,
    /// before the first solve, and for networks.
    pub fn evidence(&self) -> Option<f64> {
        self.evidence
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
        self.federation.estimate_gap_after(release, &self.public.theta, theta)
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
        let before = self.federation.trips();
        let mut fair = match self.public.found {
            Found::FewTrips(_) => self.in_few_trips(lambda, observe)?,
            Found::Gradients => self.by_gradients(lambda, observe)?,
            Found::Passes => self.by_passes(lambda, observe)?,
        };
        fair.evaluations = (self.federation.trips() - before) as u32;
        if !(fair.value.is_finite() && fair.theta.iter().all(|value| value.is_finite())) {
            return Err(TrainError::Diverged(fair.evaluations));
        }
        self.theta.clone_from(&fair.theta);
        self.lambda = lambda;
        Ok(fair)
    }

    /// Descends from what losses and gradients tell.
    fn by_gradients(
        &mut self,
        lambda: f64,
        observe: impl FnMut(u32, f64) -> ControlFlow<()>,
    ) -> Result<Fair, TrainError> {
        let (start, tolerance) = (self.theta.clone(), self.tolerance);
        let first = self.evaluate(&start)?;
        let known = self.precondition(lambda, &first);
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
        // A search that ended without a better point ends at the one before.
        let chi_square =
            if last.theta == theta { last.chi_square } else { self.evaluate(&theta)?.chi_square };
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

    /// The inverse of the loss's Hessian, as far as gradients have shown it, and the penalty's terms.
    fn precondition(&self, lambda: f64, at: &Evaluated) -> InverseHessian {
        let mut known = self.public.curvature.clone();
        self.seen.iter().for_each(|pair| known.push_pair(pair.clone()));
        at.terms.iter().for_each(|(weight, vector)| known.push_rank_one(lambda * weight, vector));
        known
    }

    /// Loss and penalty at `theta`.
    pub(super) fn evaluate(&mut self, theta: &[f64]) -> Result<Evaluated, TrainError> {
        let sums = self.ask(theta)?;
        let (values, gradients) = listed(&sums);
        let (values, mut gradients) = means(theta, &values, &gradients, sums.held);
        let plain = |own| Imaged { own, image: Vec::new() };
        let loss_gradient = gradients.remove(0);
        let tables: Vec<Imaged> = gradients.into_iter().map(plain).collect();
        let records = sums.held as f64;
        let aim = FairAim { penalty: &self.penalty, records, lambda: 1.0, asked: 1.0 };
        let Penalised { value, chi_square, gradient, terms } = aim.penalised(&values);
        let mut penalty_gradient = aim.combined(&tables, 0, &gradient).own;
        penalty_gradient.resize(theta.len(), 0.0);
        let terms = terms
            .iter()
            .map(|term| (term.weight, aim.combined(&tables, term.first, &term.vector).own));
        Ok(Evaluated {
            theta: theta.to_vec(),
            loss: values[0],
            loss_gradient,
            penalty: value,
            penalty_gradient,
            chi_square,
            terms: terms.collect(),
        })
    }

    fn ask(&mut self, theta: &[f64]) -> Result<ImputedSums, TrainError> {
        let question = ImputedQuestion { theta: theta.to_vec() };
        let sums = self.federation.ask_imputed(&question)?;
        self.penalty.counts = sums.cells.iter().map(|cell| cell.count).collect();
        if self.evidence.is_none() {
            let tables: Vec<f64> =
                sums.cells.iter().flat_map(|cell| cell.table.iter().copied()).collect();
            self.evidence = self.penalty.evidence(&tables);
        }
        Ok(sums)
    }
}

/// Loss and tables, and their gradients, in the order of a step's reply.
fn listed(sums: &ImputedSums) -> (Vec<f64>, Vec<Vec<f64>>) {
    let tables = sums.cells.iter().flat_map(|cell| cell.table.iter().copied());
    let slopes = sums.cells.iter().flat_map(|cell| cell.slopes.iter().cloned());
    let values = std::iter::once(sums.loss).chain(tables).collect();
    (values, std::iter::once(sums.gradient.clone()).chain(slopes).collect())
}
