//! The settings of a training run, complete and checked.

use std::path::{Path, PathBuf};

use serde::Serialize;
use steffle::division::attributes::{ClassRelease, RandomisedResponse};
use steffle::division::records::RowCap;
use steffle::fairness::NotionName;
use steffle::federation::Pooling;
use steffle::model::ModelKind;
use steffle::noise::NoiseKind;
use steffle::server::{Output, Rates};
use steffle::train::{Exact, OneShotTerms, Paper, Settings, StepRule};
use steffle_baselines::{Published, PublishedNoise};
use steffle_privacy::{Delta, Epsilon};

use super::{
    Accounting, BatchSize, Centralisation, FederatedSettings, Method, Mode, NoiseOrigin,
    NoiseShape, ServerKind, Sign,
};
use crate::args::DataArgs;
use crate::failure::Failure;

/// All settings of a run. As TOML it is a configuration file that gives the same run again.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct TrainConfig {
    /// A data set's name, a file or a job; absent when `records` are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) records: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) attributes: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test: Option<PathBuf>,
    #[serde(flatten)]
    pub(crate) meaning: DataArgs,
    pub(crate) validation: f64,
    pub(crate) method: Method,
    /// Absent until the data is seen: the simplest model for the number of labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<ModelKind>,
    pub(crate) notion: NotionName,
    pub(crate) lambda: f64,
    pub(crate) surrogate_sharpness: f64,
    /// Of `pf-ld`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sign: Option<Sign>,
    pub(crate) mode: Mode,
    #[serde(flatten)]
    pub(crate) privacy: Option<Privacy>,
    /// Of `randomised-response`.
    #[serde(flatten)]
    pub(crate) response: Option<Response>,
    /// Of `one-shot`.
    #[serde(flatten)]
    pub(crate) one_shot: Option<OneShotSettings>,
    /// Of `fedavg` and `fedfdp`.
    #[serde(flatten)]
    pub(crate) federated: Option<FederatedSettings>,
    /// Absent until the data is seen, when files say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) centralisation: Option<Centralisation>,
    /// Absent until the data is seen, when files say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) silos: Option<usize>,
    pub(crate) heterogeneity: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) partition_by: Option<String>,
    /// Absent for methods that go to an optimum.
    #[serde(flatten)]
    pub(crate) descent: Option<Descent>,
    pub(crate) seed: u64,
    /// The machine's own and the run's own, so not written down with the settings.
    #[serde(skip)]
    pub(crate) threads: Option<usize>,
    #[serde(skip)]
    pub(crate) out: Option<PathBuf>,
}

/// The settings of the modes that add noise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Privacy {
    pub(crate) epsilon: f64,
    /// Absent until the data is seen: 1/n^2 for n training rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delta: Option<f64>,
    #[serde(flatten)]
    pub(crate) bounds: Bounds,
}

/// What bounds a record's part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Bounds {
    /// Its exact distances, after row caps.
    #[serde(rename_all = "kebab-case")]
    Exact {
        #[serde(skip_serializing_if = "Option::is_none")]
        row_cap: Option<f64>,
        noise_shape: NoiseShape,
        accounting: Accounting,
        noise: NoiseOrigin,
    },
    /// Clipping, and a ball for W.
    Paper { clip: f64, diameter: f64 },
    /// Clipping, as PF-LD was published.
    Published { clip: f64 },
}

/// The settings of `randomised-response`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Response {
    pub(crate) epsilon: f64,
    pub(crate) noise: NoiseOrigin,
}

/// The settings of `one-shot`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct OneShotSettings {
    pub(crate) epsilon: f64,
    /// Absent until the data is seen: 1/n^2 for n training rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delta: Option<f64>,
    pub(crate) noise: NoiseOrigin,
    pub(crate) pool: bool,
    pub(crate) secure_aggregation: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target_gap: Option<f64>,
}

/// How the attributes divisions release what training needs, once.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Release {
    /// A class per record.
    Classes(ClassRelease),
    /// Noisy sums of features.
    Once(Once),
}

/// A one-shot release.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Once {
    pub(crate) terms: OneShotTerms,
    pub(crate) delta: Delta,
    pub(crate) pooling: Pooling,
    /// The gap that chooses lambda.
    pub(crate) target: Option<f64>,
}

