//! The grids on which candidates become integers, fixed by public values before any record is
//! looked at.

use steffle_model::decode::{RoundBounds, RoundScale, SCORE_STEPS};
use steffle_model::model::kernel;
use steffle_model::record::GRID;
use steffle_wire::{CellQuestion, Question};

use super::PriceError;

/// Bits of the largest coefficient, at most and at least.
const BITS: std::ops::RangeInclusive<u32> = 8..=24;

/// All sums of integers stay at most this: doubles hold them exactly, in any order.
const EXACT: u32 = 53;

/// The finest grid: below it, products of grids and scales would leave the range of a double.
const FINEST: i32 = -900;

/// What one step of an integer is worth, and how large integers may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lattice {
    /// Of a coefficient; 0 where there is no theta message.
    pub(super) coefficient: f64,
    /// V: the largest coefficient, in steps.
    pub(super) most: f64,
    /// Of a score.
    pub(super) score: f64,
}

/// What is known about a question's numbers before any record is looked at.
///
/// From it follow the grids on which sums are exact integers.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// No coefficient `f_i sum_u B_iou D_ru` is larger.
    pub coefficient: f64,
    /// No score is larger: a power of two.
    pub score: f64,
    /// `sum_i max_j |x_ij| 4096` over all announced records.
    pub reach: u64,
    /// Announced records.
    pub records: usize,
}

impl Lattice {
    /// The grids for k classes; refuses sizes that exact integers cannot hold.
    pub(super) fn new(sizes: Sizes, classes: usize) -> Result<Self, PriceError> {
        let Sizes { coefficient, score, reach, records } = sizes;
        let range = Err(PriceError::Range { records });
        // 2^bits * reach <= 2^53: every partial sum of a theta message is exact.
        let log = u64::BITS - reach.max(1).saturating_sub(1).leading_zeros();
        let bits = EXACT.saturating_sub(log).min(*BITS.end());
        // k own - all is formed in doubles: k n 2^20 <= 2^53.
        let tables = (classes as u64).saturating_mul(records as u64) <= 1 << 33;
        if bits < *BITS.start() || !tables || !(coefficient.is_finite() && score > 0.0) {
            return range;
        }
        let unit = match exponent(coefficient) {
            None => 0.0,
            Some(top) => f64::from((top + 1 - bits.cast_signed()).max(FINEST)).exp2(),
        };
        Ok(Self { coefficient: unit, most: f64::from(bits).exp2(), score: score / SCORE_STEPS })
    }

    /// The grids that all sites of a run agreed on, for coefficients of so many bits and a model of one
    /// layer; refuses sizes that exact integers cannot hold.
    pub(super) fn shared(
        sizes: Sizes,
        classes: usize,
        scale: &RoundScale,
        bits: u8,
    ) -> Result<Self, PriceError> {
        let own = Self::new(sizes, classes)?;
        let most = f64::from(bits).exp2();
        // Exponents outside of these are no grid; the agreed bits have to leave sums exact here.
        let grid = (FINEST..=100).contains(&scale.exponent);
        if !grid || !RoundBounds::allows(bits) || most > own.most {
            return Err(PriceError::Range { records: sizes.records });
        }
        Ok(Self { coefficient: scale.coefficient(), most, score: own.score })
    }

    /// What a step of a theta sum and of a table's sum is worth.
    pub(super) fn units(&self) -> [f64; 2] {
        [self.coefficient * GRID, self.score]
    }

    /// Rounds coefficients of `width` numbers per record, each multiplied by its record's cap before
    /// (1 where `caps` is empty); says whether all were in range.
    pub(super) fn round_coefficients(
        &self,
        values: &mut [f64],
        caps: &[f64],
        width: usize,
    ) -> bool {
        if width == 1 {
            values.iter_mut().zip(caps).for_each(|(value, cap)| *value *= cap);
        } else {
            for (values, cap) in values.chunks_exact_mut(width).zip(caps) {
                values.iter_mut().for_each(|value| *value *= cap);
            }
        }
        kernel::round_all(values, 1.0 / self.coefficient, self.most)
    }

    /// Rounds scores into `into`; says whether all were in range.
    pub(super) fn round_scores(&self, scores: &[f64], into: &mut Vec<f64>) -> bool {
        kernel::round_into_vec(scores, 1.0 / self.score, SCORE_STEPS, into)
    }
}

/// `floor(log2 x)` of a number above 0; `None` of 0. A subnormal number counts as the smallest
/// normal one.
fn exponent(value: f64) -> Option<i32> {
    (value > 0.0).then(|| ((value.to_bits() >> 52) as i32 - 1023).max(-1022))
}

/// The smallest power of two above a number; 1 for 0.
pub(super) fn power_above(value: f64) -> f64 {
    exponent(value).map_or(1.0, |top| f64::from(top + 1).exp2())
}

/// `D_r`: what class r adds beside what all classes share, `[cell][column]` with a zero row at the
/// end for records in no cell. A missing class adds 0.
///
/// With two classes only `D_1` is kept, because `D_0 = -D_1`. Rounding of D costs accuracy alone:
/// no identity between the rows is used, and the price is taken from what is summed.
#[derive(Debug, Clone)]
pub struct Centred {
    pub(super) columns: usize,
    pub(super) cells: usize,
    pub(super) classes: usize,
    /// Of each class, or of the second alone.
    pub(super) tables: Vec<Vec<f64>>,
}

impl Centred {
    /// From a question whose shape was checked.
    pub(super) fn new(question: &Question, classes: usize) -> Self {
        let columns = question.columns();
        let cells = question.cells.len();
        let first = usize::from(classes == 2);
        let table = |class: usize| {
            let mut table = Vec::with_capacity((cells + 1) * columns);
            question.cells.iter().for_each(|cell| apart(cell, classes, class, &mut table));
            table.resize((cells + 1) * columns, 0.0);
            table
        };
        Self { columns, cells, classes, tables: (first..classes).map(table).collect() }
    }

    /// Whether every class adds the same, so that there is no theta message.
    pub(super) fn silent(&self) -> bool {
        self.tables.iter().flatten().all(|&value| value == 0.0)
    }

    /// The largest `sum_u |D_ru|` over cells and classes.
    pub fn largest(&self) -> f64 {
        let rows = self.tables.iter().flat_map(|table| table.chunks_exact(self.columns.max(1)));
        rows.map(|row| row.iter().map(|value| value.abs()).sum()).fold(0.0, f64::max)
    }
}

fn apart(cell: &CellQuestion, classes: usize, class: usize, into: &mut Vec<f64>) {
    let columns = cell.quadratic.len();
    let row = |class: usize| &cell.combinations[class * columns..][..columns];
    if classes == 2 {
        into.extend(row(1).iter().zip(row(0)).map(|(one, zero)| one / 2.0 - zero / 2.0));
    } else {
        into.extend(row(class).iter().zip(cell.mean(classes)).map(|(own, mean)| own - mean));
    }
}
