//! The two messages of a round: class tables and theta sums over the announced records.

use std::sync::Arc;

use steffle_model::linear::Whitening;
use steffle_model::model::{Block, Coefficients, Gradient, Pending, kernel};
use steffle_model::scores::Candidates;
use steffle_privacy::ledger::{Kind, Refusal};
use steffle_privacy::{Poisson, Sampler};
use steffle_wire::{CodecError, PrivateSums, SumRoom, Summed, Writer};

use super::door::{Held, Message, Released, Reserved, Store, Unpriced, Unreleased, Work};
use super::integers::{Digest, Integers};
use super::lattice::{Centred, Lattice};
use super::noised::{Drawn, Noise, noised};
use super::room::{Blocks, Room, zeros_in};
use super::units::UnitsOf;
use super::{Combinations, MISSING_CLASS};
use crate::noise::NoiseSource;

/// The message of a round.
///
/// It has class sums of scores and of gradients, both with noise.
#[derive(Debug)]
pub enum Sums {}

impl Message for Sums {}

/// What the price of a round fixed.
///
/// Form, noise and shape of the sums, fixed before `s` is read.
#[derive(Debug)]
pub struct AskedSums {
    pub(super) form: AskedForm,
    pub(super) noise: Noise,
    pub(super) shape: Shape,
    /// The silo's own, made without `s`: integer sums are noised in its coordinates and turned
    /// back, so that it never leaves.
    pub(super) whitening: Option<Arc<Whitening>>,
    /// Records that take no part, by position or by place in the announcement.
    pub(super) left_out: Option<Vec<bool>>,
    /// A coin per unit, and the units.
    pub(super) coins: Option<(Poisson, UnitsOf<'static>)>,
    /// What the price was taken from.
    pub(super) digest: Digest,
}

impl AskedSums {
    /// Refuses sums that are not over the integers that were priced.
    pub(super) fn fits(&self, sums: &SummedSums) -> Result<(), Unpriced> {
        if sums.digest == self.digest && !sums.outside { Ok(()) } else { Err(Unpriced) }
    }
}

/// How theta sums are formed.
#[derive(Debug)]
pub(super) enum AskedForm {
    /// `J'(C_s - mean C)` per cell, on a lattice where something is claimed.
    Centred(Centred, Option<Lattice>),
    /// The paper's. Nothing is claimed about it, so a class may be looked up by address.
    Clipped(Combinations),
}

/// The shape of a reply.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    /// Theta messages.
    pub(super) messages: usize,
    /// The model's layers.
    pub(super) blocks: Blocks,
    /// Cells, classes and columns of the tables.
    pub(super) tables: (usize, usize, usize),
}

impl Shape {
    /// Numbers in one theta message.
    pub(super) fn parameters(&self) -> usize {
        self.blocks.iter().map(Block::parameters).sum()
    }

    /// Rows of a table that are sent: with two classes one tells the other.
    pub(super) fn rows(&self) -> usize {
        if self.tables.1 == 2 { 1 } else { self.tables.1 }
    }

    /// Numbers that are sent in all theta messages, and in all tables.
    pub(super) fn numbers(&self) -> (u64, u64) {
        let (cells, _, columns) = self.tables;
        ((self.messages * self.parameters()) as u64, (cells * self.rows() * columns) as u64)
    }
}

/// What was drawn for a round.
///
/// Noise and coins, drawn before anybody's class is looked at.
pub struct DrawnSums {
    pub(super) noise: Drawn,
    /// Which records count, by position or by place; `None` for all.
    chosen: Option<Vec<bool>>,
    /// What the sums are multiplied by at the end: 1 over the coin's rate.
    pub(super) scale: f64,
}

/// Sums over the real classes.
///
/// They have no accessor and leave the division with their noise only.
pub struct SummedSums {
    /// `k` times the centred class sums: `sum_i (k [s_i = r] - 1) phi_i`, a missing class 0. With
    /// two classes only the second row is summed.
    pub(super) tables: Vec<Vec<f64>>,
    pub(super) thetas: Vec<Gradient>,
    digest: Digest,
    outside: bool,
}

/// A chunk, what is pending for its records division, and room.
///
/// Chunks are small, so that what one division made is in the cache when the other reads it.
pub struct SumsChunk<'a> {
    /// What the records would contribute under each class.
    pub candidates: &'a Candidates<'a>,
    /// The loss gradient of the same records, to be added while they are in the cache.
    pub pending: Option<Pending<'a>>,
    /// Room.
    pub room: &'a mut Selection,
}

/// Room for what the division selects for a chunk. It holds classes, so it has no accessor and
/// never leaves the division but to be handed back.
#[derive(Default)]
pub struct Selection {
    own: Vec<u16>,
    /// Per record what its candidate is multiplied by.
    weights: Vec<f64>,
    slots: Vec<u32>,
    by_slot: Vec<f64>,
    weighted: Vec<f64>,
    integers: Integers,
    selected: Coefficients,
    masked: Coefficients,
}

