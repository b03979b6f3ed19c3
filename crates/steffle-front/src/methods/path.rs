//! What methods share that train on classes which were released once: a model per lambda, each found
//! from the one before.

use steffle::division::attributes::ClassRelease;
use steffle::train::{Fair, FairPath};

use crate::Error;
use crate::clock::Clock;
use crate::ground::{OPTIMUM, explain, failed};
use crate::leaves::{Counts, Leaves};
use crate::method::{Entry, Reason, Training, goes_to_its_optimum, usual_reason};
use crate::observer::{Stage, Watch};
use crate::processes::Nodes;
use crate::trained::{Trace, Trained};

/// What is done with each model while its release is at hand.
pub(super) type After<'a> =
    &'a dyn Fn(&mut FairPath<'_, Nodes>, &Fair, &mut Trained) -> Result<(), Error>;

/// Has classes released, and trains on them.
pub(super) fn on_classes(
    mut run: Training<'_>,
    release: ClassRelease,
) -> Result<Vec<Result<Trained, Error>>, Error> {
    let clock = Clock::start();
    run.ground.federation.impute(release).map_err(|error| failed(&error))?;
    let variance = match release {
        ClassRelease::Revealed => 0.0,
        ClassRelease::Randomised(response) => response.variance(),
    };
    Ok(path(run, &clock, variance, &|_, _, _| Ok(())))
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
            watch.step()
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

/// What leaves a silo in every evaluation.
pub(super) fn evaluation(what: &'static str, counts: &Counts) -> Leaves {
    let Counts { cells, classes, labels, parameters, .. } = *counts;
    let numbers = 2 + 2 * parameters + cells * (1 + classes * labels);
    Leaves::new("training, per evaluation", what, numbers, "secure aggregation")
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
