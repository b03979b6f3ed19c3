//! Exponentiated gradient (Agarwal, Beygelzimer, Dudik, Langford, Wallach 2018): fair classification
//! as a sequence of weighted classification problems. No privacy: the reference that others have.
//!
//! The game is `min over classifiers, max over multipliers of L = error + sum_cg l_cg v_cg`, with
//! `v_cg` the rate of the favourable decision in group g less that in condition c, signed
//! multipliers `l = l+ - l-` and `|l+| + |l-| <= B`. Its value is that of `error + B max |v|`, so
//! B is how much a violation weighs. A best response to multipliers is a classifier for the labels
//! `w_i > 0` with weights `|w_i|`,
//!
//! ```text
//! w_i = 2 y_i - 1 - n (l_cg / n_cg - sum_g' l_cg' / n_c),      i in condition c and group g,
//! ```
//!
//! (accuracy parity is about the rate of right decisions, which grows with the favourable one's where
//! `y_i = 1` and falls with it where `y_i = 0`: there the charge has the other sign) and is found by logistic loss, like everyone's. What is returned is the best single classifier
//! seen, by `error + B max |v|` on the training rows, not the published mixture of all of them: at a
//! given B one classifier is the solution unless the violation there is 0, and a decision about a
//! person is then not a lottery.

use std::ops::ControlFlow;

use steffle_model::blocks::{BLOCK, Merge, sum_in_order};
use steffle_model::metrics::decide;
use steffle_model::model::head::RIDGE;
use steffle_model::model::{Factor, Gradient, Pass, Point, head};
use steffle_model::record::Rows;
use steffle_server::server::{InverseHessian, Minimum, Tolerance, minimise_from};

use super::Curator;

/// The best classifier of a run.
///
/// It is one model of the sequence, not a mixture.
#[derive(Debug, Clone, PartialEq)]
pub struct Reduced {
    /// The parameters.
    pub theta: Vec<f64>,
    /// Its error on the training rows.
    pub error: f64,
    /// `max |v_cg|` there.
    pub violation: f64,
    /// Evaluations of weighted losses.
    pub evaluations: u32,
    /// How many best responses were found.
    pub responses: u32,
}

/// Steps of the exponentiated gradient: the published implementation's bound.
const STEPS: u32 = 50;
/// The published step size, times B.
const RATE: f64 = 2.0;
/// The game is solved when both players could gain no more than this.
const GAIN: f64 = 1e-3;
/// Multipliers that moved by less than this share of B have the best response of before.
const SAME: f64 = 1e-3;

/// Solves the game for `bound`, B, from the unconstrained model `public`. `observe` sees
/// (best responses, value of the best) and may end the work early.
pub fn reductions(
    curator: &Curator<'_>,
    bound: f64,
    public: &Minimum,
    tolerance: Tolerance,
    mut observe: impl FnMut(u32, f64) -> ControlFlow<()>,
) -> Reduced {
    let mut game = Game::new(curator, bound);
    let mut learner = Learner { curator, tolerance, theta: public.theta.clone(), evaluations: 0 };
    let mut responses = 0;
    // No multipliers yet: the unconstrained model is the best response.
    let mut played = learner.play();
    let mut best = Best::new(bound, &played, &learner.theta);
    let mut multipliers = game.multipliers();
    let mut answered = multipliers.clone();
    for _ in 0..STEPS {
        game.learn(&multipliers, &played);
        if game.gain() <= GAIN || observe(responses, best.value).is_break() {
            break;
        }
        multipliers = game.multipliers();
        let moves = answered.iter().zip(&multipliers).map(|(old, new)| (old - new).abs());
        if moves.fold(0.0, f64::max) > SAME * bound {
            responses += 1;
            answered.clone_from(&multipliers);
            learner.respond(&multipliers, &public.curvature);
            played = learner.play();
            let found = Best::new(bound, &played, &learner.theta);
            if found.value < best.value {
                best = found;
            }
        }
    }
    let Best { theta, error, violation, .. } = best;
    Reduced { theta, error, violation, evaluations: learner.evaluations, responses }
}

/// A classifier and its `error + B max |v|`.
struct Best {
    value: f64,
    theta: Vec<f64>,
    error: f64,
    violation: f64,
}

impl Best {
    fn new(bound: f64, played: &Played, theta: &[f64]) -> Self {
        let (error, violation) = (played.error, played.violation());
        Self { value: error + bound * violation, theta: theta.to_vec(), error, violation }
    }
}

