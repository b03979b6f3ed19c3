//! What Algorithm 1 and its presets share: noise, steps, what they say about privacy, what leaves.

use steffle::model::ModelKind;
use steffle::noise::NoiseKind;
use steffle::protocol::Batch;
use steffle::train::{PROBES, Schedule};
use steffle_privacy::ledger::{Claim, Statement};
use steffle_privacy::{Delta, Mu, NoiseShares, gdp};

use super::shares::{self, Asked};
use crate::Error;
use crate::leaves::{Counts, Leaves};
use crate::method::{
    Aim, Announced, BatchSize, Bounds, Entry, Given, Mode, Noise, ServerKind, Steps, Training,
    Written, judge_messages, refuse_by_mode, refuse_foreign,
};
use crate::privacy::{Privacy, claimed, neighbour, one_row_only, where_noise_is_from};
use crate::study::Study;
use crate::trained::Trained;

/// A method that descends by the rounds of Algorithm 1's protocol.
#[derive(Debug, Clone)]
pub(crate) struct Descending {
    pub(crate) entry: &'static Entry,
    pub(crate) aim: Aim,
    pub(crate) mode: Mode,
    pub(crate) noise: Option<Noise>,
    pub(crate) steps: Steps,
    /// Whether sums are added up under masks.
    pub(crate) secure_aggregation: bool,
    /// Whether and how silos share noise.
    pub(super) asked: Asked,
    /// The same, of the study's silos.
    shares: Option<NoiseShares>,
}

impl Descending {
    /// Algorithm 1 in a mode, with steps of `theta_step` where none is said and it is not the usual.
    pub(crate) fn read(
        entry: &'static Entry,
        given: &Given,
        mode: Mode,
        theta_step: Option<f64>,
    ) -> Result<Self, Error> {
        refuse_foreign(entry, given, mode)?;
        refuse_by_mode(given, mode)?;
        let noise = Noise::read(given, mode, |clip| Noise::theorem(given, clip))?;
        let server = Steps::server(entry, given, mode)?;
        let mut usual = Steps::usual_sizes(given)?;
        usual.theta = theta_step.unwrap_or(usual.theta);
        let steps = Steps::read(given, server, usual)?;
        let aim = Aim::read(entry, given)?;
        let secure_aggregation = given.flag("secure-aggregation")?.unwrap_or(false);
        if secure_aggregation {
            addable(mode, &steps)?;
        }
        let asked = Asked::read(given, secure_aggregation, "<secure-aggregation>")?;
        let shares = None;
        Ok(Self { entry, aim, mode, noise, steps, secure_aggregation, asked, shares })
    }

    /// Of silos that each add all of their noise, in the clear.
    pub(crate) fn alone(
        entry: &'static Entry,
        aim: Aim,
        mode: Mode,
        noise: Option<Noise>,
        steps: Steps,
    ) -> Self {
        let (asked, shares) = (Asked::EACH, None);
        Self { entry, aim, mode, noise, steps, secure_aggregation: false, asked, shares }
    }

    /// Complete and checked for a study.
    pub(crate) fn settled(&self, study: &Study) -> Result<Self, Error> {
        let mut settled = self.clone();
        let sizes = study.sizes();
        settled.aim = self.aim.settled(study);
        settled.noise = self.noise.map(|noise| noise.settled(study.rows()));
        settled.steps.settle(self.mode, &sizes);
        settled.shares = self.asked.of(study)?;
        if settled.shares.is_some() {
            sharable(&settled.aim, study)?;
        }
        let mode = match settled.noise {
            None => steffle::train::Mode::None,
            Some(noise) => noise.to_core(self.mode, settled.shares)?,
        };
        settled.steps.check(self.aim.lambda, mode, &sizes)?;
        Ok(settled)
    }

    pub(crate) fn written(&self) -> Written {
        let mut written = self.aim.written(self.entry);
        written.push("mode", Some(self.mode.to_string()));
        if let Some(noise) = &self.noise {
            noise.write(&mut written);
        }
        written.push("secure-aggregation", self.secure_aggregation.then_some(true));
        self.asked.write(&mut written);
        self.steps.write(&mut written);
        written
    }

    pub(crate) fn claims(&self) -> bool {
        self.noise.is_some_and(|noise| noise.holds())
    }

    pub(crate) fn noise_kind(&self) -> NoiseKind {
        self.noise.map_or(NoiseKind::Simulation, |noise| noise.kind())
    }

