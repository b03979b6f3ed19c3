//! `pf-ld`: a private Lagrangian dual with a trusted curator (Tran et al. 2021), with signs of its
//! constraints from noisy releases, which is sound, or from every batch, as published.

use std::sync::Arc;

use steffle::model::ModelKind;
use steffle::noise::{NodeNoise, NoiseKind};
use steffle_baselines::{Curator, Published, PublishedNoise, published};
use steffle_privacy::ledger::{Claim, Statement};
use steffle_privacy::{Delta, PrivacyError};

use super::builder::builder;
use super::descending::Descending;
use super::dp_fermi::NONE;
use crate::Error;
use crate::clock::Clock;
use crate::ground::{Ground, Public};
use crate::leaves::{Counts, Leaves};
use crate::method::{
    Aim, Announced, BatchSize, Bounds, Entry, Given, Goal, Length, Look, Method, Mode, Noise,
    Protects, ServerKind, Sign, StepSizes, Steps, Training, Written, by_mode, refuse_by_mode,
    refuse_foreign, usual_reason,
};
use crate::observer::{Stage, Watch};
use crate::privacy::{Privacy, one_row_only};
use crate::study::Study;
use crate::trained::{Trace, Trained};

/// The method.
pub(crate) static ENTRY: Entry = Entry {
    name: "pf-ld",
    about: "a private Lagrangian dual with a trusted curator",
    settings: &[
        "lambda",
        "sign",
        "mode",
        "epsilon",
        "delta",
        "row-cap",
        "noise-shape",
        "accounting",
        "noise",
        "clip",
        "rounds",
        "epochs",
        "batch",
        "lr-theta",
        "lr-dual",
        "output",
    ],
    pins: &[
        ("centralisation", "one-silo"),
        ("silos", "1"),
        ("heterogeneity", "0"),
        ("server", "lagrangian-dual"),
    ],
    modes: &Mode::ALL,
    central: true,
    goal: Goal::Groups,
    needs_notion: true,
    labels: Some(2),
    answers_by_id: false,
    protects: &Protects::CURATOR,
    without_noise: "Nothing is sent before the curator has it. Without noise, because it does not \
                    involve the attribute, the curator computes numbers for",
    look: Look { colour: "orange", marker: "diamond" },
    reason: |entry, key, mode| match key {
        "diameter" => by_mode(key, mode),
        _ => usual_reason(entry, key),
    },
    build: |given| Ok(Arc::new(Run::read(given)?)),
};

builder! {
    /// A private Lagrangian dual with a trusted curator.
    PfLd: model, notion, lambda, sign, mode, epsilon, delta, row_cap, noise_shape, accounting, noise,
    clip, rounds, epochs, batch, lr_theta, lr_dual, output
}

/// Published step sizes, of Adam and of the dual step, and a bound on gradients.
const RATE: f64 = 1e-3;
const STEP: f64 = 0.007;
const CLIP: f64 = 0.5;

/// Adam on all records takes as many steps as there are epochs, so longer ones.
const FULL_RATE: f64 = 0.01;

/// Published batch size and number of epochs; and the size of a secret batch.
const BATCH: usize = 512;
const EPOCHS: u32 = 100;
const SECRET_BATCH: usize = 256;

#[derive(Debug, Clone)]
struct Run {
    sign: Sign,
    own: Descending,
    /// Of signs from batches, once the data is seen.
    published: Option<Published>,
}

impl Run {
    fn read(given: &Given) -> Result<Self, Error> {
        let asked: Option<Mode> = given.word("mode")?;
        let usual = if asked == Some(Mode::Paper) { Sign::Batch } else { Sign::Released };
        let sign = given.word("sign")?.unwrap_or(usual);
        let usual = if sign == Sign::Batch { Mode::Paper } else { Mode::Exact };
        let mode = asked.unwrap_or(usual);
        signs_fit(sign, mode)?;
        refuse_foreign(&ENTRY, given, mode)?;
        refuse_by_mode(given, mode)?;
        let noise =
            Noise::read(given, mode, |clip| Ok(Bounds::Published { clip: clip.unwrap_or(CLIP) }))?;
        let theta = if sign == Sign::Batch { RATE } else { FULL_RATE };
        let usual = StepSizes { theta, dual: STEP };
        let steps = Steps::read(given, ServerKind::LagrangianDual, usual)?;
        let aim = Aim::read(&ENTRY, given)?;
        let own = Descending::alone(&ENTRY, aim, mode, noise, steps);
        Ok(Self { sign, own, published: None })
    }

