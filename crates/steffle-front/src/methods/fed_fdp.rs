//! `fedfdp`: equal losses between silos, and privacy of whole records (Ling et al. 2024).

use std::sync::Arc;

use steffle_baselines::{FedFdp as Core, FedFdpNoise, PUBLISHED_LOSS_NOISE, fed_avg, fed_fdp};
use steffle_privacy::ledger::Statement;
use steffle_privacy::{PrivacyError, SampleRate, rounding};

use super::averaging::{Averaging, federate, reason, unprotected};
use super::builder::builder;
use super::fed_avg::local_training;
use crate::Error;
use crate::leaves::{Counts, Leaves};
use crate::method::{
    Aim, Announced, BatchSize, Entry, Given, Goal, Look, Method, Mode, Protects, Training, Written,
    budget, needs_epsilon, refuse_foreign, usual_delta,
};
use crate::privacy::Privacy;
use crate::study::Study;
use crate::trained::Trained;

/// The method.
pub(crate) static ENTRY: Entry = Entry {
    name: "fedfdp",
    about: "equal losses between silos, whole records private",
    settings: &[
        "lambda",
        "mode",
        "epsilon",
        "delta",
        "clip",
        "rounds",
        "local-epochs",
        "batch",
        "lr-theta",
        "silos",
        "heterogeneity",
        "partition-by",
        "centralisation",
    ],
    pins: &[],
    modes: &[Mode::Poisson, Mode::None, Mode::Paper],
    central: false,
    goal: Goal::Silos,
    needs_notion: false,
    labels: None,
    answers_by_id: false,
    protects: &Protects::RECORD,
    // Its promise is about features and labels, too.
    without_noise: "Without noise, and outside of any claim, every silo sends numbers for",
    look: Look { colour: "sky", marker: "star" },
    reason: |entry, key, _| match key {
        "noise" => (
            "noise cannot be chosen for fedfdp: its noise is simulated only, from the seed"
                .to_owned(),
            "leave it out, or use steffle",
        ),
        _ => reason(entry, key),
    },
    build: |given| Ok(Arc::new(Run::read(given)?)),
};

builder! {
    /// Equal losses between silos, with whole records private; the sensitive attribute is never read.
    FedFdp: model, notion, lambda, mode, epsilon, delta, clip, rounds, local_epochs, batch, lr_theta
}

/// Rounds, share of the records in a round, clipping threshold and step: after a coarser grid on
/// Adult, one of 36 combinations (the sweep in docs/CLI.md) that is within 0.2 points of the least
/// error on held-out training rows of Adult and of Credit Card, at epsilon 1 and at 3.
const ROUNDS: u32 = 200;
const SHARE: f64 = 0.05;
const CLIP: f64 = 1.0;
const STEP: f64 = 4.0;

/// Whose change the guarantee is about.
const ADJACENCY: &str = "one whole record (features and label) of one silo, present or a blank in \
                         its place; record counts and the schema are public";

/// Digits of an epsilon in a sentence, rounded up.
const DIGITS: u32 = 3;

#[derive(Debug, Clone)]
struct Run {
    aim: Aim,
    mode: Mode,
    training: Local,
}

/// How silos train.
#[derive(Debug, Clone)]
enum Local {
    /// Without noise: FedFair.
    Open(Averaging),
    /// With noise, every round is one step on a secret batch.
    Private(Private),
}

#[derive(Debug, Clone)]
struct Private {
    rounds: u32,
    /// Absent until the data is seen.
    batch: Option<BatchSize>,
    step: f64,
    epsilon: f64,
    /// Absent until the data is seen: 1/n^2 for n training rows.
    delta: Option<f64>,
    clip: f64,
    /// With noise that was calibrated, once the data is seen.
    core: Option<Core>,
}

