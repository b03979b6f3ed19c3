//! `steffle train`.

mod metrics;
mod plan;
mod private;
mod report;
mod study;

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::ArgMatches;
use steffle_front::{Bootstrap, Divided, Library, Observer, Plan, Report, Stage, Told};

use self::metrics::Metrics;
pub(crate) use self::metrics::MetricsReport;
use self::plan::Preview;
pub(crate) use self::private::{LedgerReport, report as ledger_report};
pub(crate) use self::report::{Cells, TrainReport, WITHOUT_GROUPS};
use self::study::study;
use crate::args::TrainCommand;
use crate::commands::ledger::store_columns;
use crate::config::{Origins, TrainConfig};
use crate::failure::Failure;
use crate::run_dir::{Destination, model_card, run_page};
use crate::ui::{Output, Progress};

/// Who carries messages to parties that are not in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Carried {
    /// This program, where there are such parties.
    Here,
    /// Somebody else, who is at the other end of standard input and output, for a job that was submitted.
    Relay {
        /// The file of the server's owner.
        lead: PathBuf,
    },
}

pub(crate) fn train(
    mut command: TrainCommand,
    typed: &ArgMatches,
    output: Output,
    carried: Carried,
) -> Result<(), Failure> {
    let (dry_run, force, explain) = (command.dry_run, command.force, command.explain);
    let ledger = command.ledger.clone();
    let share = command.metrics_share;
    private::secret(&mut command)?;
    let lead = match carried {
        Carried::Here => None,
        Carried::Relay { lead } => Some(lead),
    };
    let (mut config, origins) = TrainConfig::from_command(command, typed, lead)?;
    // A run that is only planned may be paid from a ledger that is still to be made.
    let there = ledger.as_deref().filter(|path| !dry_run || path.exists());
    config.store = there.map(store_columns).transpose()?;
    set_threads(config.threads)?;
    let reserve = || Destination::reserve(config.out.as_deref(), &config.name(), force);
    // Reserved first: a run that cannot be written down is not worth its time.
    let destination = if dry_run { None } else { Some(reserve()?) };
    let progress = Progress::start("Reading data");
    let study = study(&config, &origins, &Library::default())?;
    if dry_run && ledger.is_some() {
        private::announce(&study)?;
    }
    let plan = config.method.plan(&study).map_err(|error| origins.explain(error))?;
    config.settle(&plan);
    let divided = share.map(|share| plan.divided(share)).transpose();
    let (plan, divided) = match divided.map_err(|error| origins.explain(error))? {
        Some((training, divided)) => (training, Some(divided)),
        None => (plan, None),
    };
    let Some(destination) = destination else {
        drop(progress);
        let preview = Preview::new(&config, &plan, divided.as_ref());
        return output.result(&preview, &preview.text(&toml(&config)?, output));
    };
    if let Some(path) = config.journal.as_deref().filter(|_| !study.is_elsewhere()) {
        study.keep_journal(path)?;
    }
    let mut metrics = None;
    let paid = if let Some(path) = &ledger {
        let run = private::run_id(&config, &study, share)?;
        if let Some(divided) = divided {
            metrics = Some(Metrics::reserve(divided, &plan, run, path, output)?);
        }
        let also = metrics.as_ref().map(Metrics::run);
        let tested = metrics.as_ref().map(Metrics::tested).unwrap_or_default();
        private::open(path, run, also, &study, &tested, output)?;
        Some((path.as_path(), run))
    } else {
        // Sites have books of their own.
        if !study.is_elsewhere() {
            private::warn(plan.privacy(), output);
        }
        None
    };
    let report = execute(&config, &plan, (paid, metrics, divided), destination, &progress)?;
    drop(progress);
    plan.study().end_journal()?;
    output.result(&report, &report.text(explain, output))
}

/// The books and the run's name in them, metrics that a share is set aside for, and how the budget is
/// divided then.
type Payment<'a> = (Option<(&'a Path, [u8; 16])>, Option<Metrics<'a>>, Option<Divided>);

