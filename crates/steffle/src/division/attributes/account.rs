//! What a store has spent in this process. A ledger will stand here and write it down first.

use steffle_privacy::discrete::SLACK;
use steffle_privacy::gdp::Filter;
use steffle_privacy::{Mu, Poisson, PrivacyError};

/// What one reply costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cost {
    /// Nothing is claimed, so nothing is counted.
    Unclaimed,
    /// A Gaussian message.
    Gaussian {
        /// mu^2.
        squared: f64,
        /// What integer noise adds, see [`steffle_privacy::discrete`].
        slack: f64,
    },
    /// A round of the sampled plan that the account was opened with.
    Planned {
        /// What integer noise adds.
        slack: f64,
    },
}

/// Why a price was not reserved.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// The budget does not allow it.
    #[error("the attributes division refuses: {0}")]
    Budget(#[from] PrivacyError),
    /// The account was opened for another kind of message.
    #[error("the attributes division refuses: its budget is not for this kind of message")]
    Kind,
    /// Too many integers were noised.
    #[error("the attributes division refuses: the slack of integer noise would exceed {SLACK:e}")]
    Slack,
}

/// The budget of one store.
#[derive(Debug, Clone)]
pub struct Account {
    kind: Kind,
    slack: f64,
    replies: u64,
}

#[derive(Debug, Clone)]
enum Kind {
    /// No budget: releases make no claim.
    Unclaimed,
    /// Gaussian messages; one filter per public block (one in all for full batches).
    Gaussian(Vec<Filter>),
    /// Gaussian messages, every unit with an account of its own.
    Individual {
        /// mu^2 of each.
        budget: f64,
        /// What each has spent.
        spent: Vec<f64>,
    },
    /// A sampled plan.
    Planned(steffle_privacy::Plan<Poisson>),
}

/// Which records a message is about, as far as the budget is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charged {
    /// All of them.
    All,
    /// One public block.
    Block {
        /// Out of how many.
        of: u32,
        /// Which.
        at: usize,
    },
}

impl Default for Account {
    fn default() -> Self {
        Self { kind: Kind::Unclaimed, slack: 0.0, replies: 0 }
    }
}

impl Account {
    /// For Gaussian messages worth `budget` in all, about `blocks` public blocks.
    pub fn gaussian(budget: Mu, blocks: usize) -> Self {
        let kind = Kind::Gaussian(vec![Filter::new(budget); blocks.max(1)]);
        Self { kind, ..Self::default() }
    }

    /// For Gaussian messages worth `budget` to each of `units` units.
    ///
    /// # Claim
    /// The store is `budget`-GDP, although the sum of the rounds' largest costs may exceed it.
    ///
    /// # Proof
    /// A unit's cost in a round is a function of the transcript and the public columns, so its sum
    /// is a filter of its own: a unit that could not pay for another round at full price is left
    /// out of it, and of every later one, whatever its class. Neighbouring stores differ in one
    /// unit, and all messages together move, for that unit, by at most its own sum (Feldman,
    /// Zrnic 2021; Koskela, Tobaben, Honkela 2023). Test: `a_unit_that_has_spent_its_share_is_left_out`.
    pub fn individual(budget: Mu, units: usize) -> Self {
        let budget = (budget.value() * budget.value()).next_down().max(0.0);
        Self { kind: Kind::Individual { budget, spent: vec![0.0; units] }, ..Self::default() }
    }

    /// Which units cannot pay for a message of this cost any more, where each has its own account.
    pub(in crate::division) fn retired(&self, squared: f64) -> Option<Vec<bool>> {
        let Kind::Individual { budget, spent } = &self.kind else { return None };
        Some(spent.iter().map(|spent| (spent + squared).next_up() > *budget).collect())
    }

    /// For the rounds of a sampled plan.
    pub fn planned(plan: steffle_privacy::Plan<Poisson>) -> Self {
        Self { kind: Kind::Planned(plan), ..Self::default() }
    }

    /// Pays. Refuses, and changes nothing, when the budget does not cover it.
    /// `by_unit` gives every unit's own cost.
    pub(super) fn pay(
        &mut self,
        cost: Cost,
        charged: Charged,
        by_unit: impl FnOnce() -> Vec<f64>,
    ) -> Result<(), Refusal> {
        let slack = match cost {
            Cost::Unclaimed => 0.0,
            Cost::Gaussian { slack, .. } | Cost::Planned { slack } => slack,
        };
        if self.slack + slack > SLACK {
            return Err(Refusal::Slack);
        }
        match (&mut self.kind, cost) {
            (Kind::Unclaimed, Cost::Unclaimed) | (Kind::Planned(_), Cost::Planned { .. }) => {}
            (Kind::Gaussian(filters), Cost::Gaussian { squared, .. }) => {
                let mu = Mu::try_from(squared.sqrt())?;
                let mut paid = filters.clone();
                let of = match charged {
                    Charged::All => &mut paid[..],
                    Charged::Block { of, at } if of as usize == filters.len() => {
                        paid.get_mut(at..=at).ok_or(Refusal::Kind)?
                    }
                    Charged::Block { .. } => return Err(Refusal::Kind),
                };
                of.iter_mut().try_for_each(|filter| filter.spend(mu))?;
                *filters = paid;
            }
            (Kind::Individual { budget, spent }, Cost::Gaussian { .. }) => {
                let costs = by_unit();
                if costs.len() != spent.len() {
                    return Err(Refusal::Kind);
                }
                let after = |(spent, cost): (&f64, f64)| match cost {
                    0.0 => *spent,
                    cost => (spent + cost.next_up()).next_up(),
                };
                let paid: Vec<f64> = spent.iter().zip(costs).map(after).collect();
                if let Some(&most) = paid.iter().find(|&&paid| paid > *budget) {
                    let (asked, budget) = (most, *budget);
                    let left = 0.0;
                    return Err(PrivacyError::BudgetExhausted { asked, left, budget }.into());
                }
                *spent = paid;
            }
            _ => return Err(Refusal::Kind),
        }
        self.slack += slack;
        self.replies += 1;
        Ok(())
    }

    /// The plan whose batches may be admitted, if this is a sampled account.
    pub(super) fn plan(&mut self) -> Option<&mut steffle_privacy::Plan<Poisson>> {
        match &mut self.kind {
            Kind::Planned(plan) => Some(plan),
            _ => None,
        }
    }

    /// What Gaussian messages have cost so far: the dearest block or unit.
    pub fn spent(&self) -> Option<Mu> {
        match &self.kind {
            Kind::Gaussian(filters) => {
                let larger = |a: Mu, b: Mu| if b.value() > a.value() { b } else { a };
                filters.iter().map(Filter::spent).reduce(larger)
            }
            Kind::Individual { spent, .. } => {
                let most = spent.iter().fold(0.0, |most: f64, spent| spent.max(most));
                Mu::try_from(most.sqrt().next_up()).ok()
            }
            Kind::Unclaimed | Kind::Planned(_) => None,
        }
    }

    /// Replies that were paid for.
    pub fn replies(&self) -> u64 {
        self.replies
    }
}
