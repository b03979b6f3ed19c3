//! Encoded feature rows: a record costs what its non-zeros cost.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::kernel::{Code, as_numbers, fetch, gather, neighbours};

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
    #[inline]
    pub const fn absent(self) -> u32 {
        self.features as u32 + 1
    }

    /// Weights of one output: a weight per feature and a bias.
    #[inline]
    pub const fn weights(self) -> usize {
        self.features + 1
    }

    /// Weights plus the slot that absent levels point at.
    #[inline]
    pub const fn padded(self) -> usize {
        self.features + 2
    }

    /// How rows store their codes.
    #[inline]
    pub(crate) const fn code_width(self) -> CodeWidth {
        match self.absent() {
            0..=0xff => CodeWidth::One,
            0x100..=0xffff => CodeWidth::Two,
            _ => CodeWidth::Four,
        }
    }

    /// Words of a row that are codes.
    const fn code_words(self) -> usize {
        let bytes = match self.code_width() {
            CodeWidth::One => 1,
            CodeWidth::Two => 2,
            CodeWidth::Four => 4,
        };
        (self.categorical * bytes).div_ceil(size_of::<u32>())
    }

    /// Where in a row its inverse length is.
    pub(crate) const fn inverse_at(self) -> usize {
        self.numeric + self.code_words()
    }

    /// `|(x, 1)|^2` of the row with these numbers and codes.
    fn squared_norm(self, numeric: &[f32], codes: impl Iterator<Item = u32>) -> f64 {
        let squares: f64 = numeric.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        let present = codes.filter(|&code| code != self.absent()).count();
        squares + present as f64 + 1.0
    }
}

/// Bytes of a code: as few as there are features. Codes are looked up one by one, so that none has to be
/// made wider before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeWidth {
    One,
    Two,
    Four,
}

