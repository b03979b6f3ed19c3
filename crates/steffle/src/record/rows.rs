//! Encoded feature rows: a record costs what its non-zeros cost.

use serde::{Deserialize, Serialize};

use crate::model::kernel::by_width;

/// Numbers of a row are rounded to multiples of this: 1/4096 of a standard deviation. Then a row
/// times an integer coefficient is an integer number of grid steps, and sums of such products are
/// exact in a double, which is what the private messages are made of.
pub const GRID: f64 = 1.0 / 4096.0;

/// How the features of a row are laid out.
///
/// Features `0..numeric` are numbers; features `numeric..features` are one-hot levels, of which a
/// row switches on at most one per categorical column. Feature `features` is the bias, which no
/// row stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Numeric columns.
    pub numeric: usize,
    /// Categorical columns: stored codes per row.
    pub categorical: usize,
    /// Features in all (`d_x`), without the bias.
    pub features: usize,
}

impl Layout {
    /// The code of a level the schema does not know: it switches on nothing.
    ///
    /// It points one past the bias, at a slot that every weight vector keeps at zero, so that
    /// the hot loops need no branch for it.
    pub const fn absent(self) -> u32 {
        self.features as u32 + 1
    }

    /// Weights of one output: a weight per feature and a bias.
    pub const fn weights(self) -> usize {
        self.features + 1
    }

    /// Weights plus the slot that absent levels point at.
    pub const fn padded(self) -> usize {
        self.features + 2
    }
}

/// Why rows were refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowsError {
    /// The two parts disagree about the number of rows.
    #[error("{numeric} numbers and {codes} codes do not make whole rows of {layout:?}")]
    Shape {
        /// Numbers given.
        numeric: usize,
        /// Codes given.
        codes: usize,
        /// The layout they should have.
        layout: Layout,
    },
    /// A number is NaN or infinite.
    #[error("row {row}, numeric column {column} is not a finite number")]
    NotFinite {
        /// Which row.
        row: usize,
        /// Which numeric column.
        column: usize,
    },
    /// A code points outside the one-hot features.
    #[error("row {row} has code {code}; allowed are {first}..{end} and {absent} (absent)")]
    Code {
        /// Which row.
        row: usize,
        /// The code given.
        code: u32,
        /// First one-hot feature.
        first: usize,
        /// One past the last one-hot feature.
        end: usize,
        /// The code for an absent level.
        absent: u32,
    },
}

/// Encoded rows, checked: every number is finite and every code is in range.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    layout: Layout,
    len: usize,
    numeric: Vec<f32>,
    codes: Vec<u32>,
    /// `|(x, 1)|^2`, needed in every round.
    squared_norms: Vec<f64>,
}

impl Rows {
    /// Checks and takes the two row-major parts, numbers rounded to [`GRID`]; refuses ragged, non-finite or out-of-range input.
    pub fn new(
        layout: Layout,
        len: usize,
        mut numeric: Vec<f32>,
        codes: Vec<u32>,
    ) -> Result<Self, RowsError> {
        if Some(numeric.len()) != len.checked_mul(layout.numeric)
            || Some(codes.len()) != len.checked_mul(layout.categorical)
        {
            return Err(RowsError::Shape { numeric: numeric.len(), codes: codes.len(), layout });
        }
        if let Some(at) = numeric.iter().position(|value| !value.is_finite()) {
            return Err(RowsError::NotFinite {
                row: at / layout.numeric,
                column: at % layout.numeric,
            });
        }
        let one_hot = layout.numeric as u32..layout.features as u32;
        let bad = |code: &u32| !one_hot.contains(code) && *code != layout.absent();
        if let Some(at) = codes.iter().position(bad) {
            return Err(RowsError::Code {
                row: at / layout.categorical,
                code: codes[at],
                first: layout.numeric,
                end: layout.features,
                absent: layout.absent(),
            });
        }
        for value in &mut numeric {
            *value = ((f64::from(*value) / GRID).round_ties_even() * GRID) as f32;
        }
        let mut rows = Self { layout, len, numeric, codes, squared_norms: Vec::new() };
        rows.squared_norms = (0..len).map(|row| rows.compute_squared_norm(row)).collect();
        Ok(rows)
    }

