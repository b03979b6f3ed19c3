//! How far one record can move the private messages: computed from the candidates, without `s`.
//!
//! # Claim
//! Replacing the class of record i, by another or by "missing", moves the theta messages by at
//! most `theta[i]` and the class tables by at most `table[i]` (in units of [`table_factor`]), in
//! Euclidean norm and before rounding, whatever the classes of all others are.
//!
//! # Proof
//! A record adds `f_i J_i' (C_r - mean C)` to the message of its own cell: the move from r to r'
//! is `f_i |J_i' (C_r - C_r')|`, and its square is the sum over layers of
//! `|B (C_r - C_r')|^2 |(a, 1)|^2`. The largest pair is kept. A missing class adds 0, which is the
//! mean of the k candidates, so it is no farther from any of them than the farthest two are from
//! each other. In the table two rows move by `F_i`. Nothing else that is sent depends on `s`.
//!
//! The test that fails when a distance is halved: `attributes::tests::no_store_moves_more_than_the_price`.

use super::{Candidates, Objective};
use crate::model::{Block, Coefficients, Factor, Inputs};
use crate::protocol::Question;

/// Rows are multiples of this, and so are hidden units when they meet an integer coefficient.
pub(crate) use crate::record::GRID as INPUT_GRID;

/// What one record could change, for every record of a batch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Distances {
    /// Of the theta messages.
    pub theta: Vec<f64>,
    /// Of the class tables: `|phi_i|`.
    pub table: Vec<f64>,
    /// The largest coefficient that meets an input.
    pub coefficient: f64,
    /// The largest `sqrt(sum over layers of outputs |(a, 1)|^2)`: what rounding a coefficient by
    /// one moves.
    pub reach: f64,
    /// The largest input.
    pub input: f64,
    /// The largest score.
    pub score: f64,
    /// Rows of the largest unit, where entries are units.
    pub rows_per_unit: f64,
}

/// `C_r - C_0` of every class but the first: a table `[cell][column]` each, with a zero row at the
/// end for records in no cell. None where all classes are asked for the same.
///
/// A pullback is linear, so the k - 1 candidates of a record, seen from the first, give the
/// distances of all pairs.
#[derive(Debug, Clone)]
pub(super) struct Pairs {
    columns: usize,
    cells: usize,
    tables: Vec<Vec<f64>>,
}

/// Buffers of [`Distances::add`].
#[derive(Debug, Default)]
pub(super) struct DistanceRoom {
    slots: Vec<u32>,
    coefficients: Vec<Coefficients>,
    squared: Vec<f64>,
}

impl Pairs {
    pub(super) fn new(question: &Question, objective: &dyn Objective) -> Self {
        Self::of(question, objective.classes(), objective.columns())
    }

    pub(super) fn of(question: &Question, classes: usize, columns: usize) -> Self {
        let cells = question.cells.len();
        let mut tables = Vec::with_capacity(classes);
        for r in 1..classes {
            let mut table = Vec::with_capacity((cells + 1) * columns);
            for cell in &question.cells {
                let row = |class: usize| &cell.combinations[class * columns..][..columns];
                table.extend(row(r).iter().zip(row(0)).map(|(a, b)| a - b));
            }
            table.resize((cells + 1) * columns, 0.0);
            tables.push(table);
        }
        if tables.iter().flatten().all(|&difference| difference == 0.0) {
            tables.clear();
        }
        Self { columns, cells, tables }
    }
}

impl Distances {
    /// Adds the records of a chunk. `lengths` are `|(x_i, 1)|` in the metric of the noise, for a
    /// model of one layer; without them the metric is Euclidean.
    pub(super) fn add(
        &mut self,
        pairs: &Pairs,
        candidates: &Candidates<'_>,
        lengths: Option<&[f64]>,
        room: &mut DistanceRoom,
    ) {
        let Candidates { cells, scores, factors, caps, .. } = *candidates;
        let DistanceRoom { slots, coefficients, squared } = room;
        let none = pairs.cells as u32;
        slots.clear();
        slots.extend(cells.iter().map(|&cell| u32::from(cell).min(none)));
        let records = slots.len();
        let first = self.theta.len();
        self.theta.resize(first + records, 0.0);
        let theta = &mut self.theta[first..];
        coefficients.resize_with(pairs.tables.len(), Coefficients::default);
        for (own, table) in coefficients.iter_mut().zip(&pairs.tables) {
            own.fill(factors, slots, table, pairs.columns, None);
        }
        self.coefficient =
            self.coefficient.max(largest_moves(factors, lengths, coefficients, theta, squared));
        if !caps.is_empty() {
            theta.iter_mut().zip(caps).for_each(|(distance, cap)| *distance *= cap);
        }
        for record in 0..records {
            let reach: f64 = factors
                .iter()
                .map(|factor| factor.block.outputs as f64 * length(factor, record, lengths).powi(2))
                .sum();
            self.reach = self.reach.max(reach.sqrt());
        }
        for factor in factors {
            self.input = self.input.max(largest_input(factor, records));
        }
        let rows = scores.chunks_exact(pairs.columns).zip(&*slots);
        for (row, &slot) in rows {
            let norm = row.iter().map(|phi| phi * phi).sum::<f64>().sqrt();
            self.table.push(if slot == none { 0.0 } else { norm });
            self.score = row.iter().fold(self.score, |top, phi| phi.abs().max(top));
        }
    }