impl Run {
    fn read(given: &Given) -> Result<Self, Error> {
        let mode = given.word("mode")?.unwrap_or(Mode::Poisson);
        refuse_foreign(&ENTRY, given, mode)?;
        if mode == Mode::Exact {
            let message = format!("fedfdp draws secret batches, so it has no mode {mode}");
            return Err(Error::conflict("mode", message).with_help("use <mode poisson>"));
        }
        let open = mode == Mode::None;
        let unused: &[&str] = if open { &["epsilon", "delta", "clip"] } else { &["local-epochs"] };
        if let Some(key) = unused.iter().find(|key| given.has(key)) {
            let message = format!("{key} means nothing to fedfdp in mode {mode}");
            return Err(Error::conflict(key, message).with_help("leave it out"));
        }
        let training = if open {
            Local::Open(Averaging::read(given)?)
        } else {
            Local::Private(Private::read(given, mode)?)
        };
        Ok(Self { aim: Aim::read(&ENTRY, given)?, mode, training })
    }
}

impl Private {
    fn read(given: &Given, mode: Mode) -> Result<Self, Error> {
        let epsilon = match (given.positive("epsilon")?, mode) {
            (None, Mode::Paper) => return Err(needs_epsilon()),
            (epsilon, _) => epsilon.unwrap_or(1.0),
        };
        Ok(Self {
            rounds: given.count("rounds")?.unwrap_or(ROUNDS),
            batch: given.batch()?,
            step: given.positive("lr-theta")?.unwrap_or(STEP),
            epsilon,
            delta: given.delta()?,
            clip: given.positive("clip")?.unwrap_or(CLIP),
            core: None,
        })
    }

    /// Complete, with noise that was calibrated; refuses what no noise reaches.
    fn settled(&self, study: &Study, mode: Mode, lambda: f64) -> Result<Self, Error> {
        let mut own = self.clone();
        own.delta.get_or_insert(usual_delta(study.rows()));
        let silos = study.sizes().len().max(1) as f64;
        let usual = (SHARE * study.rows() as f64 / silos).round().max(1.0) as u32;
        let batch = *own.batch.get_or_insert(BatchSize::Records(usual));
        let refuse = |error: PrivacyError| Error::usage("config::privacy", error.to_string());
        let (rate, rounds) = (rate(batch, study.mean_size())?, own.rounds);
        let (epsilon, delta) = budget(own.epsilon, own.delta)?;
        let noise = match mode {
            Mode::Paper => FedFdpNoise::published(rate, rounds, epsilon, delta),
            _ => FedFdpNoise::calibrated(rate, rounds, epsilon, delta),
        };
        let noise = noise.map_err(refuse)?;
        own.core = Some(Core { lambda, rounds, rate, clip: own.clip, step: own.step, noise });
        Ok(own)
    }

    fn core(&self) -> Result<&Core, Error> {
        self.core.as_ref().ok_or_else(|| Error::bug("noise was not calibrated for the data"))
    }

    /// What is said of whole records.
    fn privacy(&self, mode: Mode, largest_unit: usize) -> Result<Privacy, Error> {
        let Core { rounds, rate, noise, .. } = *self.core()?;
        let refuse = |error: PrivacyError| Error::usage("config::privacy", error.to_string());
        let (_, delta) = budget(self.epsilon, self.delta)?;
        let honest = noise.epsilon(rate, rounds, delta).map_err(refuse)?.epsilon;
        let claimed = noise.claimed_epsilon(rate, rounds, delta).map_err(refuse)?.epsilon;
        let units = match largest_unit {
            0 | 1 => String::new(),
            rows => format!(" It hides one row, and one unit has up to {rows} rows here."),
        };
        let about = "fedfdp never reads the sensitive attribute; any fairness between groups is \
                     incidental. This is a seeded simulation with floating-point noise: whoever \
                     knows the seed can subtract it, so nothing is protected here.";
        let (asked, delta) = (self.epsilon, delta.value());
        let holds = mode != Mode::Paper;
        let statement = if holds {
            format!(
                "The mechanism is ({asked}, {delta:.1e})-differentially private for every whole \
                 record, features and label, in each silo, against the server and all other \
                 silos, where record counts and the schema (scaling, levels) are agreed in public: \
                 {rounds} rounds on secret Poisson batches, each with a noisy gradient and a noisy \
                 loss, both accounted by Renyi moments; the gradients alone, which is what the \
                 published code counts, are epsilon {}.{units} {about}",
                rounding::up(claimed, DIGITS)
            )
        } else {
            format!(
                "The guarantee does not hold: the published calibration claims epsilon {asked} at \
                 delta {delta:.1e} for whole records, but counts the gradients alone. The losses \
                 that silos send beside them, from the same batches under noise of \
                 {PUBLISHED_LOSS_NOISE} times their bound, make it epsilon {}.{units} {about}",
                rounding::up(honest, DIGITS)
            )
        };
        Ok(Privacy {
            holds,
            honest_epsilon: Some(if holds { asked } else { honest }),
            claimed_epsilon: Some(if holds { claimed } else { asked }),
            adjacency: Some(ADJACENCY.to_owned()),
            ..Privacy::broken(asked, delta, None, statement)
        })
    }
}

