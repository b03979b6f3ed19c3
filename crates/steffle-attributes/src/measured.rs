//! How far one unit can move the private messages: taken from the integers that are summed.

use steffle_model::decode::table_factor;
use steffle_model::model::{Block, Coefficients, Factor, Inputs, kernel};
use steffle_model::record::GRID;
use steffle_model::scores::Candidates;

use super::integers::{Digest, Integers};
use super::lattice::{Centred, Lattice};

/// Squared distances of every record of a batch, in steps of the two messages' integers.
///
/// # Claim
/// Whatever two values (classes, or missing) record i may have, the theta messages differ by at
/// most `sqrt(theta)` and the tables by at most `sqrt(table)` between them, in Euclidean norm and
/// in exact arithmetic, all other records fixed.
///
/// # Proof
/// 1. A record adds `v_r (outer) (a, 1)` of every layer to the theta message of its cell, integers
///    both, and nothing is rounded afterwards; missing adds 0. The squared distance of two of the
///    k + 1 candidates is therefore the sum over layers of `|v_r - v_r'|^2 (|a|^2 + 1)`, and the
///    largest pair is kept. In whitened coordinates the candidate is `v_r (outer) B (x, 1)`, and
///    its length is at most `|v_r|` times the bound of [`Whitening::lengths`].
/// 2. It adds `(k [r = row] - 1) phi` to the rows of its cell's table, 0 if missing; with two
///    classes only the second row is sent, which is `+-phi`. From one class to another two rows
///    move by `k phi` (one by `2 phi`), from or to missing all move by less:
///    `k (k - 1) < 2 k^2`, and `1 < 4`.
/// 3. Terms are not negative, so rounding of the sums is relative: at most 2^22 operations on
///    numbers that are exact, below the factor `1 + 2^-30` of `MARGIN`.
///
/// Tests: `tests::no_store_moves_more_than_the_price`, and `fuzz`.
///
/// [`Whitening::lengths`]: steffle_model::linear::Whitening::lengths
#[derive(Debug, Default)]
pub struct Measured {
    /// The place of every entry in the store, where entries are not about all places in order.
    places: Option<Vec<u32>>,
    /// Largest squared distances of the theta message, T.
    theta: Vec<f64>,
    /// Largest squared distances of the table, U.
    table: Vec<f64>,
    pub(super) digest: Digest,
    /// Whether some number was out of range, or some record was not measured.
    pub(super) outside: bool,
}

/// The part of some records in what is measured. Parts are filled side by side.
pub struct Measuring<'a> {
    theta: &'a mut [f64],
    table: &'a mut [f64],
    seen: Seen,
}

/// What a part has seen, to be told to the whole.
#[derive(Debug, Default)]
pub struct Seen {
    digest: Digest,
    outside: bool,
}

/// Room for the integers of a chunk.
#[derive(Debug, Default)]
pub struct MeasureRoom(Integers);

/// Covers the rounding of all sums and products of a price.
const MARGIN: f64 = 1.0 + 1.0 / (1_u64 << 30) as f64;

/// Steps in one unit of an input, squared: rows and hidden units are multiples of the grid.
const STEPS: f64 = 1.0 / (GRID * GRID);

impl Measured {
    /// Nothing measured yet, about so many records: all of a store or of an announcement in their
    /// order, or those at these places. Old numbers may stay: whatever is not measured is refused.
    pub fn start(&mut self, records: usize, places: Option<&[u32]>) {
        self.places = places.map(<[u32]>::to_vec);
        self.theta.resize(records, 0.0);
        self.table.resize(records, 0.0);
        (self.digest, self.outside) = (Digest::default(), false);
    }

    /// Parts of so many records each, in order.
    pub fn parts(&mut self, size: usize) -> impl ExactSizeIterator<Item = Measuring<'_>> {
        let parts = self.theta.chunks_mut(size).zip(self.table.chunks_mut(size));
        parts.map(|(theta, table)| Measuring { theta, table, seen: Seen::default() })
    }

    /// What all parts have seen; refuses where that is not all records.
    pub fn finish(&mut self, seen: impl IntoIterator<Item = Seen>) {
        for seen in seen {
            self.digest.merge(&seen.digest);
            self.outside |= seen.outside;
        }
        self.outside |= self.digest.records() != self.theta.len() as u64;
    }

    /// Squared distances of the theta message, in the order of the batch.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// Nothing that was measured may be priced.
    pub fn refuse(&mut self) {
        self.outside = true;
    }

    /// One entry per unit, of which there are `count`: the rows of a unit move a sum by at most the
    /// sum of their distances.
    pub(super) fn by_unit(
        &self,
        unit_of: impl Fn(u32) -> u32,
        count: usize,
    ) -> (Vec<f64>, Vec<f64>) {
        let sum = |squares: &[f64]| {
            let mut units = vec![0.0; count];
            for (place, square) in squares.iter().enumerate() {
                units[unit_of(self.place(place)) as usize] += square.sqrt();
            }
            units.iter_mut().for_each(|length| *length = *length * *length * MARGIN);
            units
        };
        (sum(&self.theta), sum(&self.table))
    }

    /// The same where every record is its own unit. Where all are measured this takes the numbers;
    /// [`Measured::give_back`] returns their room.
    pub(super) fn by_record(&mut self, count: usize) -> (Vec<f64>, Vec<f64>) {
        if self.places.is_none() && self.theta.len() == count {
            return (std::mem::take(&mut self.theta), std::mem::take(&mut self.table));
        }
        let place = |squares: &[f64]| {
            let mut units = vec![0.0; count];
            for (place, &square) in squares.iter().enumerate() {
                units[self.place(place) as usize] = square;
            }
            units
        };
        (place(&self.theta), place(&self.table))
    }

    /// Room for the next batch: stores have millions of records.
    pub(super) fn give_back(&mut self, theta: Vec<f64>, table: Vec<f64>) {
        (self.theta, self.table) = (theta, table);
    }

    fn place(&self, entry: usize) -> u32 {
        self.places.as_ref().map_or(entry as u32, |places| places[entry])
    }
}

