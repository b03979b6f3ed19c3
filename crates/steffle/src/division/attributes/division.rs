//! Sums of candidates, selected by the real classes.

use std::collections::HashMap;

use super::release::{NoiseScale, Price, Released, Reserved, Unreleased};
use super::{Attributes, Combinations};
use crate::division::banks::add_by_slot;
use crate::division::{Candidates, Who};
use crate::model::{Block, Coefficients, Gradient};
use crate::noise::NoiseSource;
use crate::protocol::{Form, Handover, PrivateSums, Question, QuestionError};

/// Why an attributes division refuses to be set up.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttributesDivisionError {
    /// The two divisions of one silo do not hold the same records in the same order.
    #[error(
        "the two divisions of a silo hold different records ({records} records, {attributes} \
         attributes, first difference at position {position}); match them by record id first"
    )]
    NotAligned {
        /// Records in the records division.
        records: usize,
        /// Records in the attributes division.
        attributes: usize,
        /// The first position at which the ids differ.
        position: usize,
    },
    /// The question does not fit the schema.
    #[error(transparent)]
    Question(#[from] QuestionError),
    /// A handover does not fit the question.
    #[error("a handover does not fit the question: {0}")]
    Handover(&'static str),
}

/// Holds the sensitive classes and answers with released sums.
pub struct AttributesDivision {
    attributes: Attributes,
    /// Position by id, for handovers that name ids. Empty in a silo whose divisions are aligned.
    positions: HashMap<u64, u32>,
    /// Noise of the mean over a batch.
    noise_of_mean: NoiseScale,
}

/// Room for what the division selects for a chunk. It holds classes, so it has no accessor and
/// never leaves the division but to be handed back.
#[derive(Default)]
pub struct Selection {
    slots: Vec<u32>,
    by_slot: Vec<f64>,
    coefficients: Coefficients,
}

impl AttributesDivision {
    /// A division that is asked by record id (centralisations 3 and 4).
    pub fn by_id(attributes: Attributes) -> Self {
        let positions = attributes.ids().iter().zip(0..).map(|(&id, at)| (id, at)).collect();
        Self { attributes, positions, noise_of_mean: NoiseScale::None }
    }

    /// A division beside a records division with the same records in the same order; refuses
    /// others.
    pub fn beside(attributes: Attributes, ids: &[u64]) -> Result<Self, AttributesDivisionError> {
        let own = attributes.ids();
        if own != ids {
            let position = own.iter().zip(ids).position(|(a, b)| a != b);
            return Err(AttributesDivisionError::NotAligned {
                records: ids.len(),
                attributes: own.len(),
                position: position.unwrap_or(own.len().min(ids.len())),
            });
        }
        Ok(Self { attributes, positions: HashMap::new(), noise_of_mean: NoiseScale::None })
    }

    /// Sensitive classes the schema knows.
    pub fn classes(&self) -> usize {
        self.attributes.class_count()
    }

    /// Records it holds the class of.
    pub fn len(&self) -> usize {
        self.attributes.ids().len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sets the noise that the mean over a batch gets in the replies to come: the silo's own
    /// decision, not the server's.
    pub fn set_noise_of_mean(&mut self, scale: NoiseScale) {
        self.noise_of_mean = scale;
    }

    /// What a reply about `announced` records would be released under. Reads no `s`, and does not
    /// depend on how many of the records it holds.
    pub fn price(&self, announced: usize) -> Price {
        Price::new(self.noise_of_mean.scaled(announced as f64))
    }

    /// Answers a question about announced records, of which it holds some, all or none.
    ///
    /// Everything is checked before `s` is read; nothing about the holdings shows in the shape of
    /// the reply, its noise or an error.
    pub fn answer(
        &self,
        question: &Question,
        handovers: &[Handover],
        noise: &mut impl NoiseSource,
    ) -> Result<Released<PrivateSums>, AttributesDivisionError> {
        let columns = question.cells.first().map_or(0, |cell| cell.quadratic.len());
        let cells = question.cells.len();
        question.check(question.theta.len(), cells, self.classes(), columns)?;
        let refuse = |what| Err(AttributesDivisionError::Handover(what));
        let Some(first) = handovers.first() else {
            return refuse("there is none");
        };
        let blocks = first.blocks();
        if blocks.iter().map(Block::parameters).sum::<usize>() != question.theta.len() {
            return refuse("its layers do not make up theta");
        }
        let mut announced: Vec<u64> = Vec::new();
        for handover in handovers {
            if handover.blocks() != blocks {
                return refuse("two handovers describe different models");
            }
            handover.fits(cells, columns).map_err(AttributesDivisionError::Handover)?;
            announced.extend_from_slice(handover.ids());
        }
        announced.sort_unstable();
        if announced.windows(2).any(|pair| pair[0] == pair[1]) {
            return refuse("a record id was announced twice");
        }
        let combinations = Combinations::new(question, self.classes(), columns);
        let reserved = self.price(announced.len()).reserve();
        let mut sums = self.open(&reserved, question, blocks);
        let mut selection = Selection::default();
        for handover in handovers {
            let factors = handover.factors();
            self.add(&combinations, &handover.candidates(&factors), &mut sums, &mut selection);
        }
        Ok(sums.release(reserved, noise))
    }

    /// Empty sums for a question, opened by a reserved price.
    pub fn open(&self, _paid: &Reserved, question: &Question, blocks: &[Block]) -> Unreleased {
        let size = question.cells.first().map_or(0, |cell| cell.combinations.len());
        let messages = match question.form {
            Form::Centred => question.cells.len(),
            Form::Clipped { .. } => usize::from(!question.cells.is_empty()),
        };
        Unreleased {
            tables: vec![vec![0.0; size]; question.cells.len()],
            thetas: vec![Gradient::of_blocks(blocks); messages],
        }
    }

    /// Adds what the records of a chunk contribute under their real classes.
    pub fn add(
        &self,
        combinations: &Combinations,
        candidates: &Candidates<'_>,
        sums: &mut Unreleased,
        selection: &mut Selection,
    ) {
        let Candidates { who, cells, scores, factors } = *candidates;
        let columns = combinations.columns();
        let classes = self.attributes.classes();
        let Selection { slots, by_slot, coefficients } = selection;
        slots.clear();
        match who {
            Who::Positions(positions) => {
                let class = |&at: &u32| classes[at as usize];
                let records = cells.iter().zip(positions);
                slots.extend(records.map(|(&cell, at)| combinations.slot(cell, class(at))));
            }
            Who::Ids(ids) => slots.extend(cells.iter().zip(ids).map(|(&cell, id)| {
                let held = self.positions.get(id).map(|&at| classes[at as usize]);
                held.map_or(combinations.no_slot(), |class| combinations.slot(cell, class))
            })),
        }
        by_slot.clear();
        by_slot.resize((combinations.no_slot() as usize + 1) * columns, 0.0);
        add_by_slot(slots, scores, columns, by_slot);
        combinations.fold_tables(by_slot, &mut sums.tables);
        if combinations.silent() {
            return;
        }
        // Theta messages of different cells are different sums: one scatter for each.
        for (message, theta) in sums.thetas.iter_mut().enumerate() {
            let table = combinations.message(message);
            coefficients.fill(factors, slots, table, columns, combinations.limit());
            theta.add(factors, coefficients);
        }
    }
}
