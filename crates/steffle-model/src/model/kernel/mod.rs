//! The hot loops over encoded rows. A row costs its non-zeros: the numbers and one slot per code.
//!
//! Weights of several outputs are interleaved, `[feature][output]`, so that one code touches one
//! contiguous run. Every weight slice here is *padded*: it ends with a zero slot that absent
//! levels point at ([`Layout::absent`](crate::record::Layout::absent)).
//!
//! This module and those below it are the only ones that may say `unsafe`: to look up what was
//! checked before the loop, and to call what was compiled for wider vectors. Every use was measured and
//! says why it is sound.
#![allow(unsafe_code)]
// A function takes on the lanes of the one that it is compiled into, if it is.
#![allow(clippy::inline_always)]

mod banks;
mod beside;
pub(crate) mod dense;
mod eight;
mod fixed;
mod lookup;
mod measure;
mod single;
pub(crate) mod vector;

pub use banks::add_by_slot;
pub(crate) use beside::{Beside, add_both, add_three};
pub use fixed::{fixed_point, from_fixed_point, from_steps, to_steps};
pub(crate) use lookup::{Code, as_numbers, combine_pairs, fetch, gather, neighbours, weigh};
pub use lookup::{
    centred_weights, fill_slots, largest_sum, pick, picked, round_all, round_into_vec, weigh_pairs,
};
pub use measure::{checksum, largest_each, record_keys, squared_moves, squared_pairs};
pub(crate) use single::{add_all, combine_clipped, dot_all};
pub use vector::sigmoid_in_place;

use crate::record::Rows;

/// Zeros. `vec![0.0; n]` asks for zeroed memory, which the system's allocator hands out the slow
/// way; a round has a dozen such vectors, all small.
pub fn zeros<T: Clone + Default>(len: usize) -> Vec<T> {
    let mut zeros = Vec::with_capacity(len);
    zeros.resize(len, T::default());
    zeros
}

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

