//! One output: scores of rows and sums of rows, both a number per row.

use super::eight::{dot_whole, fits_eight};
use super::fixed::LOWER;
use super::lookup::{Code, assert_below};
use super::{by_code, by_width, vectorised};
use crate::record::Rows;

vectorised! {
    /// The scores of all rows under one output: `w' x + bias`.
    pub(crate) dot_all(rows: &Rows, weights: &[f64], scores: &mut Vec<f64>) {
        let layout = rows.layout();
        let bias = weights[layout.features];
        scores.resize(rows.len(), 0.0);
        if layout.numeric == 0 {
            scores.fill(bias);
        }
        assert!(weights.len() >= layout.padded());
        // SAFETY: positions and codes of a chunk are checked ones, and the length was checked just
        // now.
        unsafe {
            if fits_eight(rows) {
                by_code!(rows, dot_whole or dot_codes_any, (rows, weights, scores));
                return;
            }
            by_width!(
                layout.numeric,
                dot_numeric or dot_numeric_any,
                (rows, weights, bias, scores)
            );
            by_code!(rows, dot_codes or dot_codes_any, (rows, weights, scores));
        }
    }
}

vectorised! {
    /// Adds `coefficient * (x, 1)` of each row to `into`.
    ///
    /// Rows alternate between `into` and `spare`, whose sum is meant: most rows share their most
    /// frequent levels, and an addition to the slot that was just written waits for the write.
    pub(crate) add_all(rows: &Rows, coefficients: &[f64], into: &mut [f64], spare: &mut [f64]) {
        let layout = rows.layout();
        let padded = layout.padded();
        assert!(into.len() >= padded && spare.len() >= padded);
        // SAFETY: positions and codes of a chunk are checked ones, and the lengths were checked
        // just now.
        unsafe {
            by_width!(
                layout.numeric,
                add_numeric or add_numeric_any,
                (rows, coefficients, into)
            );
            by_code!(rows, add_codes or add_codes_any, (rows, coefficients, into, spare));
        }
        into[layout.features] += sum(coefficients);
    }
}

vectorised! {
    /// For each row `v = a c + b d`, where `(a, b)` are its own slopes and `(c, d)` the pair of its
    /// slot, scaled back so that `|v (x, 1)|` is at most the limit beside the pairs; panics where
    /// there is no such slot.
    pub(crate) combine_clipped(
        rows: &Rows,
        slots: &[u32],
        slopes: &[[f64; 2]],
        pairs: (&[[f64; 2]], f64),
        into: &mut Vec<f64>
    ) {
        let (pairs, limit) = pairs;
        assert_below(slots, pairs.len());
        into.resize(rows.len().min(slots.len()).min(slopes.len()), 0.0);
        let inverse_lengths = parts::<2>(rows, rows.layout().inverse_at())
            .map(|[low, high]| f64::from_bits(u64::from(*low) | u64::from(*high) << 32));
        let own = slots.iter().zip(slopes).zip(inverse_lengths);
        for (into, ((&slot, [a, b]), inverse_length)) in into.iter_mut().zip(own) {
            // SAFETY: no slot is outside; this was checked just now.
            let [c, d] = unsafe { pairs.get_unchecked(slot as usize) };
            let (value, most) = (a * c + b * d, limit * inverse_length);
            *into = if value.abs() > most { most.copysign(value) } else { value };
        }
    }
}

/// The same `N` words of every row, from word `offset` on.
#[inline(always)]
pub(super) fn parts<const N: usize>(
    rows: &Rows,
    offset: usize,
) -> impl ExactSizeIterator<Item = &[u32; N]> {
    let (words, stride) = (rows.words(), rows.stride());
    assert!(offset + N <= stride && words.len() == rows.len() * stride);
    (0..rows.len()).map(move |row| {
        // SAFETY: row by row the words are there; this was checked just now. A run of N words is
        // an array of N words.
        unsafe { &*words.as_ptr().add(row * stride + offset).cast::<[u32; N]>() }
    })
}

