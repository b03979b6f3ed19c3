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

/// Calls `$function::<N>` with `$width` as a constant, up to 16, so that the loop over so many
/// columns is unrolled; `N = usize::MAX` stands for any larger number.
macro_rules! by_width {
    ($width:expr, $function:ident($($argument:expr),*)) => {
        $crate::model::kernel::by_width!(@ $width, $function, ($($argument),*),
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
    };
    (@ $width:expr, $function:ident, $arguments:tt, $($constant:literal)*) => {
        match $width {
            $($constant => $crate::model::kernel::by_width!(call $function, $constant, $arguments),)*
            _ => $crate::model::kernel::by_width!(call $function, { usize::MAX }, $arguments),
        }
    };
    (call $function:ident, $constant:tt, ($($argument:expr),*)) => {
        $function::<$constant>($($argument),*)
    };
}
pub(crate) use by_width;

/// The scores of all rows under one output: `w' x + bias`.
pub(crate) fn dot_all(rows: &Rows, weights: &[f64], scores: &mut Vec<f64>) {
    scores.clear();
    scores.resize(rows.len(), weights[rows.layout().features]);
    by_width!(rows.layout().numeric, dot_numeric(rows, weights, scores));
    by_width!(rows.layout().categorical, dot_codes(rows, weights, scores));
}

fn dot_numeric<const N: usize>(rows: &Rows, weights: &[f64], scores: &mut [f64]) {
    let width = if N == usize::MAX { rows.layout().numeric } else { N };
    if width == 0 {
        return;
    }
    let weights = &weights[..width];
    for (score, values) in scores.iter_mut().zip(rows.parts().0.chunks_exact(width)) {
        // Two chains of additions instead of one: the second half waits for nothing.
        let (low, high) = values.split_at(width / 2);
        let (low_weights, high_weights) = weights.split_at(width / 2);
        let (mut first, mut second) = (0.0, 0.0);
        for (&value, &weight) in low.iter().zip(low_weights) {
            first += f64::from(value) * weight;
        }
        for (&value, &weight) in high.iter().zip(high_weights) {
            second += f64::from(value) * weight;
        }
        *score += first + second;
    }
}

fn dot_codes<const K: usize>(rows: &Rows, weights: &[f64], scores: &mut [f64]) {
    let width = if K == usize::MAX { rows.layout().categorical } else { K };
    if width == 0 {
        return;
    }
    for (score, codes) in scores.iter_mut().zip(rows.parts().1.chunks_exact(width)) {
        let (low, high) = codes.split_at(width / 2);
        let (mut first, mut second) = (0.0, 0.0);
        for &code in low {
            first += weights[code as usize];
        }
        for &code in high {
            second += weights[code as usize];
        }
        *score += first + second;
    }
}

/// Adds `coefficient * (x, 1)` of each row to `into`.
///
/// Rows alternate between `into` and `spare`, whose sum is meant: most rows share their most
/// frequent levels, and an addition to the slot that was just written waits for the write.
pub(crate) fn add_all(rows: &Rows, coefficients: &[f64], into: &mut [f64], spare: &mut [f64]) {
    by_width!(rows.layout().numeric, add_numeric(rows, coefficients, into));
    by_width!(rows.layout().categorical, add_codes(rows, coefficients, into, spare));
    into[rows.layout().features] += coefficients.iter().sum::<f64>();
}

fn add_numeric<const N: usize>(rows: &Rows, coefficients: &[f64], into: &mut [f64]) {
    let width = if N == usize::MAX { rows.layout().numeric } else { N };
    if width == 0 {
        return;
    }
    // Up to 16 sums stay in registers; more go straight to memory.
    let mut held = [0.0; 16];
    let sums = if N == usize::MAX { &mut into[..width] } else { &mut held[..width] };
    for (&coefficient, values) in coefficients.iter().zip(rows.parts().0.chunks_exact(width)) {
        for (sum, &value) in sums.iter_mut().zip(values) {
            *sum += coefficient * f64::from(value);
        }
    }
    if N != usize::MAX {
        into[..width].iter_mut().zip(held).for_each(|(sum, held)| *sum += held);
    }
}

fn add_codes<const K: usize>(
    rows: &Rows,
    coefficients: &[f64],
    into: &mut [f64],
    spare: &mut [f64],
) {
    let width = if K == usize::MAX { rows.layout().categorical } else { K };
    if width == 0 {
        return;
    }
    let codes = rows.parts().1;
    for (pair, codes) in coefficients.chunks(2).zip(codes.chunks(2 * width)) {
        if let [even, odd] = *pair {
            let (first, second) = codes.split_at(width);
            for (&one, &other) in first.iter().zip(second) {
                into[one as usize] += even;
                spare[other as usize] += odd;
            }
        } else {
            codes.iter().for_each(|&code| into[code as usize] += pair[0]);
        }
    }
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
            let mut sum = vec![0.0; 8];
            add_all(&only(&rows, row), &[2.0], &mut sum, &mut []);
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
                add_all(&only(&rows, row), &[[3.0, -1.0][output]], &mut alone, &mut []);
                let woven: Vec<f64> = outer.iter().skip(output).step_by(2).copied().collect();
                assert_eq!(alone[..7], woven[..7]);
            }
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
}
