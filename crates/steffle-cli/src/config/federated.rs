//! The settings of `fedavg` and `fedfdp`, whose silos train by themselves.

use serde::Serialize;
use steffle_baselines::{FedAvg, FedFdp, FedFdpNoise};
use steffle_privacy::{Delta, Epsilon, PrivacyError, SampleRate};

use super::{BatchSize, Check, Method, Mode};
use crate::args::TrainArgs;
use crate::failure::Failure;

/// The settings of a federated baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct FederatedSettings {
    pub(crate) rounds: u32,
    /// Absent with noise: every round is one step on a secret batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) local_epochs: Option<u32>,
    /// Absent until the data is seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) batch: Option<BatchSize>,
    pub(crate) lr_theta: f64,
    /// Of `fedfdp` with noise.
    #[serde(flatten)]
    pub(crate) privacy: Option<RecordPrivacy>,
}

/// Differential privacy of whole records.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct RecordPrivacy {
    pub(crate) epsilon: f64,
    /// Absent until the data is seen: 1/n^2 for n training rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delta: Option<f64>,
    pub(crate) clip: f64,
}

/// A federated baseline that can run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FederatedPlan {
    /// Averages of local training, with equal losses between silos where lambda is above 0.
    Averaging(FedAvg),
    /// FedFDP, and the epsilon and delta that were asked for.
    Private(FedFdp, Epsilon, Delta),
}

/// Rounds, share of the records in a round, clipping threshold and step of `fedfdp`: after a coarser
/// grid on Adult, one of 36 combinations (the sweep in docs/CLI.md) that is within 0.2 points of the
/// least error on held-out training rows of Adult and of Credit Card, at epsilon 1 and at 3.
const ROUNDS: u32 = 200;
const SHARE: f64 = 0.05;
const CLIP: f64 = 1.0;
const STEP: f64 = 4.0;

/// The settings of the two methods, absent for others; refuses what they do not have.
pub(super) fn federated(
    check: Check<'_>,
    method: Method,
    mode: Mode,
    train: &TrainArgs,
) -> Result<Option<FederatedSettings>, Failure> {
    if !method.federated() {
        if check.0.set("local-epochs") {
            let message = format!("method {method} has no local-epochs: its silos send sums");
            let help = "leave it out, or use --method fedavg";
            return Err(check.0.conflict("local-epochs", message).help(help));
        }
        return Ok(None);
    }
    let foreign = FOREIGN.iter().find(|key| check.0.set(key) && !method.takes(key));
    if let Some(key) = foreign {
        let message = if method == Method::FedFdp && *key == "noise" {
            "noise cannot be chosen for fedfdp: its noise is simulated only, from the seed"
                .to_owned()
        } else {
            format!("{key} means nothing to {method}, whose silos train by themselves")
        };
        return Err(check.0.conflict(key, message).help("leave it out, or use steffle"));
    }
    let private = mode != Mode::None;
    let without = !method.takes("mode") && check.0.typed("mode");
    if without || (private && !method.has(mode)) {
        let (has, help) = match method {
            Method::FedAvg => ("adds no noise, so it has no", "leave --mode out"),
            _ => ("draws secret batches, so it has no", "use --mode poisson"),
        };
        let message = format!("{method} {has} mode {mode}");
        return Err(check.0.conflict("mode", message).help(help));
    }
    let unused: &[&str] = if private { &["local-epochs"] } else { &["epsilon", "delta", "clip"] };
    if let Some(key) = unused.iter().find(|key| check.0.set(key)) {
        let message = format!("{key} means nothing to {method} in mode {mode}");
        return Err(check.0.conflict(key, message).help("leave it out"));
    }
    if train.batch == Some(BatchSize::Records(0)) {
        return Err(check.0.refuse("batch", 0, "all, or a whole number, 1 or more"));
    }
    let usual = FedAvg::default();
    let rounds = check.count("rounds", train.rounds)?;
    let local_epochs = check.count("local-epochs", train.local_epochs)?;
    let lr_theta = check.positive("lr-theta", train.lr_theta)?;
    let epsilon = check.positive("epsilon", train.epsilon)?;
    let delta = f64::MIN_POSITIVE..1.0;
    let delta = check.number("delta", train.delta, delta, "a number in (0, 1), ends excluded")?;
    let clip = check.positive("clip", train.clip)?;
    let epsilon = match (epsilon, mode) {
        (None, Mode::Paper) => {
            let message = "mode paper needs a privacy parameter";
            let help = "add --epsilon, for example --epsilon 3";
            return Err(check.0.conflict("mode", message).help(help));
        }
        (epsilon, _) => epsilon.unwrap_or(1.0),
    };
    Ok(Some(FederatedSettings {
        rounds: rounds.unwrap_or(if private { ROUNDS } else { usual.rounds }),
        local_epochs: (!private).then(|| local_epochs.unwrap_or(usual.local_epochs)),
        batch: train.batch,
        lr_theta: lr_theta.unwrap_or(if private { STEP } else { usual.step }),
        privacy: private.then(|| RecordPrivacy { epsilon, delta, clip: clip.unwrap_or(CLIP) }),
    }))
}