impl Work for Sums {
    const KIND: Kind = Kind::Sums;
    type Asked = AskedSums;
    type Drawn = DrawnSums;
    type Sums = SummedSums;
    type Chunk<'a> = SumsChunk<'a>;
    type Reply = PrivateSums;

    fn draw(
        asked: &AskedSums,
        source: &mut impl NoiseSource,
        room: &mut Room,
    ) -> Result<DrawnSums, Refusal> {
        let noise = Drawn::new(&asked.noise, &asked.shape, source, &mut room.noise);
        let mut chosen = asked.left_out.as_ref().map(|out| out.iter().map(|out| !out).collect());
        let mut scale = 1.0;
        if let Some((coin, units)) = &asked.coins {
            let batch = coin.draw(units.count(), &mut || source.bits())?;
            let mut drawn = vec![false; units.count()];
            batch.members().iter().for_each(|&unit| drawn[unit] = true);
            chosen = Some(units.by_record(drawn));
            scale = 1.0 / coin.0.value();
        }
        Ok(DrawnSums { noise, chosen, scale })
    }

    fn add(
        held: &Held<'_>,
        asked: &AskedSums,
        drawn: &DrawnSums,
        chunk: SumsChunk<'_>,
        sums: &mut SummedSums,
    ) {
        let SumsChunk { candidates, pending, room } = chunk;
        held.classes_of(candidates.who, &mut room.own);
        if let Some(chosen) = &drawn.chosen {
            for (record, own) in room.own.iter_mut().enumerate() {
                let counts = chosen[candidates.who.position(record)];
                *own = if counts { *own } else { MISSING_CLASS };
            }
        }
        match &asked.form {
            AskedForm::Clipped(combinations) => {
                add_clipped(combinations, candidates, pending, sums, room);
            }
            AskedForm::Centred(centred, lattice) => {
                let lattice = lattice.as_ref();
                sums.outside |= !room.integers.fill(centred, lattice, candidates);
                if lattice.is_some() {
                    sums.digest.add(candidates.who, &mut room.integers);
                }
                add_tables(held.class_count(), centred, sums, room);
                add_thetas(held.class_count(), candidates, lattice.is_some(), pending, sums, room);
            }
        }
    }

    fn finish(
        asked: Box<AskedSums>,
        drawn: DrawnSums,
        sums: SummedSums,
        (writer, room): (&mut Writer, &mut Room),
    ) -> Result<bool, Unpriced> {
        asked.fits(&sums)?;
        let any = asked.noise != Noise::None;
        let reply = noised(&asked, drawn, &mut room.summed, sums);
        reply.write(writer);
        room.noise = [reply.thetas, reply.tables];
        room.keep(asked);
        Ok(any)
    }
}

impl Released<Sums> {
    /// What was released, times `scale`, as the part of one of `sites` sites: post-processing. In the
    /// room of an old one, and of what was read for it.
    pub fn summed(
        &self,
        scale: f64,
        sites: usize,
        (room, old): (SumRoom, &mut PrivateSums),
    ) -> Result<Summed<PrivateSums>, CodecError> {
        Ok(self.read_over(old)?.summed(scale, sites, room))
    }
}

/// A message of a round: its sums are the same, whatever noise they get.
pub trait RoundMessage:
    Message + for<'a> Work<Asked = AskedSums, Sums = SummedSums, Chunk<'a> = SumsChunk<'a>>
{
}

impl RoundMessage for Sums {}

impl<M: RoundMessage> Unreleased<M> {
    /// The same as [`empty`](Self::empty), in the room of sums that were sent.
    pub fn empty_in(store: &mut Store, paid: &Reserved<M>) -> Self {
        let Some(SummedSums { tables, mut thetas, .. }) = store.room.summed.take() else {
            return Self::empty(paid);
        };
        let AskedSums { shape, .. } = paid.asked();
        let (cells, classes, columns) = shape.tables;
        thetas.truncate(shape.messages);
        thetas.iter_mut().for_each(|theta| theta.clear_for(&shape.blocks));
        thetas.resize_with(shape.messages, || Gradient::of_blocks(&shape.blocks));
        let tables = zeros_in(tables, cells, classes * columns);
        Self(SummedSums { tables, thetas, digest: Digest::default(), outside: false })
    }

    /// Empty sums of what a paid price asked for.
    pub fn empty(paid: &Reserved<M>) -> Self {
        let AskedSums { shape, .. } = paid.asked();
        let (cells, classes, columns) = shape.tables;
        Self(SummedSums {
            tables: vec![kernel::zeros(classes * columns); cells],
            thetas: vec![Gradient::of_blocks(&shape.blocks); shape.messages],
            digest: Digest::default(),
            outside: false,
        })
    }

