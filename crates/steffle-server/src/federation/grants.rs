//! What stores are offered, what they granted, and what may be said of it.

use steffle_privacy::ledger::{
    CheckedOffer, Claim, NoiseKind, Offer, Receipt, Statement, hexadecimal, statement,
};
use steffle_privacy::{Mu, PrivacyError};
use steffle_wire::{Close, Closed, Opening, Transport};

use super::{Federation, FederationError, RunKind};

impl<T: Transport> Federation<T> {
    /// An offer to the stores, checked.
    pub fn offer(
        &self,
        claim: Claim,
        epsilon: f64,
        delta: f64,
        rounds: u32,
    ) -> Result<CheckedOffer, PrivacyError> {
        let RunKind { method, mode, notion } = self.agreement.kind.clone();
        let noise = self.agreement.noise;
        // Simulations are not told apart, and need not be.
        let run = match noise {
            NoiseKind::Secure => hexadecimal(&self.agreement.run.0),
            NoiseKind::Simulation => String::new(),
        };
        Offer { run, method, mode, notion, rounds, epsilon, delta, claim, noise }.check()
    }

    /// Offers a run to every store: all accept, or the run does not begin. Each decides by its own
    /// policy; `opening` makes the message of a checked offer.
    pub fn open(
        &mut self,
        offer: CheckedOffer,
        opening: impl FnOnce(Offer) -> Opening,
    ) -> Result<(), FederationError> {
        (self.offer, self.noise, self.sharing) = (None, None, None);
        let opening = opening(offer.offer().clone());
        self.trips.ask(self.all(), 0, &opening)?;
        (self.offer, self.said) = (Some(offer), None);
        Ok(())
    }

    /// Offers a run that claims nothing: stores send what they are asked for as it is.
    pub fn open_plainly(&mut self) -> Result<(), FederationError> {
        let offer = self.offer(Claim::Nothing, 0.0, 0.0, 0)?;
        self.open(offer, Opening::plain)
    }

    /// Ends the run: every store says what it released, and what it never reserved goes back to its
    /// budget.
    pub fn close(&mut self) -> Result<(), FederationError> {
        let Some(offer) = self.offer.take() else { return Ok(()) };
        let stores =
            if self.holders.is_empty() { self.silos.clone() } else { self.holders.clone() };
        let closed = self.trips.ask(self.all(), 0, &Close)?;
        let closed = closed.into_iter().enumerate().filter(|(place, _)| stores.contains(place));
        let (mut receipts, mut spent) = (Vec::new(), None::<f64>);
        for (_, Closed { receipts: own, spent: mu }) in closed {
            receipts.push(own);
            spent = spent.into_iter().chain(mu).reduce(f64::max);
        }
        let each = receipts.iter().map(|own| statement(&offer, own));
        let statement = each.reduce(Statement::weaker);
        let spent = spent.map(Mu::try_from).transpose()?;
        self.said = Some(Said { receipts, statement, spent });
        Ok(())
    }

    /// What every store released in the run that was closed last.
    pub fn receipts(&self) -> Vec<Vec<Receipt>> {
        self.said.as_ref().map(|said| said.receipts.clone()).unwrap_or_default()
    }

    /// What that run may say about the privacy of every store, from what was released: the weakest
    /// of what each may say.
    pub fn statement(&self) -> Option<Statement> {
        self.said.as_ref()?.statement
    }

    /// What the dearest store has spent on Gaussian messages in that run.
    pub fn spent(&self) -> Option<Mu> {
        self.said.as_ref()?.spent
    }
}

/// What was said when a run was closed.
pub(super) struct Said {
    receipts: Vec<Vec<Receipt>>,
    statement: Option<Statement>,
    spent: Option<Mu>,
}