/// The settings of Algorithm 1's steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Descent {
    /// Absent until the data is seen: 40 epochs and, without noise, at least 1000 rounds.
    #[serde(flatten)]
    pub(crate) length: Option<Length>,
    /// Absent until the data is seen: 256, or as many as the smallest silo has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) batch: Option<BatchSize>,
    pub(crate) server: ServerKind,
    /// Absent with the improved server.
    #[serde(flatten)]
    pub(crate) rates: Option<StepSizes>,
    pub(crate) output: Output,
}

/// The step sizes of the plain server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct StepSizes {
    pub(crate) lr_theta: f64,
    pub(crate) lr_dual: f64,
}

/// How long to train.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Length {
    Rounds(u32),
    Epochs(u32),
}

impl TrainConfig {
    /// Settles what depends on the data.
    pub(crate) fn settle(
        &mut self,
        labels: usize,
        sizes: &[usize],
        centralisation: Centralisation,
    ) {
        let rows: usize = sizes.iter().sum();
        let (smallest, largest) = (
            sizes.iter().copied().min().unwrap_or_default(),
            sizes.iter().copied().max().unwrap_or_default(),
        );
        let simplest = if labels == 2 { ModelKind::Logistic } else { ModelKind::Softmax };
        self.model.get_or_insert(simplest);
        self.silos = Some(sizes.len());
        self.centralisation = Some(centralisation);
        if let Some(privacy) = &mut self.privacy {
            privacy.delta.get_or_insert((rows as f64).powi(-2));
        }
        if let Some(one_shot) = &mut self.one_shot {
            one_shot.delta.get_or_insert((rows as f64).powi(-2));
        }
        if let Some(federated) = &mut self.federated {
            federated.settle(sizes);
        }
        if let Some(descent) = &mut self.descent {
            let usual = match USUAL_BATCH.min(smallest) {
                _ if largest <= USUAL_BATCH => BatchSize::All,
                records => BatchSize::Records(records as u32),
            };
            let batches = self.sign == Some(Sign::Batch);
            let usual = match (self.mode, descent.server) {
                (_, ServerKind::LagrangianDual) if batches => {
                    BatchSize::Records(PF_LD_BATCH.min(smallest) as u32)
                }
                (Mode::Poisson, _) => BatchSize::Records(USUAL_BATCH.min(smallest) as u32),
                (Mode::Exact, _)
                | (Mode::None, ServerKind::Improved | ServerKind::LagrangianDual) => BatchSize::All,
                (Mode::Paper, _) | (Mode::None, ServerKind::Plain) => usual,
            };
            let batch = *descent.batch.get_or_insert(usual);
            let central = self.method == Method::DpFermi;
            let usual = match (self.mode, descent.server, batch) {
                (_, ServerKind::LagrangianDual, _) => Length::Epochs(PF_LD_EPOCHS),
                (Mode::Exact, ServerKind::Plain, BatchSize::All) if central => {
                    Length::Rounds(8 * FULL_ROUNDS)
                }
                (Mode::Poisson, ..) => Length::Rounds(SAMPLED_ROUNDS),
                (Mode::Exact, _, BatchSize::Records(_)) => Length::Epochs(FULL_ROUNDS),
                (Mode::Exact, ServerKind::Plain, _) => Length::Rounds(4 * FULL_ROUNDS),
                (_, ServerKind::Improved, _) => Length::Rounds(FULL_ROUNDS),
                (Mode::Paper, ..) => Length::Epochs(USUAL_EPOCHS),
                (Mode::None, _, BatchSize::All) => Length::Rounds(LEAST_ROUNDS),
                (Mode::None, _, BatchSize::Records(size)) => {
                    let per_epoch = (largest as u32).div_ceil(size.max(1));
                    Length::Rounds(LEAST_ROUNDS.max(USUAL_EPOCHS.saturating_mul(per_epoch)))
                }
            };
            descent.length.get_or_insert(usual);
        }
    }

