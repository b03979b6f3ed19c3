//! A method and a study together: what will be done, what it costs, and the training itself.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use steffle::fairness::NotionName;
use steffle::model::{Classifier, ModelKind};
use steffle_privacy::ledger::{Claim, Offer, Statement, statement};

use super::{Entry, Method, Training};
use crate::Error;
use crate::aggregation::Aggregation;
use crate::ground::Ground;
use crate::leaves::{Counts, Leaves, in_words, leaves};
use crate::legs::carried;
use crate::model::Model;
use crate::observer::Observer;
use crate::privacy::Privacy;
use crate::study::{HeldOut, Study};

/// What will be done. Nothing has been computed yet.
pub struct Plan {
    study: Study,
    method: Arc<dyn Method>,
    model: Arc<dyn Classifier>,
    announced: Announced,
    privacy: Privacy,
    leaves: Vec<Leaves>,
    warnings: Vec<String>,
    /// What stores will be offered: a claim, epsilon and delta.
    offered: (Claim, f64, f64),
    aggregation: Option<Aggregation>,
}

/// How much will be done.
///
/// A plan says it before anything is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Announced {
    /// Absent for methods that stop at an optimum.
    pub rounds: Option<u32>,
    /// Numbers that one silo sends about the sensitive attribute in a round.
    pub private_numbers_per_round: Option<usize>,
    /// Classes that leave the attributes divisions, once, for methods that train on them.
    pub classes_released: Option<usize>,
    /// Numbers about the sensitive attribute that a silo releases, once, in a one-shot run.
    pub numbers_released_once: Option<usize>,
    /// Most trips over the wire, those of the unconstrained model included; absent where methods have
    /// all data in one place, or silos that train by themselves. Most runs take far fewer: models
    /// are found before their last allowed step.
    #[serde(rename = "rounds_on_the_wire_at_most")]
    pub trips: Option<u32>,
}

impl Plan {
    /// Checks a method against a study.
    pub(crate) fn new(method: &dyn Method, study: &Study) -> Result<Self, Error> {
        method.admits(study.schema().recipe())?;
        fits(method.entry(), study.labels())?;
        knows_favourable(method, study)?;
        let model = method.aim().settled(study).build(study)?;
        let method = method.settle(study)?;
        let counts = Counts::new(study, &*method, &*model);
        let leaves = leaves(&*method, study, &counts);
        let masked = method.secure_aggregation();
        let aggregation = masked.then(|| Aggregation::new(method.entry(), study, &leaves));
        let aggregation = aggregation.transpose()?;
        carried(study, &*method, &*model, &leaves)?;
        let mut announced = method.announced(study, &counts);
        // Sites meet in a trip of its own.
        announced.trips = announced.trips.map(|trips| trips + u32::from(masked));
        let (claim, epsilon, delta) = method.offered(study, model.blocks().len())?;
        let offer = Offer {
            run: String::new(),
            method: method.entry().name.to_owned(),
            mode: method.mode().to_string(),
            notion: method.aim().notion.to_string(),
            rounds: announced.rounds.unwrap_or(1),
            epsilon,
            delta,
            claim,
            noise: method.noise(),
        };
        let said = statement(&offer.check()?, &[]);
        let privacy = said_of(&*method, study, &leaves, aggregation.as_ref(), &said)?;
        let mut warnings = study.about().warnings.clone();
        if !method.claims() {
            warnings.extend_from_slice(study.reveals_sensitive());
        }
        warnings.extend(method.warnings(study.labels()));
        let (study, offered) = (study.clone(), (claim, epsilon, delta));
        Ok(Self {
            study,
            method,
            model,
            announced,
            privacy,
            leaves,
            warnings,
            offered,
            aggregation,
        })
    }

    /// The method, with all its settings.
    pub fn method(&self) -> &dyn Method {
        &*self.method
    }

    /// The same, to keep.
    pub fn settled(&self) -> Arc<dyn Method> {
        self.method.clone()
    }

    /// What it is about.
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// What kind of model it trains.
    pub fn kind(&self) -> &ModelKind {
        self.method.aim().model.as_ref().unwrap_or(&ModelKind::Softmax)
    }

    /// What stores will be offered: a claim, epsilon and delta.
    pub(crate) fn offered(&self) -> (Claim, f64, f64) {
        self.offered
    }

