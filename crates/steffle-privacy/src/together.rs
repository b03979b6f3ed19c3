//! What several runs about the same people cost together.
//!
//! # Claim
//! Runs whose promises (epsilon_i, delta_i) and kinds were settled before the first result are together
//! (epsilon, delta)-private for a person who was in all of them, whatever later runs ask.
//!
//! # Proof
//! 1. *Gaussian runs* keep to a filter of mu_i, where mu_i is the budget of (epsilon_i, delta_i)
//!    ([`discrete::budget`]). Filters compose: mu^2 = sum mu_i^2, also when the questions of a run are
//!    chosen after seeing the others, and [`discrete::epsilon`] reads the whole at one delta.
//! 2. *All others* are added by their epsilons and deltas: basic composition.
//! 3. The two groups are two interactive mechanisms; basic composition adds them too.
//!
//! *Settled before* is needed: whoever decides after a result whether there is another run, and of which
//! kind, needs a budget that was fixed first, and in pots (`ledger/budget.rs` says what goes wrong
//! otherwise). Then what was spent is bookkeeping, and the claim is the budget. Every sum is rounded up.
//!
//! Tests: `tests::four_equal_runs_cost_twice_the_mu`, `tests::the_rest_is_added`.

use serde::Serialize;

use crate::discrete;
use crate::error::Result;
use crate::quantity::{Delta, Epsilon, Mu};
use crate::rounding::sum_up;

/// What one run promises, and how its promise is kept.
///
/// Stores read it before they accept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Promise {
    /// At most.
    pub epsilon: Epsilon,
    /// At most; `None` for a pure promise.
    pub delta: Option<Delta>,
    /// Whether it is kept by Gaussian messages on all records, whose squares of mu add up.
    pub gaussian: bool,
}

impl Promise {
    /// The mu that the promise spends, where it is Gaussian.
    pub fn mu(&self) -> Result<Option<Mu>> {
        match (self.gaussian, self.delta) {
            (true, Some(delta)) => discrete::budget(self.epsilon, delta).map(Some),
            _ => Ok(None),
        }
    }
}

/// What runs cost together.
///
/// For one person who was in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Together {
    /// Of the Gaussian ones, if there are any.
    pub mu: Option<f64>,
    /// Of all runs, at `delta`.
    pub epsilon: f64,
    /// Of all runs.
    pub delta: f64,
    /// What somebody would get who only adds epsilons.
    pub sum_of_epsilons: f64,
}

/// What the runs cost a person who was in all of them. Gaussian runs are read at delta `at`, or at the
/// largest of theirs.
pub fn together(runs: &[Promise], at: Option<Delta>) -> Result<Together> {
    let (mut squared, mut largest) = (0.0, None::<Delta>);
    let (mut epsilon, mut delta) = (0.0, 0.0);
    for run in runs {
        if let Some(mu) = run.mu()? {
            squared = sum_up(squared, (mu.value() * mu.value()).next_up());
            largest = match (largest, run.delta) {
                (Some(a), Some(b)) if a.value() >= b.value() => Some(a),
                (_, own) => own,
            };
        } else {
            epsilon = sum_up(epsilon, run.epsilon.value());
            delta = sum_up(delta, run.delta.map_or(0.0, Delta::value));
        }
    }
    let mut mu = None;
    if let Some(largest) = largest {
        let at = at.unwrap_or(largest);
        let root = Mu::try_from(squared.sqrt().next_up())?;
        mu = Some(root.value());
        epsilon = sum_up(epsilon, discrete::epsilon(root, at)?);
        delta = sum_up(delta, at.value());
    }
    let sum_of_epsilons = runs.iter().map(|run| run.epsilon.value()).sum();
    Ok(Together { mu, epsilon, delta, sum_of_epsilons })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test has to fail")]

    use super::*;

    fn gaussian(epsilon: f64, delta: f64) -> Promise {
        let delta = Some(delta.try_into().unwrap());
        Promise { epsilon: epsilon.try_into().unwrap(), delta, gaussian: true }
    }

    #[test]
    fn four_equal_runs_cost_twice_the_mu() {
        let one = gaussian(0.5, 1e-6);
        let mu = one.mu().unwrap().unwrap().value();
        let four = together(&[one; 4], None).unwrap();
        assert!((four.mu.unwrap() / mu - 2.0).abs() < 1e-12);
        assert!(four.epsilon < 1.2 && four.epsilon > 1.0, "{four:?}");
        assert_eq!((four.sum_of_epsilons, four.delta), (2.0, 1e-6));
        // One run is itself, and never less.
        let alone = together(&[one], None).unwrap();
        assert!(alone.epsilon >= 0.5 - 1e-6 && alone.epsilon < 0.5001, "{alone:?}");
        // At a smaller delta the same costs more.
        let strict = together(&[one; 4], Some(1e-9.try_into().unwrap())).unwrap();
        assert!(strict.epsilon > four.epsilon && strict.delta == 1e-9);
    }

    #[test]
    fn the_rest_is_added() {
        let pure = Promise { epsilon: 1.0.try_into().unwrap(), delta: None, gaussian: false };
        let sampled = Promise { gaussian: false, ..gaussian(0.25, 1e-7) };
        let both = together(&[pure, sampled], None).unwrap();
        assert_eq!((both.epsilon, both.delta, both.mu), (1.25, 1e-7, None));
        let all = together(&[pure, gaussian(0.5, 1e-6), sampled], None).unwrap();
        assert!(all.epsilon > 1.74 && all.epsilon < 1.7501, "{all:?}");
        assert!((all.delta - 1.1e-6).abs() < 1e-15);
        assert_eq!(together(&[], None).unwrap().epsilon, 0.0);
    }
}
