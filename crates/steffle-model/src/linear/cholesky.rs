//! The Cholesky factor of a positive definite matrix, by blocks of columns.

use rayon::prelude::*;

use super::Symmetric;
use super::dots::{dot, dots};

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

    /// `L^-1`, transposed: row `j` of the result is column `j` of the inverse, zero before `j`.
    pub(super) fn inverse_transposed(&self) -> Vec<f64> {
        /// Columns solved together, so that the factor is read once for all of them.
        const TOGETHER: usize = 4;
        let size = self.size;
        let mut inverse = vec![0.0; size * size];
        inverse.par_chunks_mut(size.max(1) * TOGETHER).enumerate().for_each(|(tile, columns)| {
            let first = tile * TOGETHER;
            if let [a, b, c, d] = &mut columns.chunks_exact_mut(size).collect::<Vec<_>>()[..] {
                for i in first..size {
                    let row = &self.row(i)[first..];
                    let (before, pivot) = row.split_at(i - first);
                    let span = first..i;
                    let sums = dots(
                        [&a[span.clone()], &b[span.clone()], &c[span.clone()], &d[span]],
                        before,
                    );
                    for (at, column) in [&mut *a, b, c, d].into_iter().enumerate() {
                        let unit = if i == first + at { 1.0 } else { 0.0 };
                        column[i] = (unit - sums[at]) / pivot[0];
                    }
                }
            } else {
                for (at, column) in columns.chunks_exact_mut(size).enumerate() {
                    column[first + at] = 1.0;
                    self.solve_lower_from(first + at, column);
                }
            }
        });
        inverse
    }

    /// As [`Self::solve_lower`] for a vector that is zero before `first`.
    fn solve_lower_from(&self, first: usize, v: &mut [f64]) {
        for i in first..self.size {
            let row = self.row(i);
            v[i] = (v[i] - dot(&row[first..i], &v[first..i])) / row[i];
        }
    }
}

/// Takes what the columns before `start` explain out of columns `start..end`, from row `start` on.
fn subtract_left(values: &mut [f64], size: usize, start: usize, end: usize) {
    if start == 0 {
        return;
    }
    let panel: Vec<f64> =
        (start..end).flat_map(|i| values[i * size..][..start].iter().copied()).collect();
    values[start * size..].par_chunks_mut(size * 4).for_each(|rows| {
        for row in rows.chunks_exact_mut(size) {
            let (left, right) = row.split_at_mut(start);
            let own = &mut right[..end - start];
            let (fours, rest) = own.as_chunks_mut::<4>();
            let (panel_fours, panel_rest) = panel.split_at(fours.len() * 4 * start);
            for (four, panel) in fours.iter_mut().zip(panel_fours.chunks_exact(4 * start)) {
                let of = |at: usize| &panel[at * start..][..start];
                let sums = dots([of(0), of(1), of(2), of(3)], left);
                four.iter_mut().zip(sums).for_each(|(entry, sum)| *entry -= sum);
            }
            for (entry, panel) in rest.iter_mut().zip(panel_rest.chunks_exact(start)) {
                *entry -= dot(panel, left);
            }
        }
    });
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
            let sum = dot(
                &values[i * size + start..i * size + j],
                &values[j * size + start..j * size + j],
            );
            let rest = values[i * size + j] - sum;
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

/// Solves columns `start..end` of the rows below the block on the diagonal.
fn divide_below(values: &mut [f64], size: usize, start: usize, end: usize) {
    let (above, below) = values.split_at_mut(end * size);
    let diagonal = |i: usize| &above[i * size + start..=i * size + i];
    below.par_chunks_mut(size.max(1) * 8).for_each(|rows| {
        for row in rows.chunks_exact_mut(size) {
            let own = &mut row[start..end];
            for j in start..end {
                let factor = diagonal(j);
                let at = j - start;
                own[at] = (own[at] - dot(&factor[..at], &own[..at])) / factor[at];
            }
        }
    });
}