    /// The core's settings; absent for methods that go to an optimum.
    pub(crate) fn settings(&self) -> Result<Option<Settings>, Failure> {
        let Some(descent) = self.descent.filter(|_| self.sign != Some(Sign::Batch)) else {
            return Ok(None);
        };
        let mode = match self.privacy {
            None => steffle::train::Mode::None,
            Some(privacy) => privacy.to_core(self.mode)?,
        };
        let mut rates = Settings::default().rates;
        if let Some(StepSizes { lr_theta, lr_dual }) = descent.rates {
            rates = Rates { theta: lr_theta, dual: lr_dual, ..rates };
        }
        Ok(Some(Settings {
            lambda: self.lambda,
            mode,
            length: match descent.length.unwrap_or(Length::Epochs(USUAL_EPOCHS)) {
                Length::Rounds(rounds) => steffle::train::Length::Rounds(rounds),
                Length::Epochs(epochs) => steffle::train::Length::Epochs(epochs),
            },
            batch: match descent.batch {
                Some(BatchSize::Records(records)) => Some(records),
                Some(BatchSize::All) | None => None,
            },
            server: match descent.server {
                ServerKind::Improved => StepRule::Improved,
                ServerKind::Plain => StepRule::Plain,
                ServerKind::LagrangianDual => StepRule::Given,
            },
            rates,
            output: descent.output,
        }))
    }

    /// The settings of PF-LD with signs of batches, for this many training rows.
    pub(crate) fn published(&self, rows: usize) -> Result<Option<Published>, Failure> {
        let (Some(Sign::Batch), Some(descent)) = (self.sign, self.descent) else {
            return Ok(None);
        };
        let batch = match descent.batch {
            Some(BatchSize::Records(records)) => records.min(rows as u32),
            Some(BatchSize::All) | None => rows as u32,
        };
        let per_epoch = (rows as u32).div_ceil(batch.max(1));
        let epochs = match descent.length {
            Some(Length::Epochs(epochs)) => epochs,
            Some(Length::Rounds(rounds)) => rounds.div_ceil(per_epoch.max(1)),
            None => PF_LD_EPOCHS,
        };
        let refuse = |error: steffle_privacy::PrivacyError| {
            Failure::usage("config::privacy", error.to_string())
        };
        let (mut clip, mut noise) = (f64::INFINITY, None);
        if let Some(Privacy { epsilon, delta, bounds: Bounds::Published { clip: own } }) =
            self.privacy
        {
            let epsilon = Epsilon::try_from(epsilon).map_err(refuse)?;
            let delta = Delta::try_from(delta.unwrap_or_default()).map_err(refuse)?;
            let found = PublishedNoise::claiming(epsilon, delta, rows, batch, epochs);
            (clip, noise) = (own, Some(found.map_err(refuse)?));
        }
        let rates = descent.rates.unwrap_or(StepSizes { lr_theta: 0.0, lr_dual: 0.0 });
        Ok(Some(Published {
            epochs,
            batch,
            rate: rates.lr_theta,
            step: self.lambda * rates.lr_dual,
            clip,
            noise,
            seed: self.seed,
        }))
    }

    /// Whether the run says of itself that the sensitive attribute is private: then nothing that is
    /// public may be a function of it. A claim that does not hold (mode paper) is none here; that of
    /// `fedfdp` is about features and labels, with the schema public.
    pub(crate) fn claims(&self) -> bool {
        let exact = |privacy: Privacy| matches!(privacy.bounds, Bounds::Exact { .. });
        self.response.is_some() || self.one_shot.is_some() || self.privacy.is_some_and(exact)
    }

    /// Where the noise comes from.
    pub(crate) fn noise(&self) -> NoiseKind {
        let noise = match (self.privacy, self.response) {
            _ if self.one_shot.is_some() => self.one_shot.map(|settings| settings.noise),
            (_, Some(Response { noise, .. }))
            | (Some(Privacy { bounds: Bounds::Exact { noise, .. }, .. }), _) => Some(noise),
            _ => None,
        };
        match noise {
            Some(NoiseOrigin::Secure) => NoiseKind::Secure,
            Some(NoiseOrigin::Simulated) | None => NoiseKind::Simulation,
        }
    }

    /// Whether runs for several lambdas share a release, each model found from the one before. A
    /// target gap chooses lambda itself.
    pub(crate) fn has_path(&self) -> bool {
        let free = |settings: OneShotSettings| settings.target_gap.is_none();
        self.method.has_path() || self.one_shot.is_some_and(free)
    }

