//! A triangular, integer matrix that makes a silo's features about spherical.

use rayon::prelude::*;

use super::dots::{dot, dots};
use super::{Cholesky, Features, NotPositive, Symmetric};
use crate::record::{Layout, Rows};

/// The ridge of the shape, relative to the mean weight of a row: 0.1 on features of unit variance.
pub const SHAPE_RIDGE: f64 = 0.1;

/// Up to how many inputs of a linear model noise is shaped: below, one scale is as good, and above,
/// the matrix costs more than it gains.
pub const SHAPED: std::ops::RangeInclusive<usize> = 20..=2000;

/// Records that are measured together; a multiple of 4.
const CHUNK: usize = 32;

/// Bits of the largest entry of `B`.
const BITS: i32 = 20;

/// Unit roundoff of `f64`.
const ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// Why features cannot be whitened.
///
/// Too many features, or numbers too large for exact lengths.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhiteningError {
    /// The Gram matrix is not one, or not finite.
    #[error("the Gram matrix of the features cannot be factored: {0}")]
    NotPositive(#[from] NotPositive),
    /// Entries of the inverse factor, or lengths, that integers cannot hold.
    #[error(
        "the Gram matrix of the features is too far from one: its inverse has entries that are not finite"
    )]
    Range,
    /// More features than a matrix is made for.
    #[error(
        "{size} features make a matrix of {size} x {size} numbers; allowed are {most} features \
         (numeric columns and their squares, one-hot levels, cells and bias): merge rare levels, \
         choose a notion with fewer cells, or use randomised-response"
    )]
    Size {
        /// Features there are.
        size: usize,
        /// Most that are allowed.
        most: usize,
    },
}

/// `B`, lower triangular, with `B (G + gamma I) B'` about a multiple of the identity.
///
/// `G + gamma I = L L'` and `B` is `L^-1` rounded to integers in units of [`Whitening::grid`]:
/// `|L^-1 f|^2 = f' (G + gamma I)^-1 f` is the length that the symmetric root gives too, and
/// spherical noise does not see the rotation between the two. Whatever `B` is, it was made
/// without `s`, and every use of it is priced by [`Whitening::lengths`]; so rounding it costs
/// accuracy (of one part in 2^20), never privacy. All that follows is about the rounded `B`.
#[derive(Debug, Clone)]
pub struct Whitening {
    size: usize,
    grid: f64,
    /// The rows of `B` up to the diagonal, one after the other.
    rows: Vec<i64>,
    /// `B' B`, rounded.
    form: Symmetric,
}

impl Whitening {
    /// Most features.
    pub const MOST: usize = 4096;

    /// No entry is larger.
    pub const LARGEST: u64 = 1 << (BITS + 1);

    /// Whitens features whose Gram matrix (a mean of `f f'`) is `gram`; refuses more than
    /// [`Whitening::MOST`] and a matrix that `gamma` does not make positive.
    pub fn new(mut gram: Symmetric, gamma: f64) -> Result<Self, WhiteningError> {
        let size = gram.size();
        if size > Self::MOST {
            return Err(WhiteningError::Size { size, most: Self::MOST });
        }
        gram.add_diagonal(gamma);
        let mut columns = Cholesky::new(gram)?.inverse_transposed();
        let scale = columns.iter().fold(0.0, |most: f64, entry| most.max(entry.abs()));
        let grid = (scale.log2().floor() - f64::from(BITS)).exp2();
        columns.iter_mut().for_each(|entry| *entry = (*entry / grid).round_ties_even());
        // Also false of what is not a number: whoever sent the matrix gets no row that hides.
        let most = Self::LARGEST as f64;
        if !(grid.is_normal() && columns.iter().all(|entry| entry.abs() <= most)) {
            return Err(WhiteningError::Range);
        }
        for j in 0..size {
            // A column that rounds to nothing would lose its feature.
            let pivot = &mut columns[j * size + j];
            *pivot = pivot.max(1.0);
        }
        let mut rows = Vec::with_capacity(size * (size + 1) / 2);
        for i in 0..size {
            rows.extend((0..=i).map(|j| columns[j * size + i] as i64));
        }
        Ok(Self { size, grid, rows, form: Symmetric::product_of_upper(size, &columns) })
    }

