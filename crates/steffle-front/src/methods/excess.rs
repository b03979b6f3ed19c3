//! A budget for accuracy: the fairest model whose error is at most so much above the unconstrained
//! one's.
//!
//! Error is a function of features and labels, so that the search reads nothing of the sensitive
//! attribute: once classes are released it costs no privacy. It looks at validation rows.

use std::fmt;
use std::ops::ControlFlow;

use serde::Serialize;
use steffle::metrics::decide;
use steffle::model::{Classifier, Point};
use steffle::protocol::Transport;
use steffle::train::{Fair, FairPath};

use super::path::After;
use crate::Error;
use crate::clock::Clock;
use crate::ground::{OPTIMUM, explain};
use crate::method::{Given, Training};
use crate::observer::Stage;
use crate::study::{HeldOut, Study};
use crate::trained::{Trace, Trained};

/// The smallest lambda that is tried; each next one is `FACTOR` times it, up to about 3000.
const FIRST: f64 = 0.2;
const FACTOR: f64 = 4.0;
const LAMBDAS: i32 = 8;

/// Times that the interval around the largest lambda is halved.
const HALVINGS: u32 = 4;

/// Models that are tried at most.
pub(super) const MOST_MODELS: u32 = 1 + LAMBDAS as u32 + HALVINGS;

/// What a budget for accuracy came to.
///
/// Errors are on validation rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ExcessReport {
    /// The error above the unconstrained model's that was allowed.
    pub max_excess: f64,
    /// What the model takes of it.
    pub excess: f64,
    /// The error of the unconstrained model.
    pub unconstrained_error: f64,
    /// Validation rows.
    pub rows: usize,
    /// Models that were tried.
    pub models: u32,
}

impl fmt::Display for ExcessReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points = |share: f64| 100.0 * share;
        write!(
            f,
            "On {} validation rows the model errs {:+.2} points above the unconstrained one, whose \
             error is {:.2} %; {:.2} were allowed. Lambda is the largest of {} tried that keeps \
             within, which was seen from features and labels and costs no privacy.",
            self.rows,
            points(self.excess),
            points(self.unconstrained_error),
            points(self.max_excess),
            self.models,
        )
    }
}

/// What was said; refuses it beside another word on how fair.
pub(super) fn read(given: &Given) -> Result<Option<f64>, Error> {
    let most = given.number("max-excess", 0.0..=1.0, "a number in [0, 1]")?;
    let other = ["lambda", "target-gap"].into_iter().find(|key| given.has(key));
    if let (Some(_), Some(other)) = (most, other) {
        let message =
            format!("{other} and max-excess both say how fair; the excess chooses its own lambda");
        return Err(Error::conflict("max-excess", message).with_help("leave out one of the two"));
    }
    Ok(most)
}

/// Refuses a study without validation rows.
pub(super) fn check(most: Option<f64>, study: &Study) -> Result<(), Error> {
    if most.is_some() && study.validation().is_none() {
        let message = "max-excess is measured on validation rows, and there are none";
        let help = "add <validation 0.1>, on a table that is cut here";
        return Err(Error::conflict("max-excess", message).with_help(help));
    }
    Ok(())
}

/// The model of the largest lambda whose error on validation rows is at most `most` above the
/// unconstrained one's.
pub(super) fn within(
    run: Training<'_>,
    clock: &Clock,
    variance: f64,
    most: f64,
    after: After<'_>,
) -> Result<Trained, Error> {
    let Training { mut ground, public, .. } = run;
    ground.observer.begin(Stage::Fair, None);
    let (spent, statement) = ground.said();
    let (trips, objective, minimum) = (ground.trips_of(), ground.objective, &public.minimum);
    let (model, study) = (ground.model.clone(), ground.study);
    check(Some(most), study)?;
    let error = |theta: &[f64]| study.validation().map_or(0.0, |rows| wrong(&*model, theta, rows));
    let unconstrained_error = error(&minimum.theta);
    let path = FairPath::new(&mut ground.federation, objective, minimum, variance, OPTIMUM);
    let mut search = Search { path, trace: public.trace(), models: 0, most };
    let found = search.largest(|theta| error(theta) - unconstrained_error)?;
    let Search { mut path, trace, models, .. } = search;
    let rows = study.validation().map_or(0, HeldOut::len);
    let excess = found.excess;
    let report = ExcessReport { max_excess: most, excess, unconstrained_error, rows, models };
    let mut trained = Trained {
        theta: found.fair.theta.clone(),
        rounds: minimum.evaluations + found.fair.evaluations,
        trace,
        statement,
        spent,
        lambda: Some(found.lambda),
        excess: Some(report),
        ..public.trained()
    };
    after(&mut path, &found.fair, &mut trained)?;
    trained.trips = Some(trips(public, path.trips()));
    trained.took = public.took.and(clock.stop());
    Ok(trained)
}

/// The share of rows that a model is wrong about.
fn wrong(model: &dyn Classifier, theta: &[f64], held: &HeldOut) -> f64 {
    let probabilities = Point::new(model, theta).probabilities(held.records.rows());
    let decided = decide(&probabilities, model.labels());
    let pairs = decided.iter().zip(held.records.labels());
    pairs.filter(|(ours, label)| ours != label).count() as f64 / held.len().max(1) as f64
}

/// A model that keeps within.
struct Within {
    fair: Fair,
    lambda: f64,
    excess: f64,
}

struct Search<'a, T> {
    path: FairPath<'a, T>,
    trace: Vec<Trace>,
    models: u32,
    most: f64,
}

impl<T: Transport> Search<'_, T> {
    fn try_lambda(
        &mut self,
        lambda: f64,
        excess: &impl Fn(&[f64]) -> f64,
    ) -> Result<Within, Error> {
        let fair = self.path.solve(lambda, |_, _| ControlFlow::Continue(()));
        let fair = fair.map_err(|error| explain(&error))?;
        let excess = excess(&fair.theta);
        self.models += 1;
        self.trace.push(Trace::Bounded { lambda, excess });
        Ok(Within { fair, lambda, excess })
    }

    /// Upwards until it costs too much, then between the last two.
    fn largest(&mut self, excess: impl Fn(&[f64]) -> f64) -> Result<Within, Error> {
        let mut best = self.try_lambda(0.0, &excess)?;
        let mut above = None;
        for step in 0..LAMBDAS {
            let next = self.try_lambda(FIRST * FACTOR.powi(step), &excess)?;
            if next.excess > self.most {
                above = Some(next.lambda);
                break;
            }
            best = next;
        }
        let Some(mut above) = above else { return Ok(best) };
        for _ in 0..HALVINGS {
            let middle = (best.lambda.max(FIRST / FACTOR) * above).sqrt();
            let next = self.try_lambda(middle, &excess)?;
            if next.excess > self.most {
                above = middle;
            } else {
                best = next;
            }
        }
        Ok(best)
    }
}