    pub(crate) fn announced(&self, study: &Study, counts: &Counts) -> Announced {
        let Counts { cells, classes, outcomes, parameters, .. } = *counts;
        // Opening, closing, the census and the rounds; attributes elsewhere have a leg of their own.
        let legs = if study.is_split() { 2 } else { 1 };
        let improved = self.steps.server == ServerKind::Improved;
        let probes = if improved && counts.layers > 1 { PROBES } else { 0 };
        // How many records have each column, shape, cap and what all take in, where noise is shared.
        let agreeing = if self.shares.is_some() { 4 } else { 0 };
        let before = counts.most_trips() + probes + agreeing;
        let trips = self.steps.rounds().map(|rounds| before + 2 + legs * (1 + rounds));
        Announced {
            rounds: self.steps.rounds(),
            private_numbers_per_round: Some(cells * (parameters + classes * outcomes)),
            trips,
            ..Announced::default()
        }
    }

    pub(crate) fn offered(&self, study: &Study, layers: usize) -> Result<(Claim, f64, f64), Error> {
        let protected = self.steps.plan()?.protected(study.classes(), study.mean_size(), layers)?;
        Ok(protected.map_or((Claim::Nothing, 0.0, 0.0), |protected| {
            (protected.claim, protected.epsilon.value(), protected.delta.value())
        }))
    }

    /// What is said of noise that was asked for; `none` is said where none was.
    pub(crate) fn privacy(
        &self,
        study: &Study,
        said: &Statement,
        none: &str,
    ) -> Result<Privacy, Error> {
        let Some(noise) = self.noise else { return Ok(Privacy::none(none)) };
        let plan = self.steps.plan()?;
        Ok(match noise.bounds {
            Bounds::Exact { .. } => self.guarantee(study, said, plan),
            Bounds::Paper { .. } | Bounds::Published { .. } => self.theorem(study, noise, plan),
        })
    }

    pub(crate) fn leaves(&self, counts: &Counts) -> Vec<Leaves> {
        let Counts { cells, outcomes, parameters, .. } = *counts;
        let public = if self.mode == Mode::Paper { 0 } else { parameters };
        let mut table = vec![Leaves::new(
            "training, per round",
            "two counts, the loss gradient; per cell a count, output sums and, unless the mode is \
             paper, the public part of the gradient",
            2 + parameters + cells * (1 + outcomes + public),
            "secure aggregation",
        )];
        if matches!(self.mode, Mode::Exact | Mode::Poisson) {
            table.push(Leaves::new(
                "noise, per round",
                "its scales, which depend on the features",
                4,
                "needed to average messages well",
            ));
        }
        table
    }

    /// What to know before it starts; of a network with noise what it costs there.
    pub(crate) fn warnings(&self, labels: usize) -> Vec<String> {
        let mut warnings = self.steps.warnings(labels);
        let network = matches!(self.aim.model, Some(ModelKind::Mlp(_)));
        if let (true, Some(noise)) = (network && self.aim.lambda > 0.0, &self.noise) {
            warnings.push(format!(
                "a network has noise in every parameter of every round's message, and {PROBES} more \
                 trips show its curvature first: epsilon {} buys less fairness than with a linear \
                 model. Methods one-shot and randomised-response release once and train networks \
                 without more noise",
                noise.epsilon
            ));
        }
        warnings
    }

    pub(crate) fn train(&self, run: Training<'_>) -> Result<Vec<Result<Trained, Error>>, Error> {
        let mut trained = self.steps.train(run)?;
        judge_messages(&mut trained, self.noise.as_ref());
        Ok(vec![Ok(trained)])
    }

