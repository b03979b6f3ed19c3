//! `reductions`: exponentiated gradient (Agarwal et al. 2018), central and without privacy.

use std::sync::Arc;

use steffle_baselines::{Curator, reductions};
use steffle_privacy::ledger::Statement;

use super::builder::builder;
use super::path::reason;
use crate::Error;
use crate::clock::Clock;
use crate::ground::{OPTIMUM, Public};
use crate::leaves::{Counts, Leaves};
use crate::method::{
    Aim, Announced, Entry, Goal, Look, Method, Mode, Protects, Training, Written, refuse_foreign,
};
use crate::observer::{Observer, Stage, Watch};
use crate::privacy::Privacy;
use crate::study::Study;
use crate::trained::{Trace, Trained};

/// The method.
pub(crate) static ENTRY: Entry = Entry {
    name: "reductions",
    about: "exponentiated gradient, no privacy",
    settings: &["lambda"],
    pins: &[("centralisation", "one-silo"), ("silos", "1"), ("heterogeneity", "0")],
    modes: &[Mode::None],
    central: true,
    goal: Goal::Groups,
    needs_notion: true,
    labels: Some(2),
    answers_by_id: false,
    protects: &Protects::ATTRIBUTE,
    without_noise: "Nothing is sent before the curator has it. Without noise, and in training from \
                    the true classes, the curator computes numbers for",
    look: Look { colour: "black", marker: "star" },
    reason: |entry, key, _| reason(entry, key, ", which adds no noise"),
    build: |given| {
        refuse_foreign(&ENTRY, given, given.word("mode")?.unwrap_or(Mode::None))?;
        Ok(Arc::new(Run(Aim::read(&ENTRY, given)?)))
    },
};

builder! {
    /// Exponentiated gradient with a curator who has all data: nothing is private.
    Reductions: model, notion, lambda
}

/// B for each unit of lambda. Violations are rates and weigh against a rate of errors: on Adult the
/// best single model is the unconstrained one up to lambda 1, and ten is parity, so that one list of
/// lambdas serves this method and the others.
const BOUND_PER_LAMBDA: f64 = 0.05;

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
        "reductions (not private)"
    }

    fn written(&self) -> Written {
        self.0.written(&ENTRY)
    }

    fn shares_release(&self) -> bool {
        true
    }

    fn settle(&self, study: &Study) -> Result<Arc<dyn Method>, Error> {
        Ok(Arc::new(Self(self.0.settled(study))))
    }

    fn announced(&self, study: &Study, _: &Counts) -> Announced {
        Announced { classes_released: Some(study.rows()), ..Announced::default() }
    }

    fn privacy(&self, _: &Study, _: &Statement) -> Result<Privacy, Error> {
        Ok(Privacy::none(
            "This run gives no privacy: reductions is a central reference, which has all records \
             and the sensitive attribute of every one of them in one place and trains on them as \
             they are. (The data is on this machine.)",
        ))
    }

    fn leaves(&self, counts: &Counts) -> Vec<Leaves> {
        vec![Leaves::new(
            "training, per evaluation",
            "the loss and its gradient, weighted by the classes",
            1 + counts.parameters,
            "secure aggregation",
        )]
    }

    fn train(&self, run: Training<'_>) -> Result<Vec<Result<Trained, Error>>, Error> {
        let Training { mut ground, public, lambdas } = run;
        ground.in_one_process("reductions")?;
        let observer = ground.observer;
        let curator = Curator::new(&mut ground.federation)
            .map_err(|error| Error::data("train::failed", error.to_string()))?;
        let one = |&lambda: &f64| reduce(&curator, lambda, public, observer);
        Ok(lambdas.iter().map(one).collect())
    }
}

fn reduce(
    curator: &Curator<'_>,
    lambda: f64,
    public: &Public,
    observer: &dyn Observer,
) -> Result<Trained, Error> {
    let watch = Watch::new(observer, Stage::Fair, None);
    let clock = Clock::start();
    let mut trace = Vec::new();
    let bound = BOUND_PER_LAMBDA * lambda;
    let found = reductions(curator, bound, &public.minimum, OPTIMUM, |round, objective| {
        trace.push(Trace::Fair { round, objective });
        watch.step()
    });
    let found = watch.end(Ok(found))?;
    let rounds = public.minimum.evaluations + found.evaluations;
    Ok(public.followed_by(clock.stop(), found.theta, rounds, trace))
}