/// [`by_width`] of the codes of `$rows`: calls `$fixed::<C, K>` with the type C that they are stored as.
macro_rules! by_code {
    ($rows:expr, $fixed:ident or $any:ident, $arguments:tt) => {{
        let (width, layout) = ($rows.layout().categorical, $rows.layout());
        match layout.code_width() {
            $crate::record::CodeWidth::One => {
                $crate::model::kernel::by_code!(@ u8, width, $fixed, $any, $arguments)
            }
            $crate::record::CodeWidth::Two => {
                $crate::model::kernel::by_code!(@ u16, width, $fixed, $any, $arguments)
            }
            $crate::record::CodeWidth::Four => {
                $crate::model::kernel::by_code!(@ u32, width, $fixed, $any, $arguments)
            }
        }
    }};
    (@ $code:ty, $width:expr, $fixed:ident, $any:ident, $arguments:tt) => {
        $crate::model::kernel::by_code!(@@ $code, $width, $fixed, $any, $arguments,
            1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
    };
    (@@ $code:ty, $width:expr, $fixed:ident, $any:ident, $arguments:tt, $($constant:literal)*) => {
        match $width {
            0 => {}
            $($constant => {
                $crate::model::kernel::by_code!(call $fixed::<$code, $constant>, $arguments)
            })*
            _ => $crate::model::kernel::by_width!(call $any, $width, $arguments),
        }
    };
    (call $fixed:ident::<$code:ty, $constant:literal>, ($($argument:expr),*)) => {
        $fixed::<$code, $constant>($($argument),*)
    };
}
use by_code;

/// Defines `$name`, which runs `$body` with as many lanes as the processor has: with AVX2 or, after
/// `wide`, with AVX-512. What looks up entries one by one gains nothing from the widest lanes.
macro_rules! vectorised {
    ($(#[$docs:meta])* $seen:vis wide $name:ident $arguments:tt $body:block) => {
        $crate::model::kernel::vectorised!(@ [$(#[$docs])* $seen] $name $arguments $body ["avx512f" "avx2"]);
    };
    ($(#[$docs:meta])* $seen:vis $name:ident $arguments:tt $body:block) => {
        $crate::model::kernel::vectorised!(@ [$(#[$docs])* $seen] $name $arguments $body ["avx2"]);
    };
    (@ [$(#[$docs:meta])* $seen:vis] $name:ident($($argument:ident: $type:ty),*) $body:block
        [$($feature:tt)*]) => {
        $(#[$docs])*
        $seen fn $name($($argument: $type),*) {
            #[inline(always)]
            fn plain($($argument: $type),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                $crate::model::kernel::vectorised!(
                    @try [$($feature)*] plain ($($argument: $type),*));
            }
            plain($($argument),*);
        }
    };
    (@try [] $plain:ident $arguments:tt) => {};
    (@try [$feature:tt $($others:tt)*] $plain:ident
        ($($argument:ident: $type:ty),*)) => {
        {
            #[target_feature(enable = $feature)]
            fn compiled($($argument: $type),*) {
                $plain($($argument),*);
            }
            if std::arch::is_x86_feature_detected!($feature) {
                // SAFETY: `compiled` is a safe function whose one requirement is that the
                // processor has the feature, which was just checked.
                return unsafe { compiled($($argument),*) };
            }
        }
        $crate::model::kernel::vectorised!(
            @try [$($others)*] $plain ($($argument: $type),*));
    };
}
use vectorised;

vectorised! {
    /// The scores of all rows under `outputs` interleaved outputs, `[row][output]`.
    pub(crate) dot_rows(rows: &Rows, weights: &[f64], outputs: usize, scores: &mut [f64]) {
        for (row, scores) in scores.chunks_exact_mut(outputs).enumerate() {
            dot_many(rows, row, weights, scores);
        }
    }
}

vectorised! {
    /// Adds the outer products of `(x, 1)` of all rows and their coefficients, `[row][output]`, to the
    /// interleaved `into`.
    pub(crate) add_rows(rows: &Rows, coefficients: &[f64], outputs: usize, into: &mut [f64]) {
        for (row, own) in coefficients.chunks_exact(outputs).enumerate() {
            add_outer(rows, row, own, into);
        }
    }
}

/// The scores of one row under `scores.len()` interleaved outputs.
#[inline(always)]
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
    for code in rows.codes(row) {
        for (score, &weight) in scores.iter_mut().zip(slot(code as usize)) {
            *score += weight;
        }
    }
}

/// Adds the outer product of `(x, 1)` and `coefficients` to the interleaved `into`.
#[inline(always)]
pub(crate) fn add_outer(rows: &Rows, row: usize, coefficients: &[f64], into: &mut [f64]) {
    let outputs = coefficients.len();
    for (feature, &value) in rows.numeric(row).iter().enumerate() {
        let value = f64::from(value);
        for (slot, &coefficient) in into[feature * outputs..].iter_mut().zip(coefficients) {
            *slot += value * coefficient;
        }
    }
    let bias = rows.layout().features as u32;
    for code in rows.codes(row).chain([bias]) {
        for (slot, &coefficient) in into[code as usize * outputs..].iter_mut().zip(coefficients) {
            *slot += coefficient;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Layout;

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
            for (limit, expected) in [(1e9, 0.75), (0.5, 0.5 / norm.sqrt()), (0.0, 0.0)] {
                let (mut clipped, pairs) = (Vec::new(), ([[9.0, 9.0], [1.0, 0.5]], limit));
                let pairs = (&pairs.0[..], pairs.1);
                combine_clipped(&only(&rows, row), &[1], &[[0.5, 0.5]], pairs, &mut clipped);
                assert!((clipped[0] - expected).abs() < 1e-15, "{limit}");
            }
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

    /// Sums beside each other, of every width: to the bit what each is alone, where that is claimed.
    #[test]
    fn sums_beside_each_other_are_sums_alone() {
        for (numeric, count) in [(0, 9), (1, 10), (6, 31), (16, 8), (17, 9)] {
            let layout = Layout { numeric, categorical: 2, features: numeric + 4 };
            let values = (0..numeric * count).map(|i| (i % 13) as f32 * 0.37 - 2.0).collect();
            let codes = (0..2 * count).map(|i| (numeric + (i * i) % 4) as u32).collect();
            let rows = Rows::new(layout, count, values, codes).unwrap();
            let own = |by: usize| (0..count).map(move |i| ((i * by) % 11) as f64 / 7.0 - 0.6);
            let (a, b, c): (Vec<f64>, Vec<f64>, Vec<f64>) =
                (own(3).collect(), own(5).collect(), own(7).collect());
            let zero = || vec![0.0; layout.padded()];
            // Twice, because the third sum goes on where it was.
            let (mut alone, mut spare) = (zero(), zero());
            (0..2).for_each(|_| add_all(&rows, &c, &mut alone, &mut spare));
            let [mut two, mut other] = [zero(), zero()];
            let mut room = Beside::default();
            (0..2).for_each(|_| add_both(&rows, (&a, &mut two), (&b, &mut other), &mut room));
            let slow = |coefficients: &[f64]| {
                let mut sums = zero();
                for (row, own) in coefficients.iter().enumerate() {
                    add_outer(&rows, row, &[2.0 * own], &mut sums);
                }
                sums
            };
            let near = |sums: &[f64], by_hand: Vec<f64>| {
                sums.iter().zip(by_hand).all(|(sum, own)| (sum - own).abs() < 1e-9)
            };
            assert!(near(&two, slow(&a)) && near(&other, slow(&b)), "{numeric}");
            if numeric > 16 {
                continue;
            }
            let [mut one, mut second, mut third, mut half] = [zero(), zero(), zero(), zero()];
            for _ in 0..2 {
                let third = (&c[..], &mut third[..], &mut half[..]);
                add_three(&rows, (&a, &mut one), (&b, &mut second), third, &mut room);
            }
            assert_eq!((one, second), (two, other), "{numeric}");
            assert_eq!((third, half), (alone, spare), "{numeric}");
        }
    }

    /// The same rows of more features, of which they have none: their codes take more bytes.
    #[test]
    fn codes_of_any_width_are_the_same_rows() {
        for (numeric, categorical) in [(3, 5), (10, 9), (2, 17)] {
            let count = 9;
            let numbers: Vec<f32> = (0..numeric * count).map(|i| (i % 7) as f32 - 2.5).collect();
            let codes: Vec<u32> =
                (0..categorical * count).map(|i| (numeric + (i * i) % 19) as u32).collect();
            let of = |features: usize| {
                let layout = Layout { numeric, categorical, features };
                let rows = Rows::new(layout, count, numbers.clone(), codes.clone()).unwrap();
                assert_eq!(rows.parts().1, codes, "{layout:?}");
                assert!((0..count).all(|row| {
                    rows.codes(row).eq(codes[row * categorical..][..categorical].iter().copied())
                }));
                let mut weights: Vec<f64> =
                    (0..layout.padded()).map(|i| (i as f64).sin()).collect();
                (weights[features], weights[features + 1]) = (0.3, 0.0);
                let mut scores = Vec::new();
                dot_all(&rows, &weights, &mut scores);
                let [mut one, mut two, mut alone, mut spare] =
                    std::array::from_fn(|_| vec![0.0; layout.padded()]);
                add_all(&rows, &scores, &mut alone, &mut spare);
                let halved: Vec<f64> = scores.iter().map(|score| score / 2.0).collect();
                add_both(&rows, (&scores, &mut one), (&halved, &mut two), &mut Beside::default());
                let sums = [one, two, alone, spare]
                    .map(|sums| (sums[..numeric + 19].to_vec(), sums[features]));
                let norms: Vec<f64> = (0..count).map(|row| rows.squared_norm(row)).collect();
                (rows.bytes(), (scores, sums, norms))
            };
            let [(one, rows), two, four] = [100, 300, 70_000].map(of);
            assert!(one <= two.0 && two.0 < four.0, "{one} {} {}", two.0, four.0);
            assert_eq!((&two.1, &four.1), (&rows, &rows));
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

    #[test]
    fn picked_values_are_those_at_the_positions() {
        let values: Vec<u16> = (0..50).map(|at| at * 3 + 1).collect();
        let mut room = vec![9; 40];
        for count in 0..30 {
            let which: Vec<u32> = (0..count).map(|at| (at * 17 + 5) % 50).collect();
            pick(&values, &which, &mut room);
            let expected: Vec<u16> = which.iter().map(|&at| values[at as usize]).collect();
            assert_eq!(room, expected);
        }
    }

    #[test]
    #[should_panic(expected = "positions beyond")]
    fn no_value_beyond_the_last_is_picked() {
        pick(&[1_u16, 2, 3], &[0, 3, 1], &mut Vec::new());
    }

    #[test]
    #[should_panic(expected = "positions beyond")]
    fn no_row_beyond_the_last_is_gathered() {
        let rows = sample();
        Rows::empty(rows.layout()).gather(&rows, &[1, 2, 0]);
    }
}
