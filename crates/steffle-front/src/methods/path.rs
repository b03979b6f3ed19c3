//! What methods share that train on classes which were released once: a model per lambda, each found
//! from the one before.

use steffle::attributes::ClassRelease;
use steffle::train::{Fair, FairPath};
use steffle_process::Journalled;

use super::excess;
use crate::Error;
use crate::clock::Clock;
use crate::fairer::Fairer;
use crate::ground::{OPTIMUM, RULE, explain, failed};
use crate::leaves::{Counts, Fitted, Leaves};
use crate::method::{Entry, Reason, Training, goes_to_its_optimum, usual_reason};
use crate::observer::{Stage, Told, Watch};
use crate::processes::Nodes;
use crate::trained::{Trace, Trained};

/// Answers that show this many times what noise alone would show of groups' differences are enough. Chosen
/// on two splits of five groupings at four epsilons; on fifteen (docs/RESULTS.md) it warned of 92 of 98 runs
/// that did not make the model fairer by a point, and of 54 of 202 that did.
const ENOUGH: f64 = 1.5;

/// What is done with each model while its release is at hand.
pub(super) type After<'a> =
    &'a dyn Fn(&mut FairPath<'_, Journalled<Nodes>>, &Fair, &mut Trained) -> Result<(), Error>;

/// Has classes released, and trains on them.
pub(super) fn on_classes(
    mut run: Training<'_>,
    release: ClassRelease,
    max_excess: Option<f64>,
) -> Result<Vec<Result<Trained, Error>>, Error> {
    let clock = Clock::start();
    run.ground.federation.impute(release).map_err(|error| failed(&error))?;
    let variance = match release {
        ClassRelease::Revealed => 0.0,
        ClassRelease::Randomised(response) => response.variance(),
    };
    let after: After<'_> = &|path, _, trained| {
        if let Some(evidence) = path.evidence() {
            trained.judge(Fairer::new(evidence, ENOUGH), || {
                format!(
                    "The answers show {evidence:.1} times what noise alone would show of the groups' \
                     differences; use a larger epsilon, method one-shot or more records"
                )
            });
        }
        Ok(())
    };
    Ok(match max_excess {
        Some(most) => vec![excess::within(run, &clock, variance, most, after)],
        None => path(run, &clock, variance, after),
    })
}

/// A model per lambda after a release, which began with `clock`. Times count the release and the
/// unconstrained model, where all of them start.
pub(super) fn path(
    run: Training<'_>,
    clock: &Clock,
    variance: f64,
    after: After<'_>,
) -> Vec<Result<Trained, Error>> {
    let Training { mut ground, public, lambdas } = run;
    let begin = public.took.and(clock.stop());
    let (spent, statement) = ground.said();
    let epsilon = statement.and_then(|statement| statement.epsilon);
    // What all lambdas share; each adds its own.
    let released = ground.trips(public);
    let (objective, minimum, observer) = (ground.objective, &public.minimum, ground.observer);
    let mut path = FairPath::new(&mut ground.federation, objective, minimum, variance, OPTIMUM);
    let one = |&lambda: &f64| {
        let watch = Watch::new(observer, Stage::Fair, None);
        let clock = Clock::start();
        let before = path.trips();
        let mut trace = public.trace();
        let fair = path.solve(lambda, |round, objective| {
            trace.push(Trace::Fair { round, objective });
            watch.tell(Told { loss: objective, penalised: true, epsilon })
        });
        let fair = watch.end(fair.map_err(|error| explain(&error)))?;
        let mut trained = Trained {
            theta: fair.theta.clone(),
            rounds: minimum.evaluations + fair.evaluations,
            trace,
            statement,
            spent,
            ..public.trained()
        };
        after(&mut path, &fair, &mut trained)?;
        trained.trips = Some(released + path.trips() - before);
        trained.took = begin.and(clock.stop());
        Ok(trained)
    };
    lambdas.iter().map(one).collect()
}

/// What leaves a silo in every trip, with memberships that were made from a `source`.
pub(super) fn leaves(source: &str, counts: &Counts) -> Leaves {
    let Counts { cells, classes, outcomes, .. } = *counts;
    let (values, gradients) =
        (1 + cells * classes * outcomes, 1 + cells * classes * (outcomes - 1));
    let sums = format!("count, losses; per cell class tables from the {source}; gradients of both");
    // Counts of the cells come where a table comes for the first time, not with every step.
    let (what, counted) = match counts.fitted() {
        Some(Fitted::Images) => (format!("{sums}, and their products with an inverse Hessian"), 0),
        Some(Fitted::Diagonal) => {
            (format!("{sums}; once the diagonal of the silo's Hessian"), cells)
        }
        None => return walked(source, counts),
    };
    let numbers = counted + counts.trip(values, gradients);
    let left = Leaves::new("training, per trip", "", numbers, "secure aggregation");
    Leaves { what: what.into(), ..left }
}

/// The same of a network, whose silos walk by themselves.
fn walked(source: &str, counts: &Counts) -> Leaves {
    let Counts { cells, classes, outcomes, parameters, .. } = *counts;
    let what = format!(
        "two counts and the loss of records that are held out; in turn the parameters that the silo \
         reaches in a pass over its others, and per cell a count and a class table from the {source}"
    );
    let numbers = 3 + parameters.max(cells * (1 + classes * outcomes));
    let left = Leaves::new("training, per trip", "", numbers, "secure aggregation");
    Leaves { what: what.into(), ..left }
}

/// Trips of a run that solves for one lambda, or searches for it, after a release that took `release` of them.
pub(super) fn most_trips(
    release: u32,
    lambda: f64,
    max_excess: Option<f64>,
    counts: &Counts,
) -> u32 {
    let (models, lambda) = max_excess.map_or((1, lambda), |_| (excess::MOST_MODELS, 0.0));
    let fair = RULE.most_fair_trips(counts.layers, counts.parameters, lambda, OPTIMUM);
    counts.most_trips() + release + models * fair
}

/// Why such a method does not have a setting of Algorithm 1: `why` if it is about noise.
pub(super) fn reason(entry: &Entry, key: &str, why: &str) -> Reason {
    let noise = [
        "row-cap",
        "noise-shape",
        "accounting",
        "clip",
        "diameter",
        "delta",
        "epsilon",
        "noise",
        "mode",
    ];
    if let Some(reason) = goes_to_its_optimum(entry, key) {
        return reason;
    }
    if noise.contains(&key) {
        let message = format!("{key} means nothing to {}{why}", entry.name);
        return (message, "leave it out, or use steffle");
    }
    usual_reason(entry, key)
}
