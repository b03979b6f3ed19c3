//! Rows of at most eight numbers: numbers and codes in one visit, with AVX2.
//!
//! Compilers either jump for every number that is not there or add one number at a time, so lanes are
//! written down here. Each does what the code for any machine does, in the same order.

use super::single::{parts, sum_of_codes};
use crate::record::{Layout, Rows};

/// Numbers of a row that are worked on at once.
pub(super) const LANES: usize = 8;

/// Whether rows have so few numbers, and some but not too many codes, and the processor the lanes.
pub(super) fn fits_eight(rows: &Rows) -> bool {
    let Layout { numeric, categorical, .. } = rows.layout();
    let fits = (1..=LANES).contains(&numeric) && (1..=16).contains(&categorical);
    #[cfg(target_arch = "x86_64")]
    let has_lanes = std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    let has_lanes = false;
    fits && rows.stride() >= LANES && has_lanes
}

/// Which of the first eight words of a row are numbers.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Eight([std::arch::x86_64::__m128; 2]);

#[cfg(target_arch = "x86_64")]
mod lanes {
    use std::arch::x86_64::{
        __m256d, _mm_and_ps, _mm_castsi128_ps, _mm_cmpgt_epi32, _mm_loadu_ps, _mm_set_epi32,
        _mm_set1_epi32, _mm256_cvtps_pd, _mm256_storeu_pd,
    };

    use super::{Eight, LANES};

    impl Eight {
        /// The first `count` of them.
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(in super::super) fn of_first(count: usize) -> Self {
            let count = _mm_set1_epi32(i32::try_from(count).unwrap_or(i32::MAX));
            let below = |lanes| _mm_castsi128_ps(_mm_cmpgt_epi32(count, lanes));
            Self([below(_mm_set_epi32(3, 2, 1, 0)), below(_mm_set_epi32(7, 6, 5, 4))])
        }

        /// The numbers, and 0 for what is none.
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(in super::super) fn numbers(self, words: &[u32; LANES]) -> [__m256d; 2] {
            let words = words.as_ptr().cast::<f32>();
            // SAFETY: there are eight words, and a word is as large as such a number.
            let (low, high) = unsafe { (_mm_loadu_ps(words), _mm_loadu_ps(words.add(4))) };
            let Self([first, last]) = self;
            [_mm256_cvtps_pd(_mm_and_ps(low, first)), _mm256_cvtps_pd(_mm_and_ps(high, last))]
        }

        /// Lanes as an array.
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(in super::super) fn stored([low, high]: [__m256d; 2]) -> [f64; LANES] {
            let mut values = [0.0; LANES];
            // SAFETY: eight numbers have room for eight.
            unsafe {
                _mm256_storeu_pd(values.as_mut_ptr(), low);
                _mm256_storeu_pd(values.as_mut_ptr().add(4), high);
            }
            values
        }
    }
}

/// The score of every row: numbers in two chains, for even and odd columns, then codes.
///
/// # Safety
/// As for [`slot`](super::single::slot), for all codes; and [`fits_eight`].
#[inline(always)]
pub(super) unsafe fn dot_whole<const K: usize>(rows: &Rows, weights: &[f64], scores: &mut [f64]) {
    // SAFETY: the caller's promise.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        dot_eight::<K>(rows, weights, scores);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn dot_eight<const K: usize>(rows: &Rows, weights: &[f64], scores: &mut [f64]) {
    use std::arch::x86_64::{
        _mm_add_pd, _mm_add_sd, _mm_cvtsd_f64, _mm_unpackhi_pd, _mm256_castpd256_pd128,
        _mm256_extractf128_pd, _mm256_loadu_pd, _mm256_mul_pd,
    };

    let Layout { numeric, features, .. } = rows.layout();
    let (bias, mut own) = (weights[features], [0.0; LANES]);
    own[..numeric].copy_from_slice(&weights[..numeric]);
    // SAFETY: there are eight.
    let own = unsafe { [_mm256_loadu_pd(own.as_ptr()), _mm256_loadu_pd(own.as_ptr().add(4))] };
    let eight = Eight::of_first(numeric);
    let parts = parts::<LANES>(rows, 0).zip(parts::<K>(rows, numeric));
    for (score, (numbers, codes)) in scores.iter_mut().zip(parts) {
        let [low, high] = eight.numbers(numbers);
        let (low, high) = (_mm256_mul_pd(low, own[0]), _mm256_mul_pd(high, own[1]));
        let first = _mm_add_pd(_mm256_castpd256_pd128(low), _mm256_extractf128_pd::<1>(low));
        let sums = _mm_add_pd(first, _mm256_castpd256_pd128(high));
        let sums = _mm_add_pd(sums, _mm256_extractf128_pd::<1>(high));
        let numbers = _mm_cvtsd_f64(_mm_add_sd(sums, _mm_unpackhi_pd(sums, sums)));
        // SAFETY: this function's own condition.
        *score = (bias + numbers) + unsafe { sum_of_codes(codes, weights) };
    }
}
