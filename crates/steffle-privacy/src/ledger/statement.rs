//! What a run may say about its privacy: the same words before it, from the offer, and after it,
//! from the receipts.

use serde::{Deserialize, Serialize};

use super::cost::{Cost, NoiseKind, Receipt, largest_round};
use super::offer::{CheckedOffer, Share};
use crate::rounding::sum_up;
use crate::shares::NoiseShares;

/// How far a statement goes.
///
/// Nothing is promised, it would hold with secret noise, or it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StatementKind {
    /// Nothing is promised.
    None,
    /// The mechanism keeps the promise, but somebody knows its noise.
    Simulation,
    /// The promise is kept.
    Private,
}

/// What a run says about the privacy of one store.
///
/// It follows from receipts, not from what was planned.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// How far it goes.
    pub kind: StatementKind,
    /// What was offered: the claim is the share, however much of it was spent.
    pub epsilon: Option<f64>,
    /// What was offered.
    pub delta: Option<f64>,
    /// How its noise was shared between sites, where it was: the claim is then against the server
    /// and so many of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<NoiseShares>,
    /// What is left of the claim then if all other sites help the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon_alone: Option<f64>,
    /// Whether the mechanism keeps the promise, given secret noise.
    pub holds: bool,
    /// What Gaussian messages have cost, rounded up: bookkeeping, not a claim. With an account per
    /// block or unit, [`Ledger::spent`](super::Ledger::spent) is less.
    pub spent_mu: Option<f64>,
    /// How many replies were sent.
    pub replies: u64,
}

impl Statement {
    /// What may be said of two stores together: no more than of either.
    #[must_use]
    pub fn weaker(self, other: Self) -> Self {
        let larger = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        Self {
            kind: self.kind.min(other.kind),
            epsilon: larger(self.epsilon, other.epsilon),
            delta: larger(self.delta, other.delta),
            shares: self.shares.or(other.shares),
            epsilon_alone: larger(self.epsilon_alone, other.epsilon_alone),
            holds: self.holds && other.holds,
            spent_mu: larger(self.spent_mu, other.spent_mu),
            replies: self.replies.max(other.replies),
        }
    }
}

/// The statement of the grant of `offer` with these receipts; without receipts, what a run under the
/// offer will say.
///
/// # Claim
/// It claims no more than the ledger enforced.
///
/// # Proof
/// What was spent is a random variable that an adversary may have influenced, so it is no epsilon of
/// the run; the offer's is, because the grant's filters would have refused more. Receipts can only
/// take away from the statement. Test: `tests::statements::receipts_only_take_away_from_a_statement`.
pub fn statement(offer: &CheckedOffer, receipts: &[Receipt]) -> Statement {
    let replies = receipts.len() as u64;
    if !offer.claims() {
        let (kind, holds, none) = (StatementKind::None, false, None);
        return Statement {
            kind,
            epsilon: none,
            delta: none,
            shares: None,
            epsilon_alone: none,
            holds,
            spent_mu: none,
            replies,
        };
    }
    let asked = offer.offer();
    let secret = asked.noise == NoiseKind::Secure
        && receipts.iter().all(|receipt| receipt.noise == NoiseKind::Secure);
    Statement {
        kind: if secret { StatementKind::Private } else { StatementKind::Simulation },
        epsilon: Some(asked.epsilon),
        delta: Some(asked.delta),
        shares: asked.claim.shares(),
        epsilon_alone: offer.epsilon_alone(),
        holds: fits(offer.share(), receipts),
        spent_mu: spent(offer.share(), receipts),
        replies,
    }
}

/// Whether receipts are of the kind that the share pays for, and no single one above it. Sums are
/// the ledger's business where accounts are kept by block or unit.
fn fits(share: Share, receipts: &[Receipt]) -> bool {
    let mut left = match share {
        Share::Sampled { event, .. } => event.rounds.count(),
        _ => u64::MAX,
    };
    let mut epsilons = 0.0;
    receipts.iter().all(|receipt| match (share, receipt.cost) {
        (_, Cost::Free) => true,
        (Share::Gaussian { squared: most, .. }, Cost::Gaussian { squared, .. }) => squared <= most,
        (Share::Sampled { event, .. }, Cost::Planned { squared, .. }) => {
            let allowed = left > 0 && squared <= largest_round(&event);
            left = left.saturating_sub(1);
            allowed
        }
        (Share::Pure { epsilon: most }, Cost::Pure { epsilon }) => {
            epsilons = sum_up(epsilons, epsilon);
            epsilons <= most
        }
        _ => false,
    })
}

fn spent(share: Share, receipts: &[Receipt]) -> Option<f64> {
    let Share::Gaussian { .. } = share else { return None };
    let squared = receipts.iter().fold(0.0, |sum, receipt| match receipt.cost {
        Cost::Gaussian { squared, .. } => sum_up(sum, squared),
        _ => sum,
    });
    Some(if squared == 0.0 { 0.0 } else { squared.sqrt().next_up() })
}
