//! The steps of Algorithm 1 and of what shares its engine: how many, how long, on what.

use steffle::server::{Found, Output, Rates};
use steffle::train::{
    RoundTrace, Schedule, ScheduleError, Settings, Start, StepRule, needed, probe, train,
};
use steffle_baselines::pf_ld;
use steffle_privacy::Mu;

use super::{BatchSize, Entry, Given, Mode, Noise, Reason, ServerKind, Training, Written};
use crate::Error;
use crate::clock::Clock;
use crate::fairer::Fairer;
use crate::ground::{explain, failed};
use crate::observer::{Stage, Told, Watch};
use crate::trained::{Trace, Trained};

/// The settings of the steps.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Steps {
    /// Absent until the data is seen.
    pub(crate) length: Option<Length>,
    /// Absent until the data is seen.
    pub(crate) batch: Option<BatchSize>,
    pub(crate) server: ServerKind,
    /// Absent with the improved server.
    pub(crate) rates: Option<StepSizes>,
    pub(crate) output: Output,
    /// What was checked against the data.
    plan: Option<Schedule>,
}

/// The step sizes of the plain server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StepSizes {
    pub(crate) theta: f64,
    pub(crate) dual: f64,
}

/// How long to train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Rounds(u32),
    Epochs(u32),
}

/// The paper's batch size and number of epochs.
const USUAL_BATCH: usize = 256;
const USUAL_EPOCHS: u32 = 40;

/// Rounds of the improved server: 8 to 100 are equally good, because messages are averaged.
const FULL_ROUNDS: u32 = 25;

/// Rounds on secret batches.
const SAMPLED_ROUNDS: u32 = 200;

/// On few records 40 epochs are too few steps to come near the optimum.
const LEAST_ROUNDS: u32 = 1000;

impl Steps {
    /// What was said, with these step sizes where none were.
    pub(crate) fn read(given: &Given, server: ServerKind, usual: StepSizes) -> Result<Self, Error> {
        let rounds = given.count("rounds")?.map(Length::Rounds);
        let epochs = given.count("epochs")?.map(Length::Epochs);
        let keys = ["lr-theta", "lr-dual"];
        if server == ServerKind::Improved
            && let Some(key) = keys.iter().find(|key| given.has(key))
        {
            let message =
                format!("the improved server has no {key}: its steps follow the curvature");
            return Err(Error::conflict(key, message).with_help("add <server plain>"));
        }
        let (theta, dual) = (given.positive("lr-theta")?, given.positive("lr-dual")?);
        let sizes =
            StepSizes { theta: theta.unwrap_or(usual.theta), dual: dual.unwrap_or(usual.dual) };
        Ok(Self {
            length: rounds.or(epochs),
            batch: given.batch()?,
            server,
            rates: (server != ServerKind::Improved).then_some(sizes),
            output: given
                .explained("output")?
                .unwrap_or(Settings::of(steffle::train::Mode::None).output),
            plan: None,
        })
    }

    /// The server of Algorithm 1 in a mode.
    pub(crate) fn server(entry: &Entry, given: &Given, mode: Mode) -> Result<ServerKind, Error> {
        let server = given.word("server")?;
        if server == Some(ServerKind::LagrangianDual) {
            let message = format!("method {} has no server lagrangian-dual", entry.name);
            return Err(Error::conflict("server", message).with_help("use <method pf-ld>"));
        }
        let server = server.unwrap_or(match mode {
            Mode::Paper => ServerKind::Plain,
            Mode::Exact | Mode::Poisson | Mode::None => ServerKind::Improved,
        });
        if mode == Mode::Paper && server == ServerKind::Improved {
            let message = "mode paper is Algorithm 1 as printed, with its own steps";
            return Err(Error::conflict("server", message).with_help("leave <server> out"));
        }
        Ok(server)
    }

    /// Step sizes of Algorithm 1 that serve for most data.
    pub(crate) fn usual_sizes(given: &Given) -> Result<StepSizes, Error> {
        let usual = Settings::of(steffle::train::Mode::None);
        let lambda = given.number("lambda", 0.0.., "a finite number, 0 or more")?;
        // The ascent moves by lambda times this; above 1 it would oscillate.
        let dual = usual.rates.dual / lambda.unwrap_or(usual.lambda).max(1.0);
        Ok(StepSizes { theta: usual.rates.theta, dual })
    }

