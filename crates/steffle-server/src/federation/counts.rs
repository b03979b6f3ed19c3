//! How a model decides about the records of all nodes, by label, class and decision.

use steffle_model::metrics::Tally;
use steffle_privacy::ledger::Claim;
use steffle_wire::{Count, NoisyTotals, Opening, Terms, Transport};

use super::{Federation, FederationError};
use crate::train::OneShotTerms;

impl<T: Transport> Federation<T> {
    /// Counts the decisions of each of these models over all nodes. `terms` are what all of them
    /// together may cost a store, in equal parts; without terms counts are sent as they are. Opens a
    /// run of its own, and closes it.
    pub fn count(
        &mut self,
        thetas: &[Vec<f64>],
        terms: Option<&OneShotTerms>,
    ) -> Result<Vec<Tally>, FederationError> {
        let models = thetas.len();
        match terms {
            None => self.open_plainly()?,
            Some(terms) => self.open_counts(models, terms)?,
        }
        let tallies = thetas.iter().zip(0..).map(|(theta, round)| self.tally(theta, round));
        let tallies = tallies.collect::<Result<_, _>>()?;
        self.close()?;
        Ok(tallies)
    }

    /// Takes from every store what counts of so many models may cost, and leaves it open: a run of the
    /// same name goes on from there.
    pub fn open_counts(
        &mut self,
        models: usize,
        terms: &OneShotTerms,
    ) -> Result<(), FederationError> {
        let (epsilon, delta) = (terms.epsilon().value(), terms.delta().value());
        let models = u32::try_from(models.max(1)).unwrap_or(u32::MAX);
        let offer = self.offer(Claim::Gaussian, epsilon, delta, models)?;
        let mut share = terms.share();
        share.round /= f64::from(models);
        let terms = Terms::Exact(share);
        self.open(offer, |offer| Opening { terms, ..Opening::plain(offer) })
    }

    /// One model's; every model has a round of its own, so that their simulated noise differs.
    fn tally(&mut self, theta: &[f64], round: u32) -> Result<Tally, FederationError> {
        let request = Count { theta: theta.to_vec() };
        let (public, mut private) = self.trips.ask_sum(self.silos.clone(), round, &request)?;
        if !self.holders.is_empty() {
            private = self.trips.ask_sum(self.holders.clone(), round, &request)?.1;
        }
        let mut tally = Tally::new(self.agreement.scores.labels, self.agreement.scores.classes);
        let fits = match (public, private) {
            (Some(public), Some(NoisyTotals { counts, variance, stores })) => {
                let public: Vec<u64> = public.counts.iter().map(|count| *count as u64).collect();
                tally.add_public(&public) && tally.add_noisy(&counts, variance, stores)
            }
            _ => false,
        };
        if fits {
            Ok(tally)
        } else {
            Err(FederationError::Incomplete("fitting counts of decisions, or noisy"))
        }
    }
}
