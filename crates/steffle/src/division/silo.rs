//! A silo with both divisions under one roof (centralisations 1 and 2).

use super::attributes::{
    Announced, AttributesDivision, AttributesDivisionError, Charged, Combinations, Refusal,
    Released, Selection, Terms, Unreleased,
};
use super::records::{Batches, MergeOther, RecordsDivision, RecordsDivisionError};
use crate::noise::NoiseSource;
use crate::one_shot::OneShotError;
use crate::protocol::{Batch, PrivateSums, PublicSums, Question};
use crate::record::Attributes;

/// Why a silo refuses.
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
pub struct Silo {
    records: RecordsDivision,
    attributes: AttributesDivision,
    /// Room of the last round, to be used again.
    selection: Option<Box<Selection>>,
}

/// The private sums of a part of the batch, and room to select them in.
struct Selected {
    sums: Unreleased,
    selection: Box<Selection>,
}

impl MergeOther for Selected {
    fn merge_other(&mut self, other: &Self) {
        self.sums.merge(&other.sums);
    }
}

impl Silo {
    /// Puts the divisions together; refuses when they hold different records.
    pub fn new(records: RecordsDivision, attributes: Attributes) -> Result<Self, SiloError> {
        let attributes = AttributesDivision::beside(attributes, records.records().ids())?;
        Ok(Self { records, attributes, selection: None })
    }

    /// The records division.
    pub fn records(&mut self) -> &mut RecordsDivision {
        &mut self.records
    }

    /// The attributes division.
    pub fn attributes(&mut self) -> &mut AttributesDivision {
        &mut self.attributes
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
        noise: &mut impl NoiseSource,
    ) -> Result<(PublicSums, Released<PrivateSums>), SiloError> {
        self.records.check(question).map_err(RecordsDivisionError::from)?;
        let announced = self.records.batch_len(question.batch, round);
        // Secret coins and accounts of single units are about all records, in their order.
        if question.batch != Batch::All && self.attributes.needs_all() {
            return Err(AttributesDivisionError::from(Refusal::Kind).into());
        }
        let mut distances = match self.attributes.terms() {
            Terms::Exact(_) | Terms::Poisson { .. } => Some(self.records.measure(question, round)?),
            Terms::Open | Terms::OfMean(_) => None,
        };
        if let (Some(distances), Some(retired)) = (&mut distances, self.attributes.retired()) {
            distances.leave_out(&retired);
        }
        let (classes, parameters) = (self.attributes.classes(), question.theta.len());
        let about = Announced::new(announced, distances.as_ref(), question, classes, parameters);
        let price = self.attributes.price(&about).map_err(AttributesDivisionError::from)?;
        let units = self.records.records().units();
        let charged = match question.batch {
            Batch::Block(count) => {
                Charged::Block { of: count, at: Batches::block_of(count, round) }
            }
            Batch::All | Batch::Mini(_) => Charged::All,
        };
        let reserved = self
            .attributes
            .reserve(price, &about, charged, units, noise)
            .map_err(AttributesDivisionError::from)?;
        let attributes = &self.attributes;
        let blocks = self.records.model().blocks().to_vec();
        let objective = self.records.objective();
        let combinations = Combinations::new(question, objective.classes(), objective.columns());
        let selected = |selection: Box<Selection>| Selected {
            sums: attributes.open(&reserved, question, &blocks),
            selection,
        };
        let first = selected(self.selection.take().unwrap_or_default());
        let (public, selected) = self.records.pass(
            question,
            round,
            first,
            || selected(Box::default()),
            |selected, candidates, pending| {
                let Selected { sums, selection } = selected;
                attributes.add(&reserved, &combinations, candidates, sums, selection, pending);
            },
        );
        self.selection = Some(selected.selection);
        let whitening = self.records.whitening();
        Ok((public, selected.sums.release(reserved, classes, whitening)))
    }
}
