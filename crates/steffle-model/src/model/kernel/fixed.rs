//! Fixed-point numbers: how many steps of `2^-60` a double is, and back.

use super::vectorised;

/// A step.
const STEP: f64 = 1.0 / (1_u64 << 60) as f64;

/// From here on the last bit of a double is worth a step or more.
const WHOLE: f64 = 1.0 / 256.0;

/// Bits of the upper half of a number that is not large.
const SMALL: u32 = 21;

/// `2^52`: its last bits are those of a number below it.
const SHIFT: f64 = 4_503_599_627_370_496.0;

/// Writes `scale` times every value as the nearest number of steps of `2^-60`, halves to the even one;
/// says whether all of them are below `most` in size, which is at most `2^67`. One that is not, or is no
/// number, is written as `most`.
///
/// Every round of every silo writes hundreds of them. One at a time, with a jump for every size, they
/// took an eighth of a training run.
pub fn fixed_point(values: &[f64], scale: f64, most: f64, into: &mut [i128]) -> bool {
    let mut beyond = 0;
    steps(values, (scale, most), halves_mut(into), &mut beyond);
    beyond == 0
}

/// The same of one value.
pub fn to_steps(value: f64) -> i128 {
    let (low, high) = halves(value);
    join(low, high)
}

/// Appends the double nearest to every number of steps, halves to the even one.
pub fn from_fixed_point(numbers: &[i128], into: &mut Vec<f64>) {
    let (start, mut large) = (into.len(), 0);
    into.resize(start + numbers.len(), 0.0);
    let values = &mut into[start..];
    add_parts(halves_of(numbers), values, &mut large);
    if large != 0 {
        values.iter_mut().zip(numbers).for_each(|(value, &number)| *value = from_steps(number));
    }
}

/// The double nearest to a number of steps: the upper 64 bits, of which the last says whether anything
/// follows.
pub fn from_steps(number: i128) -> f64 {
    let size = number.unsigned_abs();
    let spare = 64 - size.leading_zeros().min(64);
    let rest = size & ((1 << spare) - 1);
    let upper = (size >> spare) as u64 | u64::from(rest != 0);
    let rounded = upper as f64 * (f64::from_bits(u64::from(1023 + spare) << 52) * STEP);
    if number < 0 { -rounded } else { rounded }
}

/// Which of the two words of an integer in memory is the lower one.
pub(super) const LOWER: usize = if cfg!(target_endian = "little") { 0 } else { 1 };

/// Integers as the two words that each is.
fn halves_of(numbers: &[i128]) -> &[[u64; 2]] {
    // SAFETY: an integer of 128 bits has the size of two words of 64 and at least their alignment,
    // and all bits of either mean something.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), numbers.len()) }
}

/// The same, to be written to.
fn halves_mut(numbers: &mut [i128]) -> &mut [[u64; 2]] {
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), numbers.len()) }
}

vectorised! {
    /// Both halves of every number of steps, and how many of the values are not below the bound.
    wide steps(values: &[f64], by: (f64, f64), into: &mut [[u64; 2]], beyond: &mut u64) {
        let (scale, most) = by;
        let mut count = 0;
        for (into, value) in into.iter_mut().zip(values) {
            let value = scale * value;
            let within = value.abs() < most;
            count += u64::from(!within);
            let (low, high) = halves(if within { value } else { most.copysign(value) });
            (into[LOWER], into[1 - LOWER]) = (low, high);
        }
        *beyond = count;
    }
}

vectorised! {
    /// The doubles of numbers below `2^(64 + SMALL)` in size, and whether all are: all but the lowest 32
    /// bits then fit into a double, so that one addition rounds.
    wide add_parts(numbers: &[[u64; 2]], values: &mut [f64], large: &mut u64) {
        let exact = |below: u64| f64::from_bits(below | SHIFT.to_bits()) - SHIFT;
        let mut any = 0;
        for (value, number) in values.iter_mut().zip(numbers) {
            let (low, high) = (number[LOWER], number[1 - LOWER]);
            // All ones for a negative number: its complement, and one more.
            let sign = 0_u64.wrapping_sub(high >> 63);
            let upper = (high ^ sign).wrapping_add(sign & u64::from(low == 0));
            let lower = (low ^ sign).wrapping_sub(sign);
            any |= upper >> SMALL;
            let all = exact(upper) * 16.0 + exact(lower >> 32) / (1_u64 << 28) as f64;
            let size = all + exact(lower & 0xffff_ffff) * STEP;
            *value = f64::from_bits(size.to_bits() | sign << 63);
        }
        *large = any;
    }
}

/// The lower and the upper half of the number of steps that a value is.
#[inline(always)]
fn halves(value: f64) -> (u64, u64) {
    const BITS: u32 = f64::MANTISSA_DIGITS - 1;
    let size = value.abs();
    // Of a sum of that size the last bit is worth one step: it is rounded by being formed.
    let size = if size < WHOLE { (size + WHOLE) - WHOLE } else { size };
    let bits = size.to_bits();
    let exponent = bits >> BITS;
    let whole = bits & ((1 << BITS) - 1) | u64::from(exponent != 0) << BITS;
    // The 53 bits at the upper end of 128, then moved to where they belong; 0 is moved out.
    let (top, by) = (whole << 10, 1089_u64.wrapping_sub(exponent));
    let upper = right(top, by);
    let lower = left(top, 64_u64.wrapping_sub(by)) | right(top, by.wrapping_sub(64));
    // All ones for a negative number: its complement, and one more.
    let sign = 0_u64.wrapping_sub(value.to_bits() >> 63);
    ((lower ^ sign).wrapping_sub(sign), (upper ^ sign).wrapping_add(sign & u64::from(lower == 0)))
}

#[inline(always)]
fn join(low: u64, high: u64) -> i128 {
    i128::from(high.cast_signed()) << 64 | i128::from(low)
}

/// Moved down, to nothing by 64 places and more.
#[inline(always)]
fn right(bits: u64, by: u64) -> u64 {
    if by < 64 { bits.wrapping_shr(by as u32) } else { 0 }
}

/// Moved up, to nothing by 64 places and more.
#[inline(always)]
fn left(bits: u64, by: u64) -> u64 {
    if by < 64 { bits.wrapping_shl(by as u32) } else { 0 }
}
