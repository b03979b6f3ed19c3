//! How a model decides, by class: counts of records by cell, class and decision, with integer noise.
//!
//! # Claim
//! One reply costs `mu^2 = cost`, at most the share that the terms name: it is `mu`-GDP for every
//! unit, up to the slack of [`steffle_privacy::discrete`], whatever cells and decisions were received.
//!
//! # Proof
//! 1. Cells, decisions and units are what was received and the store's own list; nothing here reads
//!    `s` before the noise is drawn, and no branch depends on what is held.
//! 2. Sent are the rows r = 1 (two classes) or all r of `sum_i (k [s_i = r] - 1) e_i`, where `e_i` is
//!    1 at the record's cell and decision and 0 elsewhere (everywhere for a record in no cell), and
//!    a missing class adds 0. These are integers below 2^60, summed exactly.
//! 3. With `c_u` the sum of the `e_i` of a unit's rows, replacing its class moves them by `2 |c_u|`
//!    (two classes, one row) or `sqrt(2) k |c_u|` (two rows), from or to "missing" by less: in
//!    counts, by 1 or sqrt(2) for a person with one row. `|c_u|^2` is a sum of squared counts.
//! 4. Discrete Gaussian noise of integer scale is mu-GDP with `mu = move / sigma`; nothing is
//!    rounded between the sum and the noise.
//!
//! Tests: `counts::tests::no_store_moves_more_than_the_price` (it fails when the distance of 3. is
//! halved, or the rows of a unit are priced one by one), `counts::tests::a_reply_does_not_tell_what_is_held`,
//! and `attacks::fuzz::no_count_moves_more_than_its_price` of the site.

use steffle_model::decode::table_factor;
use steffle_model::scores::{NO_CELL, Who};
use steffle_privacy::discrete::slack;
use steffle_privacy::ledger::{Charge, Cost, Kind, Refusal};
use steffle_wire::{CodecError, NoisyCounts, Summed, Writer};

use super::bounds::CLASSES;
use super::door::{Held, Message, Price, Released, Request, Unpriced, Work};
use super::features::sent;
use super::price::{IntegerNoise, PriceError};
use super::room::Room;
use super::units::UnitsOf;
use super::{Terms, UnitList};
use crate::noise::NoiseSource;

/// Most numbers in a reply.
const NUMBERS: usize = 1 << 20;

/// Most records: k times as many is far below 2^60.
const RECORDS: usize = 1 << 40;

/// The message of private metrics.
///
/// It has the counts of a model's decisions by label and class, with noise.
#[derive(Debug)]
pub enum CountMessage {}

impl Message for CountMessage {}

impl Released<CountMessage> {
    /// What was released, as the part of one of `sites` stores.
    pub fn summed(&self, sites: usize) -> Result<Summed<NoisyCounts>, CodecError> {
        Ok(self.read()?.summed(sites))
    }
}

/// Decisions about some records.
///
/// A records division sends them to whoever holds the attributes, without `s`.
#[derive(Debug, Clone, Copy)]
pub struct Decided<'a> {
    /// Who they are.
    pub who: Who<'a>,
    /// Cells in all.
    pub cells: u16,
    /// The cell of each, [`NO_CELL`] for none.
    pub cell_of: &'a [u16],
    /// Decisions there are.
    pub columns: u16,
    /// The decision about each.
    pub decided: &'a [u16],
}

/// What the price of a reply fixed.
///
/// Cells, decisions and noise: all that a release of counts may use beside `s`.
#[derive(Debug)]
pub struct AskedCounts {
    classes: usize,
    /// Cells and decisions.
    shape: (usize, usize),
    /// `None` is no noise: nothing is claimed, or nothing can move.
    pub(super) noise: Option<IntegerNoise>,
    /// Of the cells and decisions that were priced.
    digest: u64,
}

/// Sums over the real classes, `[cell][class that is sent][decision]`.
///
/// They stay in the division until the noise is added.
pub struct SummedCounts {
    pub(super) counts: Vec<i128>,
    digest: u64,
}

impl AskedCounts {
    /// Sums to add to.
    pub(super) fn empty(&self) -> SummedCounts {
        let (cells, columns) = self.shape;
        let counts = vec![0; cells * sent(self.classes).len() * columns];
        SummedCounts { counts, digest: START }
    }
}

