//! `erm`: federated training to the optimum, without fairness.

use std::sync::Arc;

use steffle_privacy::ledger::Statement;

use super::builder::builder;
use crate::Error;
use crate::leaves::{Counts, Leaves};
use crate::method::{
    Aim, Announced, Entry, Goal, Look, Method, Mode, Protects, Training, Written, by_mode,
    goes_to_its_optimum, refuse_foreign, usual_reason,
};
use crate::privacy::Privacy;
use crate::study::Study;
use crate::trained::Trained;

/// The method.
pub(crate) static ENTRY: Entry = Entry {
    name: "erm",
    about: "the optimum without fairness",
    settings: &["l2", "silos", "heterogeneity", "partition-by", "centralisation"],
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
    look: Look { colour: "grey", marker: "cross" },
    reason: |entry, key, mode| match (key, goes_to_its_optimum(entry, key)) {
        (_, Some(reason)) => reason,
        ("mode", _) => (
            format!(
                "method erm never reads the sensitive attribute, so mode {mode} has nothing to \
                 protect"
            ),
            "leave <mode> out, or use steffle",
        ),
        (
            "sign" | "target-gap" | "max-excess" | "pool" | "secure-aggregation" | "noise-shares"
            | "colluders" | "local-epochs",
            _,
        ) => usual_reason(entry, key),
        _ => by_mode(key, mode),
    },
    build: |given| {
        refuse_foreign(&ENTRY, given, given.word("mode")?.unwrap_or(Mode::None))?;
        Ok(Arc::new(Run(Aim::read(&ENTRY, given)?)))
    },
};

builder! {
    /// The optimum without fairness: what all other methods are compared with.
    Erm: model, notion, l2
}

#[derive(Debug)]
struct Run(Aim);

impl Method for Run {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn aim(&self) -> &Aim {
        &self.0
    }

    fn label(&self) -> &'static str {
        "ERM (not fair)"
    }

    fn written(&self) -> Written {
        self.0.written(&ENTRY)
    }

    fn settle(&self, study: &Study) -> Result<Arc<dyn Method>, Error> {
        Ok(Arc::new(Self(self.0.settled(study))))
    }

    fn announced(&self, _: &Study, counts: &Counts) -> Announced {
        Announced { trips: Some(counts.most_trips()), ..Announced::default() }
    }

    fn privacy(&self, _: &Study, _: &Statement) -> Result<Privacy, Error> {
        Ok(Privacy::none(
            "Method erm never reads the sensitive attribute in training. Features and labels are \
             not protected: the gradients that silos send are exact. (The silos are simulated on \
             this machine.)",
        ))
    }

    fn leaves(&self, _: &Counts) -> Vec<Leaves> {
        Vec::new()
    }

    fn train(&self, run: Training<'_>) -> Result<Vec<Result<Trained, Error>>, Error> {
        Ok(vec![Ok(run.public.trained())])
    }
}
