//! Dot products, one or several at a time.

/// Lanes of a dot product: partial sums that do not wait for each other.
const LANES: usize = 4;

/// `a' b`; the shorter length counts.
#[inline]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    dots([a], b)[0]
}

/// `a' b` for several `a` at once, so that `b` is read once. All have the length of `b`.
#[inline]
pub(super) fn dots<const N: usize>(many: [&[f64]; N], b: &[f64]) -> [f64; N] {
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    let lanes = many.map(|a| &a.as_chunks::<LANES>().0[..b_lanes.len()]);
    let mut sums = [[0.0; LANES]; N];
    for (at, b) in b_lanes.iter().enumerate() {
        for (sums, lanes) in sums.iter_mut().zip(&lanes) {
            for ((sum, a), b) in sums.iter_mut().zip(&lanes[at]).zip(b) {
                *sum += a * b;
            }
        }
    }
    let rest = b.len() - b_rest.len();
    let mut totals = [0.0; N];
    for ((total, [p, q, r, s]), a) in totals.iter_mut().zip(sums).zip(many) {
        *total = (p + q) + (r + s);
        for (a, b) in a[rest..].iter().zip(b_rest) {
            *total += a * b;
        }
    }
    totals
}
