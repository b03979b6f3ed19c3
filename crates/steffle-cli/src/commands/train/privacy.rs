//! What privacy the settings give and to whom, in words.

use serde::Serialize;
use steffle::protocol::Batch;
use steffle::train::Plan;
use steffle_baselines::Published;
use steffle_privacy::{Delta, Mu, gdp};

use steffle_privacy::ledger::{CheckedOffer, Claim, Offer, Statement, StatementKind};

use super::load::Holdings;
use crate::config::{Bounds, Method, Mode, OneShotSettings, Privacy, TrainConfig};
use crate::failure::Failure;

/// The `privacy` object of the JSON of `train`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PrivacyReport {
    /// `none`, `simulation` or `private`.
    pub(crate) kind: &'static str,
    /// What was asked for.
    pub(crate) epsilon: Option<f64>,
    pub(crate) delta: Option<f64>,
    /// Whether the mechanism would give (epsilon, delta) with secret noise.
    pub(crate) holds: bool,
    /// What an honest accountant gives: what was asked for, where the claim holds.
    pub(crate) honest_epsilon: Option<f64>,
    /// What the method's publication would say of the same noise, where that is another number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) claimed_epsilon: Option<f64>,
    /// Who counts as a neighbour, where something is claimed.
    pub(crate) adjacency: Option<&'static str>,
    pub(crate) statement: String,
}

impl PrivacyReport {
    /// No claim.
    pub(super) fn none(statement: String) -> Self {
        Self {
            kind: "none",
            epsilon: None,
            delta: None,
            holds: false,
            honest_epsilon: None,
            claimed_epsilon: None,
            adjacency: None,
            statement,
        }
    }

    /// A published claim that does not hold, and what does.
    fn broken(epsilon: f64, delta: f64, honest: Option<f64>, statement: String) -> Self {
        Self {
            kind: "simulation",
            epsilon: Some(epsilon),
            delta: Some(delta),
            holds: false,
            honest_epsilon: honest,
            claimed_epsilon: Some(epsilon),
            adjacency: Some(ADJACENCY),
            statement,
        }
    }
}

/// Whose change the guarantee is about.
const ADJACENCY: &str = "the sensitive attribute of one unit of one silo replaced, missing included; features, \
                         labels and all else fixed";

/// What a statement is about, beside the settings.
#[derive(Debug, Clone)]
pub(crate) struct About {
    /// Whether attributes are held elsewhere than records.
    pub(crate) split: bool,
    /// Records per records silo.
    pub(crate) sizes: Vec<usize>,
    pub(crate) classes: usize,
    /// Most rows about one person.
    pub(crate) largest_unit: usize,
}

impl About {
    pub(crate) fn new(holdings: &Holdings, classes: usize, largest_unit: usize) -> Self {
        let split = matches!(holdings, Holdings::Split { .. });
        Self { split, sizes: holdings.sizes(), classes, largest_unit }
    }
}

/// What the stores will be offered: what a run says about its privacy before it begins.
pub(crate) fn offer(
    config: &TrainConfig,
    plan: Option<&Plan>,
    about: &About,
    layers: usize,
) -> Result<CheckedOffer, Failure> {
    let none = (Claim::Nothing, 0.0, 0.0);
    let (claim, epsilon, delta) = if let Some(response) = config.response {
        (Claim::Pure, response.epsilon, 0.0)
    } else if let Some(once) = config.one_shot {
        (Claim::Gaussian, once.epsilon, once.delta.unwrap_or_default())
    } else if let Some(plan) = plan {
        let silos = about.sizes.len().max(1) as f64;
        let records = about.sizes.iter().sum::<usize>() as f64 / silos;
        plan.protected(about.classes, records, layers)?.map_or(none, |protected| {
            (protected.claim, protected.epsilon.value(), protected.delta.value())
        })
    } else {
        none
    };
    let (method, mode) = (config.method.to_string(), config.mode.to_string());
    let (notion, noise) = (config.notion.to_string(), config.noise());
    let rounds = plan.map_or(1, Plan::rounds);
    Ok(Offer { method, mode, notion, rounds, epsilon, delta, claim, noise }.check()?)
}

