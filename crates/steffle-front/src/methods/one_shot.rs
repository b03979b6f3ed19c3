//! `one-shot`: one noisy release, then the optimum on what it tells, for any number of lambdas.

mod told;

use std::sync::Arc;

use steffle::federation::{FederationError, GapEstimate, Pooling};
use steffle::linear::Features;
use steffle::node::RARE_COLUMN;
use steffle::noise::NoiseKind;
use steffle::train::{FairPath, MOST_MODELS, OneShotTerms, target_gap};
use steffle_privacy::ledger::{Claim, Statement};
use steffle_privacy::{Delta, NoiseShares};

use self::told::Told;
pub use self::told::{Estimate, OneShotReport};
use super::builder::builder;
use super::excess;
use super::path::{After, leaves, path, reason};
use super::shares::{self, Asked};
use crate::Error;
use crate::clock::Clock;
use crate::ground::{Ground, OPTIMUM, Public, RULE, explain, failed};
use crate::leaves::{Counts, Leaves};
use crate::method::{
    Aim, Announced, Entry, Given, Goal, Look, Method, Mode, NoiseOrigin, Protects, Training,
    Written, budget, refuse_foreign, usual_delta,
};
use crate::observer::Stage;
use crate::privacy::{Privacy, claimed, neighbour, where_noise_is_from};
use crate::study::Study;
use crate::trained::{Trace, Trained};

/// The method.
pub(crate) static ENTRY: Entry = Entry {
    name: "one-shot",
    about: "one noisy release, then the optimum on what it tells",
    settings: &[
        "lambda",
        "surrogate-sharpness",
        "l2",
        "target-gap",
        "max-excess",
        "epsilon",
        "delta",
        "noise",
        "pool",
        "secure-aggregation",
        "noise-shares",
        "colluders",
        "silos",
        "heterogeneity",
        "partition-by",
        "centralisation",
    ],
    pins: &[],
    modes: &[Mode::None],
    central: false,
    goal: Goal::Groups,
    needs_notion: true,
    labels: None,
    answers_by_id: false,
    protects: &Protects::ATTRIBUTE,
    without_noise: "Without noise, because it involves the attribute only as it is released, every \
                    silo sends numbers for",
    look: Look { colour: "vermillion", marker: "square" },
    reason: |entry, key, _| {
        reason(entry, key, ": its one message has a cap and a shape of its own")
    },
    build: |given| Ok(Arc::new(Run::read(given)?)),
};

builder! {
    /// One noisy release for all lambdas, then the optimum on what it tells: the method for small
    /// epsilon.
    OneShot: model, notion, lambda, sharpness, l2, target_gap, max_excess, epsilon, delta, noise, pool,
    secure_aggregation, noise_shares, colluders
}

#[derive(Debug, Clone)]
struct Run {
    aim: Aim,
    epsilon: f64,
    /// Absent until the data is seen: 1/n^2 for n training rows.
    delta: Option<f64>,
    noise: NoiseOrigin,
    pool: bool,
    secure_aggregation: bool,
    asked: Asked,
    /// As asked for, of the silos there are.
    shares: Option<NoiseShares>,
    /// The gap that chooses lambda.
    target_gap: Option<f64>,
    max_excess: Option<f64>,
}

/// What the release is made under.
struct Release {
    terms: OneShotTerms,
    delta: Delta,
    pooling: Pooling,
}

