//! Where methods train: the nodes of a run, brought together. Nothing else builds a federation.

use std::sync::Arc;

use steffle::federation::{Agreement, Federation, FederationError, Gathered, Roster, RunKind};
use steffle::game::OutputScores;
use steffle::model::{Classifier, ModelKind};
use steffle::node::{Embedded, InProcess};
use steffle::protocol::{MaskTerms, RunId, SchemaHash};
use steffle::randomness::{Purpose, stream};
use steffle::server::{Minimum, Tolerance};
use steffle::train::{FitRule, TrainError, erm};
use steffle_privacy::Mu;
use steffle_privacy::ledger::{Ledger, Refusal, Statement};
use steffle_process::Journalled;

use crate::aggregation::terms;
use crate::clock::Clock;
use crate::method::Method;
use crate::observer::{Observer, Stage, Told, Watch};
use crate::processes::Nodes;
use crate::study::{Holdings, Study};
use crate::trained::{Took, Trace, Trained};
use crate::{Error, Status};

/// What silos send so that models are found.
pub(crate) const RULE: FitRule = FitRule::FewTrips;

/// Where that is gradients alone, models are solved this well, or after this many evaluations.
pub(crate) const OPTIMUM: Tolerance = Tolerance { evaluations: 1000, gradient: 1e-5 };

/// The code of a run that ended because a site did not reply.
pub const LOST: &str = "steffle::train::lost";

/// The codes of runs that books have ended, and what can be done.
const ENDED: [(&str, &str); 2] = [
    (
        "steffle::ledger::run",
        "it was about other records, or has ended at a site that keeps its own book; another <seed> is \
         another run, and is paid for",
    ),
    (
        "steffle::ledger::closed",
        "the run was closed before it had asked this: by a run that began after it was interrupted, or by \
         `steffle ledger close`; or data or program have changed since. What it had reserved stays spent; \
         another <seed> is another run, and is paid for",
    ),
];

/// A federation that is ready to train.
///
/// Nodes have joined and the unconstrained model is known.
pub struct Ground<'a> {
    pub(crate) federation: Federation<Journalled<Nodes>>,
    pub(crate) objective: OutputScores,
    pub(crate) model: Arc<dyn Classifier>,
    pub(crate) start: Vec<f64>,
    pub(crate) study: &'a Study,
    pub(crate) observer: &'a dyn Observer,
    /// Trips that the unconstrained model took, if it was found here.
    fit: u64,
}

/// The unconstrained model: where some methods start and what all are compared with.
pub(crate) struct Public {
    pub(crate) minimum: Minimum,
    trace: Vec<(u32, f64)>,
    /// Trips that it took.
    pub(crate) trips: u64,
    pub(crate) took: Took,
}

impl<'a> Ground<'a> {
    /// Brings the nodes together.
    pub(crate) fn new(
        study: &'a Study,
        method: &dyn Method,
        model: &Arc<dyn Classifier>,
        observer: &'a dyn Observer,
    ) -> Result<Self, Error> {
        let aim = method.aim();
        let objective = study.objective(aim);
        let hash = study.schema().hash();
        let (run, books) = study.payment().unzip();
        let run = run.unwrap_or_else(|| run_id(&hash, study.seed()));
        let (run, gathered) = if let Some(elsewhere) = study.elsewhere()? {
            elsewhere
        } else {
            let sites = study.sizes().len();
            let masked = terms(method, sites);
            (run, embedded(study, run, books.unwrap_or_default(), masked)?)
        };
        let agreement = Agreement {
            run,
            schema: SchemaHash(hash),
            columns: study.columns()?,
            layout: study.schema().layout(),
            model: aim.model.clone().unwrap_or(ModelKind::Softmax),
            scores: objective.into(),
            seed: study.seed(),
            noise: method.noise(),
            kind: RunKind {
                method: method.entry().name.to_owned(),
                mode: method.mode().to_string(),
                notion: aim.notion.to_string(),
            },
        };
        let mut federation = gathered.join(agreement).map_err(|error| failed(&error))?;
        aim.l2.into_iter().for_each(|decay| federation.set_decay(decay));
        let fit = federation.trips();
        let start = model.initial(&mut stream(study.seed(), 0, Purpose::Initial, 0));
        Ok(Self { federation, objective, model: model.clone(), start, study, observer, fit })
    }