    /// Batch and length of Algorithm 1 for silos of these sizes, where none were said.
    pub(crate) fn settle(&mut self, mode: Mode, sizes: &[usize]) {
        let smallest = sizes.iter().copied().min().unwrap_or_default();
        let largest = sizes.iter().copied().max().unwrap_or_default();
        let few = USUAL_BATCH.min(smallest) as u32;
        let usual = match (mode, self.server) {
            (Mode::Poisson, _) => BatchSize::Records(few),
            (Mode::Exact, _) | (Mode::None, ServerKind::Improved) => BatchSize::All,
            _ if largest <= USUAL_BATCH => BatchSize::All,
            _ => BatchSize::Records(few),
        };
        let batch = *self.batch.get_or_insert(usual);
        let usual = match (mode, self.server, batch) {
            (Mode::Poisson, ..) => Length::Rounds(SAMPLED_ROUNDS),
            (Mode::Exact, _, BatchSize::Records(_)) => Length::Epochs(FULL_ROUNDS),
            (Mode::Exact, ServerKind::Plain, _) => Length::Rounds(4 * FULL_ROUNDS),
            (_, ServerKind::Improved, _) => Length::Rounds(FULL_ROUNDS),
            (Mode::Paper, ..) => Length::Epochs(USUAL_EPOCHS),
            (_, _, BatchSize::All) => Length::Rounds(LEAST_ROUNDS),
            (_, _, BatchSize::Records(size)) => {
                let per_epoch = (largest as u32).div_ceil(size.max(1));
                Length::Rounds(LEAST_ROUNDS.max(USUAL_EPOCHS.saturating_mul(per_epoch)))
            }
        };
        self.length.get_or_insert(usual);
    }

    /// Checks them against silos of these sizes.
    pub(crate) fn check(
        &mut self,
        lambda: f64,
        mode: steffle::train::Mode,
        sizes: &[usize],
    ) -> Result<(), Error> {
        let mut rates = Settings::of(steffle::train::Mode::None).rates;
        if let Some(StepSizes { theta, dual }) = self.rates {
            rates = Rates { theta, dual, ..rates };
        }
        let settings = Settings {
            lambda,
            mode,
            length: match self.length.unwrap_or(Length::Epochs(USUAL_EPOCHS)) {
                Length::Rounds(rounds) => steffle::train::Length::Rounds(rounds),
                Length::Epochs(epochs) => steffle::train::Length::Epochs(epochs),
            },
            batch: match self.batch {
                Some(BatchSize::Records(records)) => Some(records),
                Some(BatchSize::All) | None => None,
            },
            server: match self.server {
                ServerKind::Improved => StepRule::Improved,
                ServerKind::Plain => StepRule::Plain,
                ServerKind::LagrangianDual => StepRule::Given,
            },
            rates,
            output: self.output,
        };
        self.plan = Some(settings.check(sizes).map_err(|error| refused(&error))?);
        Ok(())
    }

    /// What was checked; a mistake of ours if nothing was.
    pub(crate) fn plan(&self) -> Result<&Schedule, Error> {
        self.plan.as_ref().ok_or_else(|| Error::bug("steps were not checked against the data"))
    }

    /// Rounds, once they are checked.
    pub(crate) fn rounds(&self) -> Option<u32> {
        self.plan.as_ref().map(Schedule::rounds)
    }

    /// What is allowed but will not work well.
    pub(crate) fn warnings(&self, labels: usize) -> Vec<String> {
        self.plan.iter().flat_map(|plan| plan.warnings(labels)).collect()
    }

    /// Their lines.
    pub(crate) fn write(&self, written: &mut Written) {
        let steps = &mut written.steps;
        steps.extend(self.length.map(|length| match length {
            Length::Rounds(rounds) => ("rounds", rounds.into()),
            Length::Epochs(epochs) => ("epochs", epochs.into()),
        }));
        steps.extend(self.batch.map(|batch| ("batch", batch.into())));
        steps.push(("server", self.server.to_string().into()));
        if let Some(StepSizes { theta, dual }) = self.rates {
            steps.extend([("lr-theta", theta.into()), ("lr-dual", dual.into())]);
        }
        steps.push(("output", self.output.to_string().into()));
    }

