//! What one grant may spend, and the filters that keep it from spending more.
//!
//! # Claim
//! A grant never releases more than its share: a Gaussian one is `sqrt(squared)`-GDP for every unit,
//! a sampled one is its plan, a pure one is epsilon-private, whatever is asked and in which order.
//!
//! # Proof
//! *One total, or one per public block:* [`Filter`](crate::gdp::Filter); a unit lies in one block for
//! the life of the store, and neighbouring stores differ in one unit, so that only its block's
//! messages move.
//!
//! *One per unit,* although the sum of the rounds' largest costs may exceed the share: a unit's cost
//! in a round is a function of the transcript and the public columns, so its sum is a filter of its
//! own. A unit that could not pay for a round at full price ([`Account::retired`]) is left out of it,
//! whatever its class. Neighbouring stores differ in one unit, and all messages together move, for
//! that unit, by at most its own sum (Feldman, Zrnic 2021; Koskela, Tobaben, Honkela 2023).
//!
//! *Sampled:* every round costs at most a round of the plan (a smaller distance is a post-processing
//! of the largest one), and there are no more of them than were accounted; fewer are
//! post-processing. The coins of a round are about all units: a block or single units would be
//! another plan.
//!
//! Sums are rounded up ([`sum_up`]), shares down. The tests that fail when a cost is halved:
//! `tests::accounts::every_account_is_a_filter_of_its_share`, `sampled_grants_keep_to_their_plan`,
//! `pure_releases_add_up` beside it.

use super::cost::{Charge, Cost, Entry, largest_round};
use super::offer::{Accounts, CheckedOffer, Share};
use super::refusal::{Pot, Refusal};
use crate::quantity::Mu;
use crate::rounding::{difference_down, sum_up};

/// The account of a grant.
#[derive(Debug)]
pub(super) enum Account {
    /// No claim.
    Nothing,
    /// Squared costs, of all, of every block or of every unit.
    Gaussian { share: f64, accounts: Accounts, spent: Vec<f64>, made_for: (f64, f64) },
    /// What a round may cost and how many there are, and how many were paid for.
    Sampled { largest: f64, rounds: u64, paid: u64, made_for: (f64, f64) },
    /// Epsilons.
    Pure { share: f64, spent: f64 },
}

impl Account {
    /// For the share of an offer. Refuses no account at all: a charge to all of none is free.
    pub(super) fn new(offer: &CheckedOffer, accounts: Accounts) -> Result<Self, Refusal> {
        let made_for = (offer.offer().epsilon, offer.offer().delta);
        Ok(match offer.share() {
            Share::Nothing => Self::Nothing,
            Share::Gaussian { squared, .. } => {
                let count = match accounts {
                    Accounts::One => 1,
                    Accounts::Blocks(0) | Accounts::Units(0) => return Err(Refusal::Kind),
                    Accounts::Blocks(count) | Accounts::Units(count) => count,
                };
                let spent = vec![0.0; count as usize];
                Self::Gaussian { share: squared, accounts, spent, made_for }
            }
            Share::Sampled { event, .. } => {
                let (largest, rounds) = (largest_round(&event), event.rounds.count());
                Self::Sampled { largest, rounds, paid: 0, made_for }
            }
            Share::Pure { epsilon } => Self::Pure { share: epsilon, spent: 0.0 },
        })
    }