/// The codes of every row.
#[inline(always)]
pub(super) fn codes<C: Code, const K: usize>(
    rows: &Rows,
) -> impl ExactSizeIterator<Item = &[C; K]> {
    let (words, stride, offset) = (rows.words(), rows.stride(), rows.layout().numeric);
    let end = offset + (K * size_of::<C>()).div_ceil(size_of::<u32>());
    assert!(end <= stride && words.len() == rows.len() * stride);
    (0..rows.len()).map(move |row| {
        // SAFETY: as above; K codes lie in no more than these words.
        unsafe { &*words.as_ptr().add(row * stride + offset).cast::<[C; K]>() }
    })
}

/// The codes of a row; of four bytes two with each load: loads are what a score waits for, and of the two
/// for every code one was for the code itself. Sums, which wait for their slots, were slower for it.
#[inline(always)]
fn in_twos<C: Code, const K: usize>(row: &[C; K]) -> [u32; K] {
    if size_of::<C>() < size_of::<u32>() {
        return row.map(Code::wide);
    }
    let (twos, last) = row.as_chunks::<2>();
    let mut codes = [0; K];
    let (into, into_last) = codes.as_chunks_mut::<2>();
    for (into, two) in into.iter_mut().zip(twos) {
        // SAFETY: two words are as large as this one, wherever they lie.
        let both = unsafe { std::ptr::from_ref(two).cast::<u64>().read_unaligned() };
        let halves = [both as u32, (both >> 32) as u32];
        *into = [halves[LOWER], halves[1 - LOWER]];
    }
    into_last.iter_mut().zip(last).for_each(|(into, last)| *into = last.wide());
    codes
}

/// The slot that a code points at, without a second check of the code.
///
/// # Safety
/// `code` is a code of checked [`Rows`] of some layout and `slots` has at least that layout's
/// [`padded`](crate::record::Layout::padded) length: codes are then at most `features + 1`, one
/// less than that. [`Rows::push_all`] refuses any other code and nothing else can make rows;
/// [`dot_all`] and [`add_all`] check the length, [`beside`](super::beside) makes it. The check in every addition took 8 % of a training run.
///
/// [`Rows`]: crate::record::Rows
/// [`Rows::push_all`]: crate::record::Rows::push_all
#[inline(always)]
pub(super) unsafe fn slot(slots: &[f64], code: u32) -> &f64 {
    debug_assert!((code as usize) < slots.len());
    // SAFETY: the caller's promise.
    unsafe { slots.get_unchecked(code as usize) }
}

/// As [`slot`], to be added to.
///
/// # Safety
/// As for [`slot`].
#[inline(always)]
pub(super) unsafe fn slot_mut<T>(slots: &mut [T], code: u32) -> &mut T {
    debug_assert!((code as usize) < slots.len());
    // SAFETY: the caller's promise.
    unsafe { slots.get_unchecked_mut(code as usize) }
}

/// The weights of a row's codes, added up in two halves that do not wait for each other.
///
/// # Safety
/// As for [`slot`], for all codes.
#[inline(always)]
pub(super) unsafe fn sum_of_codes<C: Code, const K: usize>(row: &[C; K], weights: &[f64]) -> f64 {
    // SAFETY: this function's own condition.
    let weight = |code: &u32| unsafe { *slot(weights, *code) };
    let row = in_twos(row);
    let (front, back) = row.split_at(K / 2);
    let half = |codes: &[u32]| codes.iter().map(weight).reduce(|sum, weight| sum + weight);
    half(front).unwrap_or(0.0) + half(back).unwrap_or(0.0)
}

/// # Safety
/// None needed; called beside others that need some.
#[inline(always)]
unsafe fn dot_numeric<const N: usize>(rows: &Rows, weights: &[f64], bias: f64, scores: &mut [f64]) {
    let Some((weights, _)) = weights.split_first_chunk::<N>() else { return };
    for (score, row) in scores.iter_mut().zip(parts::<N>(rows, 0)) {
        let row = row.map(f32::from_bits);
        // Two lanes, for even and odd columns: two products at a time.
        let (row_pairs, row_last) = row.as_chunks::<2>();
        let (weight_pairs, weight_last) = weights.as_chunks::<2>();
        let mut lanes = [0.0; 2];
        for ([a, b], [v, w]) in row_pairs.iter().zip(weight_pairs) {
            lanes[0] += f64::from(*a) * v;
            lanes[1] += f64::from(*b) * w;
        }
        for (a, v) in row_last.iter().zip(weight_last) {
            lanes[0] += f64::from(*a) * v;
        }
        *score = bias + (lanes[0] + lanes[1]);
    }
}

