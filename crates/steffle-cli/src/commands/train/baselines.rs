//! Methods with a curator: what calls them, and what they took.

use std::ops::ControlFlow;

use steffle::noise::{NodeNoise, NoiseKind};
use steffle_baselines::{Curator, CuratorError, Published, published, reductions};

use super::clock::Clock;
use super::run::{OPTIMUM, Public, Ready, Trace, Trained};
use crate::config::{Method, TrainConfig};
use crate::failure::Failure;

/// B of `reductions` for each unit of lambda. Violations are rates and weigh against a rate of
/// errors: on Adult the best single model is the unconstrained one up to lambda 1, and ten is parity,
/// so that one list of lambdas serves this method and the others.
const BOUND_PER_LAMBDA: f64 = 0.05;

impl Ready {
    /// The models of a method that is neither Algorithm 1 nor trained on released classes, one per
    /// lambda; `None` for the others.
    pub(super) fn baseline(
        &mut self,
        config: &TrainConfig,
        settings: Option<&Published>,
        public: &Public,
        lambdas: &[f64],
    ) -> Result<Option<Vec<Result<Trained, Failure>>>, Failure> {
        let refuse = |error: CuratorError| Failure::data("train::failed", error.to_string());
        match (config.method, settings) {
            (Method::Reductions, _) => {
                let curator = Curator::new(&mut self.federation).map_err(refuse)?;
                let one = |&lambda: &f64| Ok(reduce(&curator, lambda, public));
                Ok(Some(lambdas.iter().map(one).collect()))
            }
            (Method::PfLd, Some(settings)) => {
                let curator = Curator::new(&mut self.federation).map_err(refuse)?;
                let one = |_: &f64| descend(&curator, settings, public);
                Ok(Some(lambdas.iter().map(one).collect()))
            }
            _ => Ok(None),
        }
    }
}

fn reduce(curator: &Curator<'_>, lambda: f64, public: &Public) -> Trained {
    let clock = Clock::start();
    let mut trace = Vec::new();
    let bound = BOUND_PER_LAMBDA * lambda;
    let found = reductions(curator, bound, &public.minimum, OPTIMUM, |round, objective| {
        trace.push(Trace::Fair { round, objective });
        ControlFlow::Continue(())
    });
    let rounds = public.minimum.evaluations + found.evaluations;
    public.followed_by(&clock, found.theta, rounds, trace)
}

/// PF-LD as published.
fn descend(
    curator: &Curator<'_>,
    settings: &Published,
    public: &Public,
) -> Result<Trained, Failure> {
    let clock = Clock::start();
    let mut trace = Vec::new();
    let start = public.minimum.theta.clone();
    let noise = NodeNoise::new(NoiseKind::Simulation, settings.seed, 1, 0);
    let mut noise = noise.ok_or_else(|| Failure::bug("simulated noise needs no entropy"))?;
    let theta = published(curator, settings, start, &mut noise, |round, objective| {
        trace.push(Trace::Fair { round, objective });
        ControlFlow::Continue(())
    });
    if !theta.iter().all(|value| value.is_finite()) {
        let message = "training diverged: the parameters are not finite; lower --lr-theta";
        return Err(Failure::data("train::diverged", message));
    }
    Ok(public.followed_by(&clock, theta, settings.epochs, trace))
}
