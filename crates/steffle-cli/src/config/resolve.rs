//! From what was typed, or stands in a file, to complete and checked settings.

use std::path::Path;

use clap::{ArgMatches, Args};
use steffle::fairness::NotionName;
use steffle::train::Settings;

use super::federated::federated;
use super::train::{
    Bounds, Descent, Length, OneShotSettings, Privacy, Response, StepSizes, TrainConfig, is_job,
};
use super::{
    Accounting, BatchSize, Centralisation, Check, ConfigFile, Method, MissingValues, Mode,
    NoiseOrigin, NoiseShape, Origins, ServerKind, Sign, preset,
};
use crate::args::{CutArgs, DataArgs, TrainArgs, TrainCommand};
use crate::failure::Failure;

impl TrainConfig {
    /// Flags over the configuration file over defaults.
    pub(crate) fn from_command(
        command: TrainCommand,
        typed: &ArgMatches,
    ) -> Result<(Self, Origins), Failure> {
        let TrainCommand { mut train, mut data, mut cut, config, .. } = command;
        let file = config.map(|path| ConfigFile::read(&path, &keys())).transpose()?;
        if let Some(file) = &file {
            train = train.over(file.settings()?);
            data = data.over(file.settings()?);
            cut = cut.over(file.settings()?);
        }
        let origins = Origins::new(typed, file);
        Ok((Self::resolve(train, data, cut, &origins)?, origins))
    }

    /// Fills in defaults; refuses values out of range and contradictions.
    pub(crate) fn resolve(
        mut train: TrainArgs,
        meaning: DataArgs,
        mut cut: CutArgs,
        origins: &Origins,
    ) -> Result<Self, Failure> {
        let check = Check(origins);
        check.word::<MissingValues>("missing", meaning.missing.as_deref())?;
        let method = check.word("method", train.method.as_deref())?.unwrap_or(Method::Steffle);
        preset(check, method, &mut train, &mut cut)?;
        let sign = sign(check, method, &train)?;
        let mode = check.word("mode", train.mode.as_deref())?.unwrap_or(method.usual_mode(sign));
        signs_fit(check, sign, mode)?;
        let data = data(check, &train)?;
        let (mut centralisation, mut silos) = who_holds_what(check, data.as_deref(), &train, &cut)?;
        let mut heterogeneity = heterogeneity(check, cut.heterogeneity)?;
        if method.central() && cuts_itself(data.as_deref()) {
            // The rows of all silos are in one place, however they were dealt out.
            (centralisation, silos) = (Some(Centralisation::OneSilo), Some(1));
            heterogeneity = 0.0;
        }
        Ok(Self {
            data,
            privacy: privacy(check, method, mode, &train)?,
            response: response(check, method, &train)?,
            one_shot: one_shot(check, method, &train)?,
            descent: descent(check, method, mode, sign, &train)?,
            federated: federated(check, method, mode, &train)?,
            lambda: lambda(check, method, &train)?,
            surrogate_sharpness: sharpness(check, method, train.surrogate_sharpness)?,
            validation: check
                .number("validation", train.validation, 0.0..1.0, "a number in [0, 1)")?
                .unwrap_or(0.0),
            model: check.explained("model", train.model.as_deref())?,
            notion: notion(check, method, train.notion.as_deref())?,
            heterogeneity,
            seed: check.seed(cut.seed)?,
            threads: threads(check, train.threads)?,
            method,
            sign,
            mode,
            centralisation,
            silos,
            meaning,
            partition_by: cut.partition_by,
            records: train.records,
            attributes: train.attributes,
            test: train.test,
            out: train.out,
        })
    }
}

/// PF-LD's published step sizes, of Adam and of the dual step, and a bound on gradients.
const PF_LD_RATE: f64 = 1e-3;
const PF_LD_STEP: f64 = 0.007;
const PF_LD_CLIP: f64 = 0.5;

/// Adam on all records takes as many steps as there are epochs, so longer ones.
const PF_LD_FULL_RATE: f64 = 0.01;

/// Step size of Algorithm 1 on all records of a curator: 200 such steps come near the optimum.
const FULL_RATE: f64 = 1.0;

/// More threads than this are a typing error, and starting them takes minutes.
const MOST_THREADS: usize = 1024;