    /// Parameters of the model.
    pub fn parameters(&self) -> usize {
        self.model.parameters()
    }

    /// How much will be done.
    pub fn announced(&self) -> Announced {
        self.announced
    }

    /// What will be said about privacy, if the run does what it offers.
    pub fn privacy(&self) -> &Privacy {
        &self.privacy
    }

    /// What leaves a silo without noise.
    pub fn leaves(&self) -> &[Leaves] {
        &self.leaves
    }

    /// How sums are added up, where that is under masks.
    pub fn aggregation(&self) -> Option<&Aggregation> {
        self.aggregation.as_ref()
    }

    /// Adds what else it sends without noise.
    pub(crate) fn sends(&mut self, more: Vec<Leaves>) {
        self.leaves.extend(more);
    }

    /// What is allowed but will not work well.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Held-out rows as the run may measure itself on them: where its noise is secret, without
    /// anybody's class, because a number that is computed from the classes of held-out rows is a
    /// release of its own.
    pub fn measurable<'a>(&self, held: &'a HeldOut) -> Cow<'a, HeldOut> {
        if self.privacy.is_private() {
            Cow::Owned(held.without_groups())
        } else {
            Cow::Borrowed(held)
        }
    }

    /// Trains.
    pub fn train(&self, observer: &dyn Observer) -> Result<Model, Error> {
        let lambda = self.method.aim().lambda;
        let mut trained = self.train_path(&[lambda], observer)?;
        trained.pop().unwrap_or_else(|| Err(Error::bug("a method trained nothing")))
    }

    /// A model for every lambda, from one release and each found from the one before, by rising
    /// lambda; for methods whose lambdas do not share a release, one model for the lambda they have.
    pub fn train_path(
        &self,
        lambdas: &[f64],
        observer: &dyn Observer,
    ) -> Result<Vec<Result<Model, Error>>, Error> {
        let aim = self.method.aim();
        let mut ground = Ground::new(&self.study, &*self.method, &self.model, observer)?;
        let public = ground.unconstrained(&aim.name())?;
        let trained = self.method.train(Training { ground, public: &public, lambdas })?;
        let model = |(trained, &lambda): (Result<_, Error>, &f64)| {
            Model::new(self, &self.model, trained?, lambda)
        };
        Ok(trained.into_iter().zip(lambdas).map(model).collect())
    }

    /// What may be said of what was released.
    pub(crate) fn said(&self, said: Option<&Statement>) -> Result<Privacy, Error> {
        match said {
            Some(said) => {
                let masks = self.aggregation.as_ref();
                said_of(&*self.method, &self.study, &self.leaves, masks, said)
            }
            None => Ok(self.privacy.clone()),
        }
    }
}

/// Refuses labels that a method is not defined for.
fn fits(entry: &Entry, labels: usize) -> Result<(), Error> {
    match entry.labels {
        Some(defined) if defined != labels => {
            let message = format!(
                "method {} is defined for {defined} labels; the data has {labels}",
                entry.name
            );
            Err(Error::data("config::method", message).with_help("use fermi or steffle"))
        }
        _ => Ok(()),
    }
}

/// Refuses to guess what equal opportunity is about.
fn knows_favourable(method: &dyn Method, study: &Study) -> Result<(), Error> {
    let schema = study.schema();
    let opportunity = method.aim().notion == NotionName::EqualOpportunity;
    if !opportunity || schema.favourable_guessed().is_none() {
        return Ok(());
    }
    let labels: Vec<String> = schema.labels().iter().map(|label| format!("`{label}`")).collect();
    let message = "equal opportunity is about people who deserve the favourable label, and nobody said \
                   which one that is";
    let help = format!("say <favourable> with one of {}", labels.join(", "));
    Err(Error::usage("config::favourable", message).with_help(help))
}

fn said_of(
    method: &dyn Method,
    study: &Study,
    leaves: &[Leaves],
    masks: Option<&Aggregation>,
    said: &Statement,
) -> Result<Privacy, Error> {
    let mut privacy = match Privacy::contradicted(said) {
        Some(contradicted) => contradicted,
        None => method.privacy(study, said)?,
    };
    privacy.statement += &match masks {
        Some(masks) => masks.in_words(),
        None => in_words(method.entry(), leaves),
    };
    Ok(privacy)
}