/// Why rows were refused.
///
/// Every number has to be finite and every code within its column.
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
    /// A layout that is none: a number would lie on the bias, or a level have no code.
    #[error(
        "{layout:?} is no layout: at most as many numbers as features, and fewer than 2^32 - 2 of them"
    )]
    Layout {
        /// The layout given.
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
///
/// A row is a run of words: its numbers, its codes, and `1 / |(x, 1)|`, which every round needs. A
/// batch visits rows all over memory, so that what a row costs is the cache lines it lies in.
///
/// Words are shared until somebody writes, so that neighbours among them are rows, too, without a
/// copy.
#[derive(Debug, Clone)]
pub struct Rows {
    layout: Layout,
    len: usize,
    /// Words from one row to the next.
    stride: usize,
    words: Arc<Vec<u32>>,
    /// Where in the words the first row starts.
    start: usize,
}

/// Words of a cache line.
const LINE: usize = 16;

impl Rows {
    /// Checks and takes the two row-major parts, numbers rounded to [`GRID`]; refuses ragged, non-finite or out-of-range input.
    // By value, so that the two parts are freed here and not kept beside the rows.
    #[allow(clippy::needless_pass_by_value)]
    pub fn new(
        layout: Layout,
        len: usize,
        numeric: Vec<f32>,
        codes: Vec<u32>,
    ) -> Result<Self, RowsError> {
        let mut rows = Self::with_room(layout, 0)?;
        rows.push_all(len, numeric, codes)?;
        Ok(rows)
    }

    /// No row, with room for so many; refuses what is no layout.
    pub fn with_room(layout: Layout, rows: usize) -> Result<Self, RowsError> {
        // A number beyond the features would be added to the bias: one coordinate, priced as two.
        if layout.numeric > layout.features || layout.features >= u32::MAX as usize - 1 {
            return Err(RowsError::Layout { layout });
        }
        let mut empty = Self::empty(layout);
        empty.clear_for(rows);
        Ok(empty)
    }

    /// Appends rows, as [`new`](Self::new) takes them. A table that is encoded piece by piece is never
    /// in memory twice.
    #[allow(clippy::needless_pass_by_value)]
    pub fn push_all(
        &mut self,
        len: usize,
        mut numeric: Vec<f32>,
        codes: Vec<u32>,
    ) -> Result<(), RowsError> {
        let (layout, before) = (self.layout, self.len);
        if Some(numeric.len()) != len.checked_mul(layout.numeric)
            || Some(codes.len()) != len.checked_mul(layout.categorical)
        {
            return Err(RowsError::Shape { numeric: numeric.len(), codes: codes.len(), layout });
        }
        if let Some(at) = numeric.iter().position(|value| !value.is_finite()) {
            return Err(RowsError::NotFinite {
                row: before + at / layout.numeric,
                column: at % layout.numeric,
            });
        }
        let one_hot = layout.numeric as u32..layout.features as u32;
        let bad = |code: &u32| !one_hot.contains(code) && *code != layout.absent();
        if let Some(at) = codes.iter().position(bad) {
            return Err(RowsError::Code {
                row: before + at / layout.categorical,
                code: codes[at],
                first: layout.numeric,
                end: layout.features,
                absent: layout.absent(),
            });
        }
        for value in &mut numeric {
            *value = ((f64::from(*value) / GRID).round_ties_even() * GRID) as f32;
        }
        if before == 0 {
            self.clear_for(len);
        }
        let (start, stride) = (self.start, self.stride);
        let words = self.words_mut();
        for row in 0..len {
            let numbers = &numeric[row * layout.numeric..][..layout.numeric];
            let codes = &codes[row * layout.categorical..][..layout.categorical];
            let squared = layout.squared_norm(numbers, codes.iter().copied());
            let inverse = (1.0 / squared.sqrt()).to_bits();
            words.extend(numbers.iter().map(|x| x.to_bits()));
            match layout.code_width() {
                CodeWidth::One => words.extend(packed(codes, |code| (code as u8).to_ne_bytes())),
                CodeWidth::Two => words.extend(packed(codes, |code| (code as u16).to_ne_bytes())),
                CodeWidth::Four => words.extend_from_slice(codes),
            }
            words.extend([inverse as u32, (inverse >> 32) as u32]);
            words.resize(start + (before + row + 1) * stride, 0);
        }
        self.len += len;
        Ok(())
    }

    /// No row.
    pub fn empty(layout: Layout) -> Self {
        let words = layout.inverse_at() + 2;
        // A row that nearly fills a power of two gets it, and then lies in as few lines as it can.
        let whole = words.next_power_of_two();
        let stride = if whole - words <= words / 8 { whole } else { words };
        Self { layout, len: 0, stride, words: Arc::default(), start: 0 }
    }

    /// Forgets all rows and makes room for `rows` rows, the first at the start of a cache line:
    /// nothing but speed depends on that.
    fn clear_for(&mut self, rows: usize) {
        self.len = 0;
        // Words that others read, too, are left to them.
        let own = Arc::get_mut(&mut self.words);
        if let Some(words) = own.filter(|own| own.capacity() >= self.start + rows * self.stride) {
            words.clear();
            words.resize(self.start, 0);
            return;
        }
        let mut words: Vec<u32> = Vec::with_capacity(LINE + rows * self.stride);
        self.start = words.as_ptr().align_offset(LINE * size_of::<u32>()).min(LINE);
        words.resize(self.start, 0);
        self.words = Arc::new(words);
    }

    /// Its words alone, up to the last row, to be written to.
    fn words_mut(&mut self) -> &mut Vec<u32> {
        let end = self.start + self.len * self.stride;
        let words = Arc::make_mut(&mut self.words);
        words.truncate(end);
        words
    }

    /// Becomes the rows `which` of other rows with the same layout; panics where there is no such
    /// row.
    ///
    /// The hot loops read a chunk several times; gathered, it lies in the first-level cache in
    /// the order in which it is read. Neighbours lie so already and are not copied.
    pub fn gather(&mut self, from: &Self, which: &[u32]) {
        debug_assert_eq!(self.layout, from.layout);
        if let Some(first) = neighbours(which) {
            // As the slices of the copy below: panics where there is no such row.
            let last = from.row(first + which.len() - 1);
            debug_assert_eq!(last.len(), self.stride);
            if !Arc::ptr_eq(&self.words, &from.words) {
                self.words = from.words.clone();
            }
            (self.start, self.len) = (from.start + first * self.stride, which.len());
            return;
        }
        let needed = which.len() * self.stride;
        let start = self.start;
        // Words of more rows than these may stay: they are overwritten sooner or later.
        let ready = Arc::get_mut(&mut self.words).is_some_and(|own| own.len() >= start + needed);
        if !ready {
            self.clear_for(which.len());
        }
        self.len = which.len();
        let (stride, start) = (self.stride, self.start);
        let words = Arc::make_mut(&mut self.words);
        words.resize(words.len().max(start + needed), 0);
        gather(stride, from.words(), which, &mut words[start..]);
    }

    /// Starts to bring rows into the cache that are wanted soon: no more than a hint. Neighbours are
    /// brought by the machine itself.
    pub fn fetch(&self, which: &[u32]) {
        if neighbours(which).is_none() {
            let words = self.words();
            which.iter().for_each(|&row| fetch(words, row as usize * self.stride));
        }
    }

    /// Appends all rows of other rows with the same layout.
    pub fn append(&mut self, other: &Self) {
        debug_assert_eq!(self.layout, other.layout);
        self.words_mut().extend_from_slice(other.words());
        self.len += other.len;
    }

    /// All numbers and all codes, row by row.
    pub fn parts(&self) -> (Vec<f32>, Vec<u32>) {
        let numbers = (0..self.len).flat_map(|row| self.numeric(row)).copied().collect();
        let mut codes = Vec::with_capacity(self.len * self.layout.categorical);
        (0..self.len).for_each(|row| self.codes_into(row, &mut codes));
        (numbers, codes)
    }

    /// All rows, one every [`stride`](Self::stride) words.
    #[inline]
    pub(crate) fn words(&self) -> &[u32] {
        &self.words[self.start..][..self.len * self.stride]
    }

    /// Words from one row to the next: numbers, codes, inverse length (low half first), padding.
    #[inline]
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    fn row(&self, row: usize) -> &[u32] {
        &self.words()[row * self.stride..][..self.stride]
    }

    /// The layout of every row.
    #[inline]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// How many rows there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The numbers of row `row`.
    #[inline]
    pub fn numeric(&self, row: usize) -> &[f32] {
        as_numbers(&self.row(row)[..self.layout.numeric])
    }

    /// The codes of row `row`.
    #[inline]
    pub fn codes(&self, row: usize) -> impl ExactSizeIterator<Item = u32> + Clone + '_ {
        let (width, words) = (self.layout.code_width(), &self.row(row)[self.layout.numeric..]);
        (0..self.layout.categorical).map(move |at| match width {
            CodeWidth::One => u8::all_of(words)[at].wide(),
            CodeWidth::Two => u16::all_of(words)[at].wide(),
            CodeWidth::Four => words[at],
        })
    }

    /// Appends the codes of row `row`.
    #[inline]
    pub fn codes_into(&self, row: usize, into: &mut Vec<u32>) {
        let (words, count) = (&self.row(row)[self.layout.numeric..], self.layout.categorical);
        match self.layout.code_width() {
            CodeWidth::One => {
                into.extend(u8::all_of(words)[..count].iter().map(|code| code.wide()));
            }
            CodeWidth::Two => {
                into.extend(u16::all_of(words)[..count].iter().map(|code| code.wide()));
            }
            CodeWidth::Four => into.extend_from_slice(&words[..count]),
        }
    }

    /// `|(x, 1)|^2` of row `row`.
    #[inline]
    pub fn squared_norm(&self, row: usize) -> f64 {
        self.layout.squared_norm(self.numeric(row), self.codes(row))
    }

    /// Bytes held by the encoded rows.
    pub fn bytes(&self) -> usize {
        size_of_val(self.words())
    }
}

/// Codes of so many bytes each as words, the last one filled up with zeros.
fn packed<const BYTES: usize>(
    codes: &[u32],
    bytes: impl Fn(u32) -> [u8; BYTES],
) -> impl Iterator<Item = u32> {
    codes.chunks(size_of::<u32>() / BYTES).map(move |some| {
        let mut word = [0; size_of::<u32>()];
        for (slot, &code) in word.chunks_exact_mut(BYTES).zip(some) {
            slot.copy_from_slice(&bytes(code));
        }
        u32::from_ne_bytes(word)
    })
}

impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        self.layout == other.layout && self.words() == other.words()
    }
}
