//! Entries picked by position or by slot; the positions are checked once, before the loop.

use super::{by_width, vectorised};
use crate::model::nearest;

/// Words that are numbers, as numbers.
pub(crate) fn as_numbers(words: &[u32]) -> &[f32] {
    // SAFETY: both types have the same size and alignment, and every word is some number.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

/// The values at positions, in their order; panics where there is no such value.
pub fn pick<T: Copy>(values: &[T], which: &[u32], into: &mut Vec<T>) {
    assert_below(which, values.len());
    into.clear();
    // SAFETY: no position is outside; this was checked just now.
    into.extend(which.iter().map(|&at| unsafe { *values.get_unchecked(at as usize) }));
}

vectorised! {
    /// The rows at positions, in their order, of `stride` words each; panics where there is no
    /// such row.
    pub(crate) gather(stride: usize, words: &[u32], which: &[u32], into: &mut [u32]) {
        by_width!(stride, gather_fixed or gather_any, (words, which, into));
    }
}

#[inline(always)]
fn gather_fixed<const N: usize>(words: &[u32], which: &[u32], into: &mut [u32]) {
    let rows = words.as_chunks::<N>().0;
    assert_below(which, rows.len());
    for (slot, &at) in into.as_chunks_mut::<N>().0.iter_mut().zip(which) {
        // SAFETY: no position is outside; this was checked just now.
        *slot = *unsafe { rows.get_unchecked(at as usize) };
    }
}

/// Starts to bring a word and its neighbours into the cache, if there is such a word. The rows of
/// a batch lie all over memory, and waiting for them took a tenth of a training run.
#[inline(always)]
pub(crate) fn fetch(words: &[u32], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint; it reads nothing, so that no address is wrong.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(words.as_ptr().wrapping_add(at).cast());
    }
}

#[inline(always)]
fn gather_any(width: usize, words: &[u32], which: &[u32], into: &mut [u32]) {
    for (slot, &at) in into.chunks_exact_mut(width).zip(which) {
        slot.copy_from_slice(&words[at as usize * width..][..width]);
    }
}

vectorised! {
    /// For each record `a c + b d`, where `(a, b)` are its own slopes and `(c, d)` the row of its
    /// slot; panics where there is no such slot.
    pub(crate) combine_pairs(
        slots: &[u32],
        slopes: &[[f64; 2]],
        rows: &[[f64; 2]],
        into: &mut Vec<f64>
    ) {
        assert_below(slots, rows.len());
        into.resize(slots.len().min(slopes.len()), 0.0);
        for ((into, &slot), [a, b]) in into.iter_mut().zip(slots).zip(slopes) {
            // SAFETY: no slot is outside; this was checked just now.
            let [c, d] = unsafe { rows.get_unchecked(slot as usize) };
            *into = a * c + b * d;
        }
    }
}

vectorised! {
    /// For each record `cell * rows + min(class, rows - 1)`, at most `none`: its slot in tables of
    /// `rows` rows for each cell.
    pub fill_slots(cells: &[u16], classes: &[u16], rows: u32, none: u32, into: &mut Vec<u32>) {
        into.resize(cells.len().min(classes.len()), 0);
        for ((slot, &cell), &class) in into.iter_mut().zip(cells).zip(classes) {
            *slot = (u32::from(cell) * rows + u32::from(class).min(rows - 1)).min(none);
        }
    }
}

vectorised! {
    /// Multiplies numbers by `scale`, rounds them to the nearest integers of at most `most` in size,
    /// and counts those that were within it. What is no number is not, and becomes `-most`.
    round_into(values: &mut [f64], scale: f64, most: f64, inside: &mut u64) {
        let mut count = 0;
        for value in values {
            let exact = *value * scale;
            count += u64::from(exact.abs() <= most);
            *value = nearest(exact.max(-most).min(most));
        }
        *inside = count;
    }
}

/// Multiplies numbers by `scale` and rounds them to the nearest integers of at most `most` in size;
/// whether all were within that range.
#[inline]
pub fn round_all(values: &mut [f64], scale: f64, most: f64) -> bool {
    let mut inside = 0;
    round_into(values, scale, most, &mut inside);
    inside == values.len() as u64
}

/// Panics unless every position is below `end`.
///
/// Counted, not searched: a search that may stop early is not done several at a time.
#[inline(always)]
pub(super) fn assert_below(positions: &[u32], end: usize) {
    let last = u32::try_from(end).unwrap_or(u32::MAX);
    let outside = positions.iter().map(|&at| u32::from(at >= last)).sum::<u32>();
    assert_eq!(outside, 0, "positions beyond {end}");
}
