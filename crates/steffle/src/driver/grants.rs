//! What stores are offered, what they granted, and what may be said of it.

use steffle_privacy::ledger::{
    Accounts, CheckedOffer, Claim, Ledger, Offer, Receipt, Refusal, Statement, statement,
};
use steffle_privacy::{Mu, PrivacyError};

use super::{DriverError, Federation, Nodes, RunKind};
use crate::division::attributes::{AttributesDivision, AttributesDivisionError, Terms};

impl Federation {
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
        Offer { method, mode, notion, rounds, epsilon, delta, claim, noise }.check()
    }

    /// Offers a run to every store: all accept, or the run does not begin. `terms` are the terms and
    /// accounts of a division, given the number of units it holds beside their records, if it does.
    /// (In a deployment each division has its own.)
    pub fn open(
        &mut self,
        offer: CheckedOffer,
        terms: impl Fn(Option<usize>) -> (Terms, Accounts),
    ) -> Result<(), DriverError> {
        self.offer = None;
        let open = |at: usize, node: &mut AttributesDivision, units| {
            let (terms, accounts) = terms(units);
            let refused = node.open(&offer, terms, accounts).map_err(AttributesDivisionError::from);
            refused.map_err(|error| DriverError::Silo { silo: at, source: error.into() })
        };
        match &mut self.nodes {
            Nodes::Silos(silos) => {
                for (at, silo) in silos.iter_mut().enumerate() {
                    let units = silo.records().records().unit_count();
                    open(at, silo.attributes(), Some(units))?;
                }
            }
            Nodes::Split { records, attributes } => {
                for (at, node) in attributes.iter_mut().enumerate() {
                    open(records.len() + at, node, None)?;
                }
            }
        }
        self.offer = Some(offer);
        Ok(())
    }

    /// Offers a run that claims nothing: stores send what they are asked for as it is.
    pub fn open_plainly(&mut self) -> Result<(), DriverError> {
        let offer = self.offer(Claim::Nothing, 0.0, 0.0, 0)?;
        self.open(offer, |_| (Terms::Open, Accounts::One))
    }

    /// Ends the run: what it never reserved goes back to the stores' budgets.
    pub fn close(&mut self) -> Result<(), DriverError> {
        self.each_division(0, |node, _| node.close())
    }

    /// What every store released in the run that is open.
    pub fn receipts(&mut self) -> Vec<Vec<Receipt>> {
        let mut receipts = Vec::new();
        self.each_attributes(0, |node, _| receipts.push(node.receipts()));
        receipts
    }

    /// What the run that is open may say about the privacy of every store, from what was released:
    /// the weakest of what each may say. `None` where no run is open.
    pub fn statement(&mut self) -> Option<Statement> {
        let offer = self.offer.clone()?;
        let each = self.receipts().into_iter().map(|receipts| statement(&offer, &receipts));
        each.reduce(Statement::weaker)
    }

    /// Keeps the budget of every store in a ledger of its own.
    pub fn set_ledgers<L: Ledger + 'static>(
        &mut self,
        mut ledger: impl FnMut() -> L,
    ) -> Result<(), DriverError> {
        self.each_division(0, |node, _| node.set_ledger(Box::new(ledger())))
    }

    /// Whether the run that is open claims something: requests then have names.
    pub(super) fn claims(&self) -> bool {
        self.offer.as_ref().is_some_and(|offer| offer.offer().claim != Claim::Nothing)
    }

    /// Changes the terms and keeps the budgets.
    pub fn change_terms(&mut self, terms: impl Fn(usize) -> Terms) -> Result<(), DriverError> {
        let all = self.sizes.iter().sum();
        self.each_division(all, |node, records| node.change_terms(terms(records)))
    }

    /// What the dearest division has spent on Gaussian messages.
    pub fn spent(&mut self) -> Option<Mu> {
        let mut spent: Option<Mu> = None;
        self.each_attributes(0, |node, _| {
            if let Some(own) = node.spent()
                && spent.is_none_or(|most| own.value() > most.value())
            {
                spent = Some(own);
            }
        });
        spent
    }

    /// The same for what may be refused: the first refusal, after all were asked.
    fn each_division(
        &mut self,
        all: usize,
        mut with: impl FnMut(&mut AttributesDivision, usize) -> Result<(), Refusal>,
    ) -> Result<(), DriverError> {
        let (mut refused, mut silo) = (Ok(()), 0);
        self.each_attributes(all, |node, records| {
            if let (Err(error), true) = (with(node, records), refused.is_ok()) {
                let source = AttributesDivisionError::from(error).into();
                refused = Err(DriverError::Silo { silo, source });
            }
            silo += 1;
        });
        refused
    }

    fn each_attributes(
        &mut self,
        all: usize,
        mut with: impl FnMut(&mut AttributesDivision, usize),
    ) {
        match &mut self.nodes {
            Nodes::Silos(silos) => {
                let sized = silos.iter_mut().zip(&self.sizes);
                sized.for_each(|(silo, &size)| with(silo.attributes(), size));
            }
            Nodes::Split { attributes, .. } => {
                attributes.iter_mut().for_each(|node| with(node, all));
            }
        }
    }
}
