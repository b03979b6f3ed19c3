//! Rows of at most eight numbers: numbers and codes in one visit, with AVX2 or AVX-512.
//!
//! Compilers either jump for every number that is not there or add one number at a time, so lanes are
//! written down here. Each does what the code for any machine does, in the same order.

use super::lookup::Code;
use super::single::{codes, parts, sum_of_codes};
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
pub(super) unsafe fn dot_whole<C: Code, const K: usize>(
    rows: &Rows,
    weights: &[f64],
    scores: &mut [f64],
) {
    // SAFETY: the caller's promise, and the processor was asked.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        if wide::has_lanes() {
            wide::dot_four::<C, K>(rows, weights, scores);
        } else {
            dot_eight::<C, K>(rows, weights, scores);
        }
    }
}

/// Weights of the numbers of a row, and what no row stores.
#[cfg(target_arch = "x86_64")]
struct Own {
    bias: f64,
    numbers: [f64; LANES],
    count: usize,
}

#[cfg(target_arch = "x86_64")]
impl Own {
    #[inline(always)]
    fn of(rows: &Rows, weights: &[f64]) -> Self {
        let Layout { numeric, features, .. } = rows.layout();
        let mut numbers = [0.0; LANES];
        numbers[..numeric].copy_from_slice(&weights[..numeric]);
        Self { bias: weights[features], numbers, count: numeric }
    }