    /// Appends the records of another part of the batch.
    pub fn append(&mut self, other: &Self) {
        self.theta.extend_from_slice(&other.theta);
        self.table.extend_from_slice(&other.table);
        self.coefficient = self.coefficient.max(other.coefficient);
        self.reach = self.reach.max(other.reach);
        self.input = self.input.max(other.input);
        self.score = self.score.max(other.score);
    }

    /// Records.
    pub fn len(&self) -> usize {
        self.theta.len()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.theta.is_empty()
    }

    /// Scales the theta distances back to at most `cap` and returns the factors.
    pub fn cap(&mut self, cap: f64) -> Vec<f64> {
        let factor = |distance: &mut f64| {
            let by = if *distance > cap { cap / *distance } else { 1.0 };
            *distance *= by;
            by
        };
        self.theta.iter_mut().map(factor).collect()
    }

    /// Forgets units that take no part.
    pub fn leave_out(&mut self, units: &[bool]) {
        let all = self.theta.iter_mut().zip(&mut self.table).zip(units);
        for ((theta, table), _) in all.filter(|(_, out)| **out) {
            (*theta, *table) = (0.0, 0.0);
        }
    }

    /// One entry per unit: the rows of a unit move a sum by at most the sum of their distances.
    #[must_use]
    pub fn by_unit(&self, units: &[u32]) -> Self {
        let count = units.iter().max().map_or(0, |&unit| unit as usize + 1);
        let mut rows = vec![0_u32; count];
        units.iter().for_each(|&unit| rows[unit as usize] += 1);
        let mut summed = Self {
            theta: vec![0.0; count],
            table: vec![0.0; count],
            rows_per_unit: f64::from(rows.into_iter().max().unwrap_or(1)),
            coefficient: self.coefficient,
            reach: self.reach,
            input: self.input,
            score: self.score,
        };
        for ((&unit, theta), table) in units.iter().zip(&self.theta).zip(&self.table) {
            summed.theta[unit as usize] += theta;
            summed.table[unit as usize] += table;
        }
        summed
    }
}

/// How far the integer table message of k classes moves per unit of `|phi_i|`: with two classes it
/// is `sum (+-) phi`; with more it has k rows of `sum (k [s = r] - 1) phi`.
pub fn table_factor(classes: usize) -> f64 {
    if classes == 2 { 2.0 } else { classes as f64 * std::f64::consts::SQRT_2 }
}

/// Sets `moves` to the largest distance between two candidates of each record, of which those of the
/// first class are 0, and returns the largest coefficient of a difference.
fn largest_moves(
    factors: &[Factor<'_>],
    lengths: Option<&[f64]>,
    candidates: &[Coefficients],
    moves: &mut [f64],
    squared: &mut Vec<f64>,
) -> f64 {
    let mut largest: f64 = 0.0;
    if let [factor @ Factor { block: Block { outputs: 1, .. }, .. }] = factors {
        // Numbers on a line: the farthest two are the smallest and the largest.
        for (record, moved) in moves.iter_mut().enumerate() {
            let own = candidates.iter().map(|candidate| candidate.layer(0)[record]);
            let ends = |(low, high): (f64, f64), v: f64| (low.min(v), high.max(v));
            let (low, high) = own.fold((0.0, 0.0), ends);
            let (apart, length) = (high - low, length(factor, record, lengths));
            *moved = (apart * apart * length * length).sqrt();
            largest = largest.max(apart);
        }
        return largest;
    }
    let others = |r: usize| (0..r).map(Some).chain([None]).map(move |other| (r, other));
    for (r, other) in (0..candidates.len()).flat_map(others) {
        squared.clear();
        squared.resize(moves.len(), 0.0);
        for (layer, factor) in factors.iter().enumerate() {
            let width = factor.block.outputs;
            let own = candidates[r].layer(layer).chunks_exact(width);
            for (record, own) in own.enumerate() {
                let other = other.map(|o| &candidates[o].layer(layer)[record * width..]);
                let mut sum = 0.0;
                for (output, a) in own.iter().enumerate() {
                    let apart = a - other.map_or(0.0, |other| other[output]);
                    sum += apart * apart;
                    largest = largest.max(apart.abs());
                }
                let length = length(factor, record, lengths);
                squared[record] += sum * length * length;
            }
        }
        moves.iter_mut().zip(&*squared).for_each(|(moved, s)| *moved = moved.max(s.sqrt()));
    }
    largest
}

fn length(factor: &Factor<'_>, record: usize, lengths: Option<&[f64]>) -> f64 {
    match (factor.inputs, lengths) {
        (Inputs::Rows(_), Some(lengths)) => lengths[record],
        (Inputs::Rows(rows), None) => rows.squared_norm(record).sqrt(),
        // Hidden units are rounded before they are summed: each moves by half a grid step.
        (Inputs::Dense(_), _) => {
            factor.squared_input(record).sqrt() + INPUT_GRID * (factor.block.inputs as f64).sqrt()
        }
    }
}

fn largest_input(factor: &Factor<'_>, records: usize) -> f64 {
    match factor.inputs {
        Inputs::Rows(rows) => {
            let numbers = (0..records).flat_map(|row| rows.numeric(row));
            numbers.fold(1.0, |top, x| f64::from(x.abs()).max(top))
        }
        Inputs::Dense(units) => units.iter().fold(1.0, |top, unit| unit.abs().max(top)),
    }
}
