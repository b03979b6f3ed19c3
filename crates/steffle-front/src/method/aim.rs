//! What every method is told: which model, and how fair.

use std::sync::Arc;

use steffle::fairness::NotionName;
use steffle::model::{Classifier, ModelKind};
use steffle::protocol::PassQuestion;

use super::{Entry, Given, Goal, Written};
use crate::Error;
use crate::study::Study;

/// Which model, and how fair in what sense.
///
/// All methods take it; what they do beside it is their own.
#[derive(Debug, Clone, PartialEq)]
pub struct Aim {
    /// Absent until the data is seen: the simplest model for the number of labels.
    pub model: Option<ModelKind>,
    /// In what sense.
    pub notion: NotionName,
    /// The weight of fairness against accuracy.
    pub lambda: f64,
    /// tau: fairness is measured in training on softmax(tau x logits).
    pub sharpness: f64,
    /// What a network is pulled towards 0 by; absent for linear models.
    pub l2: Option<f64>,
}

impl Aim {
    /// What was said; refuses fairness to methods that have none.
    pub(crate) fn read(entry: &Entry, given: &Given) -> Result<Self, Error> {
        let lambda = given.number("lambda", 0.0.., "a finite number, 0 or more")?;
        let name = entry.name;
        if let Some(weight) = lambda.filter(|weight| *weight != 0.0 && !entry.takes("lambda")) {
            let message = format!("method {name} has no fairness to weigh with lambda {weight}");
            let help = "leave <lambda> out, or use steffle";
            return Err(Error::conflict("lambda", message).with_help(help));
        }
        let key = "surrogate-sharpness";
        let sharpness = given.positive(key)?;
        if sharpness.is_some_and(|tau| tau != 1.0) && !entry.takes(key) {
            let message = format!("method {name} has no fairness surrogate to sharpen");
            return Err(Error::conflict(key, message).with_help("leave it out"));
        }
        let model = given.explained("model")?;
        let notion = given.explained("notion")?.unwrap_or(NotionName::DemographicParity);
        if entry.needs_notion && notion == NotionName::None {
            let message =
                format!("method {name} needs a notion of fairness, and notion none is none");
            let help = "use <method erm>, or choose a notion, for example demographic-parity";
            return Err(Error::conflict("notion", message).with_help(help));
        }
        let fair = if entry.goal == Goal::Nothing { 0.0 } else { 1.0 };
        let (lambda, sharpness) = (lambda.unwrap_or(fair), sharpness.unwrap_or(1.0));
        let l2 = decay(entry, given, model.as_ref())?;
        Ok(Self { model, notion, lambda, sharpness, l2 })
    }

    /// With the model that the data allows.
    #[must_use]
    pub(crate) fn settled(&self, study: &Study) -> Self {
        let simplest = if study.labels() == 2 { ModelKind::Logistic } else { ModelKind::Softmax };
        Self { model: Some(self.model.clone().unwrap_or(simplest)), ..self.clone() }
    }

    /// The model for a study; refuses one that its labels do not allow.
    pub(crate) fn build(&self, study: &Study) -> Result<Arc<dyn Classifier>, Error> {
        let kind = self.model.as_ref().unwrap_or(&ModelKind::Softmax);
        let model = kind.build(study.schema().layout(), study.labels());
        Ok(Arc::from(model.map_err(|error| Error::data("config::model", error.to_string()))?))
    }

    /// The first lines of a method's settings.
    pub(crate) fn written(&self, entry: &Entry) -> Written {
        let mut written = Written::default();
        written.push("method", Some(entry.name));
        written.push("model", self.model.as_ref().map(ToString::to_string));
        written.push("notion", Some(self.notion.to_string()));
        written.push("lambda", Some(self.lambda));
        written.push("surrogate-sharpness", Some(self.sharpness));
        written.push("l2", self.l2);
        written
    }

    /// What the unconstrained model depends on, beside the data.
    pub(crate) fn name(&self) -> String {
        let model = self.model.as_ref().map_or_else(String::new, ToString::to_string);
        format!("{model} {}", self.l2.unwrap_or(PassQuestion::DECAY))
    }
}

/// What a network is pulled towards 0 by; refuses it for models that are not found by passes.
fn decay(entry: &Entry, given: &Given, model: Option<&ModelKind>) -> Result<Option<f64>, Error> {
    let said = given.number("l2", 0.0..=1.0, "a number from 0 to 1")?;
    match model {
        Some(ModelKind::Mlp(_)) if entry.takes("l2") => Ok(said.or(Some(PassQuestion::DECAY))),
        _ if said.is_none() => Ok(None),
        _ => {
            let message = "l2 is for networks: linear models go to the optimum of the loss and half a \
                           millionth of their parameters' squares";
            Err(Error::conflict("l2", message).with_help("leave it out, or use <model mlp:16>"))
        }
    }
}