/// What the counts of these decisions would be released under. Reads no `s`.
pub(super) fn price(
    terms: &Terms,
    classes: usize,
    units: &UnitList,
    silos: &[Decided<'_>],
    request: Request,
) -> Result<Price<CountMessage>, PriceError> {
    let shape = shape(classes, silos)?;
    let squares = squares(shape, units, silos)?;
    let digest = silos.iter().fold(START, digest);
    let asked = |noise| AskedCounts { classes, shape, noise, digest };
    let share = match terms {
        Terms::Exact(share) => share.round * (1.0 - 1e-9),
        Terms::Open => return Ok(Price::new(asked(None), Cost::Revealed, Charge::All, request)),
        Terms::OfMean(_) | Terms::Poisson { .. } => {
            return Err(PriceError::Announced(
                "counts of decisions are about all records, with noise for their exact sensitivity",
            ));
        }
    };
    // Squares of whole numbers below 2^40, times a small one.
    let top = table_factor(classes) * squares as f64 * (1.0 + 1e-12);
    if top == 0.0 {
        return Ok(Price::new(asked(None), Cost::Free, Charge::All, request));
    }
    let records = silos.iter().map(|silo| silo.decided.len()).sum();
    let noise = IntegerNoise::of_scale((top / share).sqrt(), 1.0 / classes as f64);
    let noise = noise.ok_or(PriceError::Range { records })?;
    let squared = top * noise.unit_cost() * (1.0 + 1e-12);
    let numbers = (shape.0 * sent(classes).len() * shape.1) as u64;
    let slack = slack(numbers, noise.sigma as f64);
    let cost = Cost::Gaussian { squared, slack, numbers };
    Ok(Price::new(asked(Some(noise)), cost, Charge::All, request))
}

/// Cells and decisions of all silos; refuses what differs, is not in range or is unheard of.
fn shape(classes: usize, silos: &[Decided<'_>]) -> Result<(usize, usize), PriceError> {
    let Some(&Decided { cells, columns, .. }) = silos.first() else {
        return Err(PriceError::Announced("nobody announced a record"));
    };
    let (rows, cells_in_all) = (sent(classes).len(), usize::from(cells));
    let numbers = cells_in_all * rows * usize::from(columns);
    if !(2..=CLASSES).contains(&classes) || numbers > NUMBERS || cells == 0 || columns == 0 {
        return Err(PriceError::Bound("an unheard-of number of classes, cells or decisions"));
    }
    let mut records = 0_usize;
    for silo in silos {
        let count = silo.decided.len();
        let announced = match silo.who {
            Who::Positions(positions) => positions.len(),
            Who::Ids(ids, _) => ids.len(),
        };
        if silo.cell_of.len() != count || announced != count {
            return Err(PriceError::Announced("records, cells and decisions differ in number"));
        }
        let fits = (silo.cells, silo.columns) == (cells, columns)
            && silo.cell_of.iter().all(|&cell| cell < cells || cell == NO_CELL)
            && silo.decided.iter().all(|&decision| decision < columns);
        if !fits {
            return Err(PriceError::Bound("a cell or a decision that there is not"));
        }
        records = records.saturating_add(count);
    }
    if records > RECORDS {
        return Err(PriceError::Range { records });
    }
    Ok((cells_in_all, usize::from(columns)))
}

/// The largest `|c_u|^2` of all units.
fn squares(
    (_, columns): (usize, usize),
    units: &UnitList,
    silos: &[Decided<'_>],
) -> Result<u64, PriceError> {
    let own;
    let units: &[u32] = if let [Decided { who: Who::Positions(positions), .. }] = silos {
        // All records in their order, so that none counts twice.
        if !positions.iter().zip(0..).all(|(&position, at)| position == at) {
            return Err(PriceError::Announced("counts are about all records, in their order"));
        }
        match units.of_positions()? {
            UnitsOf::Each(count) if count == positions.len() => {
                let inside = silos[0].cell_of.iter().any(|&cell| cell != NO_CELL);
                return Ok(u64::from(inside));
            }
            UnitsOf::Listed { of, .. } if of.len() == positions.len() => {
                own = of;
                &own
            }
            _ => return Err(PriceError::Announced("counts are about all records of the store")),
        }
    } else {
        // All at once: an id that two silos announce would be counted in both.
        let mut ids = Vec::new();
        for silo in silos {
            let Who::Ids(announced, _) = silo.who else {
                return Err(PriceError::Announced(
                    "several silos are told apart by ids, not positions",
                ));
            };
            ids.extend_from_slice(announced);
        }
        let UnitsOf::Listed { of, .. } = units.announced(&ids)? else {
            return Err(PriceError::Announced("the list of units has no ids"));
        };
        own = of;
        &own
    };
    let slots = silos.iter().flat_map(|silo| silo.cell_of.iter().zip(silo.decided));
    let inside = units.iter().zip(slots).filter(|(_, (cell, _))| **cell != NO_CELL);
    let mut places: Vec<(u32, u32)> = inside
        .map(|(&unit, (&cell, &decision))| {
            (unit, u32::from(cell) * columns as u32 + u32::from(decision))
        })
        .collect();
    places.sort_unstable();
    let of_unit = |rows: &[(u32, u32)]| -> u64 {
        rows.chunk_by(|a, b| a.1 == b.1).map(|same| (same.len() as u64).pow(2)).sum()
    };
    Ok(places.chunk_by(|a, b| a.0 == b.0).map(of_unit).max().unwrap_or(0))
}

impl Work for CountMessage {
    const KIND: Kind = Kind::Counts;
    type Asked = AskedCounts;
    type Drawn = Vec<i128>;
    type Sums = SummedCounts;
    type Chunk<'a> = Decided<'a>;
    type Reply = NoisyCounts;

    fn draw(
        asked: &AskedCounts,
        source: &mut impl NoiseSource,
        _: &mut Room,
    ) -> Result<Vec<i128>, Refusal> {
        let numbers = asked.shape.0 * sent(asked.classes).len() * asked.shape.1;
        Ok(match asked.noise {
            Some(noise) => source.discrete_gaussians(noise.sigma, numbers),
            None => vec![0; numbers],
        })
    }

    fn add(
        held: &Held<'_>,
        asked: &AskedCounts,
        _: &Vec<i128>,
        chunk: Decided<'_>,
        sums: &mut SummedCounts,
    ) {
        let mut classes = Vec::new();
        held.classes_of(chunk.who, &mut classes);
        sums.digest = digest(sums.digest, &chunk);
        let (k, columns) = (asked.classes as i128, asked.shape.1);
        let rows = sent(asked.classes);
        for (at, row) in rows.clone().enumerate() {
            let records = classes.iter().zip(chunk.cell_of.iter().zip(chunk.decided));
            for (&class, (&cell, &decision)) in records.filter(|(_, (cell, _))| **cell != NO_CELL) {
                // The class enters as a factor, never as an address.
                let known = i128::from(usize::from(class) < asked.classes);
                let is = i128::from(usize::from(class) == row);
                let place = (usize::from(cell) * rows.len() + at) * columns;
                sums.counts[place + usize::from(decision)] += k * is - known;
            }
        }
    }

    fn finish(
        asked: Box<AskedCounts>,
        drawn: Vec<i128>,
        sums: SummedCounts,
        (writer, _): (&mut Writer, &mut Room),
    ) -> Result<bool, Unpriced> {
        if sums.digest != asked.digest || sums.counts.len() != drawn.len() {
            return Err(Unpriced);
        }
        let k = asked.classes as f64;
        let counts = sums.counts.iter().zip(&drawn).map(|(&sum, &draw)| match asked.noise {
            Some(noise) => noise.add(sum, draw),
            None => sum as f64 / k,
        });
        let deviation = asked.noise.map_or(0.0, |noise| noise.deviation());
        NoisyCounts { counts: counts.collect(), deviation }.write(writer);
        Ok(asked.noise.is_some())
    }
}

/// Where a digest begins.
const START: u64 = 0x9e37_79b9_7f4a_7c15;

/// That the sums are over the decisions that were priced: against a fault, not an adversary.
fn digest(seen: u64, chunk: &Decided<'_>) -> u64 {
    let pairs = chunk.cell_of.iter().zip(chunk.decided);
    pairs.fold(seen ^ chunk.decided.len() as u64, |hash, (&cell, &decision)| {
        let pair = u64::from(cell) << 16 | u64::from(decision);
        (hash ^ pair).wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(29)
    })
}

#[cfg(test)]
mod tests;
