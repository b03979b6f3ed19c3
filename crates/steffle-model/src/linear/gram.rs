//! Weighted Gram matrices of features over sparse rows: a record costs its non-zeros squared.

use rayon::prelude::*;

use super::dots::{dot, dots};
use super::{Features, Symmetric};
use crate::model::kernel::by_width;
use crate::record::{Layout, Rows};

/// Records whose numbers are multiplied together.
const CHUNK: usize = 128;

/// Fewest records that are worth a sum of their own.
const PART: usize = 8192;

/// Numbers that all partial sums may hold together: 64 MB.
const ROOM: usize = 8 << 20;

/// Most partial sums. They do not depend on the number of threads, so neither does the
/// order of any addition.
const PARTS: usize = 16;

impl Features<'_> {
    /// `sum_i weight_i f_i f_i'`.
    pub fn gram(&self, weights: &[f64]) -> Symmetric {
        gram_of_rows(self.rows(), self.members(), weights)
    }
}

/// `sum_i weight_i x_i x_i'` over the rows `members`, bias included.
fn gram_of_rows(rows: &Rows, members: &[u32], weights: &[f64]) -> Symmetric {
    let size = rows.layout().padded();
    let most = (ROOM / (size * size)).clamp(1, PARTS);
    let part = members.len().div_ceil(most).max(PART);
    let mut sums: Vec<Partial> = members
        .par_chunks(part)
        .map(|members| {
            let mut sums = Partial::new(rows.layout());
            for chunk in members.chunks(CHUNK) {
                sums.add(rows, chunk, weights);
            }
            sums
        })
        .collect();
    let mut total = Partial::new(rows.layout());
    sums.drain(..).for_each(|sums| total.merge(&sums));
    total.finish(rows.layout())
}

/// A Gram matrix while it grows, with a row and a column for absent levels that nobody reads.
struct Partial {
    /// Products of two entries of a row, each pair once, in either triangle; padded and square.
    pairs: Vec<f64>,
    /// Squares of the entries.
    squares: Vec<f64>,
    size: usize,
    /// The chunk's numbers, `[column][record]`, plain and weighted.
    columns: Vec<f64>,
    weighted: Vec<f64>,
    /// The chunk's weighted numbers, `[record][column]`.
    numbers: Vec<f64>,
    codes: Vec<u32>,
    weights: Vec<f64>,
}

impl Partial {
    fn new(layout: Layout) -> Self {
        let size = layout.padded();
        Self {
            pairs: vec![0.0; size * size],
            squares: vec![0.0; size],
            size,
            columns: vec![0.0; layout.numeric * CHUNK],
            weighted: vec![0.0; layout.numeric * CHUNK],
            numbers: Vec::with_capacity(layout.numeric * CHUNK),
            codes: Vec::with_capacity((layout.categorical + 1) * CHUNK),
            weights: Vec::with_capacity(CHUNK),
        }
    }

    fn add(&mut self, rows: &Rows, chunk: &[u32], weights: &[f64]) {
        let Layout { numeric, categorical, features } = rows.layout();
        self.numbers.clear();
        self.codes.clear();
        self.weights.clear();
        for (at, &record) in chunk.iter().enumerate() {
            let weight = weights[record as usize];
            for (column, &value) in rows.numeric(record as usize).iter().enumerate() {
                let value = f64::from(value);
                self.columns[column * CHUNK + at] = value;
                self.weighted[column * CHUNK + at] = weight * value;
                self.numbers.push(weight * value);
            }
            // The bias is a level that every record has.
            rows.codes_into(record as usize, &mut self.codes);
            self.codes.push(features as u32);
            self.weights.push(weight);
        }
        self.add_numbers(numeric, chunk.len());
        let (codes, size) = (&self.codes[..], self.size);
        by_width!(
            numeric,
            add_mixed or add_mixed_any,
            (&self.numbers, codes, categorical + 1, size, &mut self.pairs)
        );
        let (pairs, squares) = (&mut self.pairs, &mut self.squares);
        by_width!(
            categorical + 1,
            add_codes or add_codes_any,
            (codes, &self.weights, size, pairs, squares)
        );
    }

