//! The training call, and what it took.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use steffle::driver::{Agreement, Federation};
use steffle::model::Classifier;
use steffle::protocol::{RunId, SchemaHash};
use steffle::randomness::{Purpose, stream};
use steffle::server::Tolerance;
use steffle::steffle::SteffleObjective;
use steffle::train::{Plan, RoundTrace, Server, Start, Theorem, TrainError, erm, train};
use steffle_data::Schema;
use steffle_privacy::Mu;

use super::load::Holdings;
use crate::config::TrainConfig;
use crate::failure::Failure;
use crate::ui::Progress;

/// The unconstrained model is solved this well, or after this many evaluations.
const OPTIMUM: Tolerance = Tolerance { evaluations: 1000, gradient: 1e-5 };

/// A trained model beside the unconstrained one.
pub(crate) struct Trained {
    pub(crate) theta: Vec<f64>,
    pub(crate) baseline: Vec<f64>,
    pub(crate) rounds: u32,
    pub(crate) trace: Vec<Trace>,
    pub(crate) theorem: Option<Theorem>,
    /// mu that the dearest store spent.
    pub(crate) spent: Option<f64>,
    pub(crate) signal_to_noise: Option<f64>,
    /// Of the method alone.
    pub(crate) wall_seconds: f64,
    /// The same over all threads; absent where the system does not tell.
    pub(crate) cpu_seconds: Option<f64>,
}

/// One line of `trace.jsonl`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Trace {
    Round(RoundTrace),
    Evaluation { round: u32, loss: f64 },
}

/// Trains the unconstrained model and, unless it is all that was asked for, the fair one.
pub(crate) fn run(
    config: &TrainConfig,
    plan: Option<&Plan>,
    schema: &Schema,
    model: &Arc<dyn Classifier>,
    holdings: Holdings,
    progress: &Progress,
) -> Result<Trained, Failure> {
    let labels = schema.labels().len();
    let notion = config.notion.resolve(labels, schema.favourable(), schema.strata().len());
    let classes = schema.classes().len();
    let objective = SteffleObjective { notion, classes, labels, sharpness: 1.0 };
    let hash = schema.hash();
    let agreement = Agreement {
        run: run_id(&hash, config.seed),
        schema: SchemaHash(hash),
        model: model.clone(),
        objective: Arc::new(objective),
        seed: config.seed,
        noise: config.noise(),
    };
    let mut federation = match holdings {
        Holdings::Silos(silos) => Federation::of_silos(agreement, silos),
        Holdings::Split { records, attributes } => {
            Federation::split(agreement, records, attributes)
        }
    }
    .map_err(|error| Failure::data("train::federation", error.to_string()))?;
    let start = model.initial(&mut stream(config.seed, 0, Purpose::Initial, 0));

    progress.task("Training the unconstrained model");
    let clock = Clock::start();
    let mut evaluations = Vec::new();
    let baseline = erm(&mut federation, start.clone(), OPTIMUM, |round, loss| {
        evaluations.push(Trace::Evaluation { round, loss });
        ControlFlow::Continue(())
    })
    .map_err(|error| Failure::data("train::failed", error.to_string()))?;
    let Some(plan) = plan else {
        let (wall_seconds, cpu_seconds) = clock.stop();
        let theta = baseline.theta.clone();
        return Ok(Trained {
            theta,
            baseline: baseline.theta,
            rounds: baseline.evaluations,
            trace: evaluations,
            theorem: None,
            spent: None,
            signal_to_noise: None,
            wall_seconds,
            cpu_seconds,
        });
    };

    progress.steps("Training the fair model", plan.rounds() as usize);
    let clock = Clock::start();
    let start = match plan.settings().server {
        Server::Plain => start.into(),
        Server::Improved => Start::from(&baseline),
    };
    let outcome = train(plan, objective, &mut federation, start, |_| {
        progress.step();
        ControlFlow::Continue(())
    })
    .map_err(|error| explain(&error))?;
    let (wall_seconds, cpu_seconds) = clock.stop();
    Ok(Trained {
        theta: outcome.theta,
        baseline: baseline.theta,
        rounds: outcome.rounds,
        trace: outcome.trace.into_iter().map(Trace::Round).collect(),
        theorem: outcome.theorem,
        spent: outcome.spent.map(Mu::value),
        signal_to_noise: outcome.signal_to_noise,
        wall_seconds,
        cpu_seconds,
    })
}

fn explain(error: &TrainError) -> Failure {
    let code = match error {
        TrainError::Diverged(_) => "train::diverged",
        _ => "train::failed",
    };
    Failure::data(code, error.to_string())
}

/// Equal runs have equal ids: a simulation has no need for a fresh one.
fn run_id(schema: &[u8; 32], seed: u64) -> RunId {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&schema[..8]);
    id[8..].copy_from_slice(&seed.to_le_bytes());
    RunId(id)
}

/// Wall and processor time.
struct Clock {
    wall: Instant,
    cpu: Option<f64>,
}

impl Clock {
    fn start() -> Self {
        Self { wall: Instant::now(), cpu: processor_seconds() }
    }

    fn stop(&self) -> (f64, Option<f64>) {
        let cpu = processor_seconds().zip(self.cpu).map(|(now, then)| now - then);
        (self.wall.elapsed().as_secs_f64(), cpu)
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems do not tell")]
fn processor_seconds() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
}

#[cfg(not(unix))]
fn processor_seconds() -> Option<f64> {
    None
}
