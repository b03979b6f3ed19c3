//! Algorithm 1, from the census to the returned iterate.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use steffle_model::fairness::{ClassWeights, DualSet};
use steffle_model::scores::Objective as _;
use steffle_privacy::ledger::{Receipt, Statement};
use steffle_privacy::{GroupFraction, Mu, PrivacyError, Rounds, normal, paper};
use steffle_wire::{Batch, Form, NoiseScale, Question, Transport};

use super::{Mode, Paper, Protected, Schedule, Settings, StepRule};
use crate::federation::{Federation, FederationError};
use crate::game::{ChiSquareGame, Improved, OutputScores, class_weights};
use crate::server::{Aggregate, DescentAscent, InverseHessian, Minimum, Returned, Steps};

/// How often noise alone may pass for evidence in one cell.
const FALSE_ALARM: f64 = 0.025;

/// Evidence ([`Steps::evidence`]) of less than this is not followed: the model would follow noise, and might
/// be less fair.
///
/// Where noise is all there is, a cell's evidence is about a weighted mean of squares of standard normal
/// numbers, which is above a bound of more than 1.5365 at most as often as one such square is, whatever
/// the weights and however many there are (Szekely and Bakirov, Extremal probabilities for Gaussian quadratic
/// forms, Probability Theory and Related Fields 126, 2003). So two groups of people and two labels need
/// 5.0: noise passes in at most 2.5 % of runs. Where there are more, one group that is told says little about
/// the others: the share is divided by their number, (k - 1)(l - 1). Five groups need 7.5.
pub fn needed(objective: OutputScores) -> f64 {
    let free = (objective.classes - 1) * (objective.columns() - 1);
    normal::quantile(1.0 - 0.5 * FALSE_ALARM / free.max(1) as f64).powi(2)
}

/// One round, as the server saw it.
///
/// Nothing in it involves `s` that was not released.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundTrace {
    /// The round; the first is 1.
    pub round: u32,
    /// `sum_c w_c D_c` of the released tables.
    pub chi_square: f64,
    /// Length of the theta step.
    pub step: f64,
    /// The mean loss at the round's start, where somebody watches: a function of x, y and theta.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// The most epsilon that the plan has spent by now, where somebody watches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
}

/// The noise that Theorem 3.2 prescribed.
///
/// It is reported, because what it promises does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Theorem {
    /// The smallest class share, rho.
    pub rho: f64,
    /// Records of the smallest silo.
    pub silo_records: usize,
    /// sigma_w there.
    pub sigma_dual: f64,
    /// sigma_theta there.
    pub sigma_theta: f64,
}

/// What training returns.
///
/// The model, and what its training released.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The returned parameters.
    pub theta: Vec<f64>,
    /// Rounds, T.
    pub rounds: u32,
    /// Every round.
    pub trace: Vec<RoundTrace>,
    /// The noise, in the paper's mode.
    pub theorem: Option<Theorem>,
    /// What the run may say about the privacy of every store.
    pub statement: Option<Statement>,
    /// What every store released.
    pub receipts: Vec<Vec<Receipt>>,
    /// What the dearest store has spent on Gaussian messages.
    pub spent: Option<Mu>,
    /// How much of the averaged theta messages is signal, as a ratio of its energy to that of the
    /// noise; absent without noise. Below 1 noise decides where the model goes.
    pub signal_to_noise: Option<f64>,
    /// How far the tables tell the groups apart, see [`Steps::evidence`].
    pub evidence: Option<f64>,
    /// Whether that is so little that the model which was started from is returned.
    pub unchanged: bool,
}

/// Why training stopped.
///
/// Stores keep what was paid until then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// A node or a message failed.
    #[error(transparent)]
    Federation(#[from] FederationError),
    /// No noise gives what was asked for.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// The parameters are not finite any more.
    #[error(
        "training diverged in round {0}: the parameters are not finite; lower the step sizes, \
         lambda or the noise"
    )]
    Diverged(u32),
    /// Steps that nobody brought.
    #[error("the settings leave the steps to the caller: bring them to `train::run`")]
    NoSteps,
    /// The observer asked to stop.
    #[error("interrupted after round {0}")]
    Interrupted(u32),
}

/// Where a run starts.
///
/// The improved server starts at the unconstrained model and knows its curvature.
#[derive(Debug, Clone)]
pub struct Start {
    /// The parameters.
    pub theta: Vec<f64>,
    /// What public gradients have told about the loss's curvature there; the improved server needs
    /// it.
    pub curvature: Option<InverseHessian>,
}

