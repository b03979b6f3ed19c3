//! The hot loops over encoded rows. A row costs its non-zeros: the numbers and one slot per code.
//!
//! Weights of several outputs are interleaved, `[feature][output]`, so that one code touches one
//! contiguous run. Every weight slice here is *padded*: it ends with a zero slot that absent
//! levels point at ([`Layout::absent`](crate::record::Layout::absent)).

use crate::record::Rows;

/// Copies `weights` (`[features + 1][outputs]`) and appends the zero slot.
pub(crate) fn pad(weights: &[f64], outputs: usize, padded: &mut Vec<f64>) {
    padded.clear();
    padded.extend_from_slice(weights);
    padded.resize(weights.len() + outputs, 0.0);
}

/// The score of one row under one output: `w' x + bias`.
#[inline]
pub(crate) fn dot(rows: &Rows, row: usize, weights: &[f64]) -> f64 {
    let (numeric, codes) = (rows.numeric(row), rows.codes(row));
    let mut sum = weights[rows.layout().features];
    for (&value, &weight) in numeric.iter().zip(weights) {
        sum += f64::from(value) * weight;
    }
    // A second accumulator halves the chain of dependent additions.
    let mut other = 0.0;
    for pair in codes.chunks(2) {
        sum += weights[pair[0] as usize];
        if let Some(&code) = pair.get(1) {
            other += weights[code as usize];
        }
    }
    sum + other
}

/// Adds `coefficient * (x, 1)` to `into`.
#[inline]
pub(crate) fn add_scaled(rows: &Rows, row: usize, coefficient: f64, into: &mut [f64]) {
    let (numeric, codes) = (rows.numeric(row), rows.codes(row));
    for (slot, &value) in into.iter_mut().zip(numeric) {
        *slot += coefficient * f64::from(value);
    }
    for &code in codes {
        into[code as usize] += coefficient;
    }
    into[rows.layout().features] += coefficient;
}

/// The scores of one row under `scores.len()` interleaved outputs.
#[inline]
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
    for &code in rows.codes(row) {
        for (score, &weight) in scores.iter_mut().zip(slot(code as usize)) {
            *score += weight;
        }
    }
}

/// Adds the outer product of `(x, 1)` and `coefficients` to the interleaved `into`.
#[inline]
pub(crate) fn add_outer(rows: &Rows, row: usize, coefficients: &[f64], into: &mut [f64]) {
    if let [coefficient] = coefficients {
        return add_scaled(rows, row, *coefficient, into);
    }
    let outputs = coefficients.len();
    for (feature, &value) in rows.numeric(row).iter().enumerate() {
        let value = f64::from(value);
        for (slot, &coefficient) in into[feature * outputs..].iter_mut().zip(coefficients) {
            *slot += value * coefficient;
        }
    }
    let bias = rows.layout().features as u32;
    for &code in rows.codes(row).iter().chain([&bias]) {
        for (slot, &coefficient) in into[code as usize * outputs..].iter_mut().zip(coefficients) {
            *slot += coefficient;
        }
    }
}

/// `|(x, 1)|^2` of one row.
#[inline]
pub(crate) fn squared_norm(rows: &Rows, row: usize) -> f64 {
    let numeric: f64 = rows.numeric(row).iter().map(|&v| f64::from(v) * f64::from(v)).sum();
    let absent = rows.layout().absent();
    let present = rows.codes(row).iter().filter(|&&code| code != absent).count();
    numeric + present as f64 + 1.0
}

/// `e^x` for each entry, to about one unit in the last place, the same bits on every machine.
///
/// `x = k ln 2 + r` with `|r| <= ln 2 / 2`; `e^r` by its Taylor polynomial of degree 13, whose
/// remainder is below 5e-18. Written without branches so that the compiler vectorises it.
#[inline]
pub(crate) fn exp_in_place(values: &mut [f64]) {
    for value in values {
        *value = exp(*value);
    }
}

#[inline]
fn exp(x: f64) -> f64 {
    // ln 2 in two parts: the first has trailing zeros, so k * LN2_HIGH is exact for |k| < 2^11.
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    // Adding and subtracting 1.5 * 2^52 rounds to the nearest integer.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let x = x.clamp(-708.0, 709.0);
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN2_HIGH) - k * LN2_LOW;
    let mut polynomial = 1.0 / 6_227_020_800.0;
    for reciprocal in [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        polynomial = polynomial * r + reciprocal;
    }
    // The low bits of `shifted` are k + a constant whose bits the shift pushes out.
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    polynomial * scale
}

/// `1 / (1 + e^-z)` for each entry.
pub(crate) fn sigmoid_in_place(values: &mut [f64]) {
    for value in values {
        *value = 1.0 / (1.0 + exp(-*value));
    }
}

/// `tanh z` for each entry.
pub(crate) fn tanh_in_place(values: &mut [f64]) {
    for value in values {
        *value = 1.0 - 2.0 / (1.0 + exp(2.0 * *value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Layout;
    use proptest::prelude::*;

    fn sample() -> Rows {
        let layout = Layout { numeric: 2, categorical: 2, features: 6 };
        let absent = layout.absent();
        Rows::new(layout, 2, vec![0.5, -2.0, 1.0, 3.0], vec![2, 5, absent, 4]).unwrap()
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
            assert_eq!(dot(&rows, row, &padded), by_hand);
            let norm: f64 = expected.iter().map(|x| x * x).sum();
            assert_eq!(squared_norm(&rows, row), norm);
            let mut sum = vec![0.0; 8];
            add_scaled(&rows, row, 2.0, &mut sum);
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
                assert!((dot(&rows, row, &single) - scores[output]).abs() < 1e-12);
                let mut alone = vec![0.0; 8];
                add_scaled(&rows, row, [3.0, -1.0][output], &mut alone);
                let woven: Vec<f64> = outer.iter().skip(output).step_by(2).copied().collect();
                assert_eq!(alone[..7], woven[..7]);
            }
        }
    }

    proptest! {
        #[test]
        fn exp_is_within_two_units_in_the_last_place(x in -700.0..700.0_f64) {
            let mut value = [x];
            exp_in_place(&mut value);
            prop_assert!((value[0] / x.exp() - 1.0).abs() <= 4.5e-16);
        }

        #[test]
        fn sigmoid_stays_inside_the_unit_interval(z in -1e6..1e6_f64) {
            let mut value = [z];
            sigmoid_in_place(&mut value);
            prop_assert!((0.0..=1.0).contains(&value[0]));
            let exact = 1.0 / (1.0 + (-z).exp());
            prop_assert!((value[0] - exact).abs() < 1e-15);
        }
    }
}