    /// The statement of the modes whose claim holds.
    fn guarantee(&self, study: &Study, said: &Statement, plan: &Schedule) -> Privacy {
        let (epsilon, delta) = claimed(said);
        let unit = neighbour(study.about().largest_unit);
        let how = match (self.mode, plan.batch()) {
            (Mode::Poisson, _) => format!(
                "{} rounds on secret Poisson batches, accounted by their privacy loss distribution",
                plan.rounds() + 1
            ),
            (_, Batch::Block(blocks)) => format!(
                "every record in at most {} of {} rounds on {blocks} public blocks, with noise for their \
                 exact sensitivity",
                plan.visits(),
                plan.rounds()
            ),
            _ => format!(
                "a table and {} rounds on all records, each with noise for its exact sensitivity",
                plan.rounds()
            ),
        };
        let central = self.entry.central;
        let who = match study.is_split() {
            _ if central => {
                "everyone but the curator, who is trusted with all records and attributes"
            }
            false => "the server and all other silos",
            true => {
                "the server and all silos; attributes holders learn the features of every record"
            }
        };
        let place = if central { "" } else { "in each silo, " };
        let source = where_noise_is_from(said, "run on", study.is_paid());
        if let Some(claim) = shares::claim(said) {
            let statement = format!(
                "The mechanism is ({epsilon}, {delta:.1e})-differentially private for the sensitive \
                 attribute of every {unit}, in each silo, against {}. {} A table and {} rounds on all \
                 records, integer noise of which each silo adds a share to every round; its shape, from 20 \
                 features on, is a matrix of products of features, summed over all silos. {source} Features and labels are not \
                 protected.",
                claim.against,
                claim.words(),
                plan.rounds()
            );
            return Privacy { claim: Some(claim), ..Privacy::holding(said, statement) };
        }
        let statement = format!(
            "The mechanism is ({epsilon}, {delta:.1e})-differentially private for the sensitive \
             attribute of every {unit}, {place}against {who}: {how}, integer noise. {source} \
             Features and labels are not protected."
        );
        Privacy::holding(said, statement)
    }

    /// The statement of the paper's noise.
    fn theorem(&self, study: &Study, noise: Noise, plan: &Schedule) -> Privacy {
        let (epsilon, delta) = (noise.epsilon, noise.delta.unwrap_or_default());
        let honest = honest_epsilon(noise, plan, study);
        let instead = honest.map_or_else(String::new, |honest| {
            format!(
                ": an honest accountant gives epsilon {honest:.1} for a record in full batches, \
                 more in an epoch's smaller last batch, not counting the class frequencies, which \
                 are sent exactly"
            )
        });
        let units = one_row_only(study.about().largest_unit);
        let whose = if self.entry.central {
            "the sensitive attribute against everyone but a trusted curator"
        } else {
            "each silo's sensitive attribute"
        };
        let statement = format!(
            "The guarantee does not hold: Theorem 3.2 claims epsilon {epsilon} at delta {delta:.1e} \
             for {whose}, but it prices a round's two messages one at a time \
             and the exact gradients reveal which records are in the batch{instead}.{units} This \
             is also a seeded simulation on one machine: whoever knows the seed can subtract the \
             noise. Features and labels are not protected at all."
        );
        Privacy::broken(epsilon, delta, honest, statement)
    }
}

/// Refuses what is not asked of all sites in the same words, or is not a sum over them.
fn addable(mode: Mode, steps: &Steps) -> Result<(), Error> {
    let refuse = |message: String, help: &str| {
        Err(Error::conflict("secure-aggregation", message).with_help(help.to_owned()))
    };
    if mode != Mode::Exact {
        return refuse(
            format!(
                "mode {mode} has batches or noise by silo, which masks do not cover, or claims nothing; \
                 masks are for mode exact"
            ),
            "leave out <mode>, or <secure-aggregation>",
        );
    }
    if matches!(steps.batch, Some(BatchSize::Records(_))) {
        return refuse(
            "blocks of records need to know how many every silo has; masks are for all records"
                .to_owned(),
            "leave out <batch>, or <secure-aggregation>",
        );
    }
    Ok(())
}

/// Refuses noise that silos share for models and units whose largest part of a message they cannot
/// agree on.
fn sharable(aim: &Aim, study: &Study) -> Result<(), Error> {
    let refuse = |message: &str, help: &str| {
        Err(Error::conflict("noise-shares", message).with_help(help.to_owned()))
    };
    if matches!(aim.model, Some(ModelKind::Mlp(_))) {
        return refuse(
            "silos share the noise of rounds of linear models: nobody knows how long a network's gradients are \
             elsewhere",
            "leave out <model>, or <noise-shares>, or use <method one-shot>",
        );
    }
    if study.about().largest_unit > 1 {
        return refuse(
            "a person has several rows, and silos that share the noise of rounds agree on how far one row moves \
             a sum",
            "use <method one-shot> with <pool>, which caps persons, or leave out <noise-shares>",
        );
    }
    Ok(())
}

/// Epsilon of the theorem's noise when the batches are known, for a record in full batches.
fn honest_epsilon(noise: Noise, plan: &Schedule, study: &Study) -> Option<f64> {
    let (sizes, split) = (study.sizes(), study.is_split());
    let largest = sizes.iter().copied().max()?;
    let batch = |held: usize| match (plan.batch(), split) {
        (Batch::All | Batch::Block(_), _) => held,
        (Batch::Mini(size), false) => size as usize,
        // Silos of one attributes holder announce equal shares of their records.
        (Batch::Mini(size), true) => (size as usize * held / largest).clamp(1, size as usize),
    };
    let cost = |held, size| squared_mu(noise, plan.rounds(), held, size, study.classes());
    let worst = if split {
        cost(sizes.iter().sum(), sizes.iter().map(|&held| batch(held)).sum())
    } else {
        sizes.iter().map(|&held| cost(held, batch(held))).fold(0.0, f64::max)
    };
    let mu = Mu::try_from(worst.sqrt()).ok()?;
    Some(gdp::epsilon(mu, Delta::try_from(noise.delta?).ok()?))
}