impl From<Vec<f64>> for Start {
    fn from(theta: Vec<f64>) -> Self {
        Self { theta, curvature: None }
    }
}

impl From<&Minimum> for Start {
    fn from(minimum: &Minimum) -> Self {
        let Minimum { theta, curvature, .. } = minimum.clone();
        Self { theta, curvature: Some(curvature) }
    }
}

/// Offers the plan to the stores, and has them agree where they share noise; returns what it claims.
fn open<T: Transport>(
    plan: &Schedule,
    objective: OutputScores,
    federation: &mut Federation<T>,
    theta: &[f64],
) -> Result<Option<Protected>, TrainError> {
    let silos = federation.sizes().len().max(1) as f64;
    let records = federation.sizes().iter().sum::<usize>() as f64 / silos;
    let layers = federation.model().blocks().len();
    let protected = plan.protected(objective.classes, records, layers)?;
    match &protected {
        None => federation.open_plainly()?,
        Some(protected) => {
            let (epsilon, delta) = (protected.epsilon.value(), protected.delta.value());
            let offer = federation.offer(protected.claim, epsilon, delta, plan.rounds())?;
            federation.open(offer, |offer| protected.opening(offer))?;
            if let (Some(shares), Some(round)) = (protected.claim.shares(), protected.round()) {
                federation.share_rounds(shares, round, (theta, protected.cap, protected.shaped))?;
            }
        }
    }
    Ok(protected)
}

/// Runs `plan` from `start` with the steps that its settings name. `observe` sees every round and
/// may stop the run.
pub fn train<T: Transport>(
    plan: &Schedule,
    objective: OutputScores,
    federation: &mut Federation<T>,
    start: Start,
    observe: impl FnMut(&RoundTrace) -> ControlFlow<()>,
) -> Result<Outcome, TrainError> {
    let Start { theta, curvature } = start;
    let Settings { lambda, rates, mode, server, .. } = *plan.settings();
    let (form, set) = match mode {
        Mode::None | Mode::Exact(_) | Mode::Poisson(_) => (Form::Centred, DualSet::Box),
        Mode::Paper(Paper { clip, diameter, .. }) => {
            (Form::Clipped { limit: clip }, DualSet::Ball { diameter })
        }
    };
    let blocks = federation.model().blocks().to_vec();
    let make = |theta: Vec<f64>, census: &Aggregate| -> Box<dyn Steps> {
        if server == StepRule::Improved && form == Form::Centred {
            let curvature = curvature.unwrap_or_else(|| InverseHessian::scaled(1.0));
            let (whole, from) = (plan.batch() == Batch::All, (theta, curvature));
            Box::new(Improved::new(objective, lambda, &blocks, from, census, whole))
        } else {
            let problem = ChiSquareGame::new(objective, lambda, form, set);
            Box::new(DescentAscent::new(problem, theta, rates, plan.rounds(), census))
        }
    };
    match server {
        StepRule::Given => Err(TrainError::NoSteps),
        StepRule::Plain | StepRule::Improved => {
            run(plan, objective, federation, theta, make, observe)
        }
    }
}

