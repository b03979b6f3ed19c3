//! The grant of a run: opened before anything is asked about s, closed with what was paid for.

use steffle_privacy::ledger::Kind as Released;
use steffle_privacy::{Mu, NoiseShares};
use steffle_wire::{Closed, Done, Envelope, Kind, Opening, Reader, Refused, Release, decode};

use super::{Divisions, Party};
use crate::node::allows::Allows;
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
        (self.opening, self.round, self.agreed, self.acts) = (Some(opening), None, None, 0);
        Ok(Done)
    }

    /// Refuses a message about s that the open run was not accepted for.
    pub(in crate::node) fn asked(
        &mut self,
        allows: &Allows,
        envelope: &Envelope,
        payload: &[u8],
    ) -> Result<(), Refused> {
        let (kind, round) = match envelope.kind {
            Kind::Round => (Released::Sums, Some(envelope.round)),
            Kind::Count => (Released::Counts, None),
            Kind::Release => match decode(Reader::new(payload))? {
                Release::Classes { .. } => (Released::Classes, None),
                Release::Features { .. } => (Released::Features, None),
            },
            _ => return Ok(()),
        };
        let Some(opening) = &self.opening else { return Ok(()) };
        allows.asked(&opening.offer, kind, round, self.acts)?;
        self.acts += usize::from(round.is_none());
        Ok(())
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
