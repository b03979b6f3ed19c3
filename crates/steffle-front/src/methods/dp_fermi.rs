//! `dp-fermi`: Algorithm 1's own steps with one silo, which is trusted.

use std::sync::Arc;

use steffle::noise::NoiseKind;
use steffle_privacy::ledger::{Claim, Statement};

use super::builder::builder;
use super::descending::{Descending, descends};
use crate::Error;
use crate::leaves::{Counts, Leaves};
use crate::method::{
    Aim, Announced, BatchSize, Entry, Goal, Length, Look, Method, Mode, Protects, Training,
    Written, usual_reason,
};
use crate::privacy::Privacy;
use crate::study::Study;
use crate::trained::Trained;

/// The method.
pub(crate) static ENTRY: Entry = Entry {
    name: "dp-fermi",
    about: "Algorithm 1 with one trusted silo",
    settings: &[
        "lambda",
        "surrogate-sharpness",
        "mode",
        "epsilon",
        "delta",
        "row-cap",
        "noise-shape",
        "accounting",
        "noise",
        "clip",
        "diameter",
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
        ("server", "plain"),
    ],
    modes: &Mode::ALL,
    central: true,
    goal: Goal::Groups,
    needs_notion: true,
    labels: None,
    answers_by_id: false,
    protects: &Protects::CURATOR,
    without_noise: "Nothing is sent before the curator has it. Without noise, because it does not \
                    involve the attribute, the curator computes numbers for",
    look: Look { colour: "purple", marker: "down" },
    reason: |entry, key, _| usual_reason(entry, key),
    build: |given| {
        let mode = given.word("mode")?.unwrap_or(Mode::Exact);
        let theta_step = (mode == Mode::Exact).then_some(FULL_RATE);
        Ok(Arc::new(Run(Descending::read(&ENTRY, given, mode, theta_step)?)))
    },
};

/// Step size of Algorithm 1 on all records of a curator: 200 such steps come near the optimum.
const FULL_RATE: f64 = 1.0;
const FULL_ROUNDS: u32 = 200;

builder! {
    /// Algorithm 1 with a curator who has all data: private against everybody else.
    DpFermi: model, notion, lambda, sharpness, mode, epsilon, delta, row_cap, noise_shape, accounting,
    noise, clip, diameter, rounds, epochs, batch, lr_theta, lr_dual, output
}

/// Said of runs without noise.
pub(super) const NONE: &str = "This run gives no privacy: no noise is added. The curator has all \
                               records and the sensitive attribute of every one of them in one \
                               place. (The data is on this machine.)";

#[derive(Debug)]
struct Run(Descending);

impl Method for Run {
    descends!();

    fn label(&self) -> &'static str {
        match self.0.mode {
            Mode::Paper => "DP-FERMI, published noise",
            _ => "DP-FERMI",
        }
    }

    fn settle(&self, study: &Study) -> Result<Arc<dyn Method>, Error> {
        let mut own = self.0.clone();
        let all = own.steps.batch.is_none_or(|batch| batch == BatchSize::All);
        if own.mode == Mode::Exact && all {
            own.steps.length.get_or_insert(Length::Rounds(FULL_ROUNDS));
        }
        Ok(Arc::new(Self(own.settled(study)?)))
    }

    fn privacy(&self, study: &Study, said: &Statement) -> Result<Privacy, Error> {
        self.0.privacy(study, said, NONE)
    }
}