/// mu^2 of all participations of a record of one of `records`, `batch` of them in a round.
///
/// One participation costs at most `8/(rho (m sigma)^2)` for the table (rows r and r' move by at
/// most 1 under noise `m sigma sqrt(p)/2`) and `4/(D m sigma)^2` for theta (the clipped sum moves
/// by at most 2 L under noise `m sigma L D`). With the theorem's
/// `sigma^2 = 16 T ln(1/delta)/(epsilon^2 n^2 rho)` and rho at most 1/k the two together are
/// `(n/m)^2 epsilon^2 (1/2 + 1/(4 k D^2)) / (T ln(1/delta))`.
fn squared_mu(noise: Noise, rounds: u32, records: usize, batch: usize, classes: usize) -> f64 {
    let Noise { epsilon, delta, bounds } = noise;
    let Bounds::Paper { diameter, .. } = bounds else { return 0.0 };
    let rounds = f64::from(rounds);
    let times = (rounds / records.div_ceil(batch.max(1)) as f64).ceil();
    let ratio = records as f64 / batch as f64;
    let joint = 0.5 + 1.0 / (4.0 * classes as f64 * diameter * diameter);
    times * (ratio * epsilon).powi(2) * joint / (rounds * -delta.unwrap_or_default().ln())
}

/// The trait's methods that all of them have from here.
macro_rules! descends {
    () => {
        fn entry(&self) -> &'static Entry {
            &ENTRY
        }

        fn aim(&self) -> &Aim {
            &self.0.aim
        }

        fn mode(&self) -> Mode {
            self.0.mode
        }

        fn written(&self) -> Written {
            self.0.written()
        }

        fn claims(&self) -> bool {
            self.0.claims()
        }

        fn noise(&self) -> NoiseKind {
            self.0.noise_kind()
        }

        fn secure_aggregation(&self) -> bool {
            self.0.secure_aggregation
        }
        fn shared_against(&self, silos: usize) -> Option<u32> {
            self.0.asked.against(silos)
        }

        fn announced(&self, study: &Study, counts: &Counts) -> Announced {
            self.0.announced(study, counts)
        }

        fn offered(&self, study: &Study, layers: usize) -> Result<(Claim, f64, f64), Error> {
            self.0.offered(study, layers)
        }

        fn leaves(&self, counts: &Counts) -> Vec<Leaves> {
            self.0.leaves(counts)
        }

        fn warnings(&self, labels: usize) -> Vec<String> {
            self.0.warnings(labels)
        }

        fn train(&self, run: Training<'_>) -> Result<Vec<Result<Trained, Error>>, Error> {
            self.0.train(run)
        }
    };
}
pub(crate) use descends;

#[cfg(test)]
mod tests {
    use steffle_privacy::{Epsilon, GroupFraction, Rounds, paper};

    use super::*;

    /// The closed form against the theorem's own sigma and the cost of each message.
    #[test]
    fn the_cost_is_that_of_the_theorem_s_noise() {
        let diameter: f64 = 3.0;
        let bounds = Bounds::Paper { clip: 2.0, diameter };
        let asked = Noise { epsilon: 3.0, delta: Some(1e-9), bounds };
        let (rounds, records, batch, classes) = (1800, 11_305, 256, 2);
        let rho = 1.0 / classes as f64;
        let sigma = paper::sigma_dual(
            Epsilon::try_from(asked.epsilon).unwrap(),
            Delta::try_from(1e-9).unwrap(),
            Rounds::try_from(u64::from(rounds)).unwrap(),
            records,
            GroupFraction::try_from(rho).unwrap(),
        );
        let per_round = (8.0 / rho + 4.0 / diameter.powi(2)) / (batch as f64 * sigma).powi(2);
        // 45 batches make an epoch, so 40 epochs.
        let expected = 40.0 * per_round;
        let found = squared_mu(asked, rounds, records, batch, classes);
        assert!((found / expected - 1.0).abs() < 1e-12, "{found} against {expected}");
    }
}