    /// The settings of signs from batches, for this many training rows.
    fn published(&self, study: &Study) -> Result<Published, Error> {
        let Descending { aim, noise, steps, .. } = &self.own;
        let rows = study.rows();
        let batch = match steps.batch {
            Some(BatchSize::Records(records)) => records.min(rows as u32),
            Some(BatchSize::All) | None => rows as u32,
        };
        let per_epoch = (rows as u32).div_ceil(batch.max(1));
        let epochs = match steps.length {
            Some(Length::Epochs(epochs)) => epochs,
            Some(Length::Rounds(rounds)) => rounds.div_ceil(per_epoch.max(1)),
            None => EPOCHS,
        };
        let (mut clip, mut found) = (f64::INFINITY, None);
        if let Some(noise) = noise
            && let Bounds::Published { clip: own } = noise.bounds
        {
            let (epsilon, delta) = noise.budget()?;
            let refuse = |error: PrivacyError| Error::usage("config::privacy", error.to_string());
            let claiming = PublishedNoise::claiming(epsilon, delta, rows, batch, epochs);
            (clip, found) = (own, Some(claiming.map_err(refuse)?));
        }
        let rates = steps.rates.unwrap_or(StepSizes { theta: 0.0, dual: 0.0 });
        Ok(Published {
            epochs,
            batch,
            rate: rates.theta,
            step: aim.lambda * rates.dual,
            clip,
            noise: found,
            seed: study.seed(),
        })
    }
}

impl Method for Run {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn aim(&self) -> &Aim {
        &self.own.aim
    }

    fn mode(&self) -> Mode {
        self.own.mode
    }

    fn label(&self) -> &'static str {
        match self.own.mode {
            Mode::Paper => "PF-LD, as published",
            Mode::None => "PF-LD (not private)",
            _ => "PF-LD",
        }
    }

    fn written(&self) -> Written {
        let mut written = self.own.written();
        let mode = written.own.iter().position(|(key, _)| *key == "mode");
        written.own.insert(mode.unwrap_or_default(), ("sign", self.sign.to_string().into()));
        written
    }

    fn claims(&self) -> bool {
        self.own.claims()
    }

    fn noise(&self) -> NoiseKind {
        self.own.noise_kind()
    }

    fn settle(&self, study: &Study) -> Result<Arc<dyn Method>, Error> {
        let mut run = self.clone();
        let smallest = study.sizes().into_iter().min().unwrap_or_default();
        let steps = &mut run.own.steps;
        steps.batch.get_or_insert(match (self.sign, self.own.mode) {
            (Sign::Batch, _) => BatchSize::Records(BATCH.min(smallest) as u32),
            (_, Mode::Poisson) => BatchSize::Records(SECRET_BATCH.min(smallest) as u32),
            _ => BatchSize::All,
        });
        steps.length.get_or_insert(Length::Epochs(EPOCHS));
        if self.sign == Sign::Released {
            run.own = run.own.settled(study)?;
            return Ok(Arc::new(run));
        }
        run.own.aim = self.own.aim.settled(study);
        run.own.noise = self.own.noise.map(|noise| noise.settled(study.rows()));
        let model = run.own.aim.model.as_ref().unwrap_or(&ModelKind::Logistic);
        if *model != ModelKind::Logistic {
            let message = format!("pf-ld with sign batch trains logistic models, not {model}");
            return Err(Error::data("config::model", message).with_help("use <sign released>"));
        }
        run.published = Some(run.published(study)?);
        Ok(Arc::new(run))
    }

    fn announced(&self, study: &Study, counts: &Counts) -> Announced {
        match self.published {
            Some(_) => Announced { classes_released: Some(study.rows()), ..Announced::default() },
            None => self.own.announced(study, counts),
        }
    }

    fn offered(&self, study: &Study, layers: usize) -> Result<(Claim, f64, f64), Error> {
        match self.published {
            Some(_) => Ok((Claim::Nothing, 0.0, 0.0)),
            None => self.own.offered(study, layers),
        }
    }

    fn privacy(&self, study: &Study, said: &Statement) -> Result<Privacy, Error> {
        match (&self.published, self.own.noise) {
            (Some(settings), Some(noise)) => Ok(signs_of_batches(noise, settings, study)),
            (Some(_), None) => Ok(Privacy::none(NONE)),
            (None, _) => self.own.privacy(study, said, NONE),
        }
    }

    fn leaves(&self, counts: &Counts) -> Vec<Leaves> {
        match self.published {
            Some(_) => vec![Leaves::new(
                "training, per step",
                "the loss gradient of a batch",
                counts.parameters,
                "secure aggregation",
            )],
            None => self.own.leaves(counts),
        }
    }

    fn warnings(&self, labels: usize) -> Vec<String> {
        self.own.steps.warnings(labels)
    }

    fn train(&self, run: Training<'_>) -> Result<Vec<Result<Trained, Error>>, Error> {
        let Some(settings) = &self.published else { return self.own.train(run) };
        let Training { mut ground, public, .. } = run;
        Ok(vec![descend(&mut ground, settings, public)])
    }
}

