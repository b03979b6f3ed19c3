//! What an offer lets be asked: a store compares every request with the words it was offered.
//!
//! # Claim
//! A run that was accepted for its words does nothing else: it releases the kind of message that its
//! method releases, under the claim that its method and mode make, in no more rounds than it said.
//!
//! # Proof
//! [`Book`](super::Book) asks [`Offer::fits`] before it opens a grant, and [`Offer::allows`] before
//! it reserves a reply; nothing is read without a reservation. A method that is not in the table below
//! is refused by every policy that names methods, modes or notions. Tests:
//! `tests::acts`.

use super::cost::Kind;
use super::offer::{Claim, Offer};
use super::refusal::Refusal;

/// The method of counts of decisions, whatever model they are about.
pub const METRICS: &str = "metrics";

/// What counts of decisions are about: they are by label, class and decision.
const METRICS_NOTION: &str = "equalized-odds";

/// Methods that take rounds.
const ROUNDS: [&str; 6] = ["steffle", "steffle-nonprivate", "fermi", "dp-fermi", "pf-ld", "fedfdp"];

impl Offer {
    /// The only kind of message that the method releases under a claim; `None` for other methods.
    fn kind(&self) -> Option<Kind> {
        match self.method.as_str() {
            METRICS => Some(Kind::Counts),
            "randomised-response" => Some(Kind::Classes),
            "one-shot" => Some(Kind::Features),
            method if ROUNDS.contains(&method) => Some(Kind::Sums),
            _ => None,
        }
    }

    /// Whether it is known what the method releases: a policy that names anything allows no other.
    pub(super) fn is_known(&self) -> bool {
        self.kind().is_some()
    }

    /// Refuses a claim that the method does not make in its mode.
    pub fn fits(&self) -> Result<(), Refusal> {
        let gaussian = matches!(self.claim, Claim::Gaussian | Claim::Shared(_));
        let fits = match (self.kind(), self.mode.as_str()) {
            // Whatever else the method does, its mode says how its promise is kept.
            (None, "exact") => gaussian || self.claim == Claim::Pure,
            (None | Some(Kind::Sums), "poisson") => matches!(self.claim, Claim::Sampled(_)),
            (None, _) => true,
            (Some(Kind::Classes), _) => self.claim == Claim::Pure,
            (Some(Kind::Sums | Kind::Features | Kind::Counts), _) => gaussian,
        };
        let Self { method, mode, notion, .. } = self;
        if self.claim == Claim::Nothing {
            return Ok(());
        }
        if method == METRICS && !notion.is_empty() && notion != METRICS_NOTION {
            return Err(Refusal::Act(format!(
                "counts of decisions are by label, which is notion {METRICS_NOTION}, not {notion}"
            )));
        }
        if fits {
            return Ok(());
        }
        Err(Refusal::Act(format!("method {method} in mode {mode} makes no such claim")))
    }

    /// Refuses a message that the method does not release, and a round beyond those that were
    /// offered. Round 0, the census, is not counted; a message without a round is the one after
    /// `before` others.
    pub fn allows(&self, kind: Kind, round: Option<u32>, before: usize) -> Result<(), Refusal> {
        if self.claim == Claim::Nothing {
            return Ok(());
        }
        let Self { method, rounds, .. } = self;
        if self.kind().is_some_and(|own| own != kind) {
            let asked = match kind {
                Kind::Sums => "sums of a round",
                Kind::Features => "sums of features by class",
                Kind::Classes => "randomised classes",
                Kind::Counts => "counts of decisions by class",
            };
            return Err(Refusal::Act(format!("method {method} releases no {asked}")));
        }
        let most = *rounds as usize;
        match round {
            Some(round) if round > *rounds => Err(Refusal::Act(format!(
                "round {round} is asked for; the run was opened for {rounds}"
            ))),
            None if before >= most.max(1) => Err(Refusal::Act(format!(
                "message {} is asked for; the run was opened for {rounds}",
                before + 1
            ))),
            _ => Ok(()),
        }
    }
}
