//! A trained model: what it decides, how well, and what its training gave away.

mod judge;
mod load;
mod metadata;
mod onnx;
mod predict;
mod safetensors;
mod save;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use steffle::fairness::NotionName;
use steffle::model::{Classifier, ModelKind, Point};
use steffle::record::Rows;
use steffle::train::Theorem;
use steffle_data::Schema;

pub use self::judge::{Judged, MIN_GROUP};
use self::metadata::Metadata;
pub use self::predict::{Asked, Predicted, Predictions, Skipped};
use self::save::METRICS;
pub use self::save::MODEL;
use crate::Error;
use crate::fairer::Fairer;
use crate::leaves::Leaves;
use crate::method::{Entry, Plan};
use crate::methods::{ExcessReport, OneShotReport};
use crate::privacy::Privacy;
use crate::trained::{Took, Trace, Trained};

/// A trained model, ready to predict.
///
/// It also knows what its training gave away, and says so.
pub struct Model {
    schema: Schema,
    kind: ModelKind,
    notion: NotionName,
    classifier: Arc<dyn Classifier>,
    theta: Vec<f64>,
    entry: &'static Entry,
    /// Absent for methods that have none.
    mode: Option<String>,
    lambda: f64,
    seed: u64,
    privacy: Privacy,
    leaves: Vec<Leaves>,
    warnings: Vec<String>,
    outcome: Option<Outcome>,
}

/// How a model was found. A model that was loaded does not know it.
pub struct Outcome {
    baseline: Vec<f64>,
    /// Rounds, or evaluations of the loss.
    pub rounds: u32,
    /// Every round, as the server saw it.
    pub trace: Vec<Trace>,
    /// Requests of the server to the nodes and their replies; absent where methods have all data in
    /// one place, or silos that train by themselves.
    pub trips: Option<u64>,
    /// The noise that Theorem 3.2 prescribes, in mode paper.
    pub theorem: Option<Theorem>,
    /// mu that the dearest store has spent on Gaussian messages.
    pub spent_mu: Option<f64>,
    /// Energy of the signal over that of the noise, where it is measured.
    pub signal_to_noise: Option<f64>,
    /// Whether it is fairer, as far as released numbers can tell.
    pub fairer: Option<Fairer>,
    /// What a one-shot release says about the model.
    pub one_shot: Option<OneShotReport>,
    /// What a budget for accuracy came to.
    pub excess: Option<ExcessReport>,
    /// What training took, the unconstrained model included where it begins there.
    pub took: Took,
    /// What the unconstrained model took where it is there to be compared with only.
    pub unconstrained_took: Option<Took>,
}

impl Model {
    /// What a plan came to, for a lambda that it was asked for.
    pub(crate) fn new(
        plan: &Plan,
        classifier: &Arc<dyn Classifier>,
        trained: Trained,
        lambda: f64,
    ) -> Result<Self, Error> {
        let (method, study) = (plan.method(), plan.study());
        let aim = method.aim();
        let mut warnings = plan.warnings().to_vec();
        warnings.extend(trained.warnings);
        Ok(Self {
            schema: study.schema().clone(),
            kind: aim.model.clone().unwrap_or(ModelKind::Softmax),
            notion: aim.notion.clone(),
            classifier: classifier.clone(),
            theta: trained.theta,
            entry: method.entry(),
            mode: method.entry().has_mode().then(|| method.mode().to_string()),
            lambda: trained.lambda.unwrap_or(lambda),
            seed: study.seed(),
            privacy: plan.said(trained.statement.as_ref())?,
            leaves: plan.leaves().to_vec(),
            warnings,
            outcome: Some(Outcome {
                baseline: trained.baseline,
                rounds: trained.rounds,
                trace: trained.trace,
                trips: trained.trips,
                theorem: trained.theorem,
                spent_mu: trained.spent,
                signal_to_noise: trained.signal_to_noise,
                fairer: trained.fairer,
                one_shot: trained.one_shot,
                excess: trained.excess,
                took: trained.took,
                unconstrained_took: trained.apart,
            }),
        })
    }