/// Runs `plan` from `start` with the steps that `make` makes of the start and the census there:
/// what goes over the wire, and what it costs, is the protocol's, whatever the steps are.
pub fn run<T: Transport>(
    plan: &Schedule,
    objective: OutputScores,
    federation: &mut Federation<T>,
    start: Vec<f64>,
    make: impl FnOnce(Vec<f64>, &Aggregate) -> Box<dyn Steps>,
    mut observe: impl FnMut(&RoundTrace) -> ControlFlow<()>,
) -> Result<Outcome, TrainError> {
    let (settings, rounds) = (plan.settings(), plan.rounds());
    let protected = open(plan, objective, federation, &start)?;
    // Round 0: all records, no combination. Its tables' row sums are the class counts: noisy ones
    // that cost no budget of their own in the modes with a claim, and exact in the others.
    let census = federation.round(
        0,
        &Question {
            theta: start.clone(),
            cells: ChiSquareGame::census(objective),
            form: Form::Centred,
            batch: Batch::All,
            loss: false,
        },
    )?;
    let theorem = match settings.mode {
        Mode::None | Mode::Exact(_) | Mode::Poisson(_) => None,
        Mode::Paper(paper) => {
            let weights = class_weights(&census, objective.columns());
            Some(set_noise(federation, &paper, &weights, rounds))
        }
    };
    let mut steps = make(start.clone(), &census);

    let seed = federation.agreement().seed;
    let mut returned = Returned::new(settings.output, rounds, seed);
    let mut trace = Vec::with_capacity(rounds as usize);
    let mut signal = (0.0, 0.0);
    let numbers = (census.cells.len() * start.len()).max(1);
    for round in 1..=rounds {
        let question = steps.ask(plan.batch());
        let answers = federation.round(round, &question)?;
        steps.learn(round, &answers);
        signal = (signal.0 + answers.signal.0, signal.1 + answers.signal.1);
        let theta = steps.theta();
        if !theta.iter().all(|value| value.is_finite()) {
            return Err(TrainError::Diverged(round));
        }
        let squared: f64 =
            theta.iter().zip(&question.theta).map(|(new, old)| (new - old).powi(2)).sum();
        let chi_square = steps.violation();
        let loss = federation.mean_loss(&answers);
        let spent = |protected: &Protected| protected.spent_by(round);
        let epsilon = loss.and_then(|_| protected.as_ref().map(spent));
        let seen = RoundTrace { round, chi_square, step: squared.sqrt(), loss, epsilon };
        returned.see(round, theta);
        let stop = observe(&seen).is_break();
        trace.push(seen);
        if stop && round < rounds {
            return Err(TrainError::Interrupted(round));
        }
    }
    federation.close()?;
    let (spent, receipts) = (federation.spent(), federation.receipts());
    let statement = federation.statement();
    let signal_to_noise = signal_to_noise(signal, numbers, rounds).filter(|_| protected.is_some());
    let evidence = steps.evidence();
    let unchanged = evidence.is_some_and(|evidence| evidence < needed(objective));
    let theta = if unchanged { start } else { returned.finish() };
    Ok(Outcome {
        theta,
        rounds,
        trace,
        theorem,
        statement,
        receipts,
        spent,
        signal_to_noise,
        evidence,
        unchanged,
    })
}

/// One message has the energy of its signal plus 1; averaging T of them divides the noise by T.
fn signal_to_noise((sum, count): (f64, f64), numbers: usize, rounds: u32) -> Option<f64> {
    // Noise alone has a mean of 1 with this standard deviation: what three of them explain is no
    // signal, so that noise passes for one in about one of 1,000 runs.
    let chance = (2.0 / (count * numbers as f64)).sqrt();
    let above = sum / count - 1.0 - 3.0 * chance;
    (count > 0.0).then(|| above.max(0.0) * f64::from(rounds))
}

/// Sets the theorem's noise. The paper's W message is `2 M_ru / (m sqrt(p_r))` plus noise of
/// standard deviation sigma_w; the same law in terms of the raw class sums is `sigma_w m
/// sqrt(p_r) / 2` on row r.
fn set_noise<T: Transport>(
    federation: &mut Federation<T>,
    paper: &Paper,
    weights: &[ClassWeights],
    rounds: u32,
) -> Theorem {
    let rho = weights.iter().map(ClassWeights::smallest).fold(1.0, f64::min);
    let table = |dual: f64| -> Vec<Vec<f64>> {
        let row = |p: &f64| dual * p.sqrt() / 2.0;
        weights.iter().map(|w| w.get().iter().map(row).collect()).collect()
    };
    let sigmas = |records: usize| {
        // A positive share and a positive number of rounds are what these types ask for.
        let fraction = GroupFraction::try_from(rho);
        let rounds = Rounds::try_from(u64::from(rounds));
        let (Ok(fraction), Ok(rounds)) = (fraction, rounds) else { return (f64::INFINITY, 0.0) };
        let (epsilon, delta) = (paper.epsilon, paper.delta);
        let dual = paper::sigma_dual(epsilon, delta, rounds, records, fraction);
        (dual, dual * paper.clip * paper.diameter)
    };
    federation.set_noise(|records| {
        let (dual, theta) = sigmas(records);
        NoiseScale { theta, table: table(dual) }
    });
    let silo_records = federation.sizes().iter().copied().min().unwrap_or(0);
    let (sigma_dual, sigma_theta) = sigmas(silo_records);
    Theorem { rho, silo_records, sigma_dual, sigma_theta }
}