    /// The unconstrained model, trained to its optimum if nobody has done so yet.
    pub(crate) fn unconstrained(&mut self, name: &str) -> Result<Arc<Public>, Error> {
        self.study.unconstrained(name, || {
            let clock = Clock::start();
            let watch = Watch::new(self.observer, Stage::Unconstrained, None);
            let mut trace = Vec::new();
            let start = self.start.clone();
            let minimum = erm(&mut self.federation, start, RULE, OPTIMUM, |round, loss| {
                trace.push((round, loss));
                watch.tell(Told { loss, penalised: false, epsilon: None })
            });
            let minimum = minimum.map_err(|error| failed(&error));
            let minimum = watch.end(minimum)?;
            let took = clock.stop();
            self.fit = self.federation.trips();
            Ok(Public { minimum, trace, trips: self.fit, took })
        })
    }

    /// Trips of the run until now, those of the unconstrained model included wherever it was found.
    pub(crate) fn trips(&self, public: &Public) -> u64 {
        public.trips + self.federation.trips() - self.fit
    }

    /// The same when the federation has made so many by itself.
    pub(crate) fn trips_of(&self) -> impl Fn(&Public, u64) -> u64 + use<> {
        let fit = self.fit;
        move |public, made| public.trips + made - fit
    }

    /// Refuses nodes elsewhere, for a method that has all records at hand.
    pub(crate) fn in_one_process(&self, name: &str) -> Result<(), Error> {
        if self.federation.transport().here().is_empty() {
            let message = format!("method {name} has all records in one process");
            return Err(Error::usage("config::processes", message).with_help(
                "leave out <processes>, or use steffle, one-shot or randomised-response",
            ));
        }
        Ok(())
    }

    /// What was spent, and what may be said of it.
    pub(crate) fn said(&mut self) -> (Option<f64>, Option<Statement>) {
        (self.federation.spent().map(Mu::value), self.federation.statement())
    }
}

impl Public {
    /// As a trained model of its own.
    pub(crate) fn trained(&self) -> Trained {
        Trained {
            theta: self.minimum.theta.clone(),
            baseline: self.minimum.theta.clone(),
            rounds: self.minimum.evaluations,
            trips: Some(self.trips),
            trace: self.trace(),
            theorem: None,
            statement: None,
            spent: None,
            signal_to_noise: None,
            evidence: None,
            unchanged: false,
            fairer: None,
            lambda: None,
            one_shot: None,
            excess: None,
            warnings: Vec::new(),
            took: self.took,
            apart: None,
        }
    }

    /// A model that a curator found from this one.
    pub(crate) fn followed_by(
        &self,
        took: Took,
        theta: Vec<f64>,
        rounds: u32,
        own: Vec<Trace>,
    ) -> Trained {
        let mut trace = self.trace();
        trace.extend(own);
        let took = self.took.and(took);
        Trained { theta, rounds, trips: None, trace, took, ..self.trained() }
    }

    pub(crate) fn trace(&self) -> Vec<Trace> {
        let evaluation = |&(round, loss): &(u32, f64)| Trace::Evaluation { round, loss };
        self.trace.iter().map(evaluation).collect()
    }
}

/// All nodes of a study in this process, and they have said who they are.
fn embedded(
    study: &Study,
    run: RunId,
    books: Vec<Box<dyn Ledger>>,
    masked: Option<MaskTerms>,
) -> Result<Gathered<Journalled<Nodes>>, Error> {
    let nodes = match study.holdings()? {
        Holdings::Silos(silos) => InProcess::silos(silos),
        Holdings::Split { records, attributes } => InProcess::split(records, attributes),
    };
    let nodes = kept(nodes, books);
    let nodes = if masked.is_some() { nodes.masked() } else { nodes };
    let nodes = Journalled::new(Nodes::Here(nodes), study.journal());
    Gathered::new(nodes, run, Roster { masked, ..Roster::default() })
        .map_err(|error| failed(&error))
}