/// The words for what the stores say: `said` is about the offer before a run, and about the
/// receipts after it. `plan` is absent for methods that go to an optimum.
pub(crate) fn privacy(
    config: &TrainConfig,
    plan: Option<&Plan>,
    published: Option<&Published>,
    about: &About,
    said: &Statement,
) -> PrivacyReport {
    let none = |statement: &str| PrivacyReport::none(statement.to_owned());
    let (classes, largest_unit) = (about.classes, about.largest_unit);
    if said.kind != StatementKind::None && !said.holds {
        return PrivacyReport {
            holds: false,
            honest_epsilon: None,
            ..holding(said, BROKEN.to_owned())
        };
    }
    if config.response.is_some() {
        return randomised(said, classes, largest_unit);
    }
    if let Some(settings) = config.one_shot {
        return released_once(said, settings, about);
    }
    if let (Some(asked), Some(settings)) = (config.privacy, published) {
        return signs_of_batches(asked, settings, classes, largest_unit);
    }
    let (Some(asked), Some(plan)) = (config.privacy, plan) else {
        return none(match config.method {
            Method::Erm => {
                "Method erm never reads the sensitive attribute in training. Features and labels \
                 are not protected: the gradients that silos send are exact. (The silos were \
                 simulated on this machine.)"
            }
            Method::Reductions => {
                "This run gives no privacy: reductions is a central reference, which has all \
                 records and the sensitive attribute of every one of them in one place and trains \
                 on them as they are. (The data was on this machine.)"
            }
            Method::Fermi => {
                "This run gives no privacy: fermi is the central reference, which has all records \
                 and the sensitive attribute of every one of them in one place and trains on \
                 them as they are. (The data was on this machine.)"
            }
            Method::DpFermi | Method::PfLd => {
                "This run gives no privacy: no noise was added. The curator has all records and \
                 the sensitive attribute of every one of them in one place. (The data was on this \
                 machine.)"
            }
            Method::Steffle
            | Method::SteffleNonprivate
            | Method::FedAvg
            | Method::FedFdp
            | Method::OneShot
            | Method::RandomisedResponse => {
                "This run gives no privacy: silos send exact sums about the sensitive attribute, \
                 and whoever reads them may learn it. Features and labels are not protected \
                 either. (The silos were simulated on this machine.)"
            }
        });
    };
    let Bounds::Paper { .. } = asked.bounds else {
        return guarantee(config, said, plan, about);
    };
    let (epsilon, delta) = (asked.epsilon, asked.delta.unwrap_or_default());
    let honest = honest_epsilon(asked, plan, about);
    let instead = honest.map_or_else(String::new, |honest| {
        format!(
            ": an honest accountant gives epsilon {honest:.1} for a record in full batches, more \
             in an epoch's smaller last batch, not counting the class frequencies, which are sent \
             exactly"
        )
    });
    let units = match largest_unit {
        0 | 1 => String::new(),
        rows => format!(" Its noise hides one row, and one unit has up to {rows} rows here."),
    };
    let whose = if config.method.central() {
        "the sensitive attribute against everyone but a trusted curator"
    } else {
        "each silo's sensitive attribute"
    };
    let statement = format!(
        "The guarantee does not hold: Theorem 3.2 claims epsilon {epsilon} at delta {delta:.1e} \
         for {whose}, but it prices a round's two messages one at a time \
         and the exact gradients reveal which records were in the batch{instead}.{units} This \
         is also a seeded simulation on one machine: whoever knows the seed can subtract the \
         noise. Features and labels are not protected at all."
    );
    PrivacyReport::broken(epsilon, delta, honest, statement)
}

/// The statement of PF-LD as published.
fn signs_of_batches(
    asked: Privacy,
    settings: &Published,
    classes: usize,
    largest_unit: usize,
) -> PrivacyReport {
    let (epsilon, delta) = (asked.epsilon, asked.delta.unwrap_or_default());
    let bound = settings.noise.zip(Delta::try_from(delta).ok()).map(|(noise, delta)| {
        noise.honest_epsilon(classes, settings.batch, settings.epochs, delta)
    });
    let honest = bound.filter(|bound| bound.is_finite());
    let instead = honest.map_or_else(String::new, |honest| {
        format!(": what can be proven for every record of every data set is epsilon {honest:.0}")
    });
    let units = match largest_unit {
        0 | 1 => String::new(),
        rows => format!(" Its noise hides one row, and one unit has up to {rows} rows here."),
    };
    let statement = format!(
        "The guarantee does not hold: PF-LD with sign batch claims epsilon {epsilon} at delta \
         {delta:.1e} for the sensitive attribute against everyone but a trusted curator, but one \
         record's class can flip a sign in its gradient, which then moves by its whole length, and \
         the exact loss gradients tell which records were in a batch{instead}.{units} This is also \
         a seeded simulation on one machine: whoever knows the seed can subtract the noise. \
         Features and labels are not protected at all. Use --sign released for a claim that holds."
    );
    PrivacyReport::broken(epsilon, delta, honest, statement)
}

