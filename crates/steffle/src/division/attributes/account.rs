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

    /// For the rounds of a sampled plan.
    pub fn planned(plan: steffle_privacy::Plan<Poisson>) -> Self {
        Self { kind: Kind::Planned(plan), ..Self::default() }
    }

    /// Pays. Refuses, and changes nothing, when the budget does not cover it.
    pub(super) fn pay(&mut self, cost: Cost, charged: Charged) -> Result<(), Refusal> {
        let slack = match cost {
            Cost::Unclaimed => 0.0,
            Cost::Gaussian { slack, .. } | Cost::Planned { slack } => slack,
        };
        if self.slack + slack > SLACK {
            return Err(Refusal::Slack);
        }
        match (&mut self.kind, cost) {
            (Kind::Unclaimed, Cost::Unclaimed) => {}
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
            (Kind::Planned(_), Cost::Planned { .. }) => {}
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

    /// What Gaussian messages have cost so far, the dearest block.
    pub fn spent(&self) -> Option<Mu> {
        let Kind::Gaussian(filters) = &self.kind else { return None };
        filters.iter().map(Filter::spent).reduce(|a, b| if b.value() > a.value() { b } else { a })
    }

    /// Replies that were paid for.
    pub fn replies(&self) -> u64 {
        self.replies
    }
}
