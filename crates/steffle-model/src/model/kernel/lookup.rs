//! Entries picked by position or by slot; the positions are checked once, before the loop.

use super::{by_width, vectorised};
use crate::model::nearest;

/// Words that are numbers, as numbers.
pub(crate) fn as_numbers(words: &[u32]) -> &[f32] {
    // SAFETY: both types have the same size and alignment, and every word is some number.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

/// A code as rows store it.
pub(crate) trait Code: Copy + 'static {
    /// The codes that words are.
    fn all_of(words: &[u32]) -> &[Self];

    /// The same code, in four bytes.
    fn wide(self) -> u32;
}

macro_rules! codes {
    ($($code:ty)*) => {$(
        impl Code for $code {
            #[inline(always)]
            fn all_of(words: &[u32]) -> &[Self] {
                let count = size_of_val(words) / size_of::<Self>();
                // SAFETY: there are so many of them in these bytes, whatever their bits are, and a word
                // lies where such a code may lie.
                unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), count) }
            }

            #[inline(always)]
            fn wide(self) -> u32 {
                self.into()
            }
        }
    )*};
}
codes!(u8 u16 u32);

/// The values at positions, in their order; panics where there is no such value.
pub fn pick<T: Copy + Default>(values: &[T], which: &[u32], into: &mut Vec<T>) {
    if let Some(first) = neighbours(which) {
        into.clear();
        return into.extend_from_slice(&values[first..][..which.len()]);
    }
    check_below(which, values.len());
    // The old contents are overwritten, so nothing is cleared.
    into.resize(which.len(), T::default());
    // SAFETY: no position is outside; this was checked just now.
    let value = |&at: &u32| unsafe { *values.get_unchecked(at as usize) };
    // Eight at a time, without a jump for every single one.
    let ((eights, rest), (into, into_rest)) = (which.as_chunks::<8>(), into.as_chunks_mut::<8>());
    for (into, eight) in into.iter_mut().zip(eights) {
        into.iter_mut().zip(eight).for_each(|(into, at)| *into = value(at));
    }
    into_rest.iter_mut().zip(rest).for_each(|(into, at)| *into = value(at));
}

vectorised! {
    /// [`assert_below`], several at a time.
    check_below(positions: &[u32], end: usize) {
        assert_below(positions, end);
    }
}

/// The values at positions, in their order: where they lie, if that is one after the other, else
/// picked into `room`.
pub fn picked<'a, T: Copy + Default>(
    values: &'a [T],
    which: &[u32],
    room: &'a mut Vec<T>,
) -> &'a [T] {
    if let Some(first) = neighbours(which) {
        &values[first..][..which.len()]
    } else {
        pick(values, which, room);
        room
    }
}

/// The first of positions that count on, one after the other; none of a single one.
pub(crate) fn neighbours(which: &[u32]) -> Option<usize> {
    let [first, .., last] = which else { return None };
    if *last as usize != *first as usize + which.len() - 1 {
        return None;
    }
    // Counted, several at a time; a search would stop early and look at each.
    let others =
        which.iter().zip(0_u32..).map(|(at, past)| u32::from(at.wrapping_sub(past) != *first));
    (others.sum::<u32>() == 0).then_some(*first as usize)
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
    pub(crate) wide combine_pairs(
        slots: &[u32],
        slopes: &[[f64; 2]],
        rows: &[[f64; 2]],
        into: &mut Vec<f64>
    ) {
        assert_below(slots, rows.len());
        into.resize(slots.len().min(slopes.len()), 0.0);
        let first = slots.first().copied().unwrap_or(0);
        // Counted, several at a time; a search would stop early and look at each.
        if slots.iter().map(|&slot| u32::from(slot != first)).sum::<u32>() == 0 && !rows.is_empty() {
            // All have one slot: nothing to look up, so that several are computed at a time.
            let [c, d] = rows[first as usize];
            into.iter_mut().zip(slopes).for_each(|(into, [a, b])| *into = a * c + b * d);
            return;
        }
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

vectorised! {
    /// As [`round_all`], from one place to another.
    round_from(values: &[f64], scale: f64, most: f64, into: &mut [f64], inside: &mut u64) {
        let mut count = 0;
        for (value, into) in values.iter().zip(into) {
            let exact = *value * scale;
            count += u64::from(exact.abs() <= most);
            *into = nearest(exact.max(-most).min(most));
        }
        *inside = count;
    }
}

/// As [`round_all`], into `into`.
#[inline]
pub fn round_into_vec(values: &[f64], scale: f64, most: f64, into: &mut Vec<f64>) -> bool {
    let mut inside = 0;
    // The old contents are overwritten, so nothing is cleared.
    into.resize(values.len(), 0.0);
    round_from(values, scale, most, into, &mut inside);
    inside == values.len() as u64
}

vectorised! {
    /// For each record `k [class = row] - [class < k]`.
    pub wide centred_weights(own: &[u16], classes: u16, row: u16, into: &mut [f64]) {
        let k = f64::from(classes);
        for (weight, &class) in into.iter_mut().zip(own) {
            let known = f64::from(u8::from(class < classes));
            *weight = k * f64::from(u8::from(class == row)) - known;
        }
    }
}

vectorised! {
    /// Pairs, each times its weight.
    pub wide weigh_pairs(pairs: &[[f64; 2]], weights: &[f64], into: &mut [[f64; 2]]) {
        for (into, ([a, b], weight)) in into.iter_mut().zip(pairs.iter().zip(weights)) {
            *into = [a * weight, b * weight];
        }
    }
}

vectorised! {
    /// Numbers, each times its weight.
    pub(crate) wide weigh(values: &[f64], weights: &[f64], into: &mut [f64]) {
        for (into, (value, weight)) in into.iter_mut().zip(values.iter().zip(weights)) {
            *into = value * weight;
        }
    }
}

vectorised! {
    /// The largest of `a x + b y`, 0 at least, and how many of them are no number.
    pub wide largest_sum(x: &[f64], y: &[f64], by: (f64, f64), found: &mut (f64, u64)) {
        let (a, b) = by;
        let (mut tops, mut wrong) = ([0.0; 8], [0_u64; 8]);
        let (x_lanes, x_rest) = x.as_chunks::<8>();
        let (y_lanes, y_rest) = y.as_chunks::<8>();
        for (x, y) in x_lanes.iter().zip(y_lanes) {
            for lane in 0..8 {
                let sum = x[lane] * a + y[lane] * b;
                tops[lane] = if sum > tops[lane] { sum } else { tops[lane] };
                wrong[lane] += u64::from(sum.is_nan());
            }
        }
        for (x, y) in x_rest.iter().zip(y_rest) {
            let sum = x * a + y * b;
            tops[0] = if sum > tops[0] { sum } else { tops[0] };
            wrong[0] += u64::from(sum.is_nan());
        }
        *found = (tops.into_iter().fold(0.0, f64::max), wrong.iter().sum());
    }
}

/// Panics unless every position is below `end`.
///
/// By the largest, not searched: a search that may stop early is not done several at a time.
#[inline(always)]
pub(super) fn assert_below(positions: &[u32], end: usize) {
    let last = positions.iter().fold(0, |top: u32, &at| top.max(at));
    assert!(positions.is_empty() || (last as usize) < end, "positions beyond {end}");
}
