//! The training call, and what it took.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde::Serialize;
use steffle::division::attributes::ClassRelease;
use steffle::federation::{Agreement, Federation, FederationError, GapEstimate, RunKind};
use steffle::model::{Classifier, ModelKind};
use steffle::node::{InProcess, RARE_COLUMN};
use steffle::protocol::{RunId, SchemaHash};
use steffle::randomness::{Purpose, stream};
use steffle::server::{Minimum, Tolerance};
use steffle::steffle::SteffleObjective;
use steffle::train::{
    FairPath, Plan, RoundTrace, Start, StepRule, Theorem, TrainError, erm, target_gap, train,
};
use steffle_baselines::{FederatedRound, pf_ld};
use steffle_data::Schema;
use steffle_privacy::Mu;
use steffle_privacy::ledger::{Refusal, Statement};

use super::Prepared;
use super::clock::Clock;
use super::load::Holdings;
use super::one_shot::{OneShotReport, Told};
use crate::config::{Once, Release, TrainConfig};
use crate::failure::Failure;
use crate::ui::Progress;

/// The unconstrained model is solved this well, or after this many evaluations.
pub(super) const OPTIMUM: Tolerance = Tolerance { evaluations: 1000, gradient: 1e-5 };

/// A trained model beside the unconstrained one.
pub(crate) struct Trained {
    pub(crate) theta: Vec<f64>,
    pub(crate) baseline: Vec<f64>,
    pub(crate) rounds: u32,
    /// Trips over the wire, those of the unconstrained model included; absent where methods have all
    /// data in one place, or silos that train by themselves.
    pub(crate) trips: Option<u64>,
    pub(crate) trace: Vec<Trace>,
    pub(crate) theorem: Option<Theorem>,
    /// What the stores may say about what they released, where the method asked them.
    pub(crate) statement: Option<Statement>,
    /// mu that the dearest store spent.
    pub(crate) spent: Option<f64>,
    pub(crate) signal_to_noise: Option<f64>,
    /// Where the run chose it.
    pub(crate) lambda: Option<f64>,
    pub(crate) one_shot: Option<OneShotReport>,
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
    Federated(FederatedRound),
    Evaluation { round: u32, loss: f64 },
    Fair { round: u32, objective: f64 },
    Tried { lambda: f64, gap: f64, standard_error: f64 },
}

/// A federation that is ready to train.
pub(crate) struct Ready {
    pub(super) federation: Federation<InProcess>,
    objective: SteffleObjective,
    pub(super) start: Vec<f64>,
    /// What every feature is called.
    features: Vec<String>,
    /// Trips that the unconstrained model took, if it was found here.
    fit: u64,
}

/// The unconstrained model: where some methods start and what all are compared with.
pub(crate) struct Public {
    pub(crate) minimum: Minimum,
    trace: Vec<(u32, f64)>,
    /// Trips that it took.
    trips: u64,
    wall_seconds: f64,
    cpu_seconds: Option<f64>,
}

impl Ready {
    /// Brings the nodes together.
    pub(crate) fn new(
        config: &TrainConfig,
        schema: &Schema,
        model: &Arc<dyn Classifier>,
        holdings: Holdings,
    ) -> Result<Self, Failure> {
        let labels = schema.labels().len();
        let objective = SteffleObjective {
            notion: config.notion.resolve(labels, schema.favourable(), schema.strata().len()),
            classes: schema.classes().len(),
            labels,
            sharpness: config.surrogate_sharpness,
        };
        let hash = schema.hash();
        let agreement = Agreement {
            run: run_id(&hash, config.seed),
            schema: SchemaHash(hash),
            columns: Vec::new(),
            layout: schema.layout(),
            model: config.model.clone().unwrap_or(ModelKind::Softmax),
            scores: objective.into(),
            seed: config.seed,
            noise: config.noise(),
            kind: RunKind {
                method: config.method.to_string(),
                mode: config.mode.to_string(),
                notion: config.notion.to_string(),
            },
        };
        let nodes = match holdings {
            Holdings::Silos(silos) => InProcess::silos(silos),
            Holdings::Split { records, attributes } => InProcess::split(records, attributes),
        };
        let federation = Federation::join(nodes, agreement)
            .map_err(|error| Failure::data("train::federation", error.to_string()))?;
        let fit = federation.trips();
        let start = model.initial(&mut stream(config.seed, 0, Purpose::Initial, 0));
        Ok(Self { federation, objective, start, features: feature_names(schema), fit })
    }

