//! `steffle-nonprivate`: Algorithm 1's own steps, without noise.

use std::sync::Arc;

use steffle::noise::NoiseKind;
use steffle_privacy::ledger::{Claim, Statement};

use super::builder::builder;
use super::descending::{Descending, descends};
use super::steffle::NONE;
use crate::Error;
use crate::leaves::{Counts, Leaves};
use crate::method::{
    Aim, Announced, Entry, Goal, Look, Method, Mode, Protects, Training, Written, by_mode,
    usual_reason,
};
use crate::privacy::Privacy;
use crate::study::Study;
use crate::trained::Trained;

/// The method.
pub(crate) static ENTRY: Entry = Entry {
    name: "steffle-nonprivate",
    about: "Algorithm 1 without noise",
    settings: &[
        "lambda",
        "surrogate-sharpness",
        "rounds",
        "epochs",
        "batch",
        "lr-theta",
        "lr-dual",
        "output",
        "silos",
        "heterogeneity",
        "partition-by",
        "centralisation",
    ],
    pins: &[("mode", "none"), ("server", "plain")],
    modes: &[Mode::None],
    central: false,
    goal: Goal::Groups,
    needs_notion: false,
    labels: None,
    answers_by_id: false,
    protects: &Protects::ATTRIBUTE,
    without_noise: "Without noise, because it does not involve the attribute, every silo sends \
                    numbers for",
    look: Look { colour: "blue", marker: "plus" },
    reason: |entry, key, mode| match key {
        "sign" | "target-gap" | "max-excess" | "pool" | "secure-aggregation" | "noise-shares"
        | "colluders" | "local-epochs" => usual_reason(entry, key),
        _ => by_mode(key, mode),
    },
    build: |given| Ok(Arc::new(Run(Descending::read(&ENTRY, given, Mode::None, None)?))),
};

builder! {
    /// Algorithm 1's own steps without noise: nothing is private.
    SteffleNonprivate: model, notion, lambda, sharpness, rounds, epochs, batch, lr_theta, lr_dual,
    output
}

#[derive(Debug)]
struct Run(Descending);

impl Method for Run {
    descends!();

    fn label(&self) -> &'static str {
        "SteFFLe (not private)"
    }

    fn settle(&self, study: &Study) -> Result<Arc<dyn Method>, Error> {
        Ok(Arc::new(Self(self.0.settled(study)?)))
    }

    fn privacy(&self, study: &Study, said: &Statement) -> Result<Privacy, Error> {
        self.0.privacy(study, said, NONE)
    }
}