    /// Pays. Refuses, and changes nothing, what the share does not cover.
    pub(super) fn pay(&mut self, entry: &Entry) -> Result<(), Refusal> {
        match (self, entry.cost) {
            (_, Cost::Free) | (Self::Nothing, Cost::Revealed) => Ok(()),
            (
                Self::Gaussian { share, accounts, spent, made_for },
                Cost::Gaussian { squared, .. },
            ) => {
                if !entry.charge.valid(squared) {
                    return Err(Refusal::Cost);
                }
                let at = match (&entry.charge, *accounts) {
                    (Charge::All, _) => 0..spent.len(),
                    (&Charge::Block { of, at }, Accounts::Blocks(blocks))
                        if of == blocks && at < of =>
                    {
                        at as usize..at as usize + 1
                    }
                    (Charge::Units(costs), Accounts::Units(_)) if costs.len() == spent.len() => {
                        0..spent.len()
                    }
                    _ => return Err(Refusal::Kind),
                };
                let chosen = spent.get_mut(at).ok_or(Refusal::Kind)?;
                let refused = |spent: f64, asked: f64| Refusal::Budget {
                    pot: Pot::GaussianGrant,
                    spent: spent.sqrt(),
                    asked: asked.sqrt(),
                    left: difference_down(*share, spent).max(0.0).sqrt(),
                    epsilon: made_for.0,
                    delta: made_for.1,
                };
                if let Charge::Units(costs) = &entry.charge {
                    return pay_each(chosen, costs, *share, refused);
                }
                let over = |spent: &&f64| sum_up(**spent, squared) > *share;
                if let Some(&spent) = chosen.iter().find(over) {
                    return Err(refused(spent, squared));
                }
                chosen.iter_mut().for_each(|spent| *spent = sum_up(*spent, squared));
                Ok(())
            }
            (Self::Sampled { largest, rounds, paid, made_for }, Cost::Planned { squared, .. }) => {
                if entry.charge != Charge::All {
                    return Err(Refusal::Kind);
                }
                let (epsilon, delta) = *made_for;
                if squared > *largest {
                    let (pot, asked, left) = (Pot::Round, squared.sqrt(), largest.sqrt());
                    return Err(Refusal::Budget { pot, spent: 0.0, asked, left, epsilon, delta });
                }
                if *paid >= *rounds {
                    let (pot, spent) = (Pot::Rounds, *paid as f64);
                    return Err(Refusal::Budget {
                        pot,
                        spent,
                        asked: 1.0,
                        left: 0.0,
                        epsilon,
                        delta,
                    });
                }
                *paid += 1;
                Ok(())
            }
            (Self::Pure { share, spent }, Cost::Pure { epsilon: asked }) => {
                let after = sum_up(*spent, asked);
                if after > *share {
                    let (pot, left) = (Pot::PureGrant, difference_down(*share, *spent).max(0.0));
                    let (spent, epsilon, delta) = (*spent, *share, 0.0);
                    return Err(Refusal::Budget { pot, spent, asked, left, epsilon, delta });
                }
                *spent = after;
                Ok(())
            }
            _ => Err(Refusal::Kind),
        }
    }

    /// Which units cannot pay for a message of this squared cost any more, where each has its own
    /// account.
    pub(super) fn retired(&self, squared: f64) -> Option<Vec<bool>> {
        match self {
            Self::Gaussian { share, accounts: Accounts::Units(_), spent, .. } => {
                // Nobody can pay a cost that is no number.
                let can_pay = |spent: &f64| total_up(*spent, squared) <= *share;
                Some(spent.iter().map(|spent| !can_pay(spent)).collect())
            }
            _ => None,
        }
    }

    /// What a closed grant of this share keeps from its pot, of everybody or of the unit with one of
    /// its accounts: Gaussian ones what was reserved, others the whole share.
    pub(super) fn keeps(&self, share: Share, unit: Option<usize>) -> Share {
        let own = match (self, unit) {
            (Self::Gaussian { accounts: Accounts::Units(_), spent, .. }, Some(unit)) => {
                spent.get(unit).copied()
            }
            _ => None,
        };
        match (own.or_else(|| self.dearest()), share) {
            (Some(squared), Share::Gaussian { honest, .. }) => Share::Gaussian { squared, honest },
            _ => share,
        }
    }

    /// Forgets everything but the dearest total: nothing is charged any more.
    pub(super) fn settle(&mut self) {
        if let (Some(dearest), Self::Gaussian { accounts, spent, .. }) = (self.dearest(), self) {
            (*accounts, *spent) = (Accounts::One, vec![dearest]);
        }
    }

    /// The squared total of the dearest block or unit.
    pub(super) fn dearest(&self) -> Option<f64> {
        match self {
            Self::Gaussian { spent, .. } => Some(spent.iter().copied().fold(0.0, f64::max)),
            _ => None,
        }
    }

    /// The same as a mu, rounded up.
    pub(super) fn spent(&self) -> Option<Mu> {
        let dearest = self.dearest()?;
        let mu = if dearest == 0.0 { 0.0 } else { dearest.sqrt().next_up() };
        Mu::try_from(mu).ok()
    }
}

/// Every unit pays its own cost, or none does. Stores have millions of units and this is done every
/// round, so all are looked at, several at a time, where a search would look at each.
fn pay_each(
    spent: &mut [f64],
    costs: &[f64],
    share: f64,
    refused: impl Fn(f64, f64) -> Refusal,
) -> Result<(), Refusal> {
    let pairs = || spent.iter().zip(costs);
    let fits = |(spent, cost): (&f64, &f64)| total_up(*spent, *cost) <= share;
    if pairs().map(|pair| u64::from(fits(pair))).sum::<u64>() != spent.len() as u64 {
        let over = pairs().find(|&pair| !fits(pair)).unwrap_or((&0.0, &0.0));
        return Err(refused(*over.0, *over.1));
    }
    spent.iter_mut().zip(costs).for_each(|(spent, cost)| *spent = total_up(*spent, *cost));
    Ok(())
}

/// A sum of non-negative numbers, at least the exact one: a normal number times `1 + 2^-52` is at
/// least its successor, and a subnormal sum is exact.
fn total_up(spent: f64, cost: f64) -> f64 {
    (spent + cost) * (1.0 + f64::EPSILON)
}