/// # Safety
/// None needed; it stands in for [`dot_numeric`].
#[inline(always)]
unsafe fn dot_numeric_any(
    _width: usize,
    rows: &Rows,
    weights: &[f64],
    bias: f64,
    scores: &mut [f64],
) {
    for (row, score) in scores.iter_mut().enumerate() {
        let products = rows.numeric(row).iter().zip(weights).map(|(&x, w)| f64::from(x) * w);
        *score = bias + products.sum::<f64>();
    }
}

/// # Safety
/// As for [`slot`], for all codes.
#[inline(always)]
unsafe fn dot_codes<C: Code, const K: usize>(rows: &Rows, weights: &[f64], scores: &mut [f64]) {
    for (score, row) in scores.iter_mut().zip(codes::<C, K>(rows)) {
        // SAFETY: this function's own condition.
        *score += unsafe { sum_of_codes(row, weights) };
    }
}

/// # Safety
/// None needed; it stands in for [`dot_codes`].
#[inline(always)]
unsafe fn dot_codes_any(_width: usize, rows: &Rows, weights: &[f64], scores: &mut [f64]) {
    for (row, score) in scores.iter_mut().enumerate() {
        *score += rows.codes(row).map(|code| weights[code as usize]).sum::<f64>();
    }
}

/// The sum, in four chains that do not wait for each other.
#[inline(always)]
pub(super) fn sum(values: &[f64]) -> f64 {
    let (fours, rest) = values.as_chunks::<4>();
    let mut chains = [0.0; 4];
    for four in fours {
        chains.iter_mut().zip(four).for_each(|(chain, value)| *chain += value);
    }
    chains.iter().chain(rest).sum()
}

/// # Safety
/// None needed; called beside others that need some.
#[inline(always)]
unsafe fn add_numeric<const N: usize>(rows: &Rows, coefficients: &[f64], into: &mut [f64]) {
    let mut sums = [0.0; N];
    for (&coefficient, row) in coefficients.iter().zip(parts::<N>(rows, 0)) {
        let row = row.map(f32::from_bits);
        for column in 0..N {
            sums[column] += coefficient * f64::from(row[column]);
        }
    }
    into.iter_mut().zip(sums).for_each(|(into, sum)| *into += sum);
}

/// # Safety
/// None needed; it stands in for [`add_numeric`].
#[inline(always)]
unsafe fn add_numeric_any(_width: usize, rows: &Rows, coefficients: &[f64], into: &mut [f64]) {
    for (row, coefficient) in coefficients.iter().enumerate() {
        for (sum, &value) in into.iter_mut().zip(rows.numeric(row)) {
            *sum += coefficient * f64::from(value);
        }
    }
}

/// # Safety
/// As for [`slot`], for all codes, in both slices.
#[inline(always)]
unsafe fn add_codes<C: Code, const K: usize>(
    rows: &Rows,
    coefficients: &[f64],
    into: &mut [f64],
    spare: &mut [f64],
) {
    let mut parts = codes::<C, K>(rows);
    let (twos, last) = coefficients.as_chunks::<2>();
    for &[first, second] in twos {
        let (Some(even), Some(odd)) = (parts.next(), parts.next()) else { return };
        for column in 0..K {
            // SAFETY: this function's own condition.
            unsafe {
                *slot_mut(into, even[column].wide()) += first;
                *slot_mut(spare, odd[column].wide()) += second;
            }
        }
    }
    for (row, coefficient) in parts.zip(last) {
        row.iter().for_each(|&code| into[code.wide() as usize] += coefficient);
    }
}

/// # Safety
/// None needed; it stands in for [`add_codes`].
#[inline(always)]
unsafe fn add_codes_any(
    _width: usize,
    rows: &Rows,
    coefficients: &[f64],
    into: &mut [f64],
    _spare: &mut [f64],
) {
    for (row, coefficient) in coefficients.iter().enumerate() {
        rows.codes(row).for_each(|code| into[code as usize] += coefficient);
    }
}