/// What a classifier does on the training rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Played {
    pub(super) error: f64,
    /// `v_cg`, by condition, then group.
    pub(super) violations: Vec<f64>,
}

impl Played {
    fn violation(&self) -> f64 {
        self.violations.iter().fold(0.0, |top: f64, v| top.max(v.abs()))
    }

    /// L at signed multipliers.
    fn lagrangian(&self, signed: &[f64]) -> f64 {
        self.error + self.violations.iter().zip(signed).map(|(v, l)| v * l).sum::<f64>()
    }
}

/// The player of multipliers, and the averages of what both have played.
#[derive(Debug)]
pub(super) struct Game {
    bound: f64,
    /// The logarithms of `l+`, then of `l-`, up to a constant.
    logs: Vec<f64>,
    seen: Vec<Played>,
    steps: f64,
    /// Sums over steps of the signed multipliers and of what was played.
    multipliers: Vec<f64>,
    total: Played,
}

impl Game {
    fn new(curator: &Curator<'_>, bound: f64) -> Self {
        Self::of(curator.counts.iter().map(Vec::len).sum(), bound)
    }

    pub(super) fn of(constraints: usize, bound: f64) -> Self {
        let zero = vec![0.0; constraints];
        Self {
            bound,
            logs: vec![0.0; 2 * constraints],
            seen: Vec::new(),
            steps: 0.0,
            multipliers: zero.clone(),
            total: Played { error: 0.0, violations: zero },
        }
    }

    /// `l = l+ - l-` with `l = B e^log / (1 + sum of all e^log)`.
    pub(super) fn multipliers(&self) -> Vec<f64> {
        let top = self.logs.iter().copied().fold(0.0, f64::max);
        let shares: Vec<f64> = self.logs.iter().map(|log| (log - top).exp()).collect();
        let whole = (-top).exp() + shares.iter().sum::<f64>();
        let (plus, minus) = shares.split_at(shares.len() / 2);
        plus.iter().zip(minus).map(|(plus, minus)| self.bound * (plus - minus) / whole).collect()
    }

    pub(super) fn learn(&mut self, multipliers: &[f64], played: &Played) {
        let rate = RATE / self.bound.max(f64::MIN_POSITIVE);
        let (plus, minus) = self.logs.split_at_mut(played.violations.len());
        for ((plus, minus), v) in plus.iter_mut().zip(minus).zip(&played.violations) {
            *plus += rate * v;
            *minus -= rate * v;
        }
        let add = |sums: &mut [f64], own: &[f64]| {
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        };
        add(&mut self.multipliers, multipliers);
        add(&mut self.total.violations, &played.violations);
        self.total.error += played.error;
        self.steps += 1.0;
        if self.seen.last() != Some(played) {
            self.seen.push(played.clone());
        }
    }

    /// What the better of both players could gain against the other's average, among classifiers
    /// that were seen.
    pub(super) fn gain(&self) -> f64 {
        let steps = self.steps.max(1.0);
        let averages: Vec<f64> = self.multipliers.iter().map(|sum| sum / steps).collect();
        let average = Played {
            error: self.total.error / steps,
            violations: self.total.violations.iter().map(|sum| sum / steps).collect(),
        };
        let value = average.lagrangian(&averages);
        let highest = average.error + self.bound * average.violation();
        let lowest = self.seen.iter().map(|played| played.lagrangian(&averages));
        (highest - value).max(value - lowest.fold(value, f64::min))
    }
}

/// The player of classifiers.
struct Learner<'a> {
    curator: &'a Curator<'a>,
    tolerance: Tolerance,
    theta: Vec<f64>,
    evaluations: u32,
}

