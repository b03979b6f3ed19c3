//! `steffle train`.

mod baselines;
mod clock;
mod federated;
mod leaves;
mod load;
mod one_shot;
mod plan;
mod privacy;
mod report;
mod run;
mod shared;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use clap::ArgMatches;
use steffle::metrics::{Bootstrap, Report};
use steffle::model::{Classifier, ModelKind, Point};
use steffle::train::{Plan, PlanError};
use steffle_baselines::Published;
use steffle_data::Schema;
use steffle_privacy::ledger::statement;

use self::federated::federated_privacy;
pub(crate) use self::leaves::without_noise;
use self::leaves::{Leaves, in_words, leaves};
use self::load::{HeldOut, Holdings, Loaded, load};
use self::plan::Preview;
use self::privacy::{About, PrivacyReport, offer, privacy};
use self::report::RowCounts;
pub(crate) use self::report::TrainReport;
pub(super) use self::run::Public;
use self::run::{Ready, Trained, run};
pub(super) use self::shared::Shared;
use super::judge::judge;
use crate::args::TrainCommand;
use crate::config::{Centralisation, FederatedPlan, Method, Origins, Sign, TrainConfig};
use crate::failure::Failure;
use crate::run_dir::{Contents, Destination, Metadata, hexadecimal, model_card};
use crate::ui::{Output, Progress};

pub(crate) fn train(
    command: TrainCommand,
    typed: &ArgMatches,
    output: Output,
) -> Result<(), Failure> {
    let (dry_run, force) = (command.dry_run, command.force);
    let (mut config, origins) = TrainConfig::from_command(command, typed)?;
    set_threads(config.threads)?;
    let reserve = || Destination::reserve(config.out.as_deref(), &config.name(), force);
    // Reserved first: a run that cannot be written down is not worth its time.
    let destination = if dry_run { None } else { Some(reserve()?) };
    let progress = Progress::start("Reading data");
    let loaded = load(&config, &origins, &Shared::default())?;
    let sizes = loaded.holdings.sizes();
    config.settle(loaded.schema.labels().len(), &sizes, loaded.centralisation);
    let prepared = Prepared::new(&config, &loaded, &sizes)?;
    let Some(destination) = destination else {
        drop(progress);
        return show_plan(&config, &loaded, &prepared, output);
    };
    let report = execute(&config, loaded, &prepared, destination, &progress)?;
    drop(progress);
    output.result(&report, &report.text(output))
}

/// What is known before anything is computed.
struct Prepared {
    model: Arc<dyn Classifier>,
    /// Absent for methods that go to an optimum.
    plan: Option<Plan>,
    /// Of PF-LD with signs of batches.
    published: Option<Published>,
    /// Of methods whose silos train by themselves.
    federated: Option<FederatedPlan>,
    /// What will be said about privacy, if the run does what it offers.
    privacy: PrivacyReport,
    about: About,
    leaves: Vec<Leaves>,
    rows: RowCounts,
    silo_rows: Vec<usize>,
    warnings: Vec<String>,
}

impl Prepared {
    /// Checks the settings against the data.
    fn new(config: &TrainConfig, loaded: &Loaded, sizes: &[usize]) -> Result<Self, Failure> {
        let schema = &loaded.schema;
        fits(config, schema.labels().len())?;
        let kind = config.model.as_ref().unwrap_or(&ModelKind::Softmax);
        let model = kind.build(schema.layout(), schema.labels().len());
        let model = model.map_err(|e| Failure::data("config::model", e.to_string()))?;
        let plan = config.settings()?.map(|settings| settings.check(sizes)).transpose();
        let plan = plan.map_err(|error| refuse(&error))?;
        let (holdings, classes) = (&loaded.holdings, schema.classes().len());
        let published = config.published(sizes.iter().sum())?;
        let federated = config.federated;
        let federated = federated.map(|own| own.to_core(config.mode, config.lambda, sizes));
        let federated = federated.transpose()?;
        let about = About::new(holdings, classes, loaded.largest_unit);
        let mut privacy = if let Some(plan) = &federated {
            federated_privacy(config.mode, plan, loaded.largest_unit)?
        } else {
            let offer = offer(config, plan.as_ref(), &about, model.blocks().len())?;
            let said = statement(&offer, &[]);
            privacy(config, plan.as_ref(), published.as_ref(), &about, &said)
        };
        let leaves = leaves(config, schema, holdings, model.parameters());
        privacy.statement += &in_words(config.method, &leaves);
        let labels = schema.labels().len();
        let mut warnings = loaded.warnings.clone();
        warnings.extend(plan.iter().flat_map(|plan| plan.warnings(labels)));
        Ok(Self {
            model: Arc::from(model),
            plan,
            published,
            federated,
            privacy,
            about,
            leaves,
            rows: RowCounts {
                train: sizes.iter().sum(),
                validation: loaded.validation.as_ref().map_or(0, |held| held.records.len()),
                test: loaded.test.records.len(),
                dropped: loaded.dropped,
                dropped_for: loaded.missing.clone(),
            },
            silo_rows: sizes.to_vec(),
            warnings,
        })
    }
}