/// The statement of `one-shot`.
fn released_once(said: &Statement, settings: OneShotSettings, about: &About) -> PrivacyReport {
    let (epsilon, delta) = claimed(said);
    let unit = neighbour(about.largest_unit);
    let who = match (about.split, settings.pool) {
        (true, _) => {
            "the server and all silos; every attributes holder learns the features of every record"
        }
        (false, false) => "the server and all other silos",
        (false, true) => {
            "the server and all other silos, which also get matrices of the silo's features"
        }
    };
    let source = where_noise_is_from(said, "release about");
    let statement = format!(
        "The mechanism is ({epsilon}, {delta:.1e})-differentially private for the sensitive \
         attribute of every {unit}, in each silo, against {who}: one message of noisy sums per \
         silo, integer noise; every lambda and model that is trained on it is free. It is a model \
         of the sensitive attribute given the features: what they predict stays predictable. \
         {source} Features and labels are not protected."
    );
    holding(said, statement)
}

/// Said instead of a guarantee where receipts do not fit the offer: it should never happen.
const BROKEN: &str = "The guarantee does not hold: what was released does not fit what the stores \
                      were offered. Keep the run directory and report this.";

/// Epsilon and delta of what is said.
fn claimed(said: &Statement) -> (f64, f64) {
    (said.epsilon.unwrap_or_default(), said.delta.unwrap_or_default())
}

/// Whose attribute is protected.
fn neighbour(largest_unit: usize) -> String {
    match largest_unit {
        0 | 1 => "record".to_owned(),
        rows => format!("unit (up to {rows} rows)"),
    }
}

/// Says of a claim that holds whether it was kept here, and that `again` the same records costs.
fn where_noise_is_from(said: &Statement, again: &str) -> String {
    match said.kind {
        StatementKind::Private => format!(
            "The noise came from the operating system and was not kept. No ledger was written: \
             another {again} the same records spends again."
        ),
        StatementKind::Simulation | StatementKind::None => format!(
            "This run is a simulation: its noise comes from a seed, and whoever knows the seed can \
             subtract it, so nothing was protected here. With --noise secure the guarantee is \
             real, and every further {again} the same records spends again."
        ),
    }
}

/// The report of a claim that holds.
fn holding(said: &Statement, statement: String) -> PrivacyReport {
    PrivacyReport {
        kind: match said.kind {
            StatementKind::None => "none",
            StatementKind::Simulation => "simulation",
            StatementKind::Private => "private",
        },
        epsilon: said.epsilon,
        delta: said.delta,
        holds: said.holds,
        honest_epsilon: said.epsilon,
        claimed_epsilon: None,
        adjacency: Some(ADJACENCY),
        statement,
    }
}

/// The statement of the modes whose claim holds.
fn guarantee(config: &TrainConfig, said: &Statement, plan: &Plan, about: &About) -> PrivacyReport {
    let (epsilon, delta) = claimed(said);
    let unit = neighbour(about.largest_unit);
    let how = match (config.mode, plan.batch()) {
        (Mode::Poisson, _) => format!(
            "{} rounds on secret Poisson batches, accounted by their privacy loss distribution",
            plan.rounds() + 1
        ),
        (_, Batch::Block(blocks)) => format!(
            "every record in at most {} of {} rounds on {blocks} public blocks, priced at their \
             exact sensitivity",
            plan.visits(),
            plan.rounds()
        ),
        _ => format!(
            "a table and {} rounds on all records, each priced at its exact sensitivity",
            plan.rounds()
        ),
    };
    let who = match about.split {
        _ if config.method.central() => {
            "everyone but the curator, who is trusted with all records and attributes"
        }
        false => "the server and all other silos",
        true => "the server and all silos; attributes holders learn the features of every record",
    };
    let place = if config.method.central() { "" } else { "in each silo, " };
    let source = where_noise_is_from(said, "run on");
    let statement = format!(
        "The mechanism is ({epsilon}, {delta:.1e})-differentially private for the sensitive \
         attribute of every {unit}, {place}against {who}: {how}, integer noise. {source} \
         Features and labels are not protected."
    );
    holding(said, statement)
}