    /// How classes are released, for methods that train on released ones.
    pub(crate) fn class_release(&self, classes: usize) -> Result<Option<Release>, Failure> {
        let refuse = |error: String| Failure::usage("config::epsilon", error);
        if let Some(settings) = self.one_shot {
            return settings.to_core().map(|once| Some(Release::Once(once)));
        }
        match (self.method, self.response) {
            (Method::Fermi, _) => Ok(Some(Release::Classes(ClassRelease::Revealed))),
            (Method::RandomisedResponse, Some(Response { epsilon, .. })) => {
                let epsilon = Epsilon::try_from(epsilon).map_err(|e| refuse(e.to_string()))?;
                let response = RandomisedResponse::new(epsilon, classes);
                let response = response.map_err(|error| refuse(error.to_string()))?;
                Ok(Some(Release::Classes(ClassRelease::Randomised(response))))
            }
            _ => Ok(None),
        }
    }

    /// What the data is called: a run's default name. Files that were cut have the name of their
    /// directory.
    pub(crate) fn name(&self) -> String {
        let data = self.data.as_deref().map(Path::new);
        let cut = data.filter(|path| is_job(path)).or(self.records.first().map(PathBuf::as_path));
        let directory = cut.and_then(Path::parent).and_then(Path::file_name);
        let name = directory.or(data.or(cut).and_then(Path::file_stem));
        name.unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl OneShotSettings {
    fn to_core(self) -> Result<Once, Failure> {
        let refuse = |error: steffle_privacy::PrivacyError| {
            Failure::usage("config::privacy", error.to_string())
        };
        let epsilon = Epsilon::try_from(self.epsilon).map_err(refuse)?;
        let delta = Delta::try_from(self.delta.unwrap_or_default()).map_err(refuse)?;
        let secure_aggregation = self.secure_aggregation;
        Ok(Once {
            terms: OneShotTerms::new(epsilon, delta).map_err(refuse)?,
            delta,
            target: self.target_gap,
            pooling: if self.pool {
                Pooling::Pooled { secure_aggregation }
            } else {
                Pooling::Local
            },
        })
    }
}

impl Privacy {
    fn to_core(self, mode: Mode) -> Result<steffle::train::Mode, Failure> {
        let refuse = |error: steffle_privacy::PrivacyError| {
            Failure::usage("config::privacy", error.to_string())
        };
        let epsilon = Epsilon::try_from(self.epsilon).map_err(refuse)?;
        let delta = Delta::try_from(self.delta.unwrap_or_default()).map_err(refuse)?;
        Ok(match self.bounds {
            Bounds::Paper { clip, diameter } => {
                steffle::train::Mode::Paper(Paper { epsilon, delta, clip, diameter })
            }
            // Trained elsewhere: `TrainConfig::settings` is absent for it.
            Bounds::Published { .. } => steffle::train::Mode::None,
            Bounds::Exact { row_cap, noise_shape, accounting, .. } => {
                let cap = row_cap.and_then(RowCap::quantile);
                let shaped = noise_shape == NoiseShape::Shaped;
                let by_record = accounting == Accounting::Record;
                let exact = Exact { epsilon, delta, cap, shaped, by_record };
                match mode {
                    // With two classes the centred pair covers a missing value as well: it
                    // contributes 0, between the +v and -v of the two.
                    Mode::Poisson => steffle::train::Mode::Poisson(exact),
                    _ => steffle::train::Mode::Exact(exact),
                }
            }
        })
    }
}

/// Whether a file describes data that is already cut.
pub(crate) fn is_job(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == "toml")
}

/// The paper's batch size and number of epochs.
const USUAL_BATCH: usize = 256;
const USUAL_EPOCHS: u32 = 40;

/// Rounds of the improved server: 8 to 100 are equally good, because messages are averaged.
const FULL_ROUNDS: u32 = 25;

/// PF-LD's published batch size and number of epochs.
const PF_LD_BATCH: usize = 512;
const PF_LD_EPOCHS: u32 = 100;

/// Rounds on secret batches.
const SAMPLED_ROUNDS: u32 = 200;

/// On few records 40 epochs are too few steps to come near the optimum.
const LEAST_ROUNDS: u32 = 1000;
