//! Sums of candidates, selected by the real classes.

use std::collections::HashMap;

use super::account::{Account, Charged, Cost, Refusal};
use super::price::{Announced, Price, PriceError, unit_costs};
use super::release::{Released, Reserved, Shape, Unreleased};
use super::{Attributes, Combinations, Terms};
use crate::division::banks::add_by_slot;
use crate::division::distances::{DistanceRoom, Distances, INPUT_GRID, Pairs};
use crate::division::records::Batches;
use crate::division::{Candidates, Who};
use crate::model::{Block, Coefficients, Factor, Gradient, Inputs, Pending, kernel, nearest};
use crate::noise::NoiseSource;
use crate::protocol::{Batch, Handover, PrivateSums, Question, QuestionError};

/// Why an attributes division refuses to be set up.
#[derive(Debug, thiserror::Error, PartialEq)]
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
    /// The question has no price.
    #[error(transparent)]
    Price(#[from] PriceError),
    /// The price was not reserved.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// Holds the sensitive classes and answers with released sums.
pub struct AttributesDivision {
    attributes: Attributes,
    /// Position by id, for handovers that name ids. Empty in a silo whose divisions are aligned.
    positions: HashMap<u64, u32>,
    terms: Terms,
    account: Account,
}

/// Room for what the division selects for a chunk. It holds classes, so it has no accessor and
/// never leaves the division but to be handed back.
#[derive(Default)]
pub struct Selection {
    /// The classes of the chunk's records.
    own: Vec<u16>,
    slots: Vec<u32>,
    by_slot: Vec<f64>,
    scores: Vec<f64>,
    hidden: Vec<Vec<f64>>,
    coefficients: Coefficients,
    /// Announced ids that were seen, in the order of the announcement.
    announced: usize,
}

impl AttributesDivision {
    /// A division that is asked by record id (centralisations 3 and 4).
    pub fn by_id(attributes: Attributes) -> Self {
        let positions = attributes.ids().iter().zip(0..).map(|(&id, at)| (id, at)).collect();
        Self { attributes, positions, terms: Terms::Open, account: Account::default() }
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
        let (terms, account) = (Terms::Open, Account::default());
        Ok(Self { attributes, positions: HashMap::new(), terms, account })
    }

    /// What it holds: for this module's own eyes.
    pub(super) fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// Where it holds the record with this id, if it does.
    pub(super) fn position(&self, id: u64) -> Option<usize> {
        self.positions.get(&id).map(|&at| at as usize)
    }

    /// Takes a cost as spent; refuses what the budget does not cover.
    pub(super) fn pay(&mut self, cost: Cost, charged: Charged) -> Result<(), Refusal> {
        self.account.pay(cost, charged, Vec::new)
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

    /// Sets what the replies to come are released under, and what they may cost: the division's
    /// own decision, not the server's.
    pub fn set_terms(&mut self, terms: Terms, account: Account) {
        (self.terms, self.account) = (terms, account);
    }

    /// Changes the terms and keeps the account.
    pub fn change_terms(&mut self, terms: Terms) {
        self.terms = terms;
    }

    /// The terms.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// What was spent.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// What a reply about these records would cost and be released under. Reads no `s`, and does
    /// not depend on how many of the records it holds.
    pub fn price(&self, announced: &Announced<'_>) -> Result<Price, PriceError> {
        Price::new(&self.terms, announced)
    }

    /// Whether replies must be about all records: the coins and the accounts of units are.
    pub(in crate::division) fn needs_all(&self) -> bool {
        matches!(self.terms, Terms::Poisson { .. }) || self.retired().is_some()
    }

    /// Units that cannot pay for another full round, where each has its own account. Their distances
    /// are to be left out of the price, and they are left out of the sums.
    pub fn retired(&self) -> Option<Vec<bool>> {
        let Terms::Exact(share) = &self.terms else { return None };
        self.account.retired(share.round)
    }

    /// Takes the price as spent, then draws the noise; under Poisson terms also the coins, one per
    /// unit. A ledger will stand here: it writes the price down, durably, before anything else.
    pub fn reserve(
        &mut self,
        price: Price,
        announced: &Announced<'_>,
        charged: Charged,
        units: Option<&[u32]>,
        source: &mut impl NoiseSource,
    ) -> Result<Reserved, Refusal> {
        let mut chosen = None;
        if let Some(retired) = self.retired() {
            let counts = match units {
                Some(units) => units.iter().map(|&unit| !retired[unit as usize]).collect(),
                None => retired.iter().map(|retired| !retired).collect(),
            };
            chosen = Some((counts, 1.0));
        }
        self.account.pay(price.cost, charged, || unit_costs(&price.noise, announced))?;
        if let Terms::Poisson { sampler, .. } = &self.terms {
            let plan = self.account.plan().ok_or(Refusal::Kind)?;
            let count = announced.distances.map_or(announced.records, Distances::len);
            let batch = steffle_privacy::Sampler::draw(sampler, count, &mut || source.bits())?;
            plan.admit(&batch)?;
            let mut drawn = vec![false; count];
            batch.members().iter().for_each(|&unit| drawn[unit] = true);
            let by_record = match units {
                Some(units) => units.iter().map(|&unit| drawn[unit as usize]).collect(),
                None => drawn,
            };
            chosen = Some((by_record, sampler.0.value()));
        }
        let Announced { messages, theta_numbers, classes, columns, cells, .. } = *announced;
        let shape = Shape {
            thetas: (messages, theta_numbers / messages.max(1)),
            tables: (cells, classes, columns),
        };
        Ok(Reserved::new(price.noise, shape, chosen, source))
    }

    /// Answers a question about announced records, of which it holds some, all or none.
    ///
    /// Everything is checked before `s` is read; nothing about the holdings shows in the shape of
    /// the reply, its noise or an error.
    pub fn answer(
        &mut self,
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
        // Every holder sees every announced record, so each finds the same bound over all of them,
        // and prices its reply by it whether it holds one, all or none.
        // Coins, where there are any, are tossed for all of them too: all are announced, and which
        // of them a holder counts is its secret.
        let measured = matches!(self.terms, Terms::Exact(_) | Terms::Poisson { .. });
        let distances =
            measured.then(|| announced_distances(question, handovers, self.classes(), columns));
        let units = announced_units(handovers);
        let about = Announced::new(
            announced.len(),
            distances.as_ref(),
            question,
            self.classes(),
            blocks.iter().map(Block::parameters).sum(),
        );
        let price = self.price(&about)?;
        let charged = announced_block(question.batch, handovers);
        let reserved = self.reserve(price, &about, charged, units.as_deref(), noise)?;
        let combinations = Combinations::new(question, self.classes(), columns);
        let mut sums = self.open(&reserved, question, blocks);
        let mut selection = Selection::default();
        for handover in handovers {
            let factors = handover.factors();
            let candidates = handover.candidates(&factors);
            self.add(&reserved, &combinations, &candidates, &mut sums, &mut selection, None);
        }
        Ok(sums.release(reserved, self.classes(), None))
    }

    /// Empty sums for a question, opened by a reserved price.
    pub fn open(&self, _paid: &Reserved, question: &Question, blocks: &[Block]) -> Unreleased {
        let size = question.cells.first().map_or(0, |cell| cell.combinations.len());
        Unreleased {
            tables: vec![kernel::zeros(size); question.cells.len()],
            thetas: vec![Gradient::of_blocks(blocks); question.messages()],
        }
    }

    /// Adds what the records of a chunk contribute under their real classes and, since it visits
    /// the same rows, what is `pending` for the records division.
    pub fn add(
        &self,
        reserved: &Reserved,
        combinations: &Combinations,
        candidates: &Candidates<'_>,
        sums: &mut Unreleased,
        selection: &mut Selection,
        mut pending: Option<Pending<'_>>,
    ) {
        let Candidates { who, cells, scores, caps, factors } = *candidates;
        let columns = combinations.columns();
        let classes = self.attributes.classes();
        let Selection { own, slots, by_slot, coefficients, scores: rounded, hidden, announced } =
            selection;
        match who {
            Who::Positions(positions) => {
                kernel::pick(classes, positions, own);
                combinations.slots(cells, own, slots);
                if let Some(chosen) = &reserved.chosen {
                    for (slot, &at) in slots.iter_mut().zip(positions) {
                        *slot = if chosen[at as usize] { *slot } else { combinations.no_slot() };
                    }
                }
            }
            Who::Ids(ids) => {
                slots.clear();
                slots.extend(cells.iter().zip(ids).map(|(&cell, id)| {
                    let held = self.positions.get(id).map(|&at| classes[at as usize]);
                    held.map_or(combinations.no_slot(), |class| combinations.slot(cell, class))
                }));
                if let Some(chosen) = &reserved.chosen {
                    for (slot, &chosen) in slots.iter_mut().zip(&chosen[*announced..]) {
                        *slot = if chosen { *slot } else { combinations.no_slot() };
                    }
                }
                *announced += ids.len();
            }
        }
        let lattice = reserved.lattice();
        let scores = match lattice {
            None => scores,
            Some(lattice) => {
                let scale = if lattice.score > 0.0 { 1.0 / lattice.score } else { 0.0 };
                rounded.clear();
                rounded.extend(scores.iter().map(|score| nearest(score * scale)));
                rounded
            }
        };
        by_slot.clear();
        by_slot.resize((combinations.no_slot() as usize + 1) * columns, 0.0);
        add_by_slot(slots, scores, columns, by_slot);
        combinations.fold_tables(by_slot, &mut sums.tables);
        if combinations.silent() || lattice.is_some_and(|lattice| lattice.coefficient == 0.0) {
            return pending.into_iter().for_each(Pending::add);
        }
        // Theta messages of different cells are different sums: one scatter for each.
        let on_grid: Vec<Factor<'_>>;
        let inputs = if lattice.is_some() && factors.len() > 1 {
            on_grid = round_hidden(factors, hidden);
            &on_grid
        } else {
            factors
        };
        for (message, theta) in sums.thetas.iter_mut().enumerate() {
            let table = combinations.message(message);
            coefficients.fill(factors, slots, table, columns, combinations.limit());
            if let Some(lattice) = lattice {
                coefficients.round(factors, caps, lattice.coefficient);
            }
            match pending.take() {
                Some(pending) => theta.add_beside(inputs, coefficients, pending),
                None => theta.add(inputs, coefficients),
            }
        }
        pending.into_iter().for_each(Pending::add);
    }
}

/// The factors with hidden units rounded to the grid of the rows.
fn round_hidden<'a>(factors: &[Factor<'a>], hidden: &'a mut Vec<Vec<f64>>) -> Vec<Factor<'a>> {
    hidden.resize_with(factors.len(), Vec::new);
    for (factor, room) in factors.iter().zip(hidden.iter_mut()) {
        if let Inputs::Dense(units) = factor.inputs {
            room.clear();
            room.extend(units.iter().map(|unit| nearest(unit / INPUT_GRID) * INPUT_GRID));
        }
    }
    let layers = factors.iter().zip(hidden.iter());
    layers
        .map(|(factor, room)| match factor.inputs {
            Inputs::Rows(_) => *factor,
            Inputs::Dense(_) => Factor { inputs: Inputs::Dense(room), ..*factor },
        })
        .collect()
}

/// What an announcement is charged to. A record's block is a function of its id, or of its unit's
/// smallest, so a holder finds it by itself: ids of several blocks are charged to every block.
fn announced_block(batch: Batch, handovers: &[Handover]) -> Charged {
    let Batch::Block(of) = batch else { return Charged::All };
    let mut block = None;
    for handover in handovers {
        let mut keys = HashMap::new();
        for (at, &id) in handover.ids().iter().enumerate() {
            let unit = handover.units().map_or(at as u32, |units| units[at]);
            let key = keys.entry(unit).or_insert(id);
            *key = id.min(*key);
        }
        for key in keys.into_values() {
            let own = Batches::block_with(key, of);
            if *block.get_or_insert(own) != own {
                return Charged::All;
            }
        }
    }
    block.map_or(Charged::All, |at| Charged::Block { of, at })
}

/// The unit of every announced record, numbered over all handovers, where any names units.
fn announced_units(handovers: &[Handover]) -> Option<Vec<u32>> {
    handovers.iter().any(|handover| handover.units().is_some()).then(|| {
        let mut all = Vec::new();
        let mut first = 0;
        for handover in handovers {
            let own: Vec<u32> = match handover.units() {
                Some(units) => units.to_vec(),
                None => (0..handover.len() as u32).collect(),
            };
            let count = own.iter().max().map_or(0, |&unit| unit + 1);
            all.extend(own.iter().map(|unit| first + unit));
            first += count;
        }
        all
    })
}

/// Distances of all announced records, in the Euclidean metric, by unit where units are named.
fn announced_distances(
    question: &Question,
    handovers: &[Handover],
    classes: usize,
    columns: usize,
) -> Distances {
    let pairs = Pairs::of(question, classes, columns);
    let mut room = DistanceRoom::default();
    let mut all = Distances::default();
    for handover in handovers {
        let mut own = Distances::default();
        let factors = handover.factors();
        own.add(&pairs, &handover.candidates(&factors), None, &mut room);
        all.append(&match handover.units() {
            Some(units) => own.by_unit(units),
            None => own,
        });
    }
    all
}