    /// The score of one row.
    ///
    /// # Safety
    /// As for [`slot`](super::single::slot), for all codes.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn score<C: Code, const K: usize>(
        &self,
        (numbers, codes): (&[u32; LANES], &[C; K]),
        weights: &[f64],
    ) -> f64 {
        use std::arch::x86_64::{
            _mm_add_pd, _mm_add_sd, _mm_cvtsd_f64, _mm_unpackhi_pd, _mm256_castpd256_pd128,
            _mm256_extractf128_pd, _mm256_loadu_pd, _mm256_mul_pd,
        };

        let own = self.numbers.as_ptr();
        // SAFETY: there are eight.
        let own = unsafe { [_mm256_loadu_pd(own), _mm256_loadu_pd(own.add(4))] };
        let [low, high] = Eight::of_first(self.count).numbers(numbers);
        let (low, high) = (_mm256_mul_pd(low, own[0]), _mm256_mul_pd(high, own[1]));
        let first = _mm_add_pd(_mm256_castpd256_pd128(low), _mm256_extractf128_pd::<1>(low));
        let sums = _mm_add_pd(first, _mm256_castpd256_pd128(high));
        let sums = _mm_add_pd(sums, _mm256_extractf128_pd::<1>(high));
        let numbers = _mm_cvtsd_f64(_mm_add_sd(sums, _mm_unpackhi_pd(sums, sums)));
        // SAFETY: this function's own condition.
        (self.bias + numbers) + unsafe { sum_of_codes(codes, weights) }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn dot_eight<C: Code, const K: usize>(rows: &Rows, weights: &[f64], scores: &mut [f64]) {
    let own = Own::of(rows, weights);
    let parts = parts::<LANES>(rows, 0).zip(codes::<C, K>(rows));
    for (score, part) in scores.iter_mut().zip(parts) {
        // SAFETY: this function's own condition.
        *score = unsafe { own.score(part, weights) };
    }
}

/// The same with AVX-512: the numbers of four rows at once.
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        __m256i, __m512d, _mm256_castsi256_ps, _mm256_loadu_si256, _mm256_permute2x128_si256,
        _mm256_unpackhi_epi64, _mm256_unpacklo_epi64, _mm512_add_pd, _mm512_maskz_cvtps_pd,
        _mm512_mul_pd, _mm512_permute_pd, _mm512_setr_pd, _mm512_storeu_pd,
    };

    use super::{Code, LANES, Own, codes, parts, sum_of_codes};
    use crate::record::Rows;

    /// Whether the processor has them.
    #[inline]
    pub(super) fn has_lanes() -> bool {
        std::arch::is_x86_feature_detected!("avx512f")
    }

    /// Lanes as an array.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn stored(lanes: __m512d) -> [f64; LANES] {
        let mut values = [0.0; LANES];
        // SAFETY: eight numbers have room for eight.
        unsafe { _mm512_storeu_pd(values.as_mut_ptr(), lanes) };
        values
    }

    /// Columns 0 and 1 of four rows, then 2 and 3, 4 and 5, 6 and 7.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn by_columns([a, b, c, d]: [&[u32; LANES]; 4]) -> [__m256i; 4] {
        // SAFETY: there are eight words.
        let read = |row: &[u32; LANES]| unsafe { _mm256_loadu_si256(row.as_ptr().cast()) };
        let (a, b, c, d) = (read(a), read(b), read(c), read(d));
        let (low, high) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
        let (more, most) = (_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
        [
            _mm256_permute2x128_si256::<0x20>(low, more),
            _mm256_permute2x128_si256::<0x20>(high, most),
            _mm256_permute2x128_si256::<0x31>(low, more),
            _mm256_permute2x128_si256::<0x31>(high, most),
        ]
    }

    /// To the bit what [`Own::score`] is of each row: its two chains, for even and odd columns, are
    /// neighbouring lanes here.
    ///
    /// # Safety
    /// As for [`slot`](super::super::single::slot), for all codes.
    #[target_feature(enable = "avx2,avx512f")]
    pub(super) unsafe fn dot_four<C: Code, const K: usize>(
        rows: &Rows,
        weights: &[f64],
        scores: &mut [f64],
    ) {
        let own = Own::of(rows, weights);
        let pair = |at: usize| {
            let [even, odd] = [own.numbers[2 * at], own.numbers[2 * at + 1]];
            _mm512_setr_pd(even, odd, even, odd, even, odd, even, odd)
        };
        let of_pairs = [pair(0), pair(1), pair(2), pair(3)];
        // Lanes of even and of odd columns that are numbers.
        let there = [0, 2, 4, 6].map(|column| match own.count.saturating_sub(column) {
            0 => 0,
            1 => 0b0101_0101,
            _ => u8::MAX,
        });
        let mut parts = parts::<LANES>(rows, 0).zip(codes::<C, K>(rows));
        let (fours, rest) = scores.as_chunks_mut::<4>();
        for scores in fours {
            let (Some(a), Some(b), Some(c), Some(d)) =
                (parts.next(), parts.next(), parts.next(), parts.next())
            else {
                return;
            };
            let columns = by_columns([a.0, b.0, c.0, d.0]);
            let product = |at: usize| {
                let numbers = _mm512_maskz_cvtps_pd(there[at], _mm256_castsi256_ps(columns[at]));
                _mm512_mul_pd(numbers, of_pairs[at])
            };
            let sums = _mm512_add_pd(product(0), product(1));
            let sums = _mm512_add_pd(_mm512_add_pd(sums, product(2)), product(3));
            let sums = stored(_mm512_add_pd(sums, _mm512_permute_pd::<0b0101_0101>(sums)));
            for (row, codes) in [a.1, b.1, c.1, d.1].into_iter().enumerate() {
                // SAFETY: this function's own condition.
                scores[row] = (own.bias + sums[2 * row]) + unsafe { sum_of_codes(codes, weights) };
            }
        }
        for (score, part) in rest.iter_mut().zip(parts) {
            // SAFETY: this function's own condition.
            *score = unsafe { own.score(part, weights) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::kernel::dot_all;

    /// Whatever lanes a processor has: even and odd columns are added in two chains, then both halves of
    /// the codes.
    #[test]
    fn scores_have_the_same_bits_with_all_lanes() {
        for (numeric, categorical) in (1..=LANES).flat_map(|n| [(n, 1), (n, 5), (n, 8)]) {
            let layout = Layout { numeric, categorical, features: numeric + 2 * categorical };
            let count = 11;
            let numbers: Vec<f32> =
                (0..numeric * count).map(|i| ((i * 37) % 101) as f32 / 7.0 - 6.0).collect();
            let level = |i: usize| numeric + 2 * (i % categorical) + (i * i / 3) % 2;
            let codes = (0..categorical * count).map(|i| level(i) as u32).collect();
            let rows = Rows::new(layout, count, numbers, codes).unwrap();
            let mut weights: Vec<f64> =
                (0..=layout.features).map(|i| (i as f64 * 0.7).sin() / 3.0).collect();
            weights.push(0.0);
            let by_hand = |row: usize| {
                let chain = |first: usize| {
                    let own = rows.numeric(row).iter().zip(&weights).skip(first).step_by(2);
                    own.map(|(&x, w)| f64::from(x) * w).reduce(|sum, next| sum + next)
                };
                let half = |codes: &[u32]| {
                    codes.iter().map(|&code| weights[code as usize]).reduce(|sum, next| sum + next)
                };
                let numbers = chain(0).unwrap_or(0.0) + chain(1).unwrap_or(0.0);
                let codes: Vec<u32> = rows.codes(row).collect();
                let (front, back) = codes.split_at(categorical / 2);
                let codes = half(front).unwrap_or(0.0) + half(back).unwrap_or(0.0);
                (weights[layout.features] + numbers) + codes
            };
            let expected: Vec<f64> = (0..count).map(by_hand).collect();
            let mut scores = Vec::new();
            dot_all(&rows, &weights, &mut scores);
            assert_eq!(scores, expected, "{layout:?}");
            #[cfg(target_arch = "x86_64")]
            if fits_eight(&rows) && categorical == 8 {
                // The narrower lanes of a processor that has wider ones, too.
                // SAFETY: the rows are checked ones, and the processor was asked.
                unsafe { dot_eight::<u8, 8>(&rows, &weights, &mut scores) };
                assert_eq!(scores, expected, "{layout:?}");
            }
        }
    }
}
