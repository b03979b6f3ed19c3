//! What a release costs, whom it is charged to, and what is written down about it: plain data.

use serde::{Deserialize, Serialize};

use crate::event::Event;

/// Where noise comes from.
///
/// A simulation's noise can be repeated and protects nobody; secure noise comes from the
/// operating system and is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseKind {
    /// A seed that somebody knows: whoever knows it can subtract the noise.
    Simulation,
    /// The operating system's generator: nobody knows it.
    Secure,
}

/// What one release costs. Functions of the question, the public columns and what was released
/// before; never of `s`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Cost {
    /// The reply is the same for every store.
    Free,
    /// A Gaussian message.
    Gaussian {
        /// mu^2 of the dearest unit, rounded up.
        squared: f64,
        /// What integer noise adds, see [`crate::discrete::slack`].
        slack: f64,
        /// Numbers with noise.
        numbers: u64,
    },
    /// A round of the sampled plan that the grant was opened for.
    Planned {
        /// `z^-2` of the dearest unit, rounded up; see [`largest_round`].
        squared: f64,
        /// What integer noise adds.
        slack: f64,
        /// Numbers with noise.
        numbers: u64,
    },
    /// A release that moves no likelihood ratio by more than e^epsilon.
    Pure {
        /// epsilon, rounded up.
        epsilon: f64,
    },
    /// Nothing is claimed: `s` may be read off the reply.
    Revealed,
}

/// Whom a Gaussian cost is charged to.
///
/// All people of a run, one block of them, or each by what it really cost them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Charge {
    /// Every unit of the store.
    All,
    /// The units of one public block.
    Block {
        /// Out of how many.
        of: u32,
        /// Which, from 0.
        at: u32,
    },
    /// Every unit its own squared cost, none above that of the [`Cost`].
    Units(#[serde(with = "super::packed")] Vec<f64>),
}

/// What kind of message is released.
///
/// Sums of a round, features of a one-shot release, randomised classes, or counts of decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Sums of a round: theta messages and tables.
    Sums,
    /// Sums of features by class.
    Features,
    /// Randomised classes.
    Classes,
    /// Counts of decisions by class.
    Counts,
}

/// What is to be paid for before `s` is read.
///
/// The ledger checks it against the budget and writes it down; only then may the store go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The hash of everything that shapes the reply; zeros where the cost is [`Cost::Revealed`],
    /// whose requests are not kept.
    #[serde(with = "super::packed")]
    pub request: [u8; 32],
    /// How often the same question was asked for new noise before.
    pub fresh: u32,
    /// The round of the run, where it has rounds: they go on, and none is answered twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// What is released.
    pub kind: Kind,
    /// What it costs.
    pub cost: Cost,
    /// Whom it is charged to.
    pub charge: Charge,
}

/// What was released. Leaves [`Charge::Units`] out: it would tell lengths of rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The position of the reservation in the store's life.
    pub sequence: u64,
    /// The grant that paid.
    pub grant: GrantId,
    /// The hash of the request.
    #[serde(with = "super::packed")]
    pub request: [u8; 32],
    /// How often the same question was asked for new noise before.
    pub fresh: u32,
    /// The round of the run, where it has rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// What was released.
    pub kind: Kind,
    /// What it cost.
    pub cost: Cost,
    /// Where the noise came from.
    pub noise: NoiseKind,
    /// The hash of the reply.
    #[serde(with = "super::packed")]
    pub reply: [u8; 32],
}

/// Names a grant of one store.
///
/// A store numbers the runs that it accepted, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GrantId(pub u64);

/// A reservation that was paid for: good for one reply. Only [`Ledger::reserve`] makes one, it cannot
/// be copied, and a lost one stays paid.
///
/// ```compile_fail
/// fn twice(ticket: steffle_privacy::Ticket) -> [steffle_privacy::Ticket; 2] {
///     [ticket.clone(), ticket]
/// }
/// ```
///
/// [`Ledger::reserve`]: super::Ledger::reserve
#[derive(Debug, PartialEq)]
#[must_use = "what was paid for is lost with its ticket"]
pub struct Ticket {
    /// What the receipt will say, but for the reply.
    pub(super) receipt: Receipt,
}

impl Cost {
    /// Slack and numbers of integer noise.
    pub(super) fn integers(&self) -> (f64, u64) {
        match *self {
            Self::Gaussian { slack, numbers, .. } | Self::Planned { slack, numbers, .. } => {
                (slack, numbers)
            }
            Self::Free | Self::Pure { .. } | Self::Revealed => (0.0, 0),
        }
    }

    /// Whether every number is finite and none is negative.
    pub(super) fn valid(&self) -> bool {
        match *self {
            Self::Gaussian { squared, slack, .. } | Self::Planned { squared, slack, .. } => {
                valid(squared) && valid(slack)
            }
            Self::Pure { epsilon } => valid(epsilon),
            Self::Free | Self::Revealed => true,
        }
    }
}

impl Charge {
    /// Whether every unit's cost is a number from 0 to that of the dearest.
    pub(super) fn valid(&self, dearest: f64) -> bool {
        match self {
            Self::All | Self::Block { .. } => true,
            // Counted, several at a time; false of what is not a number.
            Self::Units(costs) => {
                let within = |cost: &f64| u64::from(*cost >= 0.0 && *cost <= dearest);
                costs.iter().map(within).sum::<u64>() == costs.len() as u64
            }
        }
    }
}

impl Ticket {
    /// The grant that paid.
    pub fn grant(&self) -> GrantId {
        self.receipt.grant
    }

    /// The position of the reservation in the store's life.
    pub fn sequence(&self) -> u64 {
        self.receipt.sequence
    }
}

/// `z^-2` of a round of this plan, rounded down: the largest squared cost of [`Cost::Planned`].
pub fn largest_round(event: &Event) -> f64 {
    let z = event.noise_multiplier.value();
    // z^2 rounded up, its inverse rounded down; both roundings are within half a unit.
    (1.0 / (z * z).next_up()).next_down().max(0.0)
}

fn valid(cost: f64) -> bool {
    cost.is_finite() && cost >= 0.0
}