/// q: the expected batch over the mean size of a silo.
fn rate(batch: BatchSize, mean: f64) -> Result<SampleRate, Error> {
    let expected = match batch {
        BatchSize::Records(records) => f64::from(records),
        BatchSize::All => mean,
    };
    SampleRate::try_from(expected / mean).map_err(|_| {
        let message = format!(
            "a secret batch of {expected} records is expected; silos have {mean:.0} on average, so \
             allowed are 1 to {mean:.0}"
        );
        Error::data("config::batch", message).with_help("lower <batch>, or use <batch all>")
    })
}

impl Method for Run {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn aim(&self) -> &Aim {
        &self.aim
    }

    fn mode(&self) -> Mode {
        self.mode
    }

    fn label(&self) -> &'static str {
        if self.mode == Mode::None { "FedFair (not private)" } else { "FedFDP" }
    }

    fn written(&self) -> Written {
        let mut written = self.aim.written(&ENTRY);
        written.push("mode", Some(self.mode.to_string()));
        match &self.training {
            Local::Open(averaging) => averaging.write(&mut written.own),
            Local::Private(Private { rounds, batch, step, epsilon, delta, clip, .. }) => {
                written.push("rounds", Some(*rounds));
                written.push("batch", *batch);
                written.push("lr-theta", Some(*step));
                written.push("epsilon", Some(*epsilon));
                written.push("delta", *delta);
                written.push("clip", Some(*clip));
            }
        }
        written
    }

    fn settle(&self, study: &Study) -> Result<Arc<dyn Method>, Error> {
        let training = match &self.training {
            Local::Open(averaging) => Local::Open(averaging.settled()),
            Local::Private(own) => {
                Local::Private(own.settled(study, self.mode, self.aim.lambda)?)
            }
        };
        Ok(Arc::new(Self { aim: self.aim.settled(study), mode: self.mode, training }))
    }

    fn announced(&self, _: &Study, _: &Counts) -> Announced {
        let rounds = match &self.training {
            Local::Open(averaging) => averaging.rounds,
            Local::Private(own) => own.rounds,
        };
        Announced { rounds: Some(rounds), ..Announced::default() }
    }

    fn privacy(&self, study: &Study, _: &Statement) -> Result<Privacy, Error> {
        match &self.training {
            Local::Open(_) => Ok(unprotected(self.aim.lambda)),
            Local::Private(own) => own.privacy(self.mode, study.about().largest_unit),
        }
    }

    fn leaves(&self, counts: &Counts) -> Vec<Leaves> {
        match self.training {
            Local::Open(_) => vec![local_training(counts, self.aim.lambda)],
            Local::Private(_) => vec![Leaves::new(
                "training, once",
                "the record count; all else in training has noise",
                1,
                "secure aggregation",
            )],
        }
    }

    fn train(&self, run: Training<'_>) -> Result<Vec<Result<Trained, Error>>, Error> {
        let trained = match &self.training {
            Local::Open(averaging) => {
                let settings = averaging.to_core(self.aim.lambda);
                federate(run, settings.rounds, |model, silos, start, seed, observe| {
                    fed_avg(model, silos, &settings, start, seed, observe)
                })
            }
            Local::Private(own) => {
                let settings = own.core()?;
                federate(run, settings.rounds, |model, silos, start, seed, observe| {
                    fed_fdp(model, silos, settings, start, seed, observe)
                })
            }
        };
        Ok(vec![trained])
    }
}
