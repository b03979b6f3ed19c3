//! `steffle`: Algorithm 1, with noise on every round.

use std::sync::Arc;

use steffle::noise::NoiseKind;
use steffle_privacy::ledger::{Claim, Statement};

use super::builder::builder;
use super::descending::{Descending, descends};
use crate::Error;
use crate::leaves::{Counts, Leaves};
use crate::method::{
    Aim, Announced, Entry, Goal, Look, Method, Mode, Protects, Training, Written, usual_reason,
};
use crate::privacy::Privacy;
use crate::study::Study;
use crate::trained::Trained;

/// The method.
pub(crate) static ENTRY: Entry = Entry {
    name: "steffle",
    about: "Algorithm 1",
    settings: &[
        "lambda",
        "surrogate-sharpness",
        "l2",
        "mode",
        "epsilon",
        "delta",
        "row-cap",
        "noise-shape",
        "accounting",
        "noise",
        "secure-aggregation",
        "noise-shares",
        "colluders",
        "clip",
        "diameter",
        "server",
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
    pins: &[],
    modes: &Mode::ALL,
    central: false,
    goal: Goal::Groups,
    needs_notion: false,
    labels: None,
    answers_by_id: false,
    protects: &Protects::ATTRIBUTE,
    without_noise: "Without noise, because it does not involve the attribute, every silo sends \
                    numbers for",
    look: Look { colour: "blue", marker: "circle" },
    reason: |entry, key, _| usual_reason(entry, key),
    build: |given| {
        let mode = given.word("mode")?.unwrap_or(Mode::Exact);
        Ok(Arc::new(Run(Descending::read(&ENTRY, given, mode, None)?)))
    },
};

builder! {
    /// Algorithm 1: rounds of noisy sums, with a guarantee that holds unless the mode says otherwise.
    Steffle: model, notion, lambda, sharpness, l2, mode, epsilon, delta, row_cap, noise_shape, accounting,
    noise, secure_aggregation, noise_shares, colluders, clip, diameter, server, rounds, epochs, batch, lr_theta, lr_dual, output
}

/// Said of runs without noise.
pub(super) const NONE: &str = "This run gives no privacy: silos send exact sums about the sensitive attribute, \
                    and whoever reads them may learn it. Features and labels are not protected \
                    either. (The silos are simulated on this machine.)";

#[derive(Debug)]
struct Run(Descending);

impl Method for Run {
    descends!();

    fn label(&self) -> &'static str {
        match self.0.mode {
            Mode::Paper => "SteFFLe, paper's noise",
            Mode::None => "SteFFLe, no noise",
            Mode::Poisson => "SteFFLe, secret batches",
            Mode::Exact => "SteFFLe, exact noise",
        }
    }

    fn settle(&self, study: &Study) -> Result<Arc<dyn Method>, Error> {
        Ok(Arc::new(Self(self.0.settled(study)?)))
    }

    fn privacy(&self, study: &Study, said: &Statement) -> Result<Privacy, Error> {
        self.0.privacy(study, said, NONE)
    }
}