impl Run {
    fn read(given: &Given) -> Result<Self, Error> {
        refuse_foreign(&ENTRY, given, given.word("mode")?.unwrap_or(Mode::None))?;
        let epsilon = given.paid_epsilon()?.unwrap_or(1.0);
        let delta = given.delta()?;
        let noise = given.word("noise")?.unwrap_or(NoiseOrigin::Simulated);
        let target_gap = given.number("target-gap", 0.0..=1.0, "a number in [0, 1]")?;
        let pool = given.flag("pool")?.unwrap_or(false);
        let secure_aggregation = given.flag("secure-aggregation")?.unwrap_or(false);
        if target_gap.is_some() && given.has("lambda") {
            let message = "lambda and target-gap both say how fair; the gap chooses its own lambda";
            let help = "leave out one of the two";
            return Err(Error::conflict("target-gap", message).with_help(help));
        }
        let (aim, max_excess) = (Aim::read(&ENTRY, given)?, excess::read(given)?);
        let (asked, shares) = (
            Asked::read(given, pool && secure_aggregation, "<pool> and <secure-aggregation>")?,
            None,
        );
        Ok(Self {
            aim,
            epsilon,
            delta,
            noise,
            pool,
            secure_aggregation,
            asked,
            shares,
            target_gap,
            max_excess,
        })
    }

    fn terms(&self) -> Result<Release, Error> {
        let (epsilon, delta) = budget(self.epsilon, self.delta)?;
        let terms = OneShotTerms::new(epsilon, delta)
            .map_err(|error| Error::usage("config::privacy", error.to_string()))?;
        let Self { secure_aggregation, shares, .. } = *self;
        let pooled = Pooling::Pooled { secure_aggregation, shares };
        let pooling = if self.pool { pooled } else { Pooling::Local };
        Ok(Release { terms, delta, pooling })
    }

    fn most_trips(&self, study: &Study, counts: &Counts) -> u32 {
        // Opening, the release, closing, and the gap of the unconstrained model; holders elsewhere
        // release in a trip of their own, and what they released goes on to the silos.
        let release = 4 + if study.is_split() { 2 } else { 0 };
        // Under masks how many records have each column; Gram matrices, caps, moments, and the rule that
        // is made of them.
        let pooled = if self.pool { 4 + u32::from(self.secure_aggregation) } else { 0 };
        let (models, lambda) = match (self.target_gap, self.max_excess) {
            (Some(_), _) => (MOST_MODELS, 0.0),
            (_, Some(_)) => (excess::MOST_MODELS, 0.0),
            _ => (1, self.aim.lambda),
        };
        let fair = RULE.most_fair_trips(counts.layers, counts.parameters, lambda, OPTIMUM);
        counts.most_trips() + release + pooled + models * (fair + 1)
    }

    /// The fair model for a target gap, whose lambda the release chooses.
    fn target(&self, run: Training<'_>, told: &Told, clock: &Clock) -> Result<Trained, Error> {
        let Training { mut ground, public, .. } = run;
        let target = self.target_gap.unwrap_or_default();
        ground.observer.begin(Stage::Fair, None);
        let (spent, statement) = ground.said();
        let (objective, minimum) = (ground.objective, &public.minimum);
        let trips = ground.trips_of();
        let mut path = FairPath::new(&mut ground.federation, objective, minimum, 0.0, OPTIMUM);
        let mut trace = public.trace();
        let targeted = target_gap(&mut path, told.one_shot(), target, |lambda, estimate| {
            let GapEstimate { gap, standard_error, .. } = estimate;
            trace.push(Trace::Tried { lambda, gap, standard_error });
        });
        let targeted = targeted.map_err(|error| explain(&error))?;
        let (report, warnings) = told.targeted(&targeted, target);
        let mut trained = Trained {
            theta: targeted.fair.theta.clone(),
            rounds: minimum.evaluations + targeted.fair.evaluations,
            trips: Some(trips(public, path.trips())),
            trace,
            statement,
            spent,
            lambda: Some(targeted.lambda),
            one_shot: Some(report),
            warnings,
            took: public.took.and(clock.stop()),
            ..public.trained()
        };
        told.judge(&mut trained);
        Ok(trained)
    }
}

impl Method for Run {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn aim(&self) -> &Aim {
        &self.aim
    }