    /// The model that they lead to.
    pub(crate) fn train(&self, run: Training<'_>) -> Result<Trained, Error> {
        let Training { mut ground, public, .. } = run;
        let plan = self.plan()?;
        let watch = Watch::new(ground.observer, Stage::Fair, Some(plan.rounds()));
        let clock = Clock::start();
        // Whoever starts at the unconstrained model has to find it first.
        let (mut start, begin) = match plan.settings().server {
            StepRule::Plain => (ground.start.clone().into(), None),
            StepRule::Improved | StepRule::Given => {
                (Start::from(&public.minimum), Some(public.took))
            }
        };
        let step = |seen: &RoundTrace| match seen.loss {
            Some(loss) => watch.tell(Told { loss, penalised: false, epsilon: seen.epsilon }),
            None => watch.step(),
        };
        if ground.study.is_elsewhere() {
            ground.federation.ask_for_losses();
        }
        let (objective, federation) = (ground.objective, &mut ground.federation);
        if plan.settings().server == StepRule::Improved && public.minimum.found == Found::Passes {
            let probed = probe(federation, start.theta.clone()).map_err(|error| failed(&error))?;
            start.curvature = Some(probed);
        }
        let outcome = match plan.settings().server {
            StepRule::Given => pf_ld(plan, objective, federation, start, step),
            StepRule::Plain | StepRule::Improved => train(plan, objective, federation, start, step),
        };
        let outcome = watch.end(outcome.map_err(|error| explain(&error)))?;
        Ok(Trained {
            theta: outcome.theta,
            rounds: outcome.rounds,
            trips: Some(ground.trips(public)),
            trace: outcome.trace.into_iter().map(Trace::Round).collect(),
            theorem: outcome.theorem,
            statement: outcome.statement,
            spent: outcome.spent.map(Mu::value),
            signal_to_noise: outcome.signal_to_noise,
            evidence: outcome.evidence.map(|shown| Fairer::new(shown, needed(objective))),
            unchanged: outcome.unchanged,
            took: begin.map_or_else(|| clock.stop(), |begin| begin.and(clock.stop())),
            apart: begin.is_none().then_some(public.took),
            ..public.trained()
        })
    }
}

/// Settings that the data does not allow.
fn refused(error: &ScheduleError) -> Error {
    let code = match error {
        ScheduleError::Batch { .. } => "config::batch",
        ScheduleError::Rounds(_) => "config::rounds",
        ScheduleError::Lambda(_) => "config::lambda",
        _ => "config::settings",
    };
    let refused = Error::data(code, error.to_string());
    match error {
        ScheduleError::Batch { .. } => refused.with_help("lower <batch>, or use <batch all>"),
        _ => refused,
    }
}

/// Why a method has no steps, if `key` is about steps.
pub(crate) fn goes_to_its_optimum(entry: &Entry, key: &str) -> Option<Reason> {
    let steps = ["server", "rounds", "epochs", "batch", "lr-theta", "lr-dual", "output"];
    steps.contains(&key).then(|| {
        let message = format!("method {} goes to its optimum and has no {key}", entry.name);
        (message, "leave it out, or use steffle")
    })
}

/// Says so where noise decides what a private run does.
pub(crate) fn judge_messages(trained: &mut Trained, noise: Option<&Noise>) {
    let (Some(noise), Some(ratio)) = (noise, trained.signal_to_noise) else { return };
    if let Some(fairer) = trained.evidence {
        judge_tables(trained, noise, fairer);
        return;
    }
    trained.judge(Fairer::new(ratio, 1.0), || {
        // Energy goes with the square of epsilon; a ratio that cannot be told from 0 is taken as 1/16.
        let enough = noise.epsilon / ratio.max(0.0625).sqrt();
        format!(
            "Noise makes up {:.0} % of what the silos' messages say about the sensitive attribute. \
             Expect little or no fairness gain below epsilon {enough:.2} on this many records; use \
             method one-shot, more records or fewer features",
            100.0 / (1.0 + ratio.max(0.0))
        )
    });
}

/// The same where the server keeps book of what the tables tell.
fn judge_tables(trained: &mut Trained, noise: &Noise, fairer: Fairer) {
    trained.judge(fairer, || {
        let Fairer { evidence, threshold, .. } = fairer;
        // Evidence goes with the square of epsilon; noise alone is 1.
        let enough = noise.epsilon * (threshold / evidence.max(1.0)).sqrt();
        format!(
            "All tables together show {evidence:.1} times what noise alone would show of the groups' \
             differences. Expect little or no fairness gain below epsilon {enough:.2} on this many \
             records; use method one-shot, more records or larger groups"
        )
    });
    if trained.unchanged {
        trained.warnings.push(
            "the unconstrained model is returned: one that follows these messages would follow \
             their noise, and might be less fair"
                .to_owned(),
        );
    }
}

#[cfg(test)]
mod tests;
