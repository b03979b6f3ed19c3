//! A method is a value: it knows the settings it takes, what it will do, how it trains, what it
//! protects and from whom, and what leaves a silo in the clear.

mod aim;
mod choice;
mod divided;
mod entry;
mod given;
mod noise;
mod plan;
mod steps;

use std::fmt;
use std::sync::Arc;

use steffle::noise::NoiseKind;
use steffle::server::Output;
use steffle_data::Recipe;
use steffle_privacy::ledger::{Claim, Statement};

pub use self::aim::Aim;
pub use self::choice::{
    Accounting, BatchSize, Mode, NoiseOrigin, NoiseShape, ServerKind, Shares, Sign,
};
pub use self::divided::Divided;
pub use self::entry::{Entry, Goal, Look, Protects, Reason};
pub(crate) use self::entry::{keys, refuse_foreign, usual_reason};
pub use self::given::{Given, Value};
pub(crate) use self::noise::{
    Bounds, Noise, budget, by_mode, needs_epsilon, refuse_by_mode, usual_delta,
};
pub use self::plan::{Announced, Plan};
pub(crate) use self::steps::{Length, StepSizes, Steps, goes_to_its_optimum, judge_messages};
use crate::Error;
use crate::ground::{Ground, Public};
use crate::leaves::{Counts, Leaves};
use crate::methods::METHODS;
use crate::privacy::Privacy;
use crate::study::Study;
use crate::trained::Trained;

/// A method whose settings were checked. Everything about one is in one file of `methods/`.
pub trait Method: fmt::Debug + Send + Sync {
    /// What is the same for all its settings.
    fn entry(&self) -> &'static Entry;

    /// Which model, and how fair.
    fn aim(&self) -> &Aim;

    /// What noise there is.
    fn mode(&self) -> Mode {
        Mode::None
    }

    /// What readers of figures call it.
    fn label(&self) -> &'static str;

    /// All settings, complete as far as they do not depend on the data.
    fn written(&self) -> Written;

    /// Whether the run says of itself that the sensitive attribute is private: then nothing that is
    /// public may be a function of it.
    fn claims(&self) -> bool {
        false
    }

    /// Where the noise comes from.
    fn noise(&self) -> NoiseKind {
        NoiseKind::Simulation
    }

    /// Whether sums over sites are added up under masks.
    fn secure_aggregation(&self) -> bool {
        false
    }

    /// Where so many silos share noise: how many of them may help the server.
    fn shared_against(&self, silos: usize) -> Option<u32> {
        let _ = silos;
        None
    }

    /// Whether models for several lambdas are found in one go, from one release where there is one.
    fn shares_release(&self) -> bool {
        false
    }

    /// The same method, complete and checked against the data.
    fn settle(&self, study: &Study) -> Result<Arc<dyn Method>, Error>;

    /// What it will do, once it is settled.
    fn announced(&self, study: &Study, counts: &Counts) -> Announced;

    /// What the stores will be offered, once it is settled, for a model of so many layers: a claim,
    /// epsilon and delta.
    fn offered(&self, study: &Study, layers: usize) -> Result<(Claim, f64, f64), Error> {
        let _ = (study, layers);
        Ok((Claim::Nothing, 0.0, 0.0))
    }

    /// The words for what the stores say: `said` is about the offer before a run, and about the
    /// receipts after it.
    fn privacy(&self, study: &Study, said: &Statement) -> Result<Privacy, Error>;

    /// What leaves a silo in training without noise.
    fn leaves(&self, counts: &Counts) -> Vec<Leaves>;

    /// What is allowed but will not work well, for so many labels.
    fn warnings(&self, labels: usize) -> Vec<String> {
        let _ = labels;
        Vec::new()
    }

    /// Trains, once it is settled: a model per lambda where these share a release, else one.
    fn train(&self, run: Training<'_>) -> Result<Vec<Result<Trained, Error>>, Error>;
}

/// What a method trains with.
///
/// The nodes, the unconstrained model, the lambdas and whoever watches.
pub struct Training<'a> {
    pub(crate) ground: Ground<'a>,
    pub(crate) public: &'a Public,
    pub(crate) lambdas: &'a [f64],
}

/// Settings by their keys, in the order in which a file has them.
///
/// Read back, they give the same method.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Written {
    /// The method's own.
    pub own: Vec<(&'static str, Value)>,
    /// Those of the steps of Algorithm 1, which a file has after those of the silos.
    pub steps: Vec<(&'static str, Value)>,
}

impl Written {
    /// Without a setting that the run chooses by itself.
    #[must_use]
    pub(crate) fn without(mut self, key: &str) -> Self {
        self.own.retain(|(own, _)| *own != key);
        self
    }

    /// One more, if there is a value.
    pub(crate) fn push(&mut self, key: &'static str, value: Option<impl Into<Value>>) {
        self.own.extend(value.map(|value| (key, value.into())));
    }
}

/// The method called `name` with these settings; refuses names and settings that do not exist, values
/// out of range, contradictions, and settings that the method does not have.
pub fn method(name: &str, given: &Given) -> Result<Arc<dyn Method>, Error> {
    let entry = Entry::of(name)?;
    if let Some(unknown) = given.keys().find(|key| !keys().contains(key)) {
        let message = format!("{unknown} is no setting; there are {}", keys().join(", "));
        return Err(Error::conflict(unknown, message));
    }
    let given = &entry.pinned(given)?;
    check_values(given)?;
    (entry.build)(given)
}

/// Refuses values that no method could do anything with.
fn check_values(given: &Given) -> Result<(), Error> {
    given.word::<Sign>("sign")?;
    given.word::<Mode>("mode")?;
    given.positive("epsilon")?;
    given.delta()?;
    given.positive("clip")?;
    given.positive("diameter")?;
    given.number("row-cap", f64::MIN_POSITIVE..=1.0, "a number in (0, 1]")?;
    given.word::<NoiseShape>("noise-shape")?;
    given.word::<Accounting>("accounting")?;
    given.word::<NoiseOrigin>("noise")?;
    given.count("rounds")?;
    given.count("epochs")?;
    if given.has("rounds") && given.has("epochs") {
        return Err(Error::conflict("epochs", "rounds and epochs both say how long to train"));
    }
    given.batch()?;
    given.positive("lr-theta")?;
    given.positive("lr-dual")?;
    given.explained::<Output>("output")?;
    Ok(())
}

impl dyn Method + '_ {
    /// Refuses columns that would make public parts of a run that claims privacy depend on s.
    pub fn admits(&self, recipe: &Recipe) -> Result<(), Error> {
        if !self.claims() {
            return Ok(());
        }
        recipe.check_private().map_err(|error| match error {
            steffle_data::Error::Undeclared { .. } => {
                let help = "name them: <classes NAME,NAME> (classes = [\"NAME\", \"NAME\"] in a \
                            file); describing the table (data describe) \
                            lists those that occur, for eyes that may see them";
                Error::usage(error.code(), error.to_string()).with_help(help)
            }
            other => other.into(),
        })
    }

    /// What the method would do with a study, and what it would cost; computes nothing.
    pub fn plan(&self, study: &Study) -> Result<Plan, Error> {
        Plan::new(self, study)
    }
}

/// The names of all methods.
pub fn names() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|entry| entry.name)
}
