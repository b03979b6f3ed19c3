//! A dense symmetric matrix, both triangles stored.

use rayon::prelude::*;

use super::dots::dot;
use crate::model::kernel::vector::{COLUMNS, ROWS, subtract_products};

/// A symmetric matrix in row-major order.
///
/// Gram matrices and curvatures are such.
#[derive(Debug, Clone, PartialEq)]
pub struct Symmetric {
    size: usize,
    values: Vec<f64>,
}

impl Symmetric {
    /// The zero matrix with `size` rows.
    pub fn zeros(size: usize) -> Self {
        Self { size, values: vec![0.0; size * size] }
    }

    /// The matrix whose entry in row `i`, column `j <= i` is `entry(i, j)`.
    pub fn from_lower(size: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let mut matrix = Self::zeros(size);
        for i in 0..size {
            for j in 0..=i {
                matrix.set(i, j, entry(i, j));
            }
        }
        matrix
    }

    /// Rows, and columns.
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.size..][..self.size]
    }

    /// The entry in row `i`, column `j`.
    #[inline]
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.size + j]
    }

    /// Sets the entry in row `i`, column `j`, and its mirror image.
    #[inline]
    pub fn set(&mut self, i: usize, j: usize, value: f64) {
        self.values[i * self.size + j] = value;
        self.values[j * self.size + i] = value;
    }

    /// Adds `factor` times another matrix of the same size.
    pub fn add(&mut self, factor: f64, other: &Self) {
        debug_assert_eq!(self.size, other.size);
        for (mine, theirs) in self.values.iter_mut().zip(&other.values) {
            *mine += factor * theirs;
        }
    }

    /// Adds `value` to every diagonal entry.
    pub fn add_diagonal(&mut self, value: f64) {
        self.values.iter_mut().step_by(self.size + 1).for_each(|entry| *entry += value);
    }

    /// Multiplies by `factor`.
    pub fn scale(&mut self, factor: f64) {
        self.values.iter_mut().for_each(|entry| *entry *= factor);
    }

    /// The product with a vector.
    pub fn times(&self, vector: &[f64]) -> Vec<f64> {
        self.values.chunks_exact(self.size.max(1)).map(|row| dot(row, vector)).collect()
    }

    /// All entries, row by row.
    #[inline]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    pub(super) fn into_values(self) -> Vec<f64> {
        self.values
    }

    /// From values of which the lower triangle counts.
    pub(super) fn mirrored(size: usize, mut values: Vec<f64>) -> Self {
        debug_assert_eq!(values.len(), size * size);
        for i in 0..size {
            for j in 0..i {
                values[j * size + i] = values[i * size + j];
            }
        }
        Self { size, values }
    }

    /// `R R'` for an upper triangular `R` given row by row: entry `(i, j)` sums over the columns
    /// from `max(i, j)` on, one after the other, tile by tile.
    pub(super) fn product_of_upper(size: usize, rows: &[f64]) -> Self {
        /// Rows whose tiles share a panel while it is near.
        const TOGETHER: usize = 8 * ROWS;
        let panels = transposed_panels(size, rows);
        let mut values = vec![0.0; size * size];
        values.par_chunks_mut(size.max(1) * TOGETHER).enumerate().for_each(|(at, out)| {
            let end = at * TOGETHER + out.len() / size;
            for (panel, j) in panels.chunks_exact(size).zip((0..end).step_by(COLUMNS)) {
                for (tile, out) in out.chunks_mut(size * ROWS).enumerate() {
                    let first = at * TOGETHER + tile * ROWS;
                    if j < first + ROWS {
                        let row =
                            |at: usize| &rows[(first + at).min(size - 1) * size..][first..size];
                        let mut sums = [[0.0; COLUMNS]; ROWS];
                        subtract_products(std::array::from_fn(row), &panel[first..], &mut sums);
                        for (sums, out) in sums.iter().zip(out.chunks_exact_mut(size)) {
                            out[j..].iter_mut().zip(sums).for_each(|(out, sum)| *out = 0.0 - sum);
                        }
                    }
                }
            }
        });
        Self::mirrored(size, values)
    }
}

/// Rows of a matrix, transposed in tiles: `[tile][column][row]`, zero where the last tile is short.
fn transposed_panels(size: usize, rows: &[f64]) -> Vec<[f64; COLUMNS]> {
    let mut panels = vec![[0.0; COLUMNS]; size.div_ceil(COLUMNS) * size];
    for (i, row) in rows.chunks_exact(size.max(1)).enumerate() {
        let own = &mut panels[i / COLUMNS * size..][..size];
        own.iter_mut().zip(row).for_each(|(at, value)| at[i % COLUMNS] = *value);
    }
    panels
}
