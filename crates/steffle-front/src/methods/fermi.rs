//! `fermi`: the central optimum with the true classes, the reference without privacy.

use std::sync::Arc;

use steffle::attributes::ClassRelease;
use steffle_privacy::ledger::Statement;

use super::builder::builder;
use super::excess;
use super::path::{leaves, most_trips, on_classes, reason};
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
    name: "fermi",
    about: "the central optimum with the true classes, no privacy",
    settings: &[
        "lambda",
        "max-excess",
        "surrogate-sharpness",
        "l2",
        "silos",
        "heterogeneity",
        "partition-by",
        "centralisation",
    ],
    pins: &[],
    modes: &[Mode::None],
    central: true,
    goal: Goal::Groups,
    needs_notion: false,
    labels: None,
    answers_by_id: true,
    protects: &Protects::ATTRIBUTE,
    without_noise: "Nothing is sent before the curator has it. Without noise, and in training from \
                    the true classes, the curator computes numbers for",
    look: Look { colour: "black", marker: "diamond" },
    reason: |entry, key, _| reason(entry, key, ", which adds no noise"),
    build: |given| {
        refuse_foreign(&ENTRY, given, given.word("mode")?.unwrap_or(Mode::None))?;
        let (aim, max_excess) = (Aim::read(&ENTRY, given)?, excess::read(given)?);
        Ok(Arc::new(Run { aim, max_excess }))
    },
};

builder! {
    /// The central optimum with the true classes: nothing is private.
    Fermi: model, notion, lambda, sharpness, l2, max_excess
}

#[derive(Debug)]
struct Run {
    aim: Aim,
    max_excess: Option<f64>,
}

impl Method for Run {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn aim(&self) -> &Aim {
        &self.aim
    }

    fn label(&self) -> &'static str {
        "FERMI (not private)"
    }

    fn written(&self) -> Written {
        let mut written = self.aim.written(&ENTRY);
        written.push("max-excess", self.max_excess);
        if self.shares_release() { written } else { written.without("lambda") }
    }

    /// A limit of error chooses lambda itself.
    fn shares_release(&self) -> bool {
        self.max_excess.is_none()
    }

    fn settle(&self, study: &Study) -> Result<Arc<dyn Method>, Error> {
        excess::check(self.max_excess, study)?;
        Ok(Arc::new(Self { aim: self.aim.settled(study), max_excess: self.max_excess }))
    }

    fn announced(&self, study: &Study, counts: &Counts) -> Announced {
        // Opening, answers and closing; answers that were given elsewhere are taken in.
        let release = if study.is_split() { 4 } else { 3 };
        let trips = most_trips(release, self.aim.lambda, self.max_excess, counts);
        let classes_released = Some(study.rows());
        Announced { classes_released, trips: Some(trips), ..Announced::default() }
    }

    fn privacy(&self, _: &Study, _: &Statement) -> Result<Privacy, Error> {
        Ok(Privacy::none(
            "This run gives no privacy: fermi is the central reference, which has all records and \
             the sensitive attribute of every one of them in one place and trains on them as they \
             are. (The data is on this machine.)",
        ))
    }

    fn leaves(&self, counts: &Counts) -> Vec<Leaves> {
        vec![leaves("classes", counts)]
    }

    fn train(&self, run: Training<'_>) -> Result<Vec<Result<Trained, Error>>, Error> {
        on_classes(run, ClassRelease::Revealed, self.max_excess)
    }
}