    /// Numbers in `f`: p.
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The unit of `B`: `grid` times its integers is about `L^-1`.
    #[inline]
    pub fn grid(&self) -> f64 {
        self.grid
    }

    /// The rows of `B`; row `i` has `i + 1` integers, each below 2^21 in size.
    #[inline]
    pub fn integer_rows(&self) -> impl Iterator<Item = &[i64]> {
        (0..self.size).map(|i| self.integer_row(i))
    }

    /// `v <- B v`, in floating point.
    pub fn whiten(&self, v: &mut [f64]) {
        for i in (0..self.size).rev() {
            v[i] = self.integer_row(i).iter().zip(&*v).map(|(&b, v)| b as f64 * v).sum();
        }
    }

    /// `B v` in integers, for sums of up to 2^53: with entries of up to 2^21 and at most 4096 of
    /// them it stays below 2^87.
    pub fn whiten_exactly(&self, v: &[i128]) -> Vec<i128> {
        let dot = |row: &[i64]| row.iter().zip(v).map(|(&b, v)| i128::from(b) * v).sum();
        self.integer_rows().map(dot).collect()
    }

    /// `v <- B^-1 v`: turns a released message back into a sum of features.
    pub fn unwhiten(&self, v: &mut [f64]) {
        for i in 0..self.size {
            let (before, pivot) = self.integer_row(i).split_at(i);
            let sum: f64 = before.iter().zip(&*v).map(|(&b, v)| b as f64 * v).sum();
            v[i] = (v[i] - sum) / pivot[0] as f64;
        }
    }

    /// `v <- B' v`.
    pub fn transpose(&self, v: &mut [f64]) {
        for i in 0..self.size {
            let own = v[i];
            let (before, pivot) = self.integer_row(i).split_at(i);
            v[..i].iter_mut().zip(before).for_each(|(v, &b)| *v += b as f64 * own);
            v[i] = pivot[0] as f64 * own;
        }
    }

    /// An upper bound of `|B f_i|` for every record, rounding included; 0 for a record without features.
    /// Refuses bounds that are not finite.
    ///
    /// # Claim
    /// Every entry is at least the real number `|B f_i|`, and exceeds it by rounding only.
    ///
    /// # Proof
    /// Write `b_j` for the columns of `B`, `u` for the unit roundoff, `gamma_m = m u / (1 - m u)`.
    /// The entries of `B` are integers held exactly. A product of two columns, summed in any
    /// order, is off by at most `gamma_p sum_i |b_ij b_ik| <= gamma_p |b_j| |b_k|`
    /// (Cauchy-Schwarz; Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). A
    /// record's quadratic form takes two products and a sum of at most `m^2` terms for `m` entries
    /// that are not 0. With `S = sum_j |f_j| |b_j|` all of it is at most `gamma_{p + m^2 + 2} S^2` off, a relative
    /// error of the entries of higher order aside. What is added is `2 (p + m^2 + 64) u S^2`; the
    /// factor 2 covers the higher orders and the rounding of `S` itself (`p <= 4096`, `m <= 2^20`
    /// keep `(p + m^2 + 64) u` below 1/4 of it), and the last factor the square root's.
    /// Test: `lengths_are_upper_bounds_of_exact_lengths`.
    pub fn lengths(&self, features: &Features<'_>) -> Result<Vec<f64>, WhiteningError> {
        let mut lengths = vec![0.0; features.len()];
        let (form, members) = (Form::new(self), features.members());
        let own: Vec<Vec<f64>> =
            members.par_chunks(CHUNK).map(|chunk| form.lengths(features.rows(), chunk)).collect();
        for (&record, length) in members.iter().zip(own.into_iter().flatten()) {
            lengths[record as usize] = length;
        }
        let finite = lengths.iter().all(|length: &f64| length.is_finite());
        if finite { Ok(lengths) } else { Err(WhiteningError::Range) }
    }

