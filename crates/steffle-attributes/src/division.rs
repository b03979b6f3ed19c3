//! Questions in, released replies out: what a division accepts, prices and answers.

use std::sync::Arc;

use steffle_model::decode::RoundScale;
use steffle_model::linear::Whitening;
use steffle_model::model::Block;
use steffle_model::record::Ids;
use steffle_model::scores::Candidates;
use steffle_privacy::ledger::{
    Accounts, Charge, CheckedOffer, Claim, Cost, Ended, Ledger, Receipt, Refusal,
};
use steffle_privacy::{Mu, Neighbours, NoiseShares, Sampling};
use steffle_wire::{Batch, Handover, Question};

use super::door::{Price, Released, Request, Store, Unreleased};
use super::error::AttributesDivisionError;
use super::lattice::{Centred, Lattice, Sizes};
use super::measured::{MeasureRoom, Measured};
use super::noised::Noise;
use super::price::{Distances, Noises, PriceError};
use super::room::Blocks;
use super::sums::{AskedForm, AskedSums, RoundMessage, Selection, Shape, Sums, SumsChunk};
use super::sums_share::SharedSums;
use super::units::UnitsOf;
use super::{Attributes, Terms, UnitList, handed};
use crate::noise::NoiseSource;

mod asked;
mod releases;

pub use asked::Asked;

/// Holds the sensitive classes and answers with released messages.
///
/// It is the one part of an organisation that may read the sensitive column.
pub struct AttributesDivision {
    store: Store,
    terms: Terms,
    /// How the noise of the open grant is shared between sites, where it is.
    shares: Option<NoiseShares>,
}

/// What a price is about, beside the question.
///
/// Records, charge and shape of the noise, all known before `s` is read.
pub struct About<'a> {
    /// The model's layers.
    pub blocks: &'a [Block],
    /// Announced records.
    pub records: usize,
    /// What is charged where a grant has one account per block.
    pub charge: Charge,
    /// The shape of the noise.
    pub whitening: Option<Arc<Whitening>>,
    /// The request's name.
    pub request: Request,
}

impl AttributesDivision {
    /// A division that is asked by record id (centralisations 3 and 4). `units` lists every id of
    /// the index. Attributes of an id that is not on the list are forgotten: nobody would be charged
    /// for them.
    pub fn by_id(attributes: Attributes, units: UnitList) -> Self {
        let attributes = attributes.only(|id| units.lists(id));
        Self { store: Store::new(attributes, units, true), terms: Terms::Open, shares: None }
    }

    /// A division beside a records division with the same records in the same order; refuses
    /// others. `units` numbers the unit of every record.
    pub fn beside(
        attributes: Attributes,
        ids: &Ids,
        units: Option<&[u32]>,
    ) -> Result<Self, AttributesDivisionError> {
        let own = attributes.ids();
        if own != ids {
            let position = own.iter().zip(ids.iter()).position(|(a, b)| a != b);
            return Err(AttributesDivisionError::NotAligned {
                records: ids.len(),
                attributes: own.len(),
                position: position.unwrap_or(own.len().min(ids.len())),
            });
        }
        let units = UnitList::beside(ids.len(), units);
        let attributes = attributes.with_ids(ids);
        Ok(Self { store: Store::new(attributes, units, false), terms: Terms::Open, shares: None })
    }

    /// The same with the lasting id of the unit of every record, where a column names units: by these the
    /// ledger knows a person whose records are all new.
    #[must_use]
    pub fn of_people(mut self, people: Option<&[u64]>) -> Self {
        self.store.name_people(people);
        self
    }

    /// Keeps its budget in another ledger; grants of the old one end. Refused once a private run was
    /// accepted: what it spent would be forgotten.
    pub fn set_ledger(&mut self, ledger: Box<dyn Ledger>) -> Result<(), Refusal> {
        self.store.set_ledger(ledger)
    }

    /// Gives its ledger to a store of the same records that follows this one.
    pub fn into_ledger(self) -> Box<dyn Ledger> {
        self.store.into_ledger()
    }

