//! `fedavg`: federated averaging, without fairness between groups and without privacy.

use std::sync::Arc;

use steffle_baselines::fed_avg;
use steffle_privacy::ledger::Statement;

use super::averaging::{Averaging, federate, reason, unprotected};
use super::builder::builder;
use crate::Error;
use crate::leaves::{Counts, Leaves};
use crate::method::{
    Aim, Announced, Entry, Goal, Look, Method, Mode, Protects, Training, Written, refuse_foreign,
};
use crate::privacy::Privacy;
use crate::study::Study;
use crate::trained::Trained;

/// The method.
pub(crate) static ENTRY: Entry = Entry {
    name: "fedavg",
    about: "federated averaging",
    settings: &[
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
    modes: &[Mode::None],
    central: false,
    goal: Goal::Nothing,
    needs_notion: false,
    labels: None,
    answers_by_id: false,
    protects: &Protects::ATTRIBUTE,
    without_noise: "Without noise, because it does not involve the attribute, every silo sends \
                    numbers for",
    look: Look { colour: "grey", marker: "plus" },
    reason: |entry, key, mode| match key {
        "mode" => (format!("fedavg adds no noise, so it has no mode {mode}"), "leave <mode> out"),
        _ => reason(entry, key),
    },
    build: |given| {
        refuse_foreign(&ENTRY, given, given.word("mode")?.unwrap_or(Mode::None))?;
        let averaging = Averaging::read(given)?;
        Ok(Arc::new(Run { aim: Aim::read(&ENTRY, given)?, averaging }))
    },
};

builder! {
    /// Federated averaging: nothing is fair by design, and nothing is private.
    FedAvg: model, notion, rounds, local_epochs, batch, lr_theta
}

#[derive(Debug)]
struct Run {
    aim: Aim,
    averaging: Averaging,
}

impl Method for Run {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn aim(&self) -> &Aim {
        &self.aim
    }

    fn label(&self) -> &'static str {
        "FedAvg (not fair)"
    }

    fn written(&self) -> Written {
        let mut written = self.aim.written(&ENTRY);
        self.averaging.write(&mut written.own);
        written
    }

    fn settle(&self, study: &Study) -> Result<Arc<dyn Method>, Error> {
        let (aim, averaging) = (self.aim.settled(study), self.averaging.settled());
        Ok(Arc::new(Self { aim, averaging }))
    }

    fn announced(&self, _: &Study, _: &Counts) -> Announced {
        Announced { rounds: Some(self.averaging.rounds), ..Announced::default() }
    }

    fn privacy(&self, _: &Study, _: &Statement) -> Result<Privacy, Error> {
        Ok(unprotected(self.aim.lambda))
    }

    fn leaves(&self, counts: &Counts) -> Vec<Leaves> {
        vec![local_training(counts, self.aim.lambda)]
    }

    fn train(&self, run: Training<'_>) -> Result<Vec<Result<Trained, Error>>, Error> {
        let settings = self.averaging.to_core(self.aim.lambda);
        let trained = federate(run, settings.rounds, |model, silos, start, seed, observe| {
            fed_avg(model, silos, &settings, start, seed, observe)
        });
        Ok(vec![trained])
    }
}

/// What leaves a silo after local training without noise.
pub(super) fn local_training(counts: &Counts, lambda: f64) -> Leaves {
    Leaves::new(
        "training, per round",
        "the record count, the parameters after local training and, with lambda, the loss",
        1 + counts.parameters + usize::from(lambda > 0.0),
        "secure aggregation",
    )
}