    fn integer_row(&self, i: usize) -> &[i64] {
        &self.rows[i * (i + 1) / 2..][..=i]
    }
}

/// The quadratic form `|B f|^2`.
struct Form<'a> {
    /// `B' B`.
    square: &'a Symmetric,
    /// `|b_j|`, rounded up.
    norms: Vec<f64>,
    /// `2 (p + 64) u`, the part of the rounding that all rows share.
    roundoff: f64,
}

impl<'a> Form<'a> {
    fn new(whitening: &'a Whitening) -> Self {
        let square = &whitening.form;
        // p u <= 2^-41, so a relative 2^-40 covers the error of the squared norm and its root.
        let norm = |at: usize| square.at(at, at).sqrt() * (1.0 + 1e-12);
        let norms = (0..square.size()).map(norm).collect();
        Self { square, norms, roundoff: 2.0 * (whitening.size as f64 + 64.0) * ROUNDOFF }
    }

    /// The lengths of a chunk of records: each row of the form is read once for all of them.
    fn lengths(&self, rows: &Rows, chunk: &[u32]) -> Vec<f64> {
        let numeric = rows.layout().numeric;
        let mut numbers = vec![0.0; CHUNK * numeric];
        for (numbers, &record) in numbers.chunks_exact_mut(numeric.max(1)).zip(chunk) {
            let own = rows.numeric(record as usize);
            numbers.iter_mut().zip(own).for_each(|(number, &x)| *number = f64::from(x));
        }
        let of = |at: usize| &numbers[at * numeric..][..numeric];
        let (mut squares, mut sizes) = ([0.0; CHUNK], [0.0; CHUNK]);
        for i in 0..numeric {
            let row = &self.square.row(i)[..=i];
            for first in (0..chunk.len()).step_by(4) {
                let four = [first, first + 1, first + 2, first + 3].map(|at| &of(at)[..i]);
                for (at, mixed) in (first..).zip(dots(four, &row[..i])) {
                    let x = of(at)[i];
                    squares[at] += x * (2.0 * mixed + x * row[i]);
                    sizes[at] += x.abs() * self.norms[i];
                }
            }
        }
        let mut codes = Vec::with_capacity(rows.layout().categorical);
        let levels = chunk.iter().enumerate().map(|(at, &record)| {
            codes.clear();
            rows.codes_into(record as usize, &mut codes);
            let (squared, size, levels) = self.levels(rows.layout(), &codes, of(at));
            let (squared, size) = (squares[at] + squared, sizes[at] + size);
            let count = (numeric + levels) as f64;
            let roundoff = self.roundoff + 2.0 * count * count * ROUNDOFF;
            let bound = squared + roundoff * size * size;
            // What is not a number stays so, and is refused: as 0 it would hide its record.
            let bound = if bound < 0.0 { 0.0 } else { bound };
            bound.sqrt() * (1.0 + 4.0 * f64::EPSILON)
        });
        levels.collect()
    }

    /// What the levels of a record, the bias among them, add to the squared length and to the
    /// size that bounds the rounding; and how many they are.
    fn levels(&self, layout: Layout, codes: &[u32], numbers: &[f64]) -> (f64, f64, usize) {
        let present = |upto: usize| {
            let codes = codes[..upto].iter().copied();
            codes.filter(|&code| code != layout.absent()).map(|code| code as usize)
        };
        let add = |upto: usize, i: usize| {
            let row = self.square.row(i);
            let pairs: f64 = present(upto).map(|j| row[j]).sum();
            2.0 * (dot(&row[..numbers.len()], numbers) + pairs) + row[i]
        };
        let (mut squared, mut size, mut count) =
            (add(codes.len(), layout.features), self.norms[layout.features], 1);
        for (at, &code) in codes.iter().enumerate() {
            if code != layout.absent() {
                squared += add(at, code as usize);
                size += self.norms[code as usize];
                count += 1;
            }
        }
        (squared, size, count)
    }
}
