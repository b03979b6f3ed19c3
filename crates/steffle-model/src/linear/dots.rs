//! Dot products, one or several at a time.

use crate::model::kernel::vector::four_dots;

/// Lanes of a dot product: partial sums that do not wait for each other.
const LANES: usize = 8;

/// `a' b`; both have the same length.
#[inline]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a_lanes, a_rest), (b_lanes, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// `a' b` for four `a` at once, so that `b` is read once. All have the length of `b`.
#[inline]
pub(super) fn dots(many: [&[f64]; 4], b: &[f64]) -> [f64; 4] {
    let mut sums = [0.0; 4];
    four_dots(many, b, &mut sums);
    sums
}
