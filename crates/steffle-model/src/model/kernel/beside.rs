//! Sums of rows beside each other: each row is visited once for all of them, and each of its codes.

use super::eight::fits_eight;
#[cfg(target_arch = "x86_64")]
use super::eight::{Eight, LANES};
use super::lookup::Code;
use super::single::{codes, parts, slot_mut, sum};
use super::{by_code, by_width, vectorised};
use crate::record::{Layout, Rows};

/// Slots of two sums beside each other, so that one access serves both, and of up to four.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    pairs: Vec<[f64; 2]>,
    quads: Vec<[f64; 4]>,
}

/// A coefficient per row, and the sum that it goes to.
pub(crate) type Part<'a> = (&'a [f64], &'a mut [f64]);

vectorised! {
    /// [`add_all`](super::add_all) for two sums at once: each row is visited once, and each of its codes with it.
    pub(crate) add_both(rows: &Rows, first: Part<'_>, second: Part<'_>, room: &mut Beside) {
        let own = [first.0, second.0];
        let (even, odd) = halves(&mut room.pairs, rows.layout().padded());
        // SAFETY: `rows` are checked rows, and both halves have the length.
        unsafe {
            if fits_eight(rows) {
                by_code!(rows, two_whole or codes_any, (rows, own, even, odd));
            } else {
                by_width!(rows.layout().numeric, two_numeric or numeric_any, (rows, own, even));
                by_code!(rows, two_codes or codes_any, (rows, own, even, odd));
            }
        }
        let [one, two] = [first.1, second.1];
        assert!(one.len() >= even.len() && two.len() >= even.len());
        for ((even, odd), (into, other)) in even.iter_mut().zip(odd).zip(one.iter_mut().zip(&mut *two)) {
            *into += even[0] + odd[0];
            *other += even[1] + odd[1];
            (*even, *odd) = ([0.0; 2], [0.0; 2]);
        }
        let bias = rows.layout().features;
        one[bias] += sum(own[0]);
        two[bias] += sum(own[1]);
    }
}

vectorised! {
    /// The same, and beside both [`add_all`](super::add_all) of a third sum, whose two halves are the last of its
    /// arguments: to the bit what each would be alone. There are at most 16 numbers in a row.
    pub(crate) add_three(
        rows: &Rows,
        first: Part<'_>,
        second: Part<'_>,
        third: (&[f64], &mut [f64], &mut [f64]),
        room: &mut Beside
    ) {
        let Layout { numeric, features, .. } = rows.layout();
        let ((a, one), (b, two), (c, three, spare)) = (first, second, third);
        let (even, odd) = halves(&mut room.quads, rows.layout().padded());
        assert!(numeric <= 16);
        assert!([one.len(), two.len(), three.len(), spare.len()].iter().all(|&len| len >= even.len()));
        let own = even[numeric..].iter_mut().zip(&mut odd[numeric..]);
        for ((even, odd), (sum, spare)) in own.zip(three[numeric..].iter().zip(&spare[numeric..])) {
            (even[2], odd[2]) = (*sum, *spare);
        }
        // SAFETY: `rows` are checked rows, and both halves have the length.
        unsafe {
            if fits_eight(rows) {
                by_code!(rows, three_whole or codes_any, (rows, [a, b, c], even, odd));
            } else {
                by_width!(numeric, three_numeric or numeric_any, (rows, [a, b, c], even));
                by_code!(rows, three_codes or codes_any, (rows, [a, b, c], even, odd));
            }
        }
        for ((one, two), (even, odd)) in one.iter_mut().zip(&mut *two).zip(even.iter().zip(&*odd)) {
            *one += even[0] + odd[0];
            *two += even[1] + odd[1];
        }
        for (sum, even) in three.iter_mut().zip(&mut even[..numeric]) {
            *sum += even[2];
            *even = [0.0; 4];
        }
        let halves = three[numeric..].iter_mut().zip(&mut spare[numeric..]);
        let own = even[numeric..].iter_mut().zip(&mut odd[numeric..]);
        for ((sum, spare), (even, odd)) in halves.zip(own) {
            (*sum, *spare) = (even[2], odd[2]);
            (*even, *odd) = ([0.0; 4], [0.0; 4]);
        }
        one[features] += sum(a);
        two[features] += sum(b);
        three[features] += sum(c);
    }
}

