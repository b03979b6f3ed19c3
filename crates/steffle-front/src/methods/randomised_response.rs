//! `randomised-response`: the optimum with classes that were randomised once.

use std::sync::Arc;

use steffle::attributes::{ClassRelease, RandomisedResponse as Response};
use steffle::noise::NoiseKind;
use steffle_privacy::Epsilon;
use steffle_privacy::ledger::{Claim, Statement, StatementKind};

use super::builder::builder;
use super::excess;
use super::path::{leaves, most_trips, on_classes, reason};
use crate::Error;
use crate::leaves::{Counts, Leaves};
use crate::method::{
    Aim, Announced, Entry, Given, Goal, Look, Method, Mode, NoiseOrigin, Protects, Training,
    Written, refuse_foreign,
};
use crate::privacy::{Privacy, claimed};
use crate::study::Study;
use crate::trained::Trained;

/// The method.
pub(crate) static ENTRY: Entry = Entry {
    name: "randomised-response",
    about: "the optimum with classes that are randomised once",
    settings: &[
        "lambda",
        "max-excess",
        "surrogate-sharpness",
        "l2",
        "epsilon",
        "noise",
        "secure-aggregation",
        "silos",
        "heterogeneity",
        "partition-by",
        "centralisation",
    ],
    pins: &[],
    modes: &[Mode::None],
    central: false,
    goal: Goal::Groups,
    needs_notion: true,
    labels: None,
    answers_by_id: true,
    protects: &Protects::ANSWERS,
    without_noise: "Without noise, because it involves the attribute only as it is answered, every \
                    silo sends numbers for",
    look: Look { colour: "green", marker: "up" },
    reason: |entry, key, _| reason(entry, key, ": its one parameter is epsilon"),
    build: |given| Ok(Arc::new(Run::read(given)?)),
};

builder! {
    /// Every class is randomised once, then the optimum: private against everybody, at a price.
    RandomisedResponse: model, notion, lambda, sharpness, l2, max_excess, epsilon, noise,
    secure_aggregation
}

#[derive(Debug, Clone)]
struct Run {
    aim: Aim,
    epsilon: f64,
    noise: NoiseOrigin,
    secure_aggregation: bool,
    max_excess: Option<f64>,
}

impl Run {
    fn read(given: &Given) -> Result<Self, Error> {
        refuse_foreign(&ENTRY, given, given.word("mode")?.unwrap_or(Mode::None))?;
        let allowed = "a finite number, 0.000001 or more";
        let epsilon = given.number("epsilon", 1e-6.., allowed)?.ok_or_else(|| {
            let message = "method randomised-response needs a privacy parameter";
            Error::conflict("method", message).with_help("add <epsilon>, for example <epsilon 1>")
        })?;
        let noise = given.word("noise")?.unwrap_or(NoiseOrigin::Simulated);
        let (aim, max_excess) = (Aim::read(&ENTRY, given)?, excess::read(given)?);
        let secure_aggregation = given.flag("secure-aggregation")?.unwrap_or(false);
        Ok(Self { aim, epsilon, noise, secure_aggregation, max_excess })
    }
}

impl Method for Run {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn aim(&self) -> &Aim {
        &self.aim
    }

    fn label(&self) -> &'static str {
        "randomised response"
    }

    fn written(&self) -> Written {
        let mut written = self.aim.written(&ENTRY);
        written.push("epsilon", Some(self.epsilon));
        written.push("noise", Some(self.noise.to_string()));
        written.push("secure-aggregation", self.secure_aggregation.then_some(true));
        written.push("max-excess", self.max_excess);
        if self.shares_release() { written } else { written.without("lambda") }
    }

    fn claims(&self) -> bool {
        true
    }

    fn noise(&self) -> NoiseKind {
        self.noise.into()
    }

    fn secure_aggregation(&self) -> bool {
        self.secure_aggregation
    }

    /// A limit of error chooses lambda itself.
    fn shares_release(&self) -> bool {
        self.max_excess.is_none()
    }

    fn settle(&self, study: &Study) -> Result<Arc<dyn Method>, Error> {
        excess::check(self.max_excess, study)?;
        Ok(Arc::new(Self { aim: self.aim.settled(study), ..self.clone() }))
    }

    fn announced(&self, study: &Study, counts: &Counts) -> Announced {
        // Opening, answers and closing; answers that were given elsewhere are taken in.
        let release = if study.is_split() { 4 } else { 3 };
        let trips = most_trips(release, self.aim.lambda, self.max_excess, counts);
        let classes_released = Some(study.rows());
        Announced { classes_released, trips: Some(trips), ..Announced::default() }
    }

    fn offered(&self, _: &Study, _: usize) -> Result<(Claim, f64, f64), Error> {
        Ok((Claim::Pure, self.epsilon, 0.0))
    }

    fn privacy(&self, study: &Study, said: &Statement) -> Result<Privacy, Error> {
        let (epsilon, _) = claimed(said);
        let others = (study.classes() - 1) as f64;
        let kept = 100.0 * epsilon.exp() / (epsilon.exp() + others);
        let kept = if kept.is_finite() { kept } else { 100.0 };
        let units = match study.about().largest_unit {
            0 | 1 => "unit",
            _ => "unit (all rows of a unit get one answer)",
        };
        let source = if said.kind == StatementKind::Private && study.is_paid() {
            "The random bits come from the operating system and are not stored. The stores' books \
             pay for the answers; whoever asks the same again gets the same ones."
        } else if said.kind == StatementKind::Private {
            "The random bits come from the operating system and are not stored; another run draws \
             new answers and spends again."
        } else {
            "But this run is a seeded simulation on one machine: whoever knows the seed can undo \
             the answers, so nothing is protected here."
        };
        let statement = format!(
            "Every attributes division answers once per {units} with a randomised class: the true \
             one with probability {kept:.1} %, else one of the {others} other(s). That is pure \
             local privacy of the sensitive attribute, epsilon {epsilon} and delta 0, against \
             everybody who sees the answers, the silo's own records division included; training on \
             them, for any lambda, notion and model, adds nothing to it. {source} Features and \
             labels are not protected: the loss gradients and class tables that silos send are \
             exact functions of them and of the answers."
        );
        Ok(Privacy::holding(said, statement))
    }

    fn leaves(&self, counts: &Counts) -> Vec<Leaves> {
        vec![leaves("answers", counts)]
    }

    fn train(&self, run: Training<'_>) -> Result<Vec<Result<Trained, Error>>, Error> {
        let refuse = |error: String| Error::usage("config::epsilon", error);
        let epsilon = Epsilon::try_from(self.epsilon).map_err(|e| refuse(e.to_string()))?;
        let response = Response::new(epsilon, run.ground.study.classes());
        let response = response.map_err(|error| refuse(error.to_string()))?;
        on_classes(run, ClassRelease::Randomised(response), self.max_excess)
    }
}