    /// Adds the sums of another part of the batch.
    pub fn merge(&mut self, other: &Self) {
        let (mine, theirs) = (&mut self.0, &other.0);
        for (mine, theirs) in mine.tables.iter_mut().zip(&theirs.tables) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
        for (mine, theirs) in mine.thetas.iter_mut().zip(&theirs.thetas) {
            mine.merge(theirs);
        }
        mine.digest.merge(&theirs.digest);
        mine.outside |= theirs.outside;
    }
}

/// Adds `(k [s = r] - 1) phi` of every record to row r of its cell's table. All rows are visited,
/// whatever the class: it enters as a factor, never as an address.
fn add_tables(classes: usize, centred: &Centred, sums: &mut SummedSums, room: &mut Selection) {
    let Selection { own, weights, weighted, by_slot, integers, .. } = room;
    let columns = centred.columns;
    for row in usize::from(classes == 2)..classes {
        weights.resize(own.len(), 0.0);
        kernel::centred_weights(own, classes as u16, row as u16, weights);
        weighted.resize(integers.scores.len(), 0.0);
        if columns == 2 {
            let (pairs, into) = (integers.scores.as_chunks().0, weighted.as_chunks_mut().0);
            kernel::weigh_pairs(pairs, weights, into);
        } else {
            let rows = integers.scores.chunks_exact(columns).zip(&*weights);
            for (into, (row, weight)) in weighted.chunks_exact_mut(columns).zip(rows) {
                into.iter_mut().zip(row).for_each(|(into, score)| *into = score * weight);
            }
        }
        by_slot.clear();
        by_slot.resize((centred.cells + 1) * columns, 0.0);
        kernel::add_by_slot(&integers.cells, weighted, columns, by_slot);
        for (table, own) in sums.tables.iter_mut().zip(by_slot.chunks_exact(columns)) {
            let row = &mut table[row * columns..][..columns];
            row.iter_mut().zip(own).for_each(|(sum, value)| *sum += value);
        }
    }
}

/// Adds the candidate of every record's class to the theta message of its cell.
fn add_thetas(
    classes: usize,
    chunk: &Candidates<'_>,
    rounded: bool,
    mut pending: Option<Pending<'_>>,
    sums: &mut SummedSums,
    room: &mut Selection,
) {
    let Selection { own, weights, integers, selected, masked, .. } = room;
    if integers.candidates.is_empty() {
        return pending.into_iter().for_each(Pending::add);
    }
    for (row, candidate) in integers.candidates.iter().enumerate() {
        // The second of two classes has +v, the first -v, a missing one 0: the weights that its row
        // of the table had.
        if classes > 2 {
            weights.clear();
            let is = |&class: &u16| u8::from(usize::from(class) == row);
            weights.extend(own.iter().map(|class| f64::from(is(class))));
        }
        selected.select(candidate, weights, row > 0);
    }
    let on_grid;
    let factors = if rounded && chunk.factors.len() > 1 {
        on_grid = integers.on_grid(chunk.factors);
        &on_grid[..]
    } else {
        chunk.factors
    };
    let alone = sums.thetas.len() == 1;
    for (cell, theta) in sums.thetas.iter_mut().enumerate() {
        let own = if alone {
            // Candidates of records in no cell are 0.
            &mut *selected
        } else {
            weights.clear();
            let here = |&other: &u32| f64::from(u8::from(other as usize == cell));
            weights.extend(integers.cells.iter().map(here));
            masked.select(selected, weights, false);
            &mut *masked
        };
        match pending.take() {
            Some(pending) => theta.add_beside(factors, own, pending),
            None => theta.add(factors, own),
        }
    }
    pending.into_iter().for_each(Pending::add);
}

/// The paper's form: one theta message of clipped pullbacks.
fn add_clipped(
    combinations: &Combinations,
    chunk: &Candidates<'_>,
    mut pending: Option<Pending<'_>>,
    sums: &mut SummedSums,
    room: &mut Selection,
) {
    let Candidates { cells, scores, factors, .. } = *chunk;
    let Selection { own, slots, by_slot, selected, .. } = room;
    let columns = combinations.columns();
    combinations.slots(cells, own, slots);
    by_slot.clear();
    by_slot.resize((combinations.no_slot() as usize + 1) * columns, 0.0);
    kernel::add_by_slot(slots, scores, columns, by_slot);
    combinations.fold_tables(by_slot, &mut sums.tables);
    for theta in &mut sums.thetas {
        selected.fill(factors, slots, combinations.table(), columns, Some(combinations.limit()));
        match pending.take() {
            Some(pending) => theta.add_beside(factors, selected, pending),
            None => theta.add(factors, selected),
        }
    }
    pending.into_iter().for_each(Pending::add);
}