    /// Trains the unconstrained model to its optimum.
    pub(crate) fn unconstrained(&mut self) -> Result<Public, Failure> {
        let clock = Clock::start();
        let mut trace = Vec::new();
        let minimum = erm(&mut self.federation, self.start.clone(), OPTIMUM, |round, loss| {
            trace.push((round, loss));
            ControlFlow::Continue(())
        })
        .map_err(|error| Failure::data("train::failed", error.to_string()))?;
        let (wall_seconds, cpu_seconds) = clock.stop();
        self.fit = self.federation.trips();
        Ok(Public { minimum, trace, trips: self.fit, wall_seconds, cpu_seconds })
    }

    /// The fair model of Algorithm 1.
    pub(crate) fn descend(
        mut self,
        plan: &Plan,
        public: &Public,
        mut step: impl FnMut(),
    ) -> Result<Trained, Failure> {
        let clock = Clock::start();
        let start = match plan.settings().server {
            StepRule::Plain => self.start.into(),
            StepRule::Improved | StepRule::Given => Start::from(&public.minimum),
        };
        let seen = |_: &RoundTrace| {
            step();
            ControlFlow::Continue(())
        };
        let (objective, federation) = (self.objective, &mut self.federation);
        let outcome = match plan.settings().server {
            StepRule::Given => pf_ld(plan, objective, federation, start, seen),
            StepRule::Plain | StepRule::Improved => train(plan, objective, federation, start, seen),
        };
        let outcome = outcome.map_err(|error| explain(&error))?;
        let (wall_seconds, cpu_seconds) = clock.stop();
        Ok(Trained {
            theta: outcome.theta,
            baseline: public.minimum.theta.clone(),
            rounds: outcome.rounds,
            trips: Some(public.trips + self.federation.trips() - self.fit),
            trace: outcome.trace.into_iter().map(Trace::Round).collect(),
            theorem: outcome.theorem,
            statement: outcome.statement,
            spent: outcome.spent.map(Mu::value),
            signal_to_noise: outcome.signal_to_noise,
            lambda: None,
            one_shot: None,
            wall_seconds,
            cpu_seconds,
        })
    }

    /// Fair models on released classes: one release, one model per lambda, each found from the one
    /// before. Times count the release and the unconstrained model, where all of them start.
    pub(crate) fn path(
        mut self,
        release: Release,
        public: &Public,
        lambdas: &[f64],
    ) -> Result<Vec<Result<Trained, Failure>>, Failure> {
        if let Release::Once(Once { target: Some(target), .. }) = release {
            return Ok(vec![self.target(release, public, target)]);
        }
        let clock = Clock::start();
        let (variance, mut told) = self.release(release, public)?;
        let (wall, cpu) = clock.stop();
        let begin = (
            wall + public.wall_seconds,
            cpu.zip(public.cpu_seconds).map(|(release, public)| release + public),
        );
        let (spent, statement) = self.said();
        let (objective, minimum) = (self.objective, &public.minimum);
        // What all lambdas share; each adds its own.
        let released = public.trips + self.federation.trips() - self.fit;
        let mut path = FairPath::new(&mut self.federation, objective, minimum, variance, OPTIMUM);
        let one = |&lambda: &f64| {
            let clock = Clock::start();
            let before = path.trips();
            let mut trace = public.trace();
            let fair = path.solve(lambda, |round, objective| {
                trace.push(Trace::Fair { round, objective });
                ControlFlow::Continue(())
            });
            let fair = fair.map_err(|error| explain(&error))?;
            let one_shot = told.as_mut().map(|told| told.about(&mut path, &fair.theta));
            let one_shot = one_shot.transpose()?;
            let (wall, cpu) = clock.stop();
            Ok(Trained {
                theta: fair.theta,
                baseline: minimum.theta.clone(),
                rounds: minimum.evaluations + fair.evaluations,
                trips: Some(released + path.trips() - before),
                trace,
                theorem: None,
                statement,
                spent,
                signal_to_noise: None,
                lambda: None,
                one_shot,
                wall_seconds: begin.0 + wall,
                cpu_seconds: begin.1.zip(cpu).map(|(begin, own)| begin + own),
            })
        };
        Ok(lambdas.iter().map(one).collect())
    }
}