/// The keys of a configuration file: every flag that is a setting.
fn keys() -> Vec<String> {
    let flags = TrainArgs::augment_args(clap::Command::new("train"));
    let flags = CutArgs::augment_args(DataArgs::augment_args(flags));
    let mut keys: Vec<String> =
        flags.get_arguments().filter_map(|flag| flag.get_long().map(str::to_owned)).collect();
    keys.sort();
    keys
}

/// The notion of fairness; refuses none to methods that would have nothing to release or to solve.
fn notion(check: Check<'_>, method: Method, given: Option<&str>) -> Result<NotionName, Failure> {
    let notion = check.explained("notion", given)?.unwrap_or(NotionName::DemographicParity);
    let needed = match method {
        Method::OneShot
        | Method::RandomisedResponse
        | Method::DpFermi
        | Method::PfLd
        | Method::Reductions => true,
        Method::Steffle
        | Method::SteffleNonprivate
        | Method::Fermi
        | Method::FedFdp
        | Method::FedAvg
        | Method::Erm => false,
    };
    if needed && notion == NotionName::None {
        let message =
            format!("method {method} needs a notion of fairness, and notion none is none");
        let help = "use --method erm, or choose a notion, for example demographic-parity";
        return Err(check.0.conflict("notion", message).help(help));
    }
    Ok(notion)
}

/// h of Algorithm 3.
pub(crate) fn heterogeneity(check: Check<'_>, given: Option<f64>) -> Result<f64, Failure> {
    let checked = check.number("heterogeneity", given, 0.0..=1.0, "a number in [0, 1]")?;
    Ok(checked.unwrap_or(0.0))
}

fn threads(check: Check<'_>, given: Option<usize>) -> Result<Option<usize>, Failure> {
    match given {
        Some(threads) if !(1..=MOST_THREADS).contains(&threads) => {
            let allowed = format!("a whole number from 1 to {MOST_THREADS}");
            Err(check.0.refuse("threads", threads, &allowed))
        }
        given => Ok(given),
    }
}

fn data(check: Check<'_>, train: &TrainArgs) -> Result<Option<String>, Failure> {
    let files = !train.records.is_empty();
    let parts = [("attributes", !train.attributes.is_empty()), ("test", train.test.is_some())];
    if files && train.data.is_some() {
        let message = "--data and --records both say where the rows are; give one of them";
        return Err(check.0.conflict("data", message));
    }
    for (key, given) in parts {
        if given != files {
            let message = "--records, --attributes and --test belong together; give all or none";
            return Err(check.0.conflict(if given { key } else { "records" }, message));
        }
    }
    let name = || train.data.clone().unwrap_or_else(|| "adult".to_owned());
    Ok((!files).then(name))
}

fn lambda(check: Check<'_>, method: Method, train: &TrainArgs) -> Result<f64, Failure> {
    let given = train.lambda;
    if train.target_gap.is_some() && given.is_some() {
        let message = "lambda and target-gap both say how fair; the gap chooses its own lambda";
        return Err(check.0.conflict("target-gap", message).help("leave out one of the two"));
    }
    check.number("lambda", given, 0.0.., "a finite number, 0 or more")?;
    match (method, given) {
        (Method::Erm | Method::FedAvg, None | Some(0.0)) => Ok(0.0),
        (Method::Erm | Method::FedAvg, Some(given)) => {
            let message = format!("method {method} has no fairness to weigh with lambda {given}");
            Err(check.0.conflict("lambda", message).help("leave --lambda out, or use steffle"))
        }
        (_, given) => Ok(given.unwrap_or(1.0)),
    }
}

/// Where PF-LD has its signs from.
fn sign(check: Check<'_>, method: Method, train: &TrainArgs) -> Result<Option<Sign>, Failure> {
    let given = check.word("sign", train.sign.as_deref())?;
    if method == Method::PfLd {
        let published = train.mode.as_deref() == Some("paper");
        let usual = if published { Sign::Batch } else { Sign::Released };
        return Ok(Some(given.unwrap_or(usual)));
    }
    if given.is_some() {
        let message = format!("sign means nothing to {method}, which is not pf-ld");
        return Err(check.0.conflict("sign", message).help("leave it out, or use --method pf-ld"));
    }
    Ok(None)
}