    fn label(&self) -> &'static str {
        "one-shot"
    }

    fn written(&self) -> Written {
        let mut written = self.aim.written(&ENTRY);
        written.push("epsilon", Some(self.epsilon));
        written.push("delta", self.delta);
        written.push("noise", Some(self.noise.to_string()));
        written.push("pool", Some(self.pool));
        written.push("secure-aggregation", Some(self.secure_aggregation));
        self.asked.write(&mut written);
        written.push("target-gap", self.target_gap);
        written.push("max-excess", self.max_excess);
        if self.shares_release() { written } else { written.without("lambda") }
    }

    fn claims(&self) -> bool {
        true
    }

    fn noise(&self) -> NoiseKind {
        self.noise.into()
    }

    fn secure_aggregation(&self) -> bool {
        self.secure_aggregation
    }

    fn shared_against(&self, silos: usize) -> Option<u32> {
        self.asked.against(silos)
    }

    /// A target gap and a limit of error choose lambda themselves.
    fn shares_release(&self) -> bool {
        self.target_gap.is_none() && self.max_excess.is_none()
    }

    fn settle(&self, study: &Study) -> Result<Arc<dyn Method>, Error> {
        excess::check(self.max_excess, study)?;
        let delta = self.delta.or(Some(usual_delta(study.rows())));
        let (aim, shares) = (self.aim.settled(study), self.asked.of(study)?);
        Ok(Arc::new(Self { aim, delta, shares, ..self.clone() }))
    }

    fn announced(&self, study: &Study, counts: &Counts) -> Announced {
        let sent = if counts.classes == 2 { 1 } else { counts.classes };
        let numbers = sent * counts.released;
        let trips = Some(self.most_trips(study, counts));
        Announced { numbers_released_once: Some(numbers), trips, ..Announced::default() }
    }

    fn offered(&self, _: &Study, _: usize) -> Result<(Claim, f64, f64), Error> {
        let claim = self.shares.map_or(Claim::Gaussian, Claim::Shared);
        Ok((claim, self.epsilon, self.delta.unwrap_or_default()))
    }

    fn privacy(&self, study: &Study, said: &Statement) -> Result<Privacy, Error> {
        let (epsilon, delta) = claimed(said);
        let unit = neighbour(study.about().largest_unit);
        let who = match (study.is_split(), self.pool) {
            (true, _) => {
                "the server and all silos; every attributes holder learns the features of every \
                 record"
            }
            (false, false) => "the server and all other silos",
            (false, true) => {
                "the server and all other silos, which also get matrices of the silo's features"
            }
        };
        let source = where_noise_is_from(said, "release about", study.is_paid());
        if let Some(claim) = shares::claim(said) {
            let statement = format!(
                "The mechanism is ({epsilon}, {delta:.1e})-differentially private for the sensitive \
                 attribute of every {unit}, in each silo, against {}. {} One message of sums over all \
                 silos, integer noise of which each adds a share; every lambda and model that is trained on \
                 it is free. It is a model of the sensitive attribute given the features: what they predict \
                 stays predictable. {source} Features and labels are not protected.",
                claim.against,
                claim.words()
            );
            return Ok(Privacy { claim: Some(claim), ..Privacy::holding(said, statement) });
        }
        let statement = format!(
            "The mechanism is ({epsilon}, {delta:.1e})-differentially private for the sensitive \
             attribute of every {unit}, in each silo, against {who}: one message of noisy sums per \
             silo, integer noise; every lambda and model that is trained on it is free. It is a \
             model of the sensitive attribute given the features: what they predict stays \
             predictable. {source} Features and labels are not protected."
        );
        Ok(Privacy::holding(said, statement))
    }

    fn leaves(&self, counts: &Counts) -> Vec<Leaves> {
        let Counts { cells, classes, outcomes, released, .. } = *counts;
        let mut table = vec![
            leaves("release", counts),
            Leaves::new(
                "gap estimate, per model",
                "per cell, decisions and memberships, and by class the corrected sums",
                cells * (1 + 3 * outcomes + classes + 2 * classes * outcomes),
                "needed to aim at a gap, and for warnings",
            ),
        ];
        if self.pool {
            table.extend(pooled(released));
        }
        table
    }

    fn train(&self, mut run: Training<'_>) -> Result<Vec<Result<Trained, Error>>, Error> {
        let clock = Clock::start();
        let told = release(&mut run.ground, &self.terms()?, run.public)?;
        if !told.tells() {
            // A search for lambda has found none; else it is the one that was asked for.
            let lambda = (!self.shares_release()).then_some(0.0);
            return Ok(unchanged(run, &told, lambda, &clock));
        }
        if self.target_gap.is_some() {
            return Ok(vec![self.target(run, &told, &clock)]);
        }
        let after: After<'_> = &|path, fair, trained| {
            let gap = path.estimate_gap(told.one_shot(), &fair.theta);
            let gap = gap.map_err(|error| failed(&error))?;
            trained.one_shot = Some(told.report(gap));
            told.judge(trained);
            Ok(())
        };
        Ok(match self.max_excess {
            Some(most) => vec![excess::within(run, &clock, 0.0, most, after)],
            None => path(run, &clock, 0.0, after),
        })
    }
}

