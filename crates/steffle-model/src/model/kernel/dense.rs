//! Layers that read hidden units: every sum is added in the order of its records or inputs, whatever
//! the lanes, so the bits do not depend on the machine.

use super::vectorised;

/// Outputs that are summed side by side, in registers.
const SIDE: usize = 16;

vectorised! {
    /// `W' a + bias` of every record, weights `[input][output]` with the bias last.
    pub(crate) wide affine(weights: &[f64], inputs: &[f64], width: usize, outputs: &mut [f64]) {
        let count = weights.len() / width.max(1) - 1;
        let (rows, bias) = weights.split_at(count * width);
        for (inputs, outputs) in inputs.chunks_exact(count).zip(outputs.chunks_exact_mut(width)) {
            let (sides, rest) = outputs.as_chunks_mut::<SIDE>();
            let done = SIDE * sides.len();
            for (at, side) in sides.iter_mut().enumerate() {
                let mut sums = [0.0; SIDE];
                sums.copy_from_slice(&bias[at * SIDE..][..SIDE]);
                for (&input, row) in inputs.iter().zip(rows.chunks_exact(width)) {
                    let Some(row) = row[at * SIDE..].first_chunk::<SIDE>() else { continue };
                    sums.iter_mut().zip(row).for_each(|(sum, weight)| *sum += input * weight);
                }
                *side = sums;
            }
            rest.copy_from_slice(&bias[done..]);
            if !rest.is_empty() {
                for (&input, row) in inputs.iter().zip(rows.chunks_exact(width)) {
                    let own = rest.iter_mut().zip(&row[done..]);
                    own.for_each(|(sum, weight)| *sum += input * weight);
                }
            }
        }
    }
}

vectorised! {
    /// `W b` of every record, where `turned` is W, `[output][input]`: slopes in a layer's inputs from
    /// those in its outputs, `[record][output]`.
    pub(crate) wide pull_back(turned: &[f64], slopes: &[f64], width: usize, below: &mut [f64]) {
        let count = turned.len() / width.max(1);
        below.fill(0.0);
        for (slopes, below) in slopes.chunks_exact(width).zip(below.chunks_exact_mut(count)) {
            for (&slope, row) in slopes.iter().zip(turned.chunks_exact(count)) {
                below.iter_mut().zip(row).for_each(|(sum, weight)| *sum += weight * slope);
            }
        }
    }
}

vectorised! {
    /// Slopes in what a layer of `tanh` reads from those in the units it has.
    pub(crate) wide bend(units: &[f64], slopes: &mut [f64]) {
        for (slope, unit) in slopes.iter_mut().zip(units) {
            *slope *= 1.0 - unit * unit;
        }
    }
}

vectorised! {
    /// Adds the outer products of `(a, 1)` and `v` of all records to `sums`, `[input][output]`.
    pub(crate) wide outer(inputs: &[f64], count: usize, slopes: &[f64], sums: &mut [f64]) {
        let width = sums.len() / (count + 1);
        let records = || inputs.chunks_exact(count).zip(slopes.chunks_exact(width));
        for (at, sums) in sums.chunks_exact_mut(width).enumerate() {
            let (sides, rest) = sums.as_chunks_mut::<SIDE>();
            let done = SIDE * sides.len();
            for (place, side) in sides.iter_mut().enumerate() {
                let mut own = *side;
                for (inputs, slopes) in records() {
                    let input = inputs.get(at).copied().unwrap_or(1.0);
                    let Some(slopes) = slopes[place * SIDE..].first_chunk::<SIDE>() else { continue };
                    own.iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += input * slope);
                }
                *side = own;
            }
            if !rest.is_empty() {
                for (inputs, slopes) in records() {
                    let input = inputs.get(at).copied().unwrap_or(1.0);
                    let own = rest.iter_mut().zip(&slopes[done..]);
                    own.for_each(|(sum, slope)| *sum += input * slope);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every width, with and without a rest beside the registers: the sums of plain loops, to the bit.
    #[test]
    fn every_width_is_the_plain_sum() {
        let number = |at: usize| ((at * 7919 % 1013) as f64 - 500.0) / 300.0;
        for (count, width) in [(1, 1), (3, 2), (5, 16), (16, 17), (7, 40), (33, 31)] {
            let records = 5;
            let weights: Vec<f64> = (0..(count + 1) * width).map(number).collect();
            let inputs: Vec<f64> = (0..records * count).map(|at| number(at + 31)).collect();
            let slopes: Vec<f64> = (0..records * width).map(|at| number(at + 77)).collect();
            let mut outputs = vec![9.0; records * width];
            affine(&weights, &inputs, width, &mut outputs);
            let turned: Vec<f64> =
                (0..count * width).map(|at| weights[at % count * width + at / count]).collect();
            let mut below = vec![9.0; records * count];
            pull_back(&turned, &slopes, width, &mut below);
            let mut sums: Vec<f64> = (0..weights.len()).map(|at| number(at + 3)).collect();
            let mut plain = sums.clone();
            outer(&inputs, count, &slopes, &mut sums);
            for record in 0..records {
                for output in 0..width {
                    let own = inputs[record * count..][..count].iter().enumerate();
                    let bias = weights[count * width + output];
                    let by_hand = own
                        .fold(bias, |sum, (at, input)| sum + input * weights[at * width + output]);
                    assert_eq!(outputs[record * width + output].to_bits(), by_hand.to_bits());
                    let slope = slopes[record * width + output];
                    for input in 0..count {
                        plain[input * width + output] += inputs[record * count + input] * slope;
                    }
                    plain[count * width + output] += slope;
                }
                for input in 0..count {
                    let own = (0..width).map(|output| {
                        weights[input * width + output] * slopes[record * width + output]
                    });
                    let by_hand = own.fold(0.0, |sum, product| sum + product);
                    assert_eq!(below[record * count + input].to_bits(), by_hand.to_bits());
                }
            }
            let bits =
                |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&sums), bits(&plain), "{count} {width}");
        }
    }
}