/// Signs of batches go with the published noise, released ones with noise that holds.
fn signs_fit(check: Check<'_>, sign: Option<Sign>, mode: Mode) -> Result<(), Failure> {
    let help = match (sign, mode) {
        (Some(Sign::Batch), Mode::Exact | Mode::Poisson) => "use --mode paper or --mode none",
        (Some(Sign::Released), Mode::Paper) => "use --sign batch or --mode exact",
        _ => return Ok(()),
    };
    let sign = sign.map_or_else(String::new, |sign| sign.to_string());
    let message = format!("pf-ld with sign {sign} has no mode {mode}");
    Err(check.0.conflict("mode", message).help(help))
}

fn sharpness(check: Check<'_>, method: Method, given: Option<f64>) -> Result<f64, Failure> {
    let given = check.positive("surrogate-sharpness", given)?;
    let without = matches!(method, Method::Erm | Method::PfLd | Method::Reductions);
    if (without || method.federated()) && given.is_some_and(|tau| tau != 1.0) {
        let message = format!("method {method} has no fairness surrogate to sharpen");
        return Err(check.0.conflict("surrogate-sharpness", message).help("leave it out"));
    }
    Ok(given.unwrap_or(1.0))
}

fn privacy(
    check: Check<'_>,
    method: Method,
    mode: Mode,
    train: &TrainArgs,
) -> Result<Option<Privacy>, Failure> {
    let epsilon = check.positive("epsilon", train.epsilon)?;
    let delta = f64::MIN_POSITIVE..1.0;
    let delta = check.number("delta", train.delta, delta, "a number in (0, 1), ends excluded")?;
    let clip = check.positive("clip", train.clip)?;
    let diameter = check.positive("diameter", train.diameter)?;
    let share = f64::MIN_POSITIVE..=1.0;
    let row_cap = check.number("row-cap", train.row_cap, share, "a number in (0, 1]")?;
    let noise_shape = check.word("noise-shape", train.noise_shape.as_deref())?;
    let accounting = check.word("accounting", train.accounting.as_deref())?;
    let noise = check.word("noise", train.noise.as_deref())?;
    if method.federated() {
        return Ok(None);
    }
    if !method.steps() && method != Method::Erm {
        return foreign_to(check, method, mode);
    }
    if method == Method::Erm && (mode != Mode::None || check.0.typed("mode")) {
        let message = format!(
            "method erm never reads the sensitive attribute, so mode {mode} has nothing to protect"
        );
        return Err(check.0.conflict("mode", message).help("leave --mode out, or use steffle"));
    }
    let foreign: &[&str] = match mode {
        Mode::Exact | Mode::Poisson => &["clip", "diameter"],
        Mode::Paper if method == Method::PfLd => {
            &["row-cap", "noise-shape", "accounting", "noise", "diameter"]
        }
        Mode::Paper => &["row-cap", "noise-shape", "accounting", "noise"],
        Mode::None => &[
            "epsilon",
            "delta",
            "row-cap",
            "noise-shape",
            "accounting",
            "noise",
            "clip",
            "diameter",
        ],
    };
    if let Some(key) = foreign.iter().find(|key| check.0.set(key)) {
        let (why, help) = match (mode, *key) {
            (Mode::None, "clip" | "diameter") => ("no noise is added there", "add --mode paper"),
            (Mode::None, _) => ("no noise is added there", "use --mode exact"),
            (Mode::Paper, _) => {
                ("its noise is the published one", "leave it out, or use --mode exact")
            }
            _ => ("its bounds are exact", "leave it out, or use --mode paper"),
        };
        let message = format!("{key} means nothing in mode {mode}: {why}");
        return Err(check.0.conflict(key, message).help(help));
    }
    let noise = noise.unwrap_or(NoiseOrigin::Simulated);
    Ok(match mode {
        Mode::None => None,
        Mode::Paper => {
            let epsilon = epsilon.ok_or_else(|| {
                let message = "mode paper needs a privacy parameter";
                check.0.conflict("mode", message).help("add --epsilon, for example --epsilon 3")
            })?;
            let bounds = if method == Method::PfLd {
                Bounds::Published { clip: clip.unwrap_or(PF_LD_CLIP) }
            } else {
                Bounds::Paper { clip: clip.unwrap_or(1.0), diameter: diameter.unwrap_or(3.0) }
            };
            Some(Privacy { epsilon, delta, bounds })
        }
        Mode::Exact | Mode::Poisson => {
            let noise_shape = noise_shape.unwrap_or(NoiseShape::Shaped);
            let accounting = accounting.unwrap_or(Accounting::Record);
            let bounds = Bounds::Exact { row_cap, noise_shape, accounting, noise };
            let epsilon = check.paid_epsilon(epsilon)?;
            Some(Privacy { epsilon: epsilon.unwrap_or(1.0), delta, bounds })
        }
    })
}

