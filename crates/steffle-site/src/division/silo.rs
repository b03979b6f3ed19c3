//! A silo with both divisions under one roof (centralisations 1 and 2).

use steffle_attributes::noise::NoiseSource;
use steffle_attributes::{
    About, Asked, Attributes, AttributesDivision, AttributesDivisionError, Measured, Price,
    Released, Request, Reserved, RoundMessage, Selection, SharedSums, Sums, SumsChunk, Unreleased,
};
use steffle_model::decode::RoundScale;
use steffle_model::model::Block;
use steffle_privacy::ledger::Charge;
use steffle_wire::{Batch, PublicSums, Question};

use super::records::{MergeOther, RecordsDivision, RecordsDivisionError};
use crate::one_shot::OneShotError;

/// Why a silo refuses.
///
/// It says which of the two divisions refuses.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum SiloError {
    /// The records division refuses.
    #[error(transparent)]
    Records(#[from] RecordsDivisionError),
    /// The attributes division refuses.
    #[error(transparent)]
    Attributes(#[from] AttributesDivisionError),
    /// There is no one-shot release.
    #[error(transparent)]
    OneShot(#[from] OneShotError),
}

/// Two divisions that hold the same records in the same order.
///
/// What one makes the other sums, while it is in the cache.
pub struct Silo {
    records: RecordsDivision,
    attributes: AttributesDivision,
    /// Room of the last round, to be used again.
    selection: Option<Box<Selection>>,
    /// Room of the last price.
    measured: Measured,
}

impl<M: RoundMessage> MergeOther for Unreleased<M>
where
    Self: Send,
{
    fn merge_other(&mut self, other: &Self) {
        self.merge(other);
    }
}

impl Silo {
    /// Puts the divisions together; refuses when they hold different records.
    pub fn new(records: RecordsDivision, attributes: Attributes) -> Result<Self, SiloError> {
        let (ids, units) = (records.records().ids(), records.records().units());
        let attributes = AttributesDivision::beside(attributes, ids, units)?;
        let attributes = attributes.of_people(records.records().people());
        Ok(Self { records, attributes, selection: None, measured: Measured::default() })
    }

    /// The records division.
    pub fn records(&mut self) -> &mut RecordsDivision {
        &mut self.records
    }

    /// The records division, to look at.
    pub fn records_held(&self) -> &RecordsDivision {
        &self.records
    }

    /// The attributes division.
    pub fn attributes(&mut self) -> &mut AttributesDivision {
        &mut self.attributes
    }

    /// The attributes division alone.
    pub fn into_attributes(self) -> AttributesDivision {
        self.attributes
    }

    /// Both divisions.
    pub(crate) fn divisions(&mut self) -> (&mut RecordsDivision, &mut AttributesDivision) {
        (&mut self.records, &mut self.attributes)
    }

    /// Gives the records division back.
    #[cfg(test)]
    pub(crate) fn into_records(self) -> RecordsDivision {
        self.records
    }

    /// Both legs of a round: each chunk's candidates go from one division to the other while
    /// they are in the cache.
    pub fn answer(
        &mut self,
        question: &Question,
        round: u32,
        request: Request,
        noise: &mut impl NoiseSource,
    ) -> Result<(PublicSums, Released<Sums>), SiloError> {
        self.records.check(question).map_err(RecordsDivisionError::from)?;
        let stored = self.attributes.store().stored(&request);
        if let Some(stored) = stored.map_err(AttributesDivisionError::from)? {
            let has_theta = self.asked(question)?.has_theta();
            return Ok((self.records.answer_again(question, round, has_theta)?, stored));
        }
        let price = self.price(question, round, request)?;
        self.answer_paid(question, round, price, noise)
    }

    /// Takes back what was answered and sent, as room for the next round.
    pub fn give_back<M: RoundMessage>(&mut self, public: PublicSums, released: Released<M>) {
        self.records.give_back(public);
        self.attributes.store().give_back(released);
    }

    /// The same where sites share noise, of these scales, once caps and shape were agreed on.
    pub fn answer_share(
        &mut self,
        question: &Question,
        round: u32,
        (scale, request): (&RoundScale, Request),
        noise: &mut impl NoiseSource,
    ) -> Result<(PublicSums, Released<SharedSums>), SiloError> {
        self.records.check(question).map_err(RecordsDivisionError::from)?;
        let stored = self.attributes.store().stored(&request);
        if let Some(stored) = stored.map_err(AttributesDivisionError::from)? {
            let has_theta = self.asked_share(question, scale)?.has_theta();
            return Ok((self.records.answer_again(question, round, has_theta)?, stored));
        }
        let price = self.price_share(question, round, scale, request)?;
        self.answer_paid(question, round, price, noise)
    }

    /// Pays a price and answers the question that it is of.
    pub(super) fn answer_paid<M: RoundMessage>(
        &mut self,
        question: &Question,
        round: u32,
        price: Price<M>,
        noise: &mut impl NoiseSource,
    ) -> Result<(PublicSums, Released<M>), SiloError>
    where
        Unreleased<M>: Send,
        Reserved<M>: Sync,
    {
        let reserved =
            price.reserve(self.attributes.store(), noise).map_err(AttributesDivisionError::from)?;
        let (public, sums) = self.sum(question, round, &reserved);
        Ok((public, self.attributes.store().release(reserved, sums)?))
    }

    /// The sums that a paid price opens.
    pub(super) fn sum<M: RoundMessage>(
        &mut self,
        question: &Question,
        round: u32,
        reserved: &Reserved<M>,
    ) -> (PublicSums, Unreleased<M>)
    where
        Unreleased<M>: Send,
        Reserved<M>: Sync,
    {
        let empty = || Unreleased::<M>::empty(reserved);
        let first = Unreleased::<M>::empty_in(self.attributes.store(), reserved);
        let store = &*self.attributes.store();
        let room = self.selection.take().unwrap_or_default();
        let (public, sums, room) = self.records.pass(
            (question, round),
            (first, empty),
            (room, Box::default),
            |sums, room, candidates, pending| {
                store.add(reserved, SumsChunk { candidates, pending, room }, sums);
            },
        );
        self.selection = Some(room);
        (public, sums)
    }

    /// What a reply costs: a pass over the batch where that depends on it. Reads no `s`.
    pub(super) fn price(
        &mut self,
        question: &Question,
        round: u32,
        request: Request,
    ) -> Result<Price<Sums>, SiloError> {
        self.records.cap_round(question, round)?;
        let asked = self.asked(question)?;
        if self.attributes.measures() {
            self.records.measure(question, round, &asked, &mut self.measured);
        } else {
            self.measured = Measured::default();
        }
        let model = self.records.shared_model();
        let about = self.about(question, round, model.blocks(), request);
        Ok(self.attributes.price_positions(question, asked, &mut self.measured, about)?)
    }

    /// The same of a share; refuses before caps and shape were agreed on.
    pub(super) fn price_share(
        &mut self,
        question: &Question,
        round: u32,
        scale: &RoundScale,
        request: Request,
    ) -> Result<Price<SharedSums>, SiloError> {
        let asked = self.asked_share(question, scale)?;
        self.records.measure(question, round, &asked, &mut self.measured);
        let model = self.records.shared_model();
        let about = self.about(question, round, model.blocks(), request);
        Ok(self.attributes.price_share(question, asked, scale, &mut self.measured, about)?)
    }

    /// The question on the grids of this silo.
    fn asked(&mut self, question: &Question) -> Result<Asked, SiloError> {
        let (model, records) = (self.records.shared_model(), &self.records);
        let sizes = |centred: &_| records.sizes(question, centred);
        let asked = self.attributes.asked(question, model.blocks(), sizes);
        Ok(asked.map_err(AttributesDivisionError::from)?)
    }

    /// The question on the grids that all silos agreed on.
    fn asked_share(&self, question: &Question, scale: &RoundScale) -> Result<Asked, SiloError> {
        let bits = self.records.shared_bits().ok_or(RecordsDivisionError::NotAgreed)?;
        let blocks = self.records.model().blocks();
        let sizes = |centred: &_| self.records.sizes(question, centred);
        let (classes, grid) = (self.attributes.classes(), (scale, bits));
        let asked = Asked::on_shared_lattice(question, blocks, classes, grid, sizes);
        Ok(asked.map_err(AttributesDivisionError::from)?)
    }

    fn about<'a>(
        &mut self,
        question: &Question,
        round: u32,
        blocks: &'a [Block],
        request: Request,
    ) -> About<'a> {
        let charge = match question.batch {
            Batch::Block(of) => Charge::Block { of, at: Batch::block_of(of, round) as u32 },
            Batch::All | Batch::Mini(_) => Charge::All,
        };
        let records = self.records.batch_len(question.batch, round);
        About { blocks, records, charge, whitening: self.records.whitening().cloned(), request }
    }
}
