//! The Cholesky factor of a positive definite matrix, by blocks of columns.
//!
//! Every entry is its matrix entry minus products, one after the other in the order of the columns,
//! then one division: the three loops of a textbook, to the bit, whatever the tiles, the threads and
//! the lanes are (tested).

use std::ops::Range;

use rayon::prelude::*;

use super::Symmetric;
use super::dots::dot;
use crate::model::kernel::vector::{COLUMNS, ROWS, solve_rows, subtract_products};

/// Columns that are factored together.
const BLOCK: usize = 48;

/// The matrix is not positive definite, or not finite.
///
/// Columns that say the same are the usual reason.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the matrix is not positive definite: pivot {pivot} of {size} is not above 0")]
pub struct NotPositive {
    /// The first pivot that failed.
    pub pivot: usize,
    /// Rows of the matrix.
    pub size: usize,
}

/// `L` with `L L' = M`, lower triangular.
///
/// Solves systems with `M` and whitens by it.
#[derive(Debug, Clone)]
pub struct Cholesky {
    size: usize,
    /// Row-major; the upper triangle is 0.
    values: Vec<f64>,
}

impl Cholesky {
    /// Factors a matrix; refuses one that is not positive definite or not finite.
    pub fn new(matrix: Symmetric) -> Result<Self, NotPositive> {
        let size = matrix.size();
        let mut values = matrix.into_values();
        for start in (0..size).step_by(BLOCK) {
            let end = (start + BLOCK).min(size);
            subtract_left(&mut values, size, start, end);
            factor_diagonal(&mut values, size, start, end)?;
            divide_below(&mut values, size, start, end);
        }
        for i in 0..size {
            values[i * size + i + 1..(i + 1) * size].fill(0.0);
        }
        Ok(Self { size, values })
    }

    /// Rows, and columns.
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Row `i` up to the diagonal.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.size..][..=i]
    }

    /// `L^-1 v`, in place.
    pub fn solve_lower(&self, v: &mut [f64]) {
        for i in 0..self.size {
            let row = self.row(i);
            v[i] = (v[i] - dot(&row[..i], &v[..i])) / row[i];
        }
    }

    /// `L'^-1 v`, in place.
    pub fn solve_upper(&self, v: &mut [f64]) {
        for i in (0..self.size).rev() {
            let row = self.row(i);
            v[i] /= row[i];
            let (head, own) = v.split_at_mut(i);
            head.iter_mut().zip(row).for_each(|(entry, l)| *entry -= own[0] * l);
        }
    }

    /// `M^-1 v`, in place.
    pub fn solve(&self, v: &mut [f64]) {
        self.solve_lower(v);
        self.solve_upper(v);
    }

    /// `L^-1`, transposed: row `j` of the result is column `j` of the inverse, zero before `j`. It solves
    /// `X L' = I`, block by block of columns, as the factor itself is found.
    pub(super) fn inverse_transposed(&self) -> Vec<f64> {
        let (size, factor) = (self.size, &self.values);
        let mut inverse = vec![0.0; size * size];
        inverse.iter_mut().step_by(size + 1).for_each(|entry| *entry = 1.0);
        for start in (0..size).step_by(BLOCK) {
            let end = (start + BLOCK).min(size);
            let panel = panel(factor, size, start, end);
            let block = diagonal_block(factor, size, start, end);
            // Rows further down are zero in these columns.
            let rows = inverse[..end * size].par_chunks_mut(size * TOGETHER).enumerate();
            rows.for_each(|(at, rows)| {
                let first = (at * TOGETHER).min(start);
                for tile in rows.chunks_mut(size * ROWS).filter(|_| first < start) {
                    subtract_tile(tile, size, first, start..end, &panel);
                }
                for tile in rows.chunks_mut(size * COLUMNS) {
                    divide_tile(tile, size, start..end, &block);
                }
            });
        }
        inverse
    }
}

/// Rows of an inverse that are solved together: a multiple of both sides of a tile.
const TOGETHER: usize = 24;

/// Takes what the columns before `start` explain out of columns `start..end`, from row `start` on:
/// tile by tile, all sums of a tile in registers.
fn subtract_left(values: &mut [f64], size: usize, start: usize, end: usize) {
    if start == 0 {
        return;
    }
    let panel = panel(values, size, start, end);
    values[start * size..]
        .par_chunks_mut(size * ROWS)
        .for_each(|rows| subtract_tile(rows, size, 0, start..end, &panel));
}

