//! What methods share whose silos train by themselves and whose server averages.

use std::ops::ControlFlow;

use steffle::model::Classifier;
use steffle::node::Embedded;
use steffle::record::Records;
use steffle_baselines::{FedAvg, Federated, FederatedError, FederatedRound};

use crate::Error;
use crate::clock::Clock;
use crate::method::{BatchSize, Entry, Given, Reason, Training, Value};
use crate::observer::{Stage, Watch};
use crate::privacy::Privacy;
use crate::trained::{Trace, Trained};

/// The settings of local training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Averaging {
    pub(super) rounds: u32,
    pub(super) local_epochs: u32,
    /// Absent until the data is seen.
    pub(super) batch: Option<BatchSize>,
    pub(super) step: f64,
}

impl Averaging {
    pub(super) fn read(given: &Given) -> Result<Self, Error> {
        let usual = FedAvg::default();
        Ok(Self {
            rounds: given.count("rounds")?.unwrap_or(usual.rounds),
            local_epochs: given.count("local-epochs")?.unwrap_or(usual.local_epochs),
            batch: given.batch()?,
            step: given.positive("lr-theta")?.unwrap_or(usual.step),
        })
    }

    #[must_use]
    pub(super) fn settled(self) -> Self {
        let usual = BatchSize::Records(FedAvg::default().batch.unwrap_or(1));
        Self { batch: self.batch.or(Some(usual)), ..self }
    }

    /// The core's settings.
    pub(super) fn to_core(self, lambda: f64) -> FedAvg {
        FedAvg {
            rounds: self.rounds,
            local_epochs: self.local_epochs,
            batch: match self.batch {
                Some(BatchSize::Records(records)) => Some(records),
                Some(BatchSize::All) | None => None,
            },
            step: self.step,
            lambda,
            ..FedAvg::default()
        }
    }

    pub(super) fn write(&self, own: &mut Vec<(&'static str, Value)>) {
        own.extend([("rounds", self.rounds.into()), ("local-epochs", self.local_epochs.into())]);
        own.extend(self.batch.map(|batch| ("batch", batch.into())));
        own.push(("lr-theta", self.step.into()));
    }
}

/// Trains by `method`. The unconstrained model is only compared with.
pub(super) fn federate(
    run: Training<'_>,
    rounds: u32,
    method: impl FnOnce(
        &dyn Classifier,
        &[&Records],
        Vec<f64>,
        u64,
        &mut dyn FnMut(&FederatedRound) -> ControlFlow<()>,
    ) -> Result<Federated, FederatedError>,
) -> Result<Trained, Error> {
    let Training { ground, public, .. } = run;
    ground.in_one_process("of averaged silos")?;
    let watch = Watch::new(ground.observer, Stage::Federated, Some(rounds));
    let clock = Clock::start();
    let (model, start) = (ground.model.clone(), ground.start.clone());
    let silos = ground.federation.transport().records();
    let outcome = method(model.as_ref(), &silos, start, ground.study.seed(), &mut |_| watch.step());
    let Federated { theta, trace } = watch.end(outcome.map_err(|error| explain(&error)))?;
    Ok(Trained {
        theta,
        rounds,
        trips: None,
        trace: trace.into_iter().map(Trace::Federated).collect(),
        took: clock.stop(),
        apart: Some(public.took),
        ..public.trained()
    })
}

fn explain(error: &FederatedError) -> Error {
    let code = match error {
        FederatedError::Diverged(_) => "train::diverged",
        FederatedError::Interrupted(_) => return Error::cancelled(),
        _ => "train::failed",
    };
    Error::data(code, error.to_string())
}

/// What averaging without noise protects.
pub(super) fn unprotected(lambda: f64) -> Privacy {
    let loss = if lambda > 0.0 { " and its mean loss" } else { "" };
    Privacy::none(format!(
        "This run gives no privacy: in every round a silo sends the parameters that its own \
         training ended at{loss}, exact functions of its features and labels. The sensitive \
         attribute is never read: nothing is done for fairness between groups. (The silos are \
         simulated on this machine.)"
    ))
}

/// Why such a method does not have a setting of Algorithm 1.
pub(super) fn reason(entry: &Entry, key: &str) -> Reason {
    match key {
        "sign" | "target-gap" | "max-excess" | "pool" | "secure-aggregation" | "noise-shares"
        | "colluders" => crate::method::usual_reason(entry, key),
        _ => (
            format!("{key} means nothing to {}, whose silos train by themselves", entry.name),
            "leave it out, or use steffle",
        ),
    }
}