/// The unconstrained model for every lambda.
fn unchanged(
    run: Training<'_>,
    told: &Told,
    lambda: Option<f64>,
    clock: &Clock,
) -> Vec<Result<Trained, Error>> {
    let Training { mut ground, public, lambdas } = run;
    let (spent, statement) = ground.said();
    let one = |_: &f64| {
        let (trips, took) = (Some(ground.trips(public)), public.took.and(clock.stop()));
        let mut trained = Trained { trips, statement, spent, lambda, took, ..public.trained() };
        told.unchanged(&mut trained);
        Ok(trained)
    };
    lambdas.iter().map(one).collect()
}

/// Has every attributes division release its sums.
fn release(ground: &mut Ground<'_>, asked: &Release, public: &Public) -> Result<Told, Error> {
    let mut ask = || {
        let release = ground.federation.release_once(asked.pooling, Some(&asked.terms))?;
        let look = ground.federation.look(&release, &public.minimum.theta)?;
        Ok(Told::new(release, look, asked.terms.mu(), asked.delta))
    };
    let told = ask();
    told.map_err(|error| name_feature(&error, ground.study))
}

/// A refusal to pool names the feature by its number; the user knows it by its column.
fn name_feature(error: &FederationError, study: &Study) -> Error {
    if let FederationError::Refused { refused, .. } = error
        && refused.code == RARE_COLUMN
        && let Some(&column) = refused.numbers.first()
        && let Some(name) = feature_names(study).get(column as usize)
    {
        let help = format!(
            "feature column {column} is {name}: merge it with other levels, declare \
             <secure-aggregation>, or leave out <pool>"
        );
        return Error::data("train::pool", error.to_string()).with_help(help);
    }
    failed(error)
}

/// Numeric columns, their squares, then `column = level`, in the order of the features; cells, which
/// come last, are not named here.
fn feature_names(study: &Study) -> Vec<String> {
    let schema = study.schema();
    let own = schema.numeric().iter().map(|column| column.name.clone());
    let squares = schema.numeric().iter().map(|column| format!("{} squared", column.name));
    let squared = Features::released_size(schema.layout(), 1) > schema.layout().weights();
    let numeric = own.chain(squares.filter(move |_| squared));
    let levels = schema
        .categorical()
        .iter()
        .flat_map(|column| column.levels.iter().map(|level| format!("{} = {level}", column.name)));
    numeric.chain(levels).collect()
}

fn pooled(features: usize) -> [Leaves; 2] {
    let matrix = features * (features + 1) / 2;
    let avoid = "do not pool; secure aggregation";
    [
        Leaves::new(
            "pooled Gram matrix and cap",
            "a matrix of the features (a rare level's row can be a record) and a quantile",
            matrix + 2,
            avoid,
        ),
        Leaves::new(
            "pooled moments",
            "a matrix and a sum of the capped features",
            matrix + features + 1,
            avoid,
        ),
    ]
}
