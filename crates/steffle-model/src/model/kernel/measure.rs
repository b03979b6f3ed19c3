//! What the price of a round takes of every record, several records at a time.

use super::vectorised;

/// Odd, and without a pattern.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

vectorised! {
    /// A number per record that no other record of its cell has, for [`checksum`].
    pub wide record_keys(places: &[u32], cells: &[u32], keys: &mut [u64]) {
        for ((key, &place), &cell) in keys.iter_mut().zip(places).zip(cells) {
            // The lower half is odd and hence not 0, and another one for every place below 2^31.
            let own = u64::from(place) << 1 | 1 | u64::from(cell) << 33;
            *key = own.wrapping_mul(ODD);
        }
    }
}

vectorised! {
    /// Adds, for every record, the product of both halves of its number and its key to a sum, modulo
    /// `2^64`. There are one or two numbers per record; two are integers of up to 2^20, which leave the
    /// lower halves of their doubles empty, so that both fit into a word.
    wide few(keys: &[u64], shift: u64, values: &[f64], sum: &mut u64) {
        let mut all = 0_u64;
        if values.len() == keys.len() {
            for (key, value) in keys.iter().zip(values) {
                all = all.wrapping_add(halves(key.wrapping_add(value.to_bits().wrapping_add(shift))));
            }
        } else {
            for (key, [a, b]) in keys.iter().zip(values.as_chunks::<2>().0) {
                let word = a.to_bits() ^ b.to_bits().rotate_right(32);
                all = all.wrapping_add(halves(key.wrapping_add(word.wrapping_add(shift))));
            }
        }
        *sum = sum.wrapping_add(all);
    }
}

#[inline(always)]
fn halves(word: u64) -> u64 {
    (word & 0xffff_ffff).wrapping_mul(word >> 32)
}

/// Adds the numbers of every record to a sum in which each has a weight of its own, so that a number
/// that is another one, or another record's, changes it but for one case in about 2^32. `turn` tells
/// several numbers of one record apart.
///
/// It guards against faults, not against adversaries.
pub fn checksum(keys: &[u64], values: &[f64], turn: u64, sum: &mut u64) {
    let width = values.len() / keys.len().max(1);
    let shift = |at: usize| (turn << 32 | at as u64).wrapping_mul(ODD);
    if width <= 2 {
        return few(keys, shift(0), values, sum);
    }
    for (key, row) in keys.iter().zip(values.chunks_exact(width)) {
        for (at, value) in row.iter().enumerate() {
            let word = value.to_bits().wrapping_add(shift(at));
            *sum = sum.wrapping_add(halves(key.wrapping_add(word)));
        }
    }
}

vectorised! {
    /// The largest of both lists of numbers, 0 at least, and how many are no number.
    pub wide largest_each(x: &[f64], y: &[f64], found: &mut ([f64; 2], u64)) {
        let mut tops = [0.0; 2];
        let mut wrong = 0_u64;
        for (values, top) in [x, y].into_iter().zip(&mut tops) {
            let (lanes, rest) = values.as_chunks::<8>();
            let (mut most, mut none) = ([0.0; 8], [0_u64; 8]);
            for values in lanes {
                for lane in 0..8 {
                    let value = values[lane];
                    most[lane] = if value > most[lane] { value } else { most[lane] };
                    none[lane] += u64::from(value.is_nan());
                }
            }
            for &value in rest {
                most[0] = if value > most[0] { value } else { most[0] };
                none[0] += u64::from(value.is_nan());
            }
            *top = most.into_iter().fold(0.0, f64::max);
            wrong += none.iter().sum::<u64>();
        }
        *found = (tops, wrong);
    }
}

vectorised! {
    /// `(2 v length)^2 by` of every record.
    pub wide squared_moves(values: &[f64], lengths: &[f64], by: f64, into: &mut [f64]) {
        for ((into, v), length) in into.iter_mut().zip(values).zip(lengths) {
            let far = 2.0 * v * length;
            *into = far * far * by;
        }
    }
}

vectorised! {
    /// `by (a^2 + b^2)` of every pair.
    pub wide squared_pairs(pairs: &[[f64; 2]], by: f64, into: &mut [f64]) {
        for (into, [a, b]) in into.iter_mut().zip(pairs) {
            *into = by * (a * a + b * b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(values: &[f64], turn: u64, records: usize) -> u64 {
        let places: Vec<u32> = (0..records as u32).collect();
        let (cells, mut keys, mut sum) = (vec![0; records], vec![0; records], 0);
        record_keys(&places, &cells, &mut keys);
        checksum(&keys, values, turn, &mut sum);
        sum
    }

    /// Fixed numbers: no chance is involved.
    #[test]
    fn a_number_that_is_another_or_anothers_is_seen() {
        for width in 1..5 {
            let values: Vec<f64> = (0..37 * width).map(|i| f64::from(i * i % 91) - 40.0).collect();
            let own = sum(&values, 1, 37);
            assert_ne!(own, sum(&values, 2, 37), "{width}: taken for other numbers");
            for at in 0..values.len() {
                let mut other = values.clone();
                other[at] += 1.0;
                assert_ne!(own, sum(&other, 1, 37), "{width}: {at} is another one");
                let mut other = values.clone();
                other.swap(at, (at + width as usize) % values.len());
                if other != values {
                    assert_ne!(own, sum(&other, 1, 37), "{width}: {at} is another record's");
                }
            }
        }
    }

    #[test]
    fn what_is_measured_does_not_depend_on_lanes() {
        let values: Vec<f64> = (0..29).map(|i| f64::from(i) * 0.37 - 3.0).collect();
        let mut together = [0.0; 29];
        squared_moves(&values, &values, 1.7, &mut together);
        let mut pairs = [0.0; 14];
        squared_pairs(values.as_chunks().0, 1.7, &mut pairs);
        for (at, (&value, &moved)) in values.iter().zip(&together).enumerate() {
            let mut alone = [0.0];
            squared_moves(&[value], &[value], 1.7, &mut alone);
            assert_eq!(alone[0].to_bits(), moved.to_bits());
            if let ([a, b], Some(pair)) =
                (&values[at & !1..][..2.min(29 - (at & !1))], pairs.get(at / 2))
            {
                assert_eq!((1.7 * (a * a + b * b)).to_bits(), pair.to_bits());
            }
        }
        let mut found = ([0.0; 2], 0);
        largest_each(&values, &values[..3], &mut found);
        assert_eq!(found, ([values[28], 0.0], 0), "0 at least");
        for at in 0..values.len() {
            let mut other = values.clone();
            other[at] = f64::NAN;
            largest_each(&other, &values, &mut found);
            assert_eq!(found.1, 1, "{at}");
        }
    }
}