/// Trains, measures and writes the run directory.
fn execute(
    config: &TrainConfig,
    plan: &Plan,
    (paid, metrics, divided): Payment<'_>,
    destination: Destination,
    progress: &Progress,
) -> Result<TrainReport, Failure> {
    let shown = Shown { progress, lines: config.lead.is_some(), so_far: Mutex::default() };
    let (model, min_group) = (plan.train(&shown)?, config.min_group());
    progress.task("Measuring");
    let bootstrap = Bootstrap { seed: config.seed, ..Bootstrap::default() };
    let baseline = unconstrained(config, plan, &model, Some(bootstrap))?;
    let path = destination.path();
    let mut report = TrainReport::new(config, plan, &model, baseline, Some(bootstrap), path)?;
    if let Some((book, run)) = paid {
        report.ledger = Some(private::report(book, &run)?);
    }
    if let (Some(metrics), Some(divided)) = (metrics, divided) {
        progress.task("Buying metrics");
        report.privacy = divided.said(&report.privacy);
        report.metrics = Some(metrics.buy(&model, min_group)?);
    }
    let config = toml(config)?;
    let mut files = model.files(&report)?;
    files.push(("config.toml", config.clone().into_bytes()));
    let card = model_card(&report, plan.study().schema(), &config);
    files.push(("MODEL_CARD.md", card.into_bytes()));
    files.push(("report.html", run_page(&report)?.into_bytes()));
    destination.write(&files)?;
    Ok(report)
}

/// Runs that differ in lambda alone, for a sweep: their data is loaded once, and what they have in
/// common is computed once. The outcomes are in the order of `lambdas`.
pub(super) fn train_family(
    mut config: TrainConfig,
    origins: &Origins,
    lambdas: &[f64],
    library: &Library,
    run_dir: &Path,
) -> Result<Vec<Result<TrainReport, Failure>>, Failure> {
    let study = study(&config, origins, library)?;
    let plan = config.method.plan(&study).map_err(|error| origins.explain(error))?;
    config.settle(&plan);
    let models = plan.train_path(lambdas, &())?;
    let mut baseline = None;
    let mut report = |model: Result<_, steffle_front::Error>| {
        let model = model?;
        let compared = match &baseline {
            Some(baseline) => Report::clone(baseline),
            None => baseline.insert(unconstrained(&config, &plan, &model, None)?).clone(),
        };
        TrainReport::new(&config, &plan, &model, compared, None, run_dir)
    };
    Ok(models.into_iter().map(&mut report).collect())
}

/// What the unconstrained model does on the test rows.
fn unconstrained(
    config: &TrainConfig,
    plan: &Plan,
    model: &steffle_front::Model,
    bootstrap: Option<Bootstrap>,
) -> Result<Report, Failure> {
    let unconstrained = model.unconstrained();
    let unconstrained = unconstrained.ok_or_else(|| Failure::bug("a trained model was loaded"))?;
    let test = plan.measurable(plan.study().test());
    Ok(unconstrained.judge_by(&test, bootstrap, config.min_group())?.report)
}

/// Training on the line of progress; where nobody looks at a terminal, on lines of their own.
struct Shown<'a> {
    progress: &'a Progress,
    lines: bool,
    so_far: Mutex<SoFar>,
}

/// What is being done, how many steps of it are done, of how many, and what the last one told.
#[derive(Default)]
struct SoFar {
    task: &'static str,
    done: u32,
    of: Option<u32>,
    told: Option<Told>,
}

impl fmt::Display for SoFar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.task, self.done)?;
        self.of.iter().try_for_each(|of| write!(f, " of {of}"))?;
        let Some(Told { loss, penalised, epsilon, .. }) = self.told else { return Ok(()) };
        write!(f, ", {} {loss:.4}", if penalised { "penalised loss" } else { "loss" })?;
        epsilon.iter().try_for_each(|epsilon| {
            write!(f, ", epsilon {} spent", steffle_privacy::rounding::up(*epsilon, 4))
        })
    }
}

impl Shown<'_> {
    fn line(&self, change: impl FnOnce(&mut SoFar)) {
        let mut so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut so_far);
        if self.lines {
            eprintln!("progress: {so_far}");
        }
    }
}

impl Observer for Shown<'_> {
    fn begin(&self, stage: Stage, steps: Option<u32>) {
        let task = match stage {
            Stage::Unconstrained => "Training the unconstrained model",
            Stage::Federated => "Training the federated model",
            _ => "Training the fair model",
        };
        self.line(|line| *line = SoFar { task, of: steps, ..SoFar::default() });
        match steps {
            Some(steps) => self.progress.steps(task, steps as usize),
            None => self.progress.task(task),
        }
    }

    fn told(&self, told: Told) {
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner).told = Some(told);
    }

    fn step(&self) -> ControlFlow<()> {
        self.line(|line| line.done += 1);
        self.progress.step();
        ControlFlow::Continue(())
    }
}

fn set_threads(threads: Option<usize>) -> Result<(), Failure> {
    let Some(threads) = threads else { return Ok(()) };
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(|error| {
        Failure::usage("config::threads", format!("--threads {threads} is refused: {error}"))
    })
}

fn toml(config: &TrainConfig) -> Result<String, Failure> {
    toml::to_string(config).map_err(|error| Failure::bug(error.to_string()))
}