/// Two zero sums of so many slots. Rows alternate between them, as in [`add_all`](super::add_all). Who reads
/// them leaves zeros behind: they are in the cache then, and clearing all of them before took longer.
#[inline(always)]
fn halves<const S: usize>(
    room: &mut Vec<[f64; S]>,
    slots: usize,
) -> (&mut [[f64; S]], &mut [[f64; S]]) {
    if room.len() != 2 * slots {
        room.clear();
        room.resize(2 * slots, [0.0; S]);
    }
    debug_assert!(room.iter().flatten().all(|&left| left == 0.0));
    room.split_at_mut(slots)
}

/// The coefficients of row `row`, in a slot's lanes.
///
/// # Safety
/// Every slice has an entry for the row.
#[inline(always)]
unsafe fn lanes<const C: usize, const S: usize>(own: [&[f64]; C], row: usize) -> [f64; S] {
    // SAFETY: the caller's promise.
    let entry = |lane: usize| unsafe { *own[lane].get_unchecked(row) };
    std::array::from_fn(|lane| if lane < C { entry(lane) } else { 0.0 })
}

#[inline(always)]
fn add_lanes<const S: usize>(slot: &mut [f64; S], own: &[f64; S]) {
    slot.iter_mut().zip(own).for_each(|(slot, own)| *slot += own);
}

/// Numbers and codes of C sums at once: while an addition to a slot waits for the one before, the
/// numbers of the row are multiplied. To the bit what the two are one after the other.
///
/// # Safety
/// As for [`slot`](super::single::slot), for all codes, in both slices of slots.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn whole_beside<W: Code, const K: usize, const C: usize, const S: usize>(
    rows: &Rows,
    own: [&[f64]; C],
    even: &mut [[f64; S]],
    odd: &mut [[f64; S]],
) {
    use std::arch::x86_64::{_mm256_add_pd, _mm256_mul_pd, _mm256_set1_pd, _mm256_setzero_pd};

    let own = own.map(|own| &own[..rows.len()]);
    let numeric = rows.layout().numeric;
    let eight = Eight::of_first(numeric);
    let mut sums = [[_mm256_setzero_pd(); 2]; C];
    let mut add_numbers = |row: &[u32; LANES], own: &[f64; S]| {
        let numbers = eight.numbers(row);
        for (sums, &own) in sums.iter_mut().zip(own) {
            let own = _mm256_set1_pd(own);
            for (sum, number) in sums.iter_mut().zip(numbers) {
                *sum = _mm256_add_pd(*sum, _mm256_mul_pd(own, number));
            }
        }
    };
    let mut parts = parts::<LANES>(rows, 0).zip(codes::<W, K>(rows)).enumerate();
    while let Some((row, (numbers, one))) = parts.next() {
        // SAFETY: there are as many coefficients as rows; codes are this function's own condition.
        unsafe {
            let first: [f64; S] = lanes(own, row);
            add_numbers(numbers, &first);
            let Some((row, (numbers, other))) = parts.next() else {
                one.iter().for_each(|&code| add_lanes(slot_mut(even, code.wide()), &first));
                break;
            };
            let second: [f64; S] = lanes(own, row);
            add_numbers(numbers, &second);
            for column in 0..K {
                add_lanes(slot_mut(even, one[column].wide()), &first);
                add_lanes(slot_mut(odd, other[column].wide()), &second);
            }
        }
    }
    for (lane, sums) in sums.into_iter().enumerate() {
        let sums = Eight::stored(sums);
        even[..numeric].iter_mut().zip(sums).for_each(|(slot, sum)| slot[lane] = sum);
    }
}

/// Adds C sums beside each other, in slots of S lanes.
///
/// # Safety
/// As for [`slot`](super::single::slot), for all codes, in both slices of slots.
#[inline(always)]
unsafe fn codes_beside<W: Code, const K: usize, const C: usize, const S: usize>(
    rows: &Rows,
    own: [&[f64]; C],
    even: &mut [[f64; S]],
    odd: &mut [[f64; S]],
) {
    let own = own.map(|own| &own[..rows.len()]);
    let mut parts = codes::<W, K>(rows).enumerate();
    while let Some((row, one)) = parts.next() {
        // SAFETY: there are as many coefficients as rows; codes are this function's own condition.
        unsafe {
            let first: [f64; S] = lanes(own, row);
            let Some((row, other)) = parts.next() else {
                one.iter().for_each(|&code| add_lanes(slot_mut(even, code.wide()), &first));
                return;
            };
            let second: [f64; S] = lanes(own, row);
            for column in 0..K {
                add_lanes(slot_mut(even, one[column].wide()), &first);
                add_lanes(slot_mut(odd, other[column].wide()), &second);
            }
        }
    }
}