impl Learner<'_> {
    /// The best response to signed multipliers, from the one before.
    fn respond(&mut self, multipliers: &[f64], curvature: &InverseHessian) {
        let costs = costs(self.curator, multipliers);
        let targets: Vec<u16> = costs.iter().map(|w| u16::from(*w > 0.0)).collect();
        let weights: Vec<f64> = costs.iter().map(|w| w.abs()).collect();
        let evaluate = |theta: &[f64]| {
            Ok::<_, std::convert::Infallible>(weighted(self.curator, theta, &targets, &weights))
        };
        let start = self.theta.clone();
        let keep_on = |_, _| ControlFlow::Continue(());
        let Ok(found) = minimise_from(start, Some(curvature), self.tolerance, evaluate, keep_on);
        self.theta = found.theta;
        self.evaluations += found.evaluations;
    }

    fn play(&self) -> Played {
        let Curator { model, records, .. } = self.curator;
        let probabilities = Point::new(*model, &self.theta).probabilities(records.rows());
        let decisions = decide(&probabilities, model.labels());
        let wrong = decisions.iter().zip(records.labels()).filter(|(ours, y)| ours != y).count();
        let violations = self
            .curator
            .violations(|row| self.curator.outcome(row, f64::from(decisions[row])))
            .concat();
        Played { error: wrong as f64 / records.len().max(1) as f64, violations }
    }
}

/// `w_i`: what the second label gains over the first, times n.
pub(super) fn costs(curator: &Curator<'_>, multipliers: &[f64]) -> Vec<f64> {
    let Curator { records, imputed, cells, sizes, counts, .. } = curator;
    let (n, classes) = (records.len() as f64, imputed.classes());
    let mut charges = Vec::with_capacity(multipliers.len());
    for ((own, counts), size) in multipliers.chunks_exact(classes).zip(counts).zip(sizes) {
        let all = own.iter().sum::<f64>() / size.max(1.0);
        let each = own.iter().zip(counts);
        charges.extend(each.map(|(l, count)| n * (l / count.max(1.0) - all)));
    }
    let cost = |(row, &label): (usize, &u16)| {
        let charge: f64 = cells[row].map_or(0.0, |cell| {
            let own = &charges[cell * classes..][..classes];
            own.iter().zip(imputed.of(row)).map(|(charge, share)| charge * share).sum()
        });
        f64::from(2 * i32::from(label) - 1) - curator.turn(row) * charge
    };
    records.labels().iter().enumerate().map(cost).collect()
}

/// `(1/n) sum_i weight_i loss(target_i) + ridge` and its gradient.
fn weighted(
    curator: &Curator<'_>,
    theta: &[f64],
    targets: &[u16],
    weights: &[f64],
) -> (f64, Vec<f64>) {
    let Curator { model, records, .. } = *curator;
    let point = Point::new(model, theta);
    let (all, logits) = (records.len(), model.logits());
    let blocks: Vec<usize> = (0..all).step_by(BLOCK).collect();
    let empty = || Sums { loss: 0.0, gradient: Gradient::new(model) };
    let sums = sum_in_order(empty(), blocks, |start| {
        let mut sums = empty();
        let (mut rows, mut pass) = (Rows::empty(model.layout()), Pass::default());
        let mut slopes = vec![Vec::new(); model.blocks().len()];
        let end = all.min(start + BLOCK);
        for from in (start..end).step_by(Pass::CHUNK) {
            let range = from..end.min(from + Pass::CHUNK);
            let which: Vec<u32> = range.clone().map(|row| row as u32).collect();
            rows.gather(records.rows(), &which);
            model.forward(&point, &rows, &mut pass);
            let (targets, weights) = (&targets[range.clone()], &weights[range]);
            let losses = head::losses(&pass.logits, targets, logits).zip(weights);
            sums.loss += losses.map(|(loss, weight)| weight * loss).sum::<f64>();
            let last = slopes.len() - 1;
            head::loss_slopes(&pass.probabilities, targets, logits, &mut slopes[last]);
            for (own, weight) in slopes[last].chunks_exact_mut(logits).zip(weights) {
                own.iter_mut().for_each(|slope| *slope *= weight);
            }
            model.backward(&point, &pass, 1, &mut slopes);
            sums.gradient.add_plain(&Factor::layers(model.blocks(), &slopes, &rows, &pass.hidden));
        }
        sums
    });
    let n = all.max(1) as f64;
    let mut gradient = sums.gradient.into_flat();
    for (slope, theta) in gradient.iter_mut().zip(theta) {
        *slope = *slope / n + 2.0 * RIDGE * theta;
    }
    let squared: f64 = theta.iter().map(|value| value * value).sum();
    (sums.loss / n + RIDGE * squared, gradient)
}

/// Sums of a block.
struct Sums {
    loss: f64,
    gradient: Gradient,
}

impl Merge for Sums {
    fn merge(&mut self, other: &Self) {
        self.loss += other.loss;
        self.gradient.merge(&other.gradient);
    }
}

#[cfg(test)]
mod tests;