/// Settings that some methods have and these may not.
const FOREIGN: [&str; 12] = [
    "epsilon",
    "delta",
    "row-cap",
    "noise-shape",
    "accounting",
    "noise",
    "clip",
    "diameter",
    "server",
    "epochs",
    "lr-dual",
    "output",
];

impl FederatedSettings {
    /// Settles what depends on the sizes of the silos.
    pub(super) fn settle(&mut self, sizes: &[usize]) {
        let rows: usize = sizes.iter().sum();
        let usual = match &mut self.privacy {
            Some(privacy) => {
                privacy.delta.get_or_insert((rows as f64).powi(-2));
                (SHARE * rows as f64 / sizes.len().max(1) as f64).round().max(1.0) as u32
            }
            None => FedAvg::default().batch.unwrap_or(1),
        };
        self.batch.get_or_insert(BatchSize::Records(usual));
    }

    /// The core's settings, with noise that was calibrated; refuses what no noise reaches.
    pub(crate) fn to_core(
        self,
        mode: Mode,
        lambda: f64,
        sizes: &[usize],
    ) -> Result<FederatedPlan, Failure> {
        let usual = FedAvg::default();
        let Some(privacy) = self.privacy else {
            return Ok(FederatedPlan::Averaging(FedAvg {
                rounds: self.rounds,
                local_epochs: self.local_epochs.unwrap_or(usual.local_epochs),
                batch: match self.batch {
                    Some(BatchSize::Records(records)) => Some(records),
                    Some(BatchSize::All) | None => None,
                },
                step: self.lr_theta,
                decay: usual.decay,
                lambda,
            }));
        };
        let refuse = |error: PrivacyError| Failure::usage("config::privacy", error.to_string());
        let (rate, rounds) = (self.rate(sizes)?, self.rounds);
        let epsilon = Epsilon::try_from(privacy.epsilon).map_err(refuse)?;
        let delta = Delta::try_from(privacy.delta.unwrap_or_default()).map_err(refuse)?;
        let noise = match mode {
            Mode::Paper => FedFdpNoise::published(rate, rounds, epsilon, delta),
            _ => FedFdpNoise::calibrated(rate, rounds, epsilon, delta),
        };
        let (noise, clip, step) = (noise.map_err(refuse)?, privacy.clip, self.lr_theta);
        let settings = FedFdp { lambda, rounds, rate, clip, step, noise };
        Ok(FederatedPlan::Private(settings, epsilon, delta))
    }

    /// q: the expected batch over the mean size of a silo.
    fn rate(&self, sizes: &[usize]) -> Result<SampleRate, Failure> {
        let mean = sizes.iter().sum::<usize>() as f64 / sizes.len().max(1) as f64;
        let expected = match self.batch {
            Some(BatchSize::Records(records)) => f64::from(records),
            Some(BatchSize::All) | None => mean,
        };
        SampleRate::try_from(expected / mean).map_err(|_| {
            let message = format!(
                "a secret batch of {expected} records is expected; silos have {mean:.0} on \
                 average, so allowed are 1 to {mean:.0}"
            );
            Failure::data("config::batch", message).help("lower --batch, or use --batch all")
        })
    }
}

impl FederatedPlan {
    /// T.
    pub(crate) fn rounds(&self) -> u32 {
        match self {
            Self::Averaging(settings) => settings.rounds,
            Self::Private(settings, ..) => settings.rounds,
        }
    }
}