fn show_plan(
    config: &TrainConfig,
    loaded: &Loaded,
    prepared: &Prepared,
    output: Output,
) -> Result<(), Failure> {
    let plan = Preview::new(config, loaded, prepared);
    output.result(&plan, &plan.text(&toml(config)?, output))
}

/// Trains, measures and writes the run directory.
fn execute(
    config: &TrainConfig,
    loaded: Loaded,
    prepared: &Prepared,
    destination: Destination,
    progress: &Progress,
) -> Result<TrainReport, Failure> {
    let (holdings, facts) = Facts::new(loaded, prepared);
    let schema = &facts.schema;
    let trained = run(config, prepared, schema, holdings, progress)?;
    progress.task("Measuring");
    let bootstrap = Bootstrap { seed: config.seed, ..Bootstrap::default() };
    let baseline = facts.measure(config, &facts.test, &trained.baseline, Some(bootstrap))?;
    let report = facts.report(config, &trained, baseline, Some(bootstrap), destination.path())?;
    let Trained { theta, trace, .. } = &trained;
    let config_text = toml(config)?;
    destination.write(&Contents {
        metadata: &metadata(config, &report, schema),
        theta,
        schema,
        config: &config_text,
        metrics: &report,
        trace,
        card: &model_card(&report, schema, &config_text),
    })?;
    Ok(report)
}

/// All that a report needs besides the trained model.
struct Facts<'a> {
    prepared: &'a Prepared,
    schema: Schema,
    centralisation: Centralisation,
    attributes_holders: usize,
    test: Arc<HeldOut>,
    validation: Option<Arc<HeldOut>>,
}

impl<'a> Facts<'a> {
    /// Parts what nodes hold from what is known about it.
    fn new(loaded: Loaded, prepared: &'a Prepared) -> (Holdings, Self) {
        let Loaded { schema, centralisation, holdings, test, validation, .. } = loaded;
        let attributes_holders = holdings.attributes_holders();
        let facts = Self { prepared, schema, centralisation, attributes_holders, test, validation };
        (holdings, facts)
    }

    /// The metrics of a model on held-out rows.
    fn measure(
        &self,
        config: &TrainConfig,
        held: &HeldOut,
        theta: &[f64],
        bootstrap: Option<Bootstrap>,
    ) -> Result<Report, Failure> {
        let HeldOut { records, groups } = held;
        let model = self.prepared.model.as_ref();
        let probabilities = Point::new(model, theta).probabilities(records.rows());
        judge(&self.schema, &config.notion, records, groups, &probabilities, bootstrap)
    }

    /// What the run may say about privacy: from what was released, where stores released something.
    fn privacy(&self, config: &TrainConfig, trained: &Trained) -> PrivacyReport {
        let Prepared { plan, published, about, leaves, .. } = self.prepared;
        let Some(said) = &trained.statement else { return self.prepared.privacy.clone() };
        let mut report = privacy(config, plan.as_ref(), published.as_ref(), about, said);
        report.statement += &in_words(config.method, leaves);
        report
    }

    fn report(
        &self,
        config: &TrainConfig,
        trained: &Trained,
        baseline: Report,
        bootstrap: Option<Bootstrap>,
        run_dir: &Path,
    ) -> Result<TrainReport, Failure> {
        let Self { prepared, schema, .. } = self;
        let measure = |held: &HeldOut| self.measure(config, held, &trained.theta, bootstrap);
        let mut warnings = prepared.warnings.clone();
        warnings.extend(trained.signal_to_noise.and_then(|ratio| weak_signal(config, ratio)));
        warnings.extend(trained.one_shot.iter().flat_map(|told| told.warnings.clone()));
        Ok(TrainReport {
            method: config.method,
            mode: config.mode.to_string(),
            data: config.data.clone().unwrap_or_else(|| config.name()),
            model: config.model.as_ref().map_or_else(String::new, ToString::to_string),
            notion: config.notion.to_string(),
            centralisation: self.centralisation.to_string(),
            features: schema.layout().features,
            parameters: prepared.model.parameters(),
            labels: schema.labels().to_vec(),
            favourable: schema.labels()[usize::from(schema.favourable())].clone(),
            rows: prepared.rows.clone(),
            silos: prepared.silo_rows.len(),
            silo_rows: prepared.silo_rows.clone(),
            attributes_holders: self.attributes_holders,
            lambda: trained.lambda.unwrap_or(config.lambda),
            surrogate_sharpness: config.surrogate_sharpness,
            rounds: trained.rounds,
            rounds_on_the_wire: trained.trips,
            seed: config.seed,
            test: measure(&self.test)?,
            validation: self.validation.as_deref().map(measure).transpose()?,
            baseline,
            privacy: self.privacy(config, trained),
            leaves_in_clear: prepared.leaves.clone(),
            noise: trained.theorem,
            spent_mu: trained.spent,
            signal_to_noise: trained.signal_to_noise,
            one_shot: trained.one_shot.clone(),
            warnings,
            cpu_seconds: trained.cpu_seconds,
            wall_seconds: trained.wall_seconds,
            run_dir: run_dir.to_path_buf(),
        })
    }
}