    /// Accepts an offer whose run has not ended, see [`AttributesDivision::take_up`].
    pub fn open(
        &mut self,
        offer: &CheckedOffer,
        terms: Terms,
        accounts: Accounts,
    ) -> Result<(), Refusal> {
        self.take_up(offer, terms, accounts, Ended::Refused)
    }

    /// Accepts an offer, if its ledger and policy do, and grants the run its share; a grant before
    /// it is closed. `terms` are what replies are released under: whatever they are, the ledger
    /// refuses what the grant does not cover. `ended`: what becomes of a run that was closed before.
    pub fn take_up(
        &mut self,
        offer: &CheckedOffer,
        terms: Terms,
        accounts: Accounts,
        ended: Ended,
    ) -> Result<(), Refusal> {
        if let Claim::Sampled(event) = &offer.offer().claim {
            // Two classes add +a and -a; more need the curve for any pair of contributions.
            let curve = self.classes() == 2 || event.neighbours == Neighbours::Replace;
            // The coin that is tossed has to be the one that is accounted for.
            let coin = match &terms {
                Terms::Poisson { sampler, noise_multiplier, .. } => {
                    event.sampling == Sampling::Poisson(sampler.0)
                        && event.noise_multiplier == *noise_multiplier
                }
                _ => false,
            };
            if !(curve && coin) {
                return Err(Refusal::Kind);
            }
        }
        // Accounts are of the store's own units, all of them.
        if matches!(accounts, Accounts::Units(count) if count as usize != self.store.units().count())
        {
            return Err(Refusal::Kind);
        }
        self.close()?;
        self.store.take_up(offer, accounts, ended)?;
        (self.terms, self.shares) = (terms, offer.offer().claim.shares());
        Ok(())
    }

    /// Ends the grant: what it never reserved goes back to the budget.
    pub fn close(&mut self) -> Result<(), Refusal> {
        if let Some(grant) = self.store.grant() {
            // One that was opened again may have been closed by the process before.
            match self.store.ledger().close(grant) {
                Ok(()) | Err(Refusal::Closed) => self.store.end_grant(),
                Err(refused) => return Err(refused),
            }
        }
        Ok(())
    }

    /// Changes the terms within a grant that claims nothing, to others that claim nothing: all that
    /// is claimed was checked when the grant was opened.
    pub fn change_terms(&mut self, terms: Terms) -> Result<(), Refusal> {
        if self.measures() || !matches!(terms, Terms::Open | Terms::OfMean(_)) {
            return Err(Refusal::Kind);
        }
        self.terms = terms;
        Ok(())
    }

    /// The terms.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// What the open grant has spent on Gaussian messages: its dearest block or unit.
    pub fn spent(&mut self) -> Option<Mu> {
        let grant = self.store.grant()?;
        self.store.ledger().spent(grant)
    }

    /// What the open grant has released.
    pub fn receipts(&self) -> Vec<Receipt> {
        self.store.receipts()
    }

    /// The door.
    pub fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Sensitive classes the schema knows.
    pub fn classes(&self) -> usize {
        self.store.classes()
    }

