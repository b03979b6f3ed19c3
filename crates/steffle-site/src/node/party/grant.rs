//! The grant of a run: opened before anything is asked about s, closed with what was paid for.

use steffle_privacy::{Mu, NoiseShares};
use steffle_wire::{Closed, Done, Opening, Refused};

use super::{Divisions, Party};
use crate::node::told::told_at_the_end;

impl Party {
    pub(super) fn open(&mut self, opening: Opening) -> Result<Done, Refused> {
        let offer = opening.offer.clone().check()?;
        if let Some(shares) = opening.offer.claim.shares() {
            self.can_share(shares)?;
        }
        self.list_units()?;
        if let Divisions::Both(_) | Divisions::Records(_) = self.divisions {
            self.records()?.unprotect();
        }
        let units = match &self.divisions {
            Divisions::Both(silo) => Some(silo.records_held().records().unit_count()),
            _ => None,
        };
        if !matches!(self.divisions, Divisions::Records(_)) {
            let (terms, accounts) = opening.terms_for(units);
            let ended = self.ended;
            self.attributes()?.take_up(&offer, terms, accounts, ended)?;
        }
        (self.opening, self.round, self.agreed) = (Some(opening), None, None);
        Ok(Done)
    }

    /// How the noise of the open run is shared between sites, where it is.
    pub(in crate::node) fn shares(&self) -> Option<NoiseShares> {
        self.opening.as_ref()?.offer.claim.shares()
    }

    pub(super) fn close(&mut self) -> Result<Closed, Refused> {
        let opening = self.opening.take();
        if matches!(self.divisions, Divisions::Records(_)) {
            return Ok(Closed::default());
        }
        let store = self.attributes()?;
        let (receipts, spent) = (store.receipts(), store.spent().map(Mu::value));
        store.close()?;
        let closed = Closed { receipts, spent };
        match opening {
            Some(opening) if self.pads.is_some() => told_at_the_end(closed, opening.offer),
            _ => Ok(closed),
        }
    }
}