/// Takes products of what a few rows have in columns `first..` up to `columns` with the panel out of
/// `columns`.
fn subtract_tile(
    rows: &mut [f64],
    size: usize,
    first: usize,
    columns: Range<usize>,
    panel: &[[f64; COLUMNS]],
) {
    let (start, width) = (columns.start, columns.len());
    let mut rows: Vec<(&[f64], &mut [f64])> = rows
        .chunks_exact_mut(size)
        .map(|row| row.split_at_mut(start))
        .map(|(left, right)| (&left[first..], &mut right[..width]))
        .collect();
    // A short tile reads its first row again, and keeps nothing of that.
    let left = std::array::from_fn(|at| rows.get(at).unwrap_or(&rows[0]).0);
    for (tile, panel) in panel.chunks_exact(start).enumerate() {
        let columns = tile * COLUMNS..((tile + 1) * COLUMNS).min(width);
        let mut sums = [[0.0; COLUMNS]; ROWS];
        for (sums, (_, own)) in sums.iter_mut().zip(&rows) {
            sums[..columns.len()].copy_from_slice(&own[columns.clone()]);
        }
        subtract_products(left, &panel[first..], &mut sums);
        for (sums, (_, own)) in sums.iter().zip(&mut rows) {
            own[columns.clone()].copy_from_slice(&sums[..columns.len()]);
        }
    }
}

/// Rows `start..end` of what is left of column `start`, transposed in tiles: `[tile][k][column]`,
/// zero where a tile is short.
fn panel(values: &[f64], size: usize, start: usize, end: usize) -> Vec<[f64; COLUMNS]> {
    let mut panel = vec![[0.0; COLUMNS]; (end - start).div_ceil(COLUMNS) * start];
    for i in start..end {
        let (tile, column) = ((i - start) / COLUMNS, (i - start) % COLUMNS);
        let own = &mut panel[tile * start..][..start];
        own.iter_mut().zip(&values[i * size..]).for_each(|(at, value)| at[column] = *value);
    }
    panel
}

/// Factors the block on the diagonal.
fn factor_diagonal(
    values: &mut [f64],
    size: usize,
    start: usize,
    end: usize,
) -> Result<(), NotPositive> {
    for i in start..end {
        for j in start..=i {
            let (own, other) = (&values[i * size + start..], &values[j * size + start..]);
            let products = own.iter().zip(other).take(j - start).map(|(own, other)| own * other);
            let rest = products.fold(values[i * size + j], |rest, product| rest - product);
            if i > j {
                values[i * size + j] = rest / values[j * size + j];
            } else if rest > 0.0 && rest.is_finite() {
                values[i * size + i] = rest.sqrt();
            } else {
                return Err(NotPositive { pivot: i, size });
            }
        }
    }
    Ok(())
}

/// Solves columns `start..end` of the rows below the block on the diagonal, several rows at a time.
fn divide_below(values: &mut [f64], size: usize, start: usize, end: usize) {
    let (above, below) = values.split_at_mut(end * size);
    let block = diagonal_block(above, size, start, end);
    below
        .par_chunks_mut(size.max(1) * COLUMNS)
        .for_each(|rows| divide_tile(rows, size, start..end, &block));
}

/// Rows of the block on the diagonal, each up to the diagonal.
fn diagonal_block(values: &[f64], size: usize, start: usize, end: usize) -> Vec<&[f64]> {
    (start..end).map(|i| &values[i * size + start..=i * size + i]).collect()
}

/// Solves some columns of a few rows.
fn divide_tile(rows: &mut [f64], size: usize, columns: Range<usize>, block: &[&[f64]]) {
    let start = columns.start;
    let mut lanes = [[0.0; COLUMNS]; BLOCK];
    let lanes = &mut lanes[..columns.len()];
    for (at, row) in rows.chunks_exact(size).enumerate() {
        lanes.iter_mut().zip(&row[start..]).for_each(|(lane, value)| lane[at] = *value);
    }
    solve_rows(lanes, block);
    for (at, row) in rows.chunks_exact_mut(size).enumerate() {
        row[start..].iter_mut().zip(&*lanes).for_each(|(value, lane)| *value = lane[at]);
    }
}
