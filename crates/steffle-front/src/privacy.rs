//! What privacy a run gives and to whom, in words.

use std::fmt;

use serde::{Deserialize, Serialize};
use steffle_privacy::ledger::{Statement, StatementKind};

use crate::methods::SharedClaim;

/// What a run says about its privacy.
///
/// For people in words, for programs in numbers; it also says when nothing is promised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Privacy {
    /// `none`, `simulation` or `private`.
    pub kind: String,
    /// What was asked for.
    pub epsilon: Option<f64>,
    /// What was asked for, or follows from the number of rows.
    pub delta: Option<f64>,
    /// Whether the mechanism would give (epsilon, delta) with secret noise.
    pub holds: bool,
    /// What an honest accountant gives: what was asked for, where the claim holds.
    pub honest_epsilon: Option<f64>,
    /// What the method's publication would say of the same noise, where that is another number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_epsilon: Option<f64>,
    /// Who counts as a neighbour, where something is claimed.
    pub adjacency: Option<String>,
    /// Whom the claim is against and what is left without what it assumes, where silos share noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<SharedClaim>,
    /// All of it, as a paragraph.
    pub statement: String,
}

impl fmt::Display for Privacy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Privacy ({}): {}", self.kind, self.statement)
    }
}

/// Whose change the guarantee is about.
const ADJACENCY: &str = "the sensitive attribute of one unit of one silo replaced, missing included; features, \
                         labels and all else fixed";

/// Said instead of a guarantee where receipts do not fit the offer: it should never happen.
const BROKEN: &str = "The guarantee does not hold: what was released does not fit what the stores \
                      were offered. Keep the run directory and report this.";

impl Privacy {
    /// Whether real people's attributes were released under secret noise.
    pub fn is_private(&self) -> bool {
        self.kind == word(StatementKind::Private)
    }

    /// Whether something is claimed that does not hold.
    pub fn is_broken(&self) -> bool {
        self.epsilon.is_some() && !self.holds
    }

    /// No claim.
    pub(crate) fn none(statement: impl Into<String>) -> Self {
        Self {
            kind: word(StatementKind::None),
            epsilon: None,
            delta: None,
            holds: false,
            honest_epsilon: None,
            claimed_epsilon: None,
            adjacency: None,
            claim: None,
            statement: statement.into(),
        }
    }

    /// The same in a sentence or two.
    pub fn brief(&self) -> String {
        match (self.epsilon, self.delta) {
            (Some(epsilon), Some(delta)) if self.holds => {
                let claim = match delta {
                    0.0 => format!("epsilon {epsilon}"),
                    delta => format!("epsilon {epsilon} at delta {delta:.1e}"),
                };
                let claim = self.claim.iter().fold(claim, |claim, shared| {
                    let alone = steffle_privacy::rounding::up(shared.epsilon_alone, 3);
                    let against = &shared.against;
                    format!("{claim} against {against} ({alone} if all other silos help it)")
                });
                if self.is_private() {
                    return format!(
                        "{claim} for the sensitive attribute; features and labels are not protected."
                    );
                }
                format!(
                    "{claim}, were the noise secret. It comes from a seed, so nothing is protected."
                )
            }
            (Some(epsilon), _) => {
                let honest = self.honest_epsilon.map_or_else(
                    || "no epsilon does".to_owned(),
                    |honest| format!("epsilon {honest:.1} does"),
                );
                format!("the claimed epsilon {epsilon} does not hold; {honest}.")
            }
            _ => "none: nothing is claimed about anybody.".to_owned(),
        }
    }

    /// A published claim that does not hold, and what does.
    pub(crate) fn broken(epsilon: f64, delta: f64, honest: Option<f64>, statement: String) -> Self {
        Self {
            kind: word(StatementKind::Simulation),
            epsilon: Some(epsilon),
            delta: Some(delta),
            holds: false,
            honest_epsilon: honest,
            claimed_epsilon: Some(epsilon),
            adjacency: Some(ADJACENCY.to_owned()),
            claim: None,
            statement,
        }
    }

    /// A claim that holds.
    pub(crate) fn holding(said: &Statement, statement: String) -> Self {
        Self {
            kind: word(said.kind),
            epsilon: said.epsilon,
            delta: said.delta,
            holds: said.holds,
            honest_epsilon: said.epsilon,
            claimed_epsilon: None,
            adjacency: Some(ADJACENCY.to_owned()),
            claim: None,
            statement,
        }
    }

    /// Receipts that do not fit the offer.
    pub(crate) fn contradicted(said: &Statement) -> Option<Self> {
        (said.kind != StatementKind::None && !said.holds).then(|| Self {
            holds: false,
            honest_epsilon: None,
            ..Self::holding(said, BROKEN.to_owned())
        })
    }
}

fn word(kind: StatementKind) -> String {
    match kind {
        StatementKind::None => "none",
        StatementKind::Simulation => "simulation",
        StatementKind::Private => "private",
    }
    .to_owned()
}

/// Epsilon and delta of what is said.
pub(crate) fn claimed(said: &Statement) -> (f64, f64) {
    (said.epsilon.unwrap_or_default(), said.delta.unwrap_or_default())
}

/// Whose attribute is protected.
pub(crate) fn neighbour(largest_unit: usize) -> String {
    match largest_unit {
        0 | 1 => "record".to_owned(),
        rows => format!("unit (up to {rows} rows)"),
    }
}

/// What published noise leaves out, where people have several rows.
pub(crate) fn one_row_only(largest_unit: usize) -> String {
    match largest_unit {
        0 | 1 => String::new(),
        rows => format!(" Its noise hides one row, and one unit has up to {rows} rows here."),
    }
}

/// Says of a claim that holds whether it was kept here, and that `again` the same records costs.
pub(crate) fn where_noise_is_from(said: &Statement, again: &str, paid: bool) -> String {
    match said.kind {
        StatementKind::Private if paid => format!(
            "The noise comes from the operating system and is not stored. The stores' books pay for \
             it, and every further {again} the same records is added to what they have spent."
        ),
        StatementKind::Private => format!(
            "The noise comes from the operating system and is not stored. No ledger is written: \
             another {again} the same records spends again."
        ),
        StatementKind::Simulation | StatementKind::None => format!(
            "This run is a simulation: its noise comes from a seed, and whoever knows the seed can \
             subtract it, so nothing is protected here. With secret noise the guarantee is \
             real, and every further {again} the same records spends again."
        ),
    }
}