/// # Safety
/// None needed; called beside others that need some.
#[inline(always)]
unsafe fn numeric_beside<const N: usize, const C: usize, const S: usize>(
    rows: &Rows,
    own: [&[f64]; C],
    into: &mut [[f64; S]],
) {
    let own = own.map(|own| &own[..rows.len()]);
    let mut sums = [[0.0; N]; C];
    for (at, row) in parts::<N>(rows, 0).enumerate() {
        let row = row.map(|word| f64::from(f32::from_bits(word)));
        // SAFETY: there are as many coefficients as rows.
        let own: [f64; C] = unsafe { lanes(own, at) };
        for (sums, own) in sums.iter_mut().zip(own) {
            for column in 0..N {
                sums[column] += own * row[column];
            }
        }
    }
    for (column, slot) in into[..N].iter_mut().enumerate() {
        slot.iter_mut().zip(&sums).for_each(|(slot, sums)| *slot = sums[column]);
    }
}

/// # Safety
/// None needed; it stands in for [`numeric_beside`].
#[inline(always)]
unsafe fn numeric_any<const C: usize, const S: usize>(
    width: usize,
    rows: &Rows,
    own: [&[f64]; C],
    into: &mut [[f64; S]],
) {
    let own = own.map(|own| &own[..rows.len()]);
    for row in 0..rows.len() {
        // SAFETY: there are as many coefficients as rows.
        let own: [f64; S] = unsafe { lanes(own, row) };
        for (slot, &value) in into[..width].iter_mut().zip(rows.numeric(row)) {
            let value = f64::from(value);
            slot.iter_mut().zip(own).for_each(|(sum, own)| *sum += own * value);
        }
    }
}

/// # Safety
/// None needed; it stands in for [`codes_beside`].
#[inline(always)]
unsafe fn codes_any<const C: usize, const S: usize>(
    _width: usize,
    rows: &Rows,
    own: [&[f64]; C],
    even: &mut [[f64; S]],
    _odd: &mut [[f64; S]],
) {
    let own = own.map(|own| &own[..rows.len()]);
    for row in 0..rows.len() {
        // SAFETY: there are as many coefficients as rows.
        let own: [f64; S] = unsafe { lanes(own, row) };
        rows.codes(row).for_each(|code| add_lanes(&mut even[code as usize], &own));
    }
}

/// Names for [`by_width`], which gives one constant.
macro_rules! beside {
    ($($numeric:ident $codes:ident $whole:ident $count:literal in $lanes:literal;)*) => {$(
        #[inline(always)]
        unsafe fn $numeric<const N: usize>(
            rows: &Rows,
            own: [&[f64]; $count],
            into: &mut [[f64; $lanes]],
        ) {
            // SAFETY: none needed.
            unsafe { numeric_beside::<N, $count, $lanes>(rows, own, into) }
        }

        #[inline(always)]
        unsafe fn $codes<W: Code, const K: usize>(
            rows: &Rows,
            own: [&[f64]; $count],
            even: &mut [[f64; $lanes]],
            odd: &mut [[f64; $lanes]],
        ) {
            // SAFETY: the caller's promise.
            unsafe { codes_beside::<W, K, $count, $lanes>(rows, own, even, odd) }
        }

        #[inline(always)]
        unsafe fn $whole<W: Code, const K: usize>(
            rows: &Rows,
            own: [&[f64]; $count],
            even: &mut [[f64; $lanes]],
            odd: &mut [[f64; $lanes]],
        ) {
            // SAFETY: the caller's promise; the processor was asked ([`fits_eight`]).
            #[cfg(target_arch = "x86_64")]
            unsafe {
                whole_beside::<W, K, $count, $lanes>(rows, own, even, odd);
            }
        }
    )*};
}

beside! {
    two_numeric two_codes two_whole 2 in 2;
    three_numeric three_codes three_whole 3 in 4;
}