/// Randomised response: pure, local, once.
fn randomised(said: &Statement, classes: usize, largest_unit: usize) -> PrivacyReport {
    let secure = said.kind == StatementKind::Private;
    let (epsilon, _) = claimed(said);
    let others = (classes - 1) as f64;
    let kept = 100.0 * epsilon.exp() / (epsilon.exp() + others);
    let kept = if kept.is_finite() { kept } else { 100.0 };
    let units = match largest_unit {
        0 | 1 => "unit",
        _ => "unit (all rows of a unit get one answer)",
    };
    let source = if secure {
        "The random bits came from the operating system and were not kept; another run draws new \
         answers and spends again."
    } else {
        "But this run is a seeded simulation on one machine: whoever knows the seed can undo the \
         answers, so nothing was protected here."
    };
    let statement = format!(
        "Every attributes division answers once per {units} with a randomised class: the true one \
         with probability {kept:.1} %, else one of the {others} other(s). That is pure local \
         privacy of the sensitive attribute, epsilon {epsilon} and delta 0, against everybody who \
         sees the answers, the silo's own records division included; training on them, for any \
         lambda, notion and model, adds nothing to it. {source} Features and labels are not \
         protected: the loss gradients and class tables that silos send are exact functions of \
         them and of the answers."
    );
    holding(said, statement)
}

/// Epsilon of the theorem's noise when the batches are known, for a record in full batches.
fn honest_epsilon(asked: Privacy, plan: &Plan, about: &About) -> Option<f64> {
    let About { split, sizes, classes, .. } = about;
    let largest = sizes.iter().copied().max()?;
    let batch = |held: usize| match (plan.batch(), split) {
        (Batch::All | Batch::Block(_), _) => held,
        (Batch::Mini(size), false) => size as usize,
        // Silos of one attributes holder announce equal shares of their records.
        (Batch::Mini(size), true) => (size as usize * held / largest).clamp(1, size as usize),
    };
    let cost = |held, size| squared_mu(asked, plan.rounds(), held, size, *classes);
    let worst = if *split {
        cost(sizes.iter().sum(), sizes.iter().map(|&held| batch(held)).sum())
    } else {
        sizes.iter().map(|&held| cost(held, batch(held))).fold(0.0, f64::max)
    };
    let mu = Mu::try_from(worst.sqrt()).ok()?;
    Some(gdp::epsilon(mu, Delta::try_from(asked.delta?).ok()?))
}

/// mu^2 of all participations of a record of one of `records`, `batch` of them in a round.
///
/// One participation costs at most `8/(rho (m sigma)^2)` for the table (rows r and r' move by at
/// most 1 under noise `m sigma sqrt(p)/2`) and `4/(D m sigma)^2` for theta (the clipped sum moves
/// by at most 2 L under noise `m sigma L D`). With the theorem's
/// `sigma^2 = 16 T ln(1/delta)/(epsilon^2 n^2 rho)` and rho at most 1/k the two together are
/// `(n/m)^2 epsilon^2 (1/2 + 1/(4 k D^2)) / (T ln(1/delta))`.
fn squared_mu(asked: Privacy, rounds: u32, records: usize, batch: usize, classes: usize) -> f64 {
    let Privacy { epsilon, delta, bounds, .. } = asked;
    let Bounds::Paper { diameter, .. } = bounds else { return 0.0 };
    let rounds = f64::from(rounds);
    let times = (rounds / records.div_ceil(batch.max(1)) as f64).ceil();
    let ratio = records as f64 / batch as f64;
    let joint = 0.5 + 1.0 / (4.0 * classes as f64 * diameter * diameter);
    times * (ratio * epsilon).powi(2) * joint / (rounds * -delta.unwrap_or_default().ln())
}

#[cfg(test)]
mod tests {
    use steffle_privacy::{Epsilon, GroupFraction, Rounds, paper};

    use super::*;

    /// The closed form against the theorem's own sigma and the cost of each message.
    #[test]
    fn the_cost_is_that_of_the_theorem_s_noise() {
        let diameter: f64 = 3.0;
        let bounds = Bounds::Paper { clip: 2.0, diameter };
        let asked = Privacy { epsilon: 3.0, delta: Some(1e-9), bounds };
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