    /// Records it holds the class of.
    pub fn len(&self) -> usize {
        self.store.ids().len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What has to be measured before a question can be priced; refuses what cannot be.
    pub fn asked(
        &mut self,
        question: &Question,
        blocks: &[Block],
        sizes: impl FnOnce(&Centred) -> Result<Sizes, PriceError>,
    ) -> Result<Asked, PriceError> {
        if self.measures() {
            Asked::on_lattice(question, blocks, self.classes(), sizes)
        } else {
            let classes = self.classes();
            Ok(Asked::plain(question, classes, &mut self.store.room))
        }
    }

    /// Whether replies are priced by what they are about.
    pub fn measures(&self) -> bool {
        matches!(self.terms, Terms::Exact(_) | Terms::Poisson { .. })
    }

    /// Units that cannot pay for another full round, where each has its own account. They cost
    /// nothing, and are left out of the sums.
    fn retired(&mut self) -> Option<Vec<bool>> {
        let Terms::Exact(share) = self.terms else { return None };
        let grant = self.store.grant()?;
        self.store.ledger().retired(grant, share.round)
    }

    /// What a reply about these records costs and is released under. Reads no `s`, and does not
    /// depend on how many of the records it holds.
    fn price(
        &mut self,
        question: &Question,
        asked: Asked,
        measured: &mut Measured,
        units: &UnitsOf<'_>,
        about: About<'_>,
    ) -> Result<Price<Sums>, AttributesDivisionError> {
        self.adds_all_noise()?;
        let (share, table) = match &self.terms {
            Terms::Open | Terms::OfMean(_) => {
                return Ok(self.unpriced(question, asked, measured, about));
            }
            Terms::Exact(share) => (share.round, share.table),
            Terms::Poisson { noise_multiplier, table, .. } => {
                (noise_multiplier.value().powi(-2), *table)
            }
        };
        let records = about.records;
        self.priced(question, asked, measured, units, about, |distances, lattice| {
            distances.noises(lattice, share, table, records)
        })
    }

    /// The price of a run that claims nothing.
    fn unpriced(
        &mut self,
        question: &Question,
        Asked(form): Asked,
        measured: &Measured,
        about: About<'_>,
    ) -> Price<Sums> {
        let shape = self.shape(question, about.blocks);
        let noise = match &self.terms {
            Terms::OfMean(scale) => Noise::Gaussian(scale.clone(), about.records as f64),
            _ => Noise::None,
        };
        let (whitening, digest) = (about.whitening, measured.digest);
        let (left_out, coins) = (None, None);
        let asked = AskedSums { form, noise, shape, whitening, left_out, coins, digest };
        let asked = self.store.room.boxed(asked);
        Price::of_boxed(asked, Cost::Revealed, Charge::All, about.request)
    }

    fn shape(&self, question: &Question, blocks: &[Block]) -> Shape {
        Shape {
            messages: question.messages(),
            blocks: Blocks::new(blocks),
            tables: (question.cells.len(), self.classes(), question.columns()),
        }
    }

    /// The price of sums of integers, with the noise that `noises` makes of how far units move them.
    fn priced<M: RoundMessage>(
        &mut self,
        question: &Question,
        Asked(form): Asked,
        measured: &mut Measured,
        units: &UnitsOf<'_>,
        about: About<'_>,
        noises: impl FnOnce(&Distances, &Lattice) -> Result<(Noises, f64), PriceError>,
    ) -> Result<Price<M>, AttributesDivisionError> {
        let About { blocks, records, charge, whitening, request } = about;
        let shape = self.shape(question, blocks);
        let retired = self.retired();
        // Secret coins and accounts of single units are about all records.
        let partial = question.batch != Batch::All;
        if partial && (retired.is_some() || matches!(self.terms, Terms::Poisson { .. })) {
            return Err(Refusal::Kind.into());
        }
        let AskedForm::Centred(_, Some(lattice)) = &form else {
            return Err(PriceError::Clipped.into());
        };
        let mut distances = Distances::new(measured, units, records)?;
        // Most rounds leave nobody out, and then nothing is looked up.
        let by_unit = retired.is_some();
        let left_out = retired.filter(|retired| retired.contains(&true));
        left_out.iter().for_each(|units| distances.leave_out(units));
        let (noises, squared) = noises(&distances, lattice)?;
        let (thetas, tables) = shape.numbers();
        let (slack, numbers) = noises.slack(thetas, tables);
        let (cost, coins) = match &self.terms {
            Terms::Poisson { sampler, .. } => {
                let coins = Some((*sampler, units.to_owned()));
                (Cost::Planned { squared, slack, numbers }, coins)
            }
            _ if noises.silent() => (Cost::Free, None),
            _ => (Cost::Gaussian { squared, slack, numbers }, None),
        };
        let charge = if by_unit { Charge::Units(distances.charged(&noises)) } else { charge };
        let left_out = left_out.map(|retired| units.by_record(retired));
        let (noise, digest) = (Noise::Integer(noises), distances.digest);
        distances.give_back(measured);
        let asked = AskedSums { form, noise, shape, whitening, left_out, coins, digest };
        let asked = self.store.room.boxed(asked);
        Ok(Price::of_boxed(asked, cost, charge, request))
    }

    /// What a reply about positions costs and is released under: the price of a house with both
    /// divisions.
    pub fn price_positions(
        &mut self,
        question: &Question,
        asked: Asked,
        measured: &mut Measured,
        about: About<'_>,
    ) -> Result<Price<Sums>, AttributesDivisionError> {
        let units = self.store.units().of_positions()?.to_owned();
        self.price(question, asked, measured, &units, about)
    }

    /// The same where sites share noise, of these scales; refuses where they do not.
    pub fn price_share(
        &mut self,
        question: &Question,
        asked: Asked,
        scale: &RoundScale,
        measured: &mut Measured,
        about: About<'_>,
    ) -> Result<Price<SharedSums>, AttributesDivisionError> {
        let (Some(shares), Terms::Exact(_), Batch::All) =
            (self.shares, &self.terms, question.batch)
        else {
            return Err(Refusal::Kind.into());
        };
        let units = self.store.units().of_positions()?.to_owned();
        self.priced(question, asked, measured, &units, about, |distances, lattice| {
            distances.shared(lattice, scale, shares.honest())
        })
    }

    /// Answers a question about announced records, of which it holds some, all or none.
    ///
    /// Everything is checked before `s` is read; nothing about the holdings shows in the shape of
    /// the reply, its noise or an error.
    pub fn answer(
        &mut self,
        question: &Question,
        handovers: &[Handover],
        request: Request,
        noise: &mut impl NoiseSource,
    ) -> Result<Released<Sums>, AttributesDivisionError> {
        if let Some(stored) = self.store.stored(&request)? {
            return Ok(stored);
        }
        let blocks = handed::fitting(question, handovers, self.classes())?;
        let ids: Vec<u64> = handovers.iter().flat_map(Handover::ids).copied().collect();
        // The holder's own list says who is one unit, over all handovers; every holder sees every
        // announced record and prices all of them, whether it holds one, all or none.
        let units = self.store.units().announced(&ids)?;
        let asked = self.asked(question, blocks, |centred| handed::sizes(centred, handovers))?;
        let mut measured = Measured::default();
        if self.measures() {
            measured.start(ids.len(), None);
            let (mut seen, mut room) = (Vec::new(), MeasureRoom::default());
            if let Some(mut all) = measured.parts(ids.len().max(1)).next() {
                let measure =
                    |chunk: &Candidates<'_>| asked.measure(&mut all, chunk, None, &mut room);
                handed::each_candidates(handovers, measure);
                seen.push(all.seen());
            }
            measured.finish(seen);
        }
        let charge = match question.batch {
            Batch::Block(of) => match self.store.units().block(&units, of) {
                Some(at) => Charge::Block { of, at },
                None => Charge::All,
            },
            Batch::All | Batch::Mini(_) => Charge::All,
        };
        let about = About { blocks, records: ids.len(), charge, whitening: None, request };
        let price = self.price(question, asked, &mut measured, &units, about)?;
        let reserved = price.reserve(&mut self.store, noise)?;
        let mut sums = Unreleased::<Sums>::empty(&reserved);
        let mut room = Selection::default();
        handed::each_candidates(handovers, |candidates| {
            let chunk = SumsChunk { candidates, pending: None, room: &mut room };
            self.store.add(&reserved, chunk, &mut sums);
        });
        self.store.release(reserved, sums)
    }

    /// The units of announced ids, numbered from 0 in order of appearance; `None` where every record
    /// is its own. Refuses ids that its list does not have.
    pub fn units_of(&self, ids: &[u64]) -> Result<Option<Vec<u32>>, AttributesDivisionError> {
        let units = self.store.units();
        Ok(if units.joins_records() { units.announced(ids)?.renumbered() } else { None })
    }
}
