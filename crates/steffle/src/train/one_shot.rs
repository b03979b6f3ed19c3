//! The terms of a one-shot run: one release for the whole budget.

use steffle_privacy::{Delta, Epsilon, Mu, PrivacyError, discrete};

use crate::division::attributes::{Account, Share, Terms};

/// What a one-shot run promises about the store of every attributes division.
///
/// # Claim
/// A run under these terms is (epsilon, delta)-private for every store, however many lambdas,
/// notions and models are trained on its release.
///
/// # Proof
/// The one message costs at most mu^2 (`division/attributes/features.rs`), the account refuses a
/// second one, and everything after it is a function of the message and of public columns.
/// [`discrete::budget`] takes the slack of integer noise off first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OneShotTerms {
    mu: Mu,
}

impl OneShotTerms {
    /// For (epsilon, delta); refuses what no noise reaches.
    pub fn new(epsilon: Epsilon, delta: Delta) -> Result<Self, PrivacyError> {
        Ok(Self { mu: discrete::budget(epsilon, delta)? })
    }

    /// mu of the message.
    pub fn mu(&self) -> Mu {
        self.mu
    }

    /// The terms and the account of one attributes division.
    pub fn terms(&self) -> (Terms, Account) {
        // Rounded down, so that the price never passes the budget by rounding.
        let round = self.mu.value().powi(2) * (1.0 - 1e-12);
        (Terms::Exact(Share { round, table: 0.0 }), Account::gaussian(self.mu, 1))
    }
}