/// The methods that train on released classes have no modes.
fn foreign_to(check: Check<'_>, method: Method, mode: Mode) -> Result<Option<Privacy>, Failure> {
    let open = matches!(method, Method::Fermi | Method::Reductions);
    let epsilon = open.then_some("epsilon");
    // A written configuration says `none` of them.
    let mode = (mode != Mode::None || check.0.typed("mode")).then_some("mode");
    let noise = open.then_some("noise");
    let delta = (method != Method::OneShot).then_some("delta");
    let keys = ["row-cap", "noise-shape", "accounting", "clip", "diameter"].into_iter();
    let keys = keys.chain(delta).chain(epsilon).chain(noise).chain(mode);
    match keys.into_iter().find(|key| check.0.set(key)) {
        Some(key) => {
            let message = match method {
                Method::Fermi | Method::Reductions => {
                    format!("{key} means nothing to {method}, which adds no noise")
                }
                Method::OneShot => format!(
                    "{key} means nothing to one-shot: its one message has a cap and a shape of its own"
                ),
                _ => format!("{key} means nothing to {method}: its one parameter is epsilon"),
            };
            Err(check.0.conflict(key, message).help("leave it out, or use steffle"))
        }
        None => Ok(None),
    }
}

fn response(
    check: Check<'_>,
    method: Method,
    train: &TrainArgs,
) -> Result<Option<Response>, Failure> {
    if method != Method::RandomisedResponse {
        return Ok(None);
    }
    let allowed = "a finite number, 0.000001 or more";
    let epsilon = check.number("epsilon", train.epsilon, 1e-6.., allowed)?.ok_or_else(|| {
        let message = "method randomised-response needs a privacy parameter";
        check.0.conflict("method", message).help("add --epsilon, for example --epsilon 1")
    })?;
    let noise = check.word("noise", train.noise.as_deref())?.unwrap_or(NoiseOrigin::Simulated);
    Ok(Some(Response { epsilon, noise }))
}

fn one_shot(
    check: Check<'_>,
    method: Method,
    train: &TrainArgs,
) -> Result<Option<OneShotSettings>, Failure> {
    if method != Method::OneShot {
        let keys = ["target-gap", "pool", "secure-aggregation"];
        return match keys.into_iter().find(|key| check.0.set(key)) {
            Some(key) => {
                let message = format!("{key} means nothing to {method}, which is not one-shot");
                Err(check.0.conflict(key, message).help("add --method one-shot, or leave it out"))
            }
            None => Ok(None),
        };
    }
    let epsilon = check.paid_epsilon(train.epsilon)?;
    let delta = f64::MIN_POSITIVE..1.0;
    let delta = check.number("delta", train.delta, delta, "a number in (0, 1), ends excluded")?;
    let noise = check.word("noise", train.noise.as_deref())?.unwrap_or(NoiseOrigin::Simulated);
    let target_gap =
        check.number("target-gap", train.target_gap, 0.0..=1.0, "a number in [0, 1]")?;
    let pool = train.pool.unwrap_or(false);
    let secure_aggregation = train.secure_aggregation.unwrap_or(false);
    if secure_aggregation && !pool {
        let message = "secure-aggregation says how pooled sums are added up, and nothing is pooled";
        return Err(check.0.conflict("secure-aggregation", message).help("add --pool"));
    }
    let epsilon = epsilon.unwrap_or(1.0);
    Ok(Some(OneShotSettings { epsilon, delta, noise, pool, secure_aggregation, target_gap }))
}