    /// What privacy its training gave, and to whom.
    pub fn privacy(&self) -> &Privacy {
        &self.privacy
    }

    /// What left a silo without noise.
    pub fn leaves(&self) -> &[Leaves] {
        &self.leaves
    }

    /// What to know before it is used.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// How it was found; nothing is known about a model that was loaded.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Every round, as the server saw it; none of a model that was loaded.
    pub fn trace(&self) -> &[Trace] {
        self.outcome.as_ref().map_or(&[], |outcome| &outcome.trace)
    }

    /// Requests of the server to the nodes and their replies, where that is known.
    pub fn trips(&self) -> Option<u64> {
        self.outcome.as_ref().and_then(|outcome| outcome.trips)
    }

    /// The method that it was trained by.
    pub fn method(&self) -> &'static Entry {
        self.entry
    }

    /// The weight of fairness that it was trained with.
    pub fn lambda(&self) -> f64 {
        self.lambda
    }

    /// The fairness notion that it was trained for.
    pub fn notion(&self) -> &NotionName {
        &self.notion
    }

    /// Columns, levels, scaling, labels and classes.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The parameters.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// What kind of model it is.
    pub fn kind(&self) -> &ModelKind {
        &self.kind
    }

    /// The unconstrained model that it is compared with, if it was not loaded.
    pub fn unconstrained(&self) -> Option<Self> {
        let outcome = self.outcome.as_ref()?;
        Some(Self {
            schema: self.schema.clone(),
            kind: self.kind.clone(),
            notion: self.notion.clone(),
            classifier: self.classifier.clone(),
            theta: outcome.baseline.clone(),
            entry: crate::methods::ERM,
            mode: None,
            lambda: 0.0,
            seed: self.seed,
            privacy: Privacy::none("The unconstrained model never saw the sensitive attribute."),
            leaves: Vec::new(),
            warnings: Vec::new(),
            outcome: None,
        })
    }

    /// Probabilities of every label for every row, row by row.
    fn probabilities(&self, rows: &Rows) -> Vec<f64> {
        Point::new(self.classifier.as_ref(), &self.theta).probabilities(rows)
    }

    /// What is written beside the parameters.
    fn metadata(&self) -> Metadata {
        let Privacy { kind, epsilon, delta, adjacency, holds, .. } = &self.privacy;
        let mut facts: BTreeMap<&str, String> = BTreeMap::from([
            ("method", self.entry.name.to_owned()),
            ("lambda", self.lambda.to_string()),
            ("seed", self.seed.to_string()),
            ("privacy", kind.clone()),
            ("privacy_holds", holds.to_string()),
        ]);
        facts.extend(self.mode.clone().map(|mode| ("mode", mode)));
        facts.extend(adjacency.clone().map(|adjacency| ("adjacency", adjacency)));
        facts.extend(epsilon.map(|epsilon| ("epsilon", epsilon.to_string())));
        facts.extend(delta.map(|delta| ("delta", delta.to_string())));
        Metadata {
            model: self.kind.clone(),
            notion: self.notion.clone(),
            schema: hexadecimal(&self.schema.hash()),
            facts: facts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect(),
        }
    }

    /// What is known about it, as `metrics.json` has it.
    pub fn facts(&self) -> Value {
        serde_json::json!({
            "method": self.entry.name,
            "mode": self.mode,
            "lambda": self.lambda,
            "seed": self.seed,
            "privacy": self.privacy,
            "leaves_in_clear": self.leaves,
            "warnings": self.warnings,
        })
    }
}

/// Bytes as hexadecimal digits.
fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    bytes.iter().fold(String::new(), |mut digits, byte| {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

#[cfg(test)]
mod tests;