    /// No row.
    pub fn empty(layout: Layout) -> Self {
        let (numeric, codes, squared_norms) = (Vec::new(), Vec::new(), Vec::new());
        Self { layout, len: 0, numeric, codes, squared_norms }
    }

    /// Becomes a copy of the rows `which` of other rows with the same layout.
    ///
    /// The hot loops read a chunk several times; gathered, it lies in the first-level cache in
    /// the order in which it is read.
    pub fn gather(&mut self, from: &Self, which: &[u32]) {
        debug_assert_eq!(self.layout, from.layout);
        let Layout { numeric, categorical, .. } = self.layout;
        self.len = which.len();
        self.numeric.resize(which.len() * numeric, 0.0);
        self.codes.resize(which.len() * categorical, 0);
        let (values, codes) = (&from.numeric[..], &from.codes[..]);
        by_width!(
            numeric,
            gather_numeric or gather_numeric_any,
            (values, which, &mut self.numeric)
        );
        by_width!(categorical, gather_codes or gather_codes_any, (codes, which, &mut self.codes));
        self.squared_norms.clear();
        self.squared_norms.extend(which.iter().map(|&row| from.squared_norms[row as usize]));
    }

    /// Appends all rows of other rows with the same layout.
    pub fn append(&mut self, other: &Self) {
        debug_assert_eq!(self.layout, other.layout);
        self.numeric.extend_from_slice(&other.numeric);
        self.codes.extend_from_slice(&other.codes);
        self.squared_norms.extend_from_slice(&other.squared_norms);
        self.len += other.len;
    }

    /// All numbers and all codes, row by row.
    pub fn parts(&self) -> (&[f32], &[u32]) {
        (&self.numeric, &self.codes)
    }

    /// The layout of every row.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The numbers of row `row`.
    pub fn numeric(&self, row: usize) -> &[f32] {
        &self.numeric[row * self.layout.numeric..][..self.layout.numeric]
    }

    /// The codes of row `row`.
    pub fn codes(&self, row: usize) -> &[u32] {
        &self.codes[row * self.layout.categorical..][..self.layout.categorical]
    }

    /// `|(x, 1)|^2` of row `row`.
    pub fn squared_norm(&self, row: usize) -> f64 {
        self.squared_norms[row]
    }

    /// `|(x, 1)|^2` of every row.
    pub fn squared_norms(&self) -> &[f64] {
        &self.squared_norms
    }

    fn compute_squared_norm(&self, row: usize) -> f64 {
        let numeric: f64 = self.numeric(row).iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        let absent = self.layout.absent();
        let present = self.codes(row).iter().filter(|&&code| code != absent).count();
        numeric + present as f64 + 1.0
    }

    /// Bytes held by the encoded rows.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.numeric[..])
            + size_of_val(&self.codes[..])
            + size_of_val(&self.squared_norms[..])
    }
}

/// The two gathers, for the two types of columns: a generic type beside the constant could not be
/// left to inference in [`by_width`].
macro_rules! gather {
    ($fixed:ident, $any:ident, $type:ty) => {
        fn $fixed<const N: usize>(from: &[$type], which: &[u32], into: &mut [$type]) {
            let rows = from.as_chunks::<N>().0;
            for (slot, &row) in into.as_chunks_mut::<N>().0.iter_mut().zip(which) {
                *slot = rows[row as usize];
            }
        }

        fn $any(width: usize, from: &[$type], which: &[u32], into: &mut [$type]) {
            for (slot, &row) in into.chunks_exact_mut(width).zip(which) {
                slot.copy_from_slice(&from[row as usize * width..][..width]);
            }
        }
    };
}

gather!(gather_numeric, gather_numeric_any, f32);
gather!(gather_codes, gather_codes_any, u32);