impl Measuring<'_> {
    /// Measures the next records. `lengths` are bounds of `|(x_i, 1)|` in the metric of the noise,
    /// for a model of one layer; without them the metric is Euclidean.
    pub(super) fn add(
        &mut self,
        centred: &Centred,
        lattice: &Lattice,
        chunk: &Candidates<'_>,
        lengths: Option<&[f64]>,
        MeasureRoom(room): &mut MeasureRoom,
    ) {
        self.seen.outside |= !room.fill(centred, Some(lattice), chunk);
        self.seen.digest.add(chunk.who, room);
        let records = room.cells.len();
        if records > self.theta.len() || lengths.is_some_and(|lengths| lengths.len() != records) {
            self.seen.outside = true;
            return;
        }
        let (theta, rest) = std::mem::take(&mut self.theta).split_at_mut(records);
        let (table, rest_of_table) = std::mem::take(&mut self.table).split_at_mut(records);
        (self.theta, self.table) = (rest, rest_of_table);
        if room.candidates.is_empty() {
            theta.fill(0.0);
        } else {
            let factors = room.on_grid(chunk.factors);
            largest_moves(centred.classes, room, &factors, lengths, theta);
        }
        let factor = table_factor(centred.classes) * MARGIN;
        if centred.columns == 2 {
            kernel::squared_pairs(room.scores.as_chunks::<2>().0, factor, table);
        } else {
            let rows = room.scores.chunks_exact(centred.columns);
            let squared = |row: &[f64]| row.iter().map(|phi| phi * phi).sum::<f64>();
            table.iter_mut().zip(rows).for_each(|(u, row)| *u = factor * squared(row));
        }
    }

    /// What it has seen.
    pub fn seen(self) -> Seen {
        self.seen
    }
}

fn largest_moves(
    classes: usize,
    integers: &Integers,
    factors: &[Factor<'_>],
    lengths: Option<&[f64]>,
    moves: &mut [f64],
) {
    let candidates = &integers.candidates;
    if let [factor @ Factor { block: Block { outputs: 1, .. }, .. }] = factors {
        return moves_on_a_line(classes, candidates, factor, lengths, moves);
    }
    for (record, moved) in moves.iter_mut().enumerate() {
        let mut most = 0.0_f64;
        // The k candidates and missing, which is 0; two classes are +v and -v, and 0 between them.
        let pairs = (0..candidates.len()).flat_map(|r| (0..=r).map(move |other| (r, other)));
        for (r, other) in pairs {
            let mut squared = 0.0;
            for (layer, factor) in factors.iter().enumerate() {
                let width = factor.block.outputs;
                let of = |at: usize| &candidates[at].layers()[layer][record * width..][..width];
                let apart: f64 = if r == other {
                    of(r).iter().map(|v| v * v).sum()
                } else {
                    of(r).iter().zip(of(other)).map(|(a, b)| (a - b) * (a - b)).sum()
                };
                squared += apart * squared_length(factor, record, lengths);
            }
            most = most.max(squared);
        }
        let factor = if classes == 2 { 4.0 } else { 1.0 };
        *moved = factor * most * (STEPS * MARGIN);
    }
}

/// Candidates are numbers: the farthest two are the smallest and the largest, with missing, 0,
/// among them.
fn moves_on_a_line(
    classes: usize,
    candidates: &[Coefficients],
    factor: &Factor<'_>,
    lengths: Option<&[f64]>,
    moves: &mut [f64],
) {
    if let (2, [only], Some(lengths)) = (classes, candidates, lengths) {
        // The usual case: +v and -v.
        return kernel::squared_moves(&only.layers()[0], lengths, STEPS * MARGIN, moves);
    }
    for (record, moved) in moves.iter_mut().enumerate() {
        let own = candidates.iter().map(|candidate| candidate.layers()[0][record]);
        let (low, high) = own.fold((0.0_f64, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        let far = if classes == 2 { 2.0 * (high - low) } else { high - low };
        *moved = far * far * squared_length(factor, record, lengths) * (STEPS * MARGIN);
    }
}

/// `|(a, 1)|^2` in the metric of the noise.
fn squared_length(factor: &Factor<'_>, record: usize, lengths: Option<&[f64]>) -> f64 {
    match (factor.inputs, lengths) {
        (Inputs::Rows(_), Some(lengths)) => lengths[record] * lengths[record],
        _ => factor.squared_input(record),
    }
}