fn descent(
    check: Check<'_>,
    method: Method,
    mode: Mode,
    sign: Option<Sign>,
    train: &TrainArgs,
) -> Result<Option<Descent>, Failure> {
    let usual = Settings::default();
    let rounds = check.count("rounds", train.rounds)?.map(Length::Rounds);
    let epochs = check.count("epochs", train.epochs)?.map(Length::Epochs);
    if rounds.is_some() && epochs.is_some() {
        return Err(check.0.conflict("epochs", "rounds and epochs both say how long to train"));
    }
    if train.batch == Some(BatchSize::Records(0)) {
        return Err(check.0.refuse("batch", 0, "all, or a whole number, 1 or more"));
    }
    let lr_theta = check.positive("lr-theta", train.lr_theta)?;
    let lr_dual = check.positive("lr-dual", train.lr_dual)?;
    let output = check.explained("output", train.output.as_deref())?;
    if method.federated() {
        return Ok(None);
    }
    if !method.steps() {
        let steps = ["server", "rounds", "epochs", "batch", "lr-theta", "lr-dual", "output"];
        return match steps.into_iter().find(|key| check.0.set(key)) {
            Some(key) => {
                let message = format!("method {method} goes to its optimum and has no {key}");
                Err(check.0.conflict(key, message).help("leave it out, or use steffle"))
            }
            None => Ok(None),
        };
    }
    let server = check.word("server", train.server.as_deref())?;
    if server == Some(ServerKind::LagrangianDual) && method != Method::PfLd {
        let message = format!("method {method} has no server lagrangian-dual");
        return Err(check.0.conflict("server", message).help("use --method pf-ld"));
    }
    let server = server.unwrap_or(match mode {
        Mode::Paper => ServerKind::Plain,
        Mode::Exact | Mode::Poisson | Mode::None => ServerKind::Improved,
    });
    if mode == Mode::Paper && server == ServerKind::Improved {
        let message = "mode paper is Algorithm 1 as printed, with its own steps";
        return Err(check.0.conflict("server", message).help("leave --server out"));
    }
    if server == ServerKind::Improved
        && let Some(key) = ["lr-theta", "lr-dual"].into_iter().find(|key| check.0.set(key))
    {
        let message = format!("the improved server has no {key}: its steps follow the curvature");
        return Err(check.0.conflict(key, message).help("add --server plain"));
    }
    let (descent, ascent) = match (method, mode) {
        (Method::PfLd, _) if sign == Some(Sign::Batch) => (PF_LD_RATE, PF_LD_STEP),
        (Method::PfLd, _) => (PF_LD_FULL_RATE, PF_LD_STEP),
        // The ascent moves by lambda times this; above 1 it would oscillate.
        _ => {
            let ascent = usual.rates.dual / train.lambda.unwrap_or(usual.lambda).max(1.0);
            let full = method == Method::DpFermi && mode == Mode::Exact;
            (if full { FULL_RATE } else { usual.rates.theta }, ascent)
        }
    };
    Ok(Some(Descent {
        length: rounds.or(epochs),
        batch: train.batch,
        server,
        rates: (server != ServerKind::Improved).then(|| StepSizes {
            lr_theta: lr_theta.unwrap_or(descent),
            lr_dual: lr_dual.unwrap_or(ascent),
        }),
        output: output.unwrap_or(usual.output),
    }))
}

/// Whether the data is a table that is cut here; otherwise it is files that are cut already.
fn cuts_itself(data: Option<&str>) -> bool {
    data.is_some_and(|name| !is_job(Path::new(name)))
}

/// The centralisation and the number of records silos, as far as the files do not say them.
fn who_holds_what(
    check: Check<'_>,
    data: Option<&str>,
    train: &TrainArgs,
    cut: &CutArgs,
) -> Result<(Option<Centralisation>, Option<usize>), Failure> {
    let asked = check.word("centralisation", train.centralisation.as_deref())?;
    let silos = check.count("silos", cut.silos)?;
    if !cuts_itself(data) {
        return Ok((asked, silos));
    }
    match (asked, silos) {
        (Some(Centralisation::OneSilo), Some(silos)) if silos != 1 => {
            let message = format!("centralisation one-silo has 1 silo, not {silos}");
            Err(check.0.conflict("silos", message).help("leave out one of the two"))
        }
        (Some(Centralisation::OneSilo), _) => Ok((asked, Some(1))),
        (asked, silos) => Ok((asked, Some(silos.unwrap_or(3)))),
    }
}

#[cfg(test)]
mod tests;