/// The nodes with attributes, the last of all, keep the books. A process that was killed after these had
/// closed the run, and before the model was written, is started again by the same command: it finds the same
/// model in what they have kept.
pub(crate) fn kept(nodes: InProcess, books: Vec<Box<dyn Ledger>>) -> InProcess {
    let mut without = nodes.here().len().saturating_sub(books.len());
    let mut books = books.into_iter();
    let nodes = nodes.each(|node| {
        if without > 0 {
            without -= 1;
            return node;
        }
        match books.next() {
            Some(book) => node.keeping(book),
            None => node,
        }
    });
    nodes.taken_up_again()
}

/// A budget that does not allow it has a status of its own.
pub(crate) fn failed(error: &FederationError) -> Error {
    if let FederationError::Refused { refused, .. } = error
        && let Some(code) = Refusal::CODES_OF_BUDGET.iter().find(|code| **code == refused.code)
    {
        let help = "a store's budget is for its life: every run, method and lambda on the same \
                    records adds up; ask for less, or end here";
        return Error::new(Status::Budget, code, error.to_string()).with_help(help);
    }
    if let FederationError::Refused { refused, .. } = error
        && let Some((code, help)) = ENDED.iter().find(|(code, _)| *code == refused.code)
    {
        return Error::data(code, error.to_string()).with_help(*help);
    }
    if let FederationError::Needed { .. } = error {
        let help = "bring it back and go on by the same command, or begin another run without it and \
                    whoever holds the other half; absent = \"drop\" leaves out sites that hold both";
        return Error::data(LOST, error.to_string()).with_help(help);
    }
    if let FederationError::Lost { .. } = error {
        let help = "a run with a <journal> goes on by the same command, from where it was";
        return Error::data(LOST, error.to_string()).with_help(help);
    }
    Error::data("train::failed", error.to_string())
}

/// Why Algorithm 1, or training on released classes, came to nothing.
pub(crate) fn explain(error: &TrainError) -> Error {
    match error {
        TrainError::Federation(error) => failed(error),
        TrainError::Diverged(_) => Error::data("train::diverged", error.to_string()),
        TrainError::Interrupted(_) => Error::cancelled(),
        _ => Error::data("train::failed", error.to_string()),
    }
}

/// Equal runs have equal ids: a simulation has no need for a fresh one.
fn run_id(schema: &[u8; 32], seed: u64) -> RunId {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&schema[..8]);
    id[8..].copy_from_slice(&seed.to_le_bytes());
    RunId(id)
}

#[cfg(test)]
mod tests {
    use steffle::federation::SiteName;
    use steffle_privacy::ledger::Pot;

    use super::*;

    #[test]
    fn a_spent_budget_has_a_status_and_a_code_of_its_own() {
        let refusal = Refusal::Budget {
            pot: Pot::Gaussian,
            spent: 0.18,
            asked: 0.18,
            left: 0.0,
            epsilon: 1.0,
            delta: 1e-9,
        };
        let refused = |silo: usize, refusal: Refusal| FederationError::Refused {
            silo,
            name: SiteName::default(),
            refused: refusal.into(),
        };
        let error = explain(&TrainError::Federation(refused(1, refusal)));
        assert_eq!(error.status(), Status::Budget);
        assert_eq!(error.code(), "steffle::ledger::budget");
        for word in ["silo 1", "spent", "asked", "left", "epsilon 1"] {
            assert!(error.to_string().contains(word), "{error}");
        }
        let other = failed(&refused(0, Refusal::Kind));
        assert_eq!(other.status(), Status::Data);
    }
}
