//! The hot loops over encoded rows. A row costs its non-zeros: the numbers and one slot per code.
//!
//! Weights of several outputs are interleaved, `[feature][output]`, so that one code touches one
//! contiguous run. Every weight slice here is *padded*: it ends with a zero slot that absent
//! levels point at ([`Layout::absent`](crate::record::Layout::absent)).
//!
//! This module and [`vector`] below it are the only ones that may say `unsafe`: here to look up a
//! code that was checked when its row was made, there to call what was compiled for AVX2. Both
//! uses were measured, and both say why they are sound.
#![allow(unsafe_code)]

pub(crate) mod vector;

use crate::record::{Layout, Rows};

/// Copies `weights` (`[features + 1][outputs]`) and appends the zero slot.
pub(crate) fn pad(weights: &[f64], outputs: usize, padded: &mut Vec<f64>) {
    padded.clear();
    padded.extend_from_slice(weights);
    padded.resize(weights.len() + outputs, 0.0);
}

/// Calls `$fixed::<N>` with `$width` as the constant N where it is 1 to 16, so that a row is an
/// array and the loop over it is unrolled; `$any` with the width as first argument elsewhere.
macro_rules! by_width {
    ($width:expr, $fixed:ident or $any:ident, ($($argument:expr),*)) => {
        $crate::model::kernel::by_width!(@ $width, $fixed, $any, ($($argument),*),
            1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
    };
    (@ $width:expr, $fixed:ident, $any:ident, $arguments:tt, $($constant:literal)*) => {
        match $width {
            0 => {}
            $($constant => $crate::model::kernel::by_width!(call $fixed::<$constant>, $arguments),)*
            _ => $crate::model::kernel::by_width!(call $any, $width, $arguments),
        }
    };
    (call $fixed:ident::<$constant:literal>, ($($argument:expr),*)) => {
        $fixed::<$constant>($($argument),*)
    };
    (call $any:ident, $width:expr, ($($argument:expr),*)) => { $any($width, $($argument),*) };
}
pub(crate) use by_width;

/// The scores of all rows under one output: `w' x + bias`.
pub(crate) fn dot_all(rows: &Rows, weights: &[f64], scores: &mut Vec<f64>) {
    let (numeric, codes) = rows.parts();
    scores.clear();
    scores.resize(rows.len(), weights[rows.layout().features]);
    by_width!(rows.layout().numeric, dot_numeric or dot_numeric_any, (numeric, weights, scores));
    assert!(weights.len() >= rows.layout().padded());
    // SAFETY: `rows` are checked rows, and the length was checked just now.
    unsafe {
        by_width!(rows.layout().categorical, dot_codes or dot_codes_any, (codes, weights, scores));
    }
}

fn dot_numeric<const N: usize>(values: &[f32], weights: &[f64], scores: &mut [f64]) {
    let Some((weights, _)) = weights.split_first_chunk::<N>() else { return };
    for (score, row) in scores.iter_mut().zip(values.as_chunks::<N>().0) {
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
        *score += lanes[0] + lanes[1];
    }
}

fn dot_numeric_any(width: usize, values: &[f32], weights: &[f64], scores: &mut [f64]) {
    for (score, row) in scores.iter_mut().zip(values.chunks_exact(width)) {
        *score += row.iter().zip(weights).map(|(&x, w)| f64::from(x) * w).sum::<f64>();
    }
}

/// The slot that a code points at, without a second check of the code.
///
/// # Safety
/// `code` is a code of checked [`Rows`] of some layout and `slots` has at least that layout's
/// [`padded`](Layout::padded) length: codes are then at most `features + 1`, one less than that.
/// [`Rows::new`] refuses any other code and nothing else can make rows; [`dot_all`] and
/// [`add_all`] check the length. The check in every addition took 8 % of a training run.
#[inline]
unsafe fn at(slots: &[f64], code: u32) -> f64 {
    debug_assert!((code as usize) < slots.len());
    // SAFETY: the caller's promise.
    unsafe { *slots.get_unchecked(code as usize) }
}

/// As [`at`], to be added to.
///
/// # Safety
/// As for [`at`].
#[inline]
unsafe fn at_mut(slots: &mut [f64], code: u32) -> &mut f64 {
    debug_assert!((code as usize) < slots.len());
    // SAFETY: the caller's promise.
    unsafe { slots.get_unchecked_mut(code as usize) }
}

/// # Safety
/// As for [`at`], for all codes.
unsafe fn dot_codes<const K: usize>(codes: &[u32], weights: &[f64], scores: &mut [f64]) {
    for (score, row) in scores.iter_mut().zip(codes.as_chunks::<K>().0) {
        let (mut first, mut second) = (0.0, 0.0);
        for &code in &row[..K / 2] {
            // SAFETY: this function's own condition.
            first += unsafe { at(weights, code) };
        }
        for &code in &row[K / 2..] {
            // SAFETY: as above.
            second += unsafe { at(weights, code) };
        }
        *score += first + second;
    }
}

/// # Safety
/// None needed; it stands in for [`dot_codes`].
unsafe fn dot_codes_any(width: usize, codes: &[u32], weights: &[f64], scores: &mut [f64]) {
    for (score, row) in scores.iter_mut().zip(codes.chunks_exact(width)) {
        *score += row.iter().map(|&code| weights[code as usize]).sum::<f64>();
    }
}

/// Adds `coefficient * (x, 1)` of each row to `into`.
///
/// Rows alternate between `into` and `spare`, whose sum is meant: most rows share their most
/// frequent levels, and an addition to the slot that was just written waits for the write.
pub(crate) fn add_all(rows: &Rows, coefficients: &[f64], into: &mut [f64], spare: &mut [f64]) {
    let Layout { numeric: numbers, categorical, features } = rows.layout();
    let (numeric, codes) = rows.parts();
    by_width!(numbers, add_numeric or add_numeric_any, (numeric, coefficients, into));
    assert!(into.len() >= rows.layout().padded() && spare.len() >= rows.layout().padded());
    // SAFETY: `rows` are checked rows, and the lengths were checked just now.
    unsafe {
        by_width!(categorical, add_codes or add_codes_any, (codes, coefficients, into, spare));
    }
    into[features] += sum(coefficients);
}

/// The sum, in four chains that do not wait for each other.
fn sum(values: &[f64]) -> f64 {
    let (fours, rest) = values.as_chunks::<4>();
    let mut chains = [0.0; 4];
    for four in fours {
        chains.iter_mut().zip(four).for_each(|(chain, value)| *chain += value);
    }
    chains.iter().chain(rest).sum()
}

fn add_numeric<const N: usize>(values: &[f32], coefficients: &[f64], into: &mut [f64]) {
    let mut sums = [0.0; N];
    for (&coefficient, row) in coefficients.iter().zip(values.as_chunks::<N>().0) {
        for at in 0..N {
            sums[at] += coefficient * f64::from(row[at]);
        }
    }
    into.iter_mut().zip(sums).for_each(|(into, sum)| *into += sum);
}

fn add_numeric_any(width: usize, values: &[f32], coefficients: &[f64], into: &mut [f64]) {
    for (&coefficient, row) in coefficients.iter().zip(values.chunks_exact(width)) {
        for (sum, &value) in into.iter_mut().zip(row) {
            *sum += coefficient * f64::from(value);
        }
    }
}

/// # Safety
/// As for [`at`], for all codes, in both slices.
unsafe fn add_codes<const K: usize>(
    codes: &[u32],
    coefficients: &[f64],
    into: &mut [f64],
    spare: &mut [f64],
) {
    let (pairs, rest) = codes.as_chunks::<K>().0.as_chunks::<2>();
    let (twos, last) = coefficients.as_chunks::<2>();
    for ([even, odd], [first, second]) in pairs.iter().zip(twos) {
        for column in 0..K {
            // SAFETY: this function's own condition.
            unsafe {
                *at_mut(into, even[column]) += first;
                *at_mut(spare, odd[column]) += second;
            }
        }
    }
    for (row, coefficient) in rest.iter().zip(last) {
        row.iter().for_each(|&code| into[code as usize] += coefficient);
    }
}

/// # Safety
/// None needed; it stands in for [`add_codes`].
unsafe fn add_codes_any(
    width: usize,
    codes: &[u32],
    coefficients: &[f64],
    into: &mut [f64],
    _spare: &mut [f64],
) {
    for (row, coefficient) in codes.chunks_exact(width).zip(coefficients) {
        row.iter().for_each(|&code| into[code as usize] += coefficient);
    }
}

/// The scores of one row under `scores.len()` interleaved outputs.
#[inline]
pub(crate) fn dot_many(rows: &Rows, row: usize, weights: &[f64], scores: &mut [f64]) {
    let outputs = scores.len();
    let slot = |feature: usize| &weights[feature * outputs..][..outputs];
    scores.copy_from_slice(slot(rows.layout().features));
    for (feature, &value) in rows.numeric(row).iter().enumerate() {
        let value = f64::from(value);
        for (score, &weight) in scores.iter_mut().zip(slot(feature)) {
            *score += value * weight;
        }
    }
    for &code in rows.codes(row) {
        for (score, &weight) in scores.iter_mut().zip(slot(code as usize)) {
            *score += weight;
        }
    }
}

/// Adds the outer product of `(x, 1)` and `coefficients` to the interleaved `into`.
#[inline]
pub(crate) fn add_outer(rows: &Rows, row: usize, coefficients: &[f64], into: &mut [f64]) {
    let outputs = coefficients.len();
    for (feature, &value) in rows.numeric(row).iter().enumerate() {
        let value = f64::from(value);
        for (slot, &coefficient) in into[feature * outputs..].iter_mut().zip(coefficients) {
            *slot += value * coefficient;
        }
    }
    let bias = rows.layout().features as u32;
    for &code in rows.codes(row).iter().chain([&bias]) {
        for (slot, &coefficient) in into[code as usize * outputs..].iter_mut().zip(coefficients) {
            *slot += coefficient;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Rows {
        let layout = Layout { numeric: 2, categorical: 2, features: 6 };
        let absent = layout.absent();
        Rows::new(layout, 2, vec![0.5, -2.0, 1.0, 3.0], vec![2, 5, absent, 4]).unwrap()
    }

    fn only(rows: &Rows, row: usize) -> Rows {
        let mut only = Rows::empty(rows.layout());
        only.gather(rows, &[row as u32]);
        only
    }

    #[test]
    fn a_row_is_its_dense_vector() {
        let rows = sample();
        let dense = [[0.5, -2.0, 1.0, 0.0, 0.0, 1.0, 1.0], [1.0, 3.0, 0.0, 0.0, 1.0, 0.0, 1.0]];
        let weights: Vec<f64> = (1..=7).map(f64::from).collect();
        let mut padded = Vec::new();
        pad(&weights, 1, &mut padded);
        for (row, expected) in dense.iter().enumerate() {
            let by_hand: f64 = expected.iter().zip(&weights).map(|(x, w)| x * w).sum();
            let mut score = Vec::new();
            dot_all(&only(&rows, row), &padded, &mut score);
            assert_eq!(score, [by_hand]);
            let norm: f64 = expected.iter().map(|x| x * x).sum();
            assert_eq!(rows.squared_norm(row), norm);
            let mut sum = vec![0.0; 8];
            add_all(&only(&rows, row), &[2.0], &mut sum, &mut [0.0; 8]);
            let doubled: Vec<f64> = expected.iter().map(|x| 2.0 * x).collect();
            assert_eq!(sum[..7], doubled[..]);
        }
    }

    #[test]
    fn several_outputs_are_several_single_ones() {
        let rows = sample();
        let weights: Vec<f64> = (0..14).map(|i| f64::from(i) * 0.25 - 1.0).collect();
        let mut padded = Vec::new();
        pad(&weights, 2, &mut padded);
        for row in 0..2 {
            let mut scores = [0.0; 2];
            dot_many(&rows, row, &padded, &mut scores);
            let mut outer = vec![0.0; 16];
            add_outer(&rows, row, &[3.0, -1.0], &mut outer);
            for output in 0..2 {
                let single: Vec<f64> = padded.iter().skip(output).step_by(2).copied().collect();
                let mut score = Vec::new();
                dot_all(&only(&rows, row), &single, &mut score);
                assert!((score[0] - scores[output]).abs() < 1e-12);
                let mut alone = vec![0.0; 8];
                add_all(&only(&rows, row), &[[3.0, -1.0][output]], &mut alone, &mut [0.0; 8]);
                let woven: Vec<f64> = outer.iter().skip(output).step_by(2).copied().collect();
                assert_eq!(alone[..7], woven[..7]);
            }
        }
    }

    #[test]
    fn every_width_is_the_same_sum() {
        for numeric in 0..20_usize {
            let layout = Layout { numeric, categorical: 1, features: numeric + 2 };
            let values: Vec<f32> = (0..numeric * 2).map(|i| i as f32 - 3.0).collect();
            let codes = vec![numeric as u32, numeric as u32 + 1];
            let rows = Rows::new(layout, 2, values, codes).unwrap();
            let weights: Vec<f64> = (0..=numeric + 2).map(|i| i as f64 * 0.5).collect();
            let mut padded = Vec::new();
            pad(&weights, 1, &mut padded);
            let (mut scores, mut sums) = (Vec::new(), vec![0.0; padded.len()]);
            let mut spare = sums.clone();
            dot_all(&rows, &padded, &mut scores);
            add_all(&rows, &[-1.0, 2.0], &mut sums, &mut spare);
            sums.iter_mut().zip(spare).for_each(|(sum, spare)| *sum += spare);
            let (mut slow, mut slow_sums) = (vec![0.0], vec![0.0; padded.len()]);
            for at in 0..2 {
                dot_many(&rows, at, &padded, &mut slow);
                assert!((scores[at] - slow[0]).abs() < 1e-12, "{numeric}");
                add_outer(&rows, at, &[[-1.0, 2.0][at]], &mut slow_sums);
            }
            assert_eq!(sums[..weights.len()], slow_sums[..weights.len()], "{numeric}");
        }
    }
}