impl Ready {
    /// Has the attributes divisions release what training needs. Returns the variance of a
    /// membership, and what a one-shot release tells about the unconstrained model.
    fn release(
        &mut self,
        release: Release,
        public: &Public,
    ) -> Result<(f64, Option<Told>), Failure> {
        match release {
            Release::Classes(release) => {
                self.federation.impute(release).map_err(|error| failed(&error))?;
                let variance = match release {
                    ClassRelease::Revealed => 0.0,
                    ClassRelease::Randomised(response) => response.variance(),
                };
                Ok((variance, None))
            }
            Release::Once(once) => {
                let told = Told::release(&mut self.federation, once, &public.minimum.theta);
                let told = told.map_err(|error| self.name_feature(&error))?;
                Ok((0.0, Some(told)))
            }
        }
    }

    /// What was spent, and what may be said of it.
    fn said(&mut self) -> (Option<f64>, Option<Statement>) {
        (self.federation.spent().map(Mu::value), self.federation.statement())
    }

    /// A refusal to pool names the feature by its number; the user knows it by its column.
    fn name_feature(&self, error: &FederationError) -> Failure {
        if let FederationError::Refused { refused, .. } = error
            && refused.code == RARE_COLUMN
            && let Some(&column) = refused.numbers.first()
            && let Some(name) = self.features.get(column as usize)
        {
            let help = format!(
                "feature column {column} is {name}: merge it with other levels, declare \
                 --secure-aggregation, or leave out --pool"
            );
            return Failure::data("train::pool", error.to_string()).help(help);
        }
        failed(error)
    }

    /// The fair model for a target gap, whose lambda the release chooses.
    fn target(
        mut self,
        release: Release,
        public: &Public,
        target: f64,
    ) -> Result<Trained, Failure> {
        let clock = Clock::start();
        let (variance, told) = self.release(release, public)?;
        let (spent, statement) = self.said();
        let (objective, minimum) = (self.objective, &public.minimum);
        let mut path = FairPath::new(&mut self.federation, objective, minimum, variance, OPTIMUM);
        let Some(told) = told else { return Ok(public.trained()) };
        let mut trace = public.trace();
        let targeted = target_gap(&mut path, told.one_shot(), target, |lambda, estimate| {
            let GapEstimate { gap, standard_error, .. } = estimate;
            trace.push(Trace::Tried { lambda, gap, standard_error });
        });
        let targeted = targeted.map_err(|error| explain(&error))?;
        let trips = Some(public.trips + path.trips() - self.fit);
        let (wall, cpu) = clock.stop();
        Ok(Trained {
            theta: targeted.fair.theta.clone(),
            baseline: minimum.theta.clone(),
            rounds: minimum.evaluations + targeted.fair.evaluations,
            trips,
            trace,
            theorem: None,
            statement,
            spent,
            signal_to_noise: None,
            lambda: Some(targeted.lambda),
            one_shot: Some(told.targeted(&targeted, target)),
            wall_seconds: public.wall_seconds + wall,
            cpu_seconds: public.cpu_seconds.zip(cpu).map(|(public, own)| public + own),
        })
    }
}

impl Public {
    /// As a trained model of its own.
    pub(crate) fn trained(&self) -> Trained {
        Trained {
            theta: self.minimum.theta.clone(),
            baseline: self.minimum.theta.clone(),
            rounds: self.minimum.evaluations,
            trips: Some(self.trips),
            trace: self.trace(),
            theorem: None,
            statement: None,
            spent: None,
            signal_to_noise: None,
            lambda: None,
            one_shot: None,
            wall_seconds: self.wall_seconds,
            cpu_seconds: self.cpu_seconds,
        }
    }

    /// A model that was found from this one since `clock` was started.
    pub(super) fn followed_by(
        &self,
        clock: &Clock,
        theta: Vec<f64>,
        rounds: u32,
        own: Vec<Trace>,
    ) -> Trained {
        let (wall, cpu) = clock.stop();
        let mut trace = self.trace();
        trace.extend(own);
        Trained {
            theta,
            rounds,
            trips: None,
            trace,
            wall_seconds: self.wall_seconds + wall,
            cpu_seconds: self.cpu_seconds.zip(cpu).map(|(public, own)| public + own),
            ..self.trained()
        }
    }