/// PF-LD as published.
fn descend(
    ground: &mut Ground<'_>,
    settings: &Published,
    public: &Public,
) -> Result<Trained, Error> {
    ground.in_one_process("pf-ld with signs of batches")?;
    let watch = Watch::new(ground.observer, Stage::Fair, Some(settings.epochs));
    let curator = Curator::new(&mut ground.federation)
        .map_err(|error| Error::data("train::failed", error.to_string()))?;
    let clock = Clock::start();
    let mut trace = Vec::new();
    let start = public.minimum.theta.clone();
    let noise = NodeNoise::new(NoiseKind::Simulation, settings.seed, 1, 0);
    let mut noise = noise.ok_or_else(|| Error::bug("simulated noise needs no entropy"))?;
    let theta = published(&curator, settings, start, &mut noise, |round, objective| {
        trace.push(Trace::Fair { round, objective });
        watch.step()
    });
    watch.end(Ok(()))?;
    if !theta.iter().all(|value| value.is_finite()) {
        let message = "training diverged: the parameters are not finite; lower <lr-theta>";
        return Err(Error::data("train::diverged", message));
    }
    Ok(public.followed_by(clock.stop(), theta, settings.epochs, trace))
}

/// Signs of batches go with the published noise, released ones with noise that holds.
fn signs_fit(sign: Sign, mode: Mode) -> Result<(), Error> {
    let help = match (sign, mode) {
        (Sign::Batch, Mode::Exact | Mode::Poisson) => "use <mode paper> or <mode none>",
        (Sign::Released, Mode::Paper) => "use <sign batch> or <mode exact>",
        _ => return Ok(()),
    };
    let message = format!("pf-ld with sign {sign} has no mode {mode}");
    Err(Error::conflict("mode", message).with_help(help))
}

/// The statement of PF-LD as published.
fn signs_of_batches(noise: Noise, settings: &Published, study: &Study) -> Privacy {
    let (epsilon, delta) = (noise.epsilon, noise.delta.unwrap_or_default());
    let bound = settings.noise.zip(Delta::try_from(delta).ok()).map(|(noise, delta)| {
        noise.honest_epsilon(study.classes(), settings.batch, settings.epochs, delta)
    });
    let honest = bound.filter(|bound| bound.is_finite());
    let instead = honest.map_or_else(String::new, |honest| {
        format!(": what can be proven for every record of every data set is epsilon {honest:.0}")
    });
    let units = one_row_only(study.about().largest_unit);
    let statement = format!(
        "The guarantee does not hold: PF-LD with sign batch claims epsilon {epsilon} at delta \
         {delta:.1e} for the sensitive attribute against everyone but a trusted curator, but one \
         record's class can flip a sign in its gradient, which then moves by its whole length, and \
         the exact loss gradients tell which records are in a batch{instead}.{units} This is also \
         a seeded simulation on one machine: whoever knows the seed can subtract the noise. \
         Features and labels are not protected at all. Signs that are released have a claim that holds."
    );
    Privacy::broken(epsilon, delta, honest, statement)
}