/// Runs that differ in lambda alone, for a sweep: their data is loaded once, and what they have in
/// common is computed once. `public` gives the unconstrained model, or has it computed and keeps
/// it for others. The outcomes are in the order of `lambdas`.
pub(super) fn train_family(
    mut config: TrainConfig,
    origins: &Origins,
    lambdas: &[f64],
    shared: &Shared,
    public: impl FnOnce(&mut dyn FnMut() -> Result<Public, Failure>) -> Result<Arc<Public>, Failure>,
    run_dir: &Path,
) -> Result<Vec<Result<TrainReport, Failure>>, Failure> {
    let loaded = load(&config, origins, shared)?;
    let sizes = loaded.holdings.sizes();
    config.settle(loaded.schema.labels().len(), &sizes, loaded.centralisation);
    let prepared = Prepared::new(&config, &loaded, &sizes)?;
    let (holdings, facts) = Facts::new(loaded, &prepared);
    let mut ready = Ready::new(&config, &facts.schema, &prepared.model, holdings)?;
    let public = public(&mut || ready.unconstrained())?;
    let baseline = facts.measure(&config, &facts.test, &public.minimum.theta, None)?;
    let release = config.class_release(facts.schema.classes().len())?;
    let baseline_models = ready.baseline(&config, prepared.published.as_ref(), &public, lambdas)?;
    let trained = match (baseline_models, release, &prepared.plan) {
        (Some(models), ..) => models,
        (None, Some(release), _) => ready.path(release, &public, lambdas)?,
        (None, None, Some(plan)) => vec![ready.descend(plan, &public, || {})],
        (None, None, None) => vec![match &prepared.federated {
            Some(federated) => ready.federate(federated, &public, || {}),
            None => Ok(public.trained()),
        }],
    };
    let report = |(trained, &lambda): (Result<Trained, Failure>, &f64)| {
        let config = TrainConfig { lambda, ..config.clone() };
        facts.report(&config, &trained?, baseline.clone(), None, run_dir)
    };
    Ok(trained.into_iter().zip(lambdas).map(report).collect())
}

fn metadata(config: &TrainConfig, report: &TrainReport, schema: &Schema) -> Metadata {
    let PrivacyReport { kind, epsilon, delta, adjacency, holds, .. } = &report.privacy;
    let mut facts: BTreeMap<&str, String> = BTreeMap::from([
        ("method", report.method.to_string()),
        ("mode", report.mode.clone()),
        ("lambda", report.lambda.to_string()),
        ("seed", report.seed.to_string()),
        ("privacy", (*kind).to_owned()),
        ("privacy_holds", holds.to_string()),
    ]);
    facts.extend(adjacency.map(|adjacency| ("adjacency", adjacency.to_owned())));
    facts.extend(epsilon.map(|epsilon| ("epsilon", epsilon.to_string())));
    facts.extend(delta.map(|delta| ("delta", delta.to_string())));
    Metadata {
        model: config.model.clone().unwrap_or(ModelKind::Softmax),
        notion: config.notion.clone(),
        schema: hexadecimal(&schema.hash()),
        facts: facts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect(),
    }
}

/// Says so where noise decides what a private run does.
fn weak_signal(config: &TrainConfig, ratio: f64) -> Option<String> {
    let epsilon = config.privacy?.epsilon;
    // Energy goes with the square of epsilon; a ratio that cannot be told from 0 is taken as 1/16.
    let enough = epsilon / ratio.max(0.0625).sqrt();
    (ratio < 1.0).then(|| {
        format!(
            "your noise exceeds the signal ({ratio:.2} to 1): expect little or no fairness gain \
             below epsilon {enough:.2} on this many records; use method one-shot, more records or \
             fewer features"
        )
    })
}

/// Refuses labels and models that a method is not defined for.
fn fits(config: &TrainConfig, labels: usize) -> Result<(), Failure> {
    let binary = matches!(config.method, Method::PfLd | Method::Reductions);
    if binary && labels != 2 {
        let message =
            format!("method {} is defined for 2 labels; the data has {labels}", config.method);
        return Err(Failure::data("config::method", message).help("use fermi or steffle"));
    }
    let model = config.model.as_ref().unwrap_or(&ModelKind::Logistic);
    if config.sign == Some(Sign::Batch) && *model != ModelKind::Logistic {
        let message = format!("pf-ld with sign batch trains logistic models, not {model}");
        return Err(Failure::data("config::model", message).help("use --sign released"));
    }
    Ok(())
}

/// Settings that the data does not allow.
fn refuse(error: &PlanError) -> Failure {
    let code = match error {
        PlanError::Batch { .. } => "config::batch",
        PlanError::Rounds(_) => "config::rounds",
        PlanError::Lambda(_) => "config::lambda",
        _ => "config::settings",
    };
    let failure = Failure::data(code, error.to_string());
    match error {
        PlanError::Batch { .. } => failure.help("lower --batch, or use --batch all"),
        _ => failure,
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