    fn trace(&self) -> Vec<Trace> {
        let evaluation = |&(round, loss): &(u32, f64)| Trace::Evaluation { round, loss };
        self.trace.iter().map(evaluation).collect()
    }
}

/// Trains the unconstrained model and, unless it is all that was asked for, the fair one.
pub(crate) fn run(
    config: &TrainConfig,
    prepared: &Prepared,
    schema: &Schema,
    holdings: Holdings,
    progress: &Progress,
) -> Result<Trained, Failure> {
    let mut ready = Ready::new(config, schema, &prepared.model, holdings)?;
    progress.task("Training the unconstrained model");
    let public = ready.unconstrained()?;
    let lambdas = [config.lambda];
    if let Some(mut own) = ready.baseline(config, prepared.published.as_ref(), &public, &lambdas)? {
        return own.pop().unwrap_or_else(|| Ok(public.trained()));
    }
    if let Some(release) = config.class_release(schema.classes().len())? {
        progress.task("Training the fair model");
        let mut path = ready.path(release, &public, &lambdas)?;
        return path.pop().unwrap_or_else(|| Ok(public.trained()));
    }
    if let Some(federated) = &prepared.federated {
        progress.steps("Training the federated model", federated.rounds() as usize);
        return ready.federate(federated, &public, || progress.step());
    }
    let Some(plan) = &prepared.plan else { return Ok(public.trained()) };
    progress.steps("Training the fair model", plan.rounds() as usize);
    ready.descend(plan, &public, || progress.step())
}

/// Numeric columns, then `column = level`, in the order of the features.
fn feature_names(schema: &Schema) -> Vec<String> {
    let numeric = schema.numeric().iter().map(|column| column.name.clone());
    let levels = schema
        .categorical()
        .iter()
        .flat_map(|column| column.levels.iter().map(|level| format!("{} = {level}", column.name)));
    numeric.chain(levels).collect()
}

/// A budget that does not allow it has a status of its own.
pub(super) fn failed(error: &FederationError) -> Failure {
    if let FederationError::Refused { refused, .. } = error
        && let Some(code) = Refusal::CODES_OF_BUDGET.iter().find(|code| **code == refused.code)
    {
        let help = "a store's budget is for its life: every run, method and lambda on the same \
                    records adds up; ask for less, or end here";
        return Failure::budget(code, error.to_string()).help(help);
    }
    Failure::data("train::failed", error.to_string())
}

fn explain(error: &TrainError) -> Failure {
    match error {
        TrainError::Federation(error) => failed(error),
        TrainError::Diverged(_) => Failure::data("train::diverged", error.to_string()),
        _ => Failure::data("train::failed", error.to_string()),
    }
}

/// Equal runs have equal ids: a simulation has no need for a fresh one.
fn run_id(schema: &[u8; 32], seed: u64) -> RunId {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&schema[..8]);
    id[8..].copy_from_slice(&seed.to_le_bytes());
    RunId(id)
}

#[cfg(test)]
mod tests {
    use steffle_privacy::ledger::Pot;

    use super::*;
    use crate::failure::Status;

    #[test]
    fn a_spent_budget_has_a_status_and_a_code_of_its_own() {
        let refusal = Refusal::Budget {
            pot: Pot::Gaussian,
            spent: 0.18,
            asked: 0.18,
            left: 0.0,
            epsilon: 1.0,
            delta: 1e-9,
        };
        let refused = |silo: usize, refusal: Refusal| FederationError::Refused {
            silo,
            refused: refusal.into(),
        };
        let failure = explain(&TrainError::Federation(refused(1, refusal)));
        assert_eq!(failure.status, Status::Budget);
        assert_eq!(failure.code, "steffle::ledger::budget");
        for word in ["silo 1", "spent", "asked", "left", "epsilon 1"] {
            assert!(failure.message.contains(word), "{}", failure.message);
        }
        let other = failed(&refused(0, Refusal::Kind));
        assert_eq!(other.status, Status::Data);
    }
}
