//! `fedavg` and `fedfdp`: their training call, and what they protect.

use std::ops::ControlFlow;

use steffle_baselines::{
    FedFdp, Federated, FederatedError, FederatedRound, PUBLISHED_LOSS_NOISE, fed_avg, fed_fdp,
};
use steffle_privacy::{Delta, Epsilon, PrivacyError, rounding};

use super::clock::Clock;
use super::privacy::PrivacyReport;
use super::run::{Public, Ready, Trace, Trained};
use crate::config::{FederatedPlan, Mode};
use crate::failure::Failure;

/// Whose change the guarantee of `fedfdp` is about.
const ADJACENCY: &str = "one whole record (features and label) of one silo, present or a blank in \
                         its place; record counts and the schema are public";

/// Digits of an epsilon in a sentence, rounded up.
const DIGITS: u32 = 3;

impl Ready {
    /// Silos train by themselves, the server averages. The unconstrained model is only compared
    /// with.
    pub(crate) fn federate(
        self,
        plan: &FederatedPlan,
        public: &Public,
        mut step: impl FnMut(),
    ) -> Result<Trained, Failure> {
        let clock = Clock::start();
        let (model, seed) = (self.federation.model().clone(), self.federation.agreement().seed);
        let silos = self.federation.transport().records();
        let observe = |_: &FederatedRound| {
            step();
            ControlFlow::Continue(())
        };
        let outcome = match plan {
            FederatedPlan::Averaging(settings) => {
                fed_avg(model.as_ref(), &silos, settings, self.start, seed, observe)
            }
            FederatedPlan::Private(settings, ..) => {
                fed_fdp(model.as_ref(), &silos, settings, self.start, seed, observe)
            }
        };
        let Federated { theta, trace } = outcome.map_err(|error| explain(&error))?;
        let (wall_seconds, cpu_seconds) = clock.stop();
        Ok(Trained {
            theta,
            rounds: plan.rounds(),
            trips: None,
            trace: trace.into_iter().map(Trace::Federated).collect(),
            wall_seconds,
            cpu_seconds,
            ..public.trained()
        })
    }
}

fn explain(error: &FederatedError) -> Failure {
    let code = match error {
        FederatedError::Diverged(_) => "train::diverged",
        _ => "train::failed",
    };
    Failure::data(code, error.to_string())
}

/// What the two methods protect: nothing, or whole records.
pub(super) fn federated_privacy(
    mode: Mode,
    plan: &FederatedPlan,
    largest_unit: usize,
) -> Result<PrivacyReport, Failure> {
    match plan {
        FederatedPlan::Averaging(fed_avg) => {
            let loss = if fed_avg.lambda > 0.0 { " and its mean loss" } else { "" };
            Ok(PrivacyReport::none(format!(
                "This run gives no privacy: in every round a silo sends the parameters that its \
                 own training ended at{loss}, exact functions of its features and labels. The \
                 sensitive attribute is never read: nothing is done for fairness between groups. \
                 (The silos were simulated on this machine.)"
            )))
        }
        FederatedPlan::Private(fed_fdp, epsilon, delta) => {
            let report = whole_record(mode, fed_fdp, *epsilon, *delta, largest_unit);
            report.map_err(|error| Failure::usage("config::privacy", error.to_string()))
        }
    }
}

fn whole_record(
    mode: Mode,
    fed_fdp: &FedFdp,
    asked: Epsilon,
    delta: Delta,
    largest_unit: usize,
) -> Result<PrivacyReport, PrivacyError> {
    let FedFdp { rounds, rate, noise, .. } = *fed_fdp;
    let honest = noise.epsilon(rate, rounds, delta)?.epsilon;
    let claimed = noise.claimed_epsilon(rate, rounds, delta)?.epsilon;
    let units = match largest_unit {
        0 | 1 => String::new(),
        rows => format!(" It hides one row, and one unit has up to {rows} rows here."),
    };
    let about = "fedfdp never reads the sensitive attribute; any fairness between groups is \
                 incidental. This is a seeded simulation with floating-point noise: whoever knows \
                 the seed can subtract it, so nothing was protected here.";
    let (asked, delta) = (asked.value(), delta.value());
    let (holds, statement) = if mode == Mode::Paper {
        let statement = format!(
            "The guarantee does not hold: the published calibration claims epsilon {asked} at \
             delta {delta:.1e} for whole records, but counts the gradients alone. The losses that \
             silos send beside them, from the same batches under noise of {PUBLISHED_LOSS_NOISE} \
             times their bound, make it epsilon {}.{units} {about}",
            rounding::up(honest, DIGITS)
        );
        (false, statement)
    } else {
        let statement = format!(
            "The mechanism is ({asked}, {delta:.1e})-differentially private for every whole record, \
             features and label, in each silo, against the server and all other silos, where \
             record counts and the schema (scaling, levels) are agreed in public: {rounds} rounds \
             on secret Poisson batches, each with a noisy gradient and a noisy loss, both \
             accounted by Renyi moments; the gradients alone, which is what the published code \
             counts, are epsilon {}.{units} {about}",
            rounding::up(claimed, DIGITS)
        );
        (true, statement)
    };
    Ok(PrivacyReport {
        kind: "simulation",
        epsilon: Some(asked),
        delta: Some(delta),
        holds,
        honest_epsilon: Some(if holds { asked } else { honest }),
        claimed_epsilon: Some(if holds { claimed } else { asked }),
        adjacency: Some(ADJACENCY),
        statement,
    })
}
