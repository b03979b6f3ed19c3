//! A budget that is checked before every release, however the costs were chosen.

use serde::Serialize;

use crate::error::{PrivacyError, Result};
use crate::quantity::Mu;

/// An adaptive Gaussian-DP filter.
///
/// # Claim
/// If every Gaussian message goes through [`Filter::spend`] before it is sent, everything sent is
/// together at most `budget`-GDP, even if each cost was chosen after seeing all earlier messages.
///
/// # Proof
/// Given the past, message t is a Gaussian with fixed covariance and means at most mu_t apart, mu_t
/// a function of the past. Let the sum of mu_t^2 never exceed mu^2. Append to the transcript a last
/// Gaussian message that costs exactly what is left: by rotation invariance the log-likelihood
/// ratio of the whole is then N(mu^2/2, mu^2), whatever the rule was; dropping the last message is
/// post-processing (Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2023). Sums are rounded up, the
/// budget down.
///
/// The test that fails when costs are halved: `tests::filter_stops_at_its_budget`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Filter {
    budget_squared: f64,
    spent_squared: f64,
}

impl Filter {
    /// A store that may spend `budget` in all.
    pub fn new(budget: Mu) -> Self {
        Self {
            budget_squared: (budget.value() * budget.value()).next_down().max(0.0),
            spent_squared: 0.0,
        }
    }

    /// Pays for one message of cost mu_t. Refuses, and spends nothing, when less is left.
    pub fn spend(&mut self, cost: Mu) -> Result<()> {
        let asked = cost.value() * cost.value();
        if cost.value() == 0.0 {
            return Ok(());
        }
        let after = (self.spent_squared + asked.next_up()).next_up();
        if after > self.budget_squared {
            return Err(PrivacyError::BudgetExhausted {
                asked,
                left: self.left_squared(),
                budget: self.budget_squared,
            });
        }
        self.spent_squared = after;
        Ok(())
    }

    /// What was spent, rounded up.
    pub fn spent(&self) -> Mu {
        Mu::try_from(self.spent_squared.sqrt().next_up()).unwrap_or(Mu::ZERO)
    }

    /// The cost of the dearest message that could still be sent, rounded down.
    pub fn left(&self) -> Mu {
        Mu::try_from((self.left_squared() * (1.0 - 1e-12)).sqrt()).unwrap_or(Mu::ZERO)
    }

    fn left_squared(&self) -> f64 {
        (self.budget_squared - self.spent_squared).max(0.0)
    }
}