    /// Numbers with numbers: dot products of columns, four times eight of them while they are in
    /// the first-level cache.
    fn add_numbers(&mut self, numeric: usize, len: usize) {
        const ROWS: usize = 8;
        let Self { pairs, squares, size, columns, weighted, .. } = self;
        let column = |at: usize| &columns[at * CHUNK..][..len];
        let own = |at: usize| &weighted[at * CHUNK..][..len];
        for first in (0..numeric).step_by(ROWS) {
            let rows = first..(first + ROWS).min(numeric);
            for four in (0..rows.end).step_by(4) {
                let columns =
                    [four, four + 1, four + 2, four + 3].map(|j| column(j.min(numeric - 1)));
                for i in rows.clone().filter(|&i| i > four) {
                    let slots = &mut pairs[i * *size + four..][..(i - four).min(4)];
                    let sums = dots(columns, own(i));
                    slots.iter_mut().zip(sums).for_each(|(slot, sum)| *slot += sum);
                }
            }
            for i in rows {
                squares[i] += dot(column(i), own(i));
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.pairs.iter_mut().zip(&other.pairs).for_each(|(mine, theirs)| *mine += theirs);
        self.squares.iter_mut().zip(&other.squares).for_each(|(mine, theirs)| *mine += theirs);
    }

    fn finish(self, layout: Layout) -> Symmetric {
        let at = |i: usize, j: usize| self.pairs[i * self.size + j];
        Symmetric::from_lower(layout.weights(), |i, j| {
            // Two columns of a row may name the same level; such a pair counts twice, as every
            // pair does, in a place where both triangles meet.
            let square = if i == j { self.squares[i] } else { 0.0 };
            at(i, j) + at(j, i) + square
        })
    }
}

/// Numbers with levels: the row of a level gets the weighted numbers.
fn add_mixed<const N: usize>(
    numbers: &[f64],
    codes: &[u32],
    levels: usize,
    size: usize,
    pairs: &mut [f64],
) {
    for (numbers, codes) in numbers.as_chunks::<N>().0.iter().zip(codes.chunks_exact(levels)) {
        for &code in codes {
            if let Some((slots, _)) = pairs[code as usize * size..].split_first_chunk_mut::<N>() {
                slots.iter_mut().zip(numbers).for_each(|(slot, number)| *slot += number);
            }
        }
    }
}

fn add_mixed_any(
    width: usize,
    numbers: &[f64],
    codes: &[u32],
    levels: usize,
    size: usize,
    pairs: &mut [f64],
) {
    for (numbers, codes) in numbers.chunks_exact(width).zip(codes.chunks_exact(levels)) {
        for &code in codes {
            let slots = &mut pairs[code as usize * size..][..width];
            slots.iter_mut().zip(numbers).for_each(|(slot, number)| *slot += number);
        }
    }
}

/// Levels with levels.
fn add_codes<const K: usize>(
    codes: &[u32],
    weights: &[f64],
    size: usize,
    pairs: &mut [f64],
    squares: &mut [f64],
) {
    for (codes, &weight) in codes.as_chunks::<K>().0.iter().zip(weights) {
        for first in 0..K {
            let code = codes[first] as usize;
            squares[code] += weight;
            let row = &mut pairs[code * size..][..size];
            for &other in &codes[first + 1..] {
                row[other as usize] += weight;
            }
        }
    }
}

fn add_codes_any(
    width: usize,
    codes: &[u32],
    weights: &[f64],
    size: usize,
    pairs: &mut [f64],
    squares: &mut [f64],
) {
    for (codes, &weight) in codes.chunks_exact(width).zip(weights) {
        for (first, &code) in codes.iter().enumerate() {
            squares[code as usize] += weight;
            let row = &mut pairs[code as usize * size..][..size];
            for &other in &codes[first + 1..] {
                row[other as usize] += weight;
            }
        }
    }
}
