//! Element-wise functions, compiled for any machine, for AVX2 and for AVX-512.
//!
//! All copies are the same Rust code, which never fuses a multiplication and an addition by itself:
//! every lane does the same IEEE operations in the same order, so the bits do not depend on the
//! machine (tested below).

use super::vectorised;

vectorised! {
    /// `e^x` for each entry, to two units in the last place.
    pub(crate) wide exp_in_place(values: &mut [f64]) {
        for value in values {
            let (above, below) = exp_ratio(*value);
            *value = above / below;
        }
    }
}

vectorised! {
    /// `(1 - p, p)` with `p = 1 / (1 + e^-z)` for each logit z.
    pub(crate) wide sigmoid_pairs(logits: &[f64], into: &mut [[f64; 2]]) {
        for (pair, &z) in into.iter_mut().zip(logits) {
            let (above, below) = exp_ratio(-z);
            let p = below / (below + above);
            *pair = [1.0 - p, p];
        }
    }
}

vectorised! {
    /// `1 / (1 + e^-z)` for each entry.
    pub wide sigmoid_in_place(values: &mut [f64]) {
        for value in values {
            let (above, below) = exp_ratio(-*value);
            *value = below / (below + above);
        }
    }
}

vectorised! {
    /// Slopes of `(1 - p, p)` in the logit: `(-p (1 - p), p (1 - p))`.
    pub(crate) wide pair_slopes(pairs: &[[f64; 2]], into: &mut [[f64; 2]]) {
        for ([minus, plus], [q, p]) in into.iter_mut().zip(pairs) {
            *plus = q * p;
            *minus = -*plus;
        }
    }
}

vectorised! {
    /// Slopes of the cross-entropy in the logit: `p - y`.
    pub(crate) wide pair_loss_slopes(pairs: &[[f64; 2]], labels: &[u16], into: &mut [f64]) {
        for ((slope, [_, p]), &label) in into.iter_mut().zip(pairs).zip(labels) {
            *slope = p - f64::from(label);
        }
    }
}

vectorised! {
    /// `tanh z` for each entry.
    pub(crate) wide tanh_in_place(values: &mut [f64]) {
        for value in values {
            let (above, below) = exp_ratio(2.0 * *value);
            *value = (above - below) / (above + below);
        }
    }
}

vectorised! {
    /// Adds `a' b` to each sum, for four `a` of the length of `b`, so that `b` is read once.
    pub(crate) four_dots(many: [&[f64]; 4], b: &[f64], sums: &mut [f64; 4]) {
        let (b_lanes, b_rest) = b.as_chunks::<4>();
        let lanes = many.map(|a| &a.as_chunks::<4>().0[..b_lanes.len()]);
        let mut partial = [[0.0; 4]; 4];
        for (at, b) in b_lanes.iter().enumerate() {
            for (partial, lanes) in partial.iter_mut().zip(&lanes) {
                for ((sum, a), b) in partial.iter_mut().zip(&lanes[at]).zip(b) {
                    *sum += a * b;
                }
            }
        }
        let rest = b.len() - b_rest.len();
        for ((sum, [p, q, r, s]), a) in sums.iter_mut().zip(partial).zip(many) {
            *sum += (p + q) + (r + s);
            for (a, b) in a[rest..].iter().zip(b_rest) {
                *sum += a * b;
            }
        }
    }
}

/// Rows of a tile of a matrix product: six by eight sums, their factors and products fit into
/// sixteen registers of four lanes.
pub(crate) const ROWS: usize = 6;
/// Columns of a tile.
pub(crate) const COLUMNS: usize = 8;

vectorised! {
    /// Subtracts `left[row][k] panel[k][column]` from each entry of a tile, for one k after the other.
    pub(crate) wide subtract_products(
        left: [&[f64]; ROWS],
        panel: &[[f64; COLUMNS]],
        tile: &mut [[f64; COLUMNS]; ROWS]
    ) {
        let left = left.map(|row| &row[..panel.len()]);
        let mut sums = *tile;
        for (k, panel) in panel.iter().enumerate() {
            for (sums, row) in sums.iter_mut().zip(left) {
                for (sum, value) in sums.iter_mut().zip(panel) {
                    *sum -= row[k] * value;
                }
            }
        }
        *tile = sums;
    }
}

vectorised! {
    /// Solves `x L' = b` for several rows b, one lane each; `block` has the rows of L up to the
    /// diagonal.
    pub(crate) wide solve_rows(columns: &mut [[f64; COLUMNS]], block: &[&[f64]]) {
        for at in 0..block.len() {
            let (solved, rest) = columns.split_at_mut(at + 1);
            let x = &mut solved[at];
            *x = x.map(|value| value / block[at][at]);
            for (rest, row) in rest.iter_mut().zip(&block[at + 1..]) {
                rest.iter_mut().zip(&*x).for_each(|(rest, x)| *rest -= x * row[at]);
            }
        }
    }
}

vectorised! {
    /// A step of Adam: takes a gradient into both means, then steps by `rate * mean / (sqrt(square) +
    /// least)`.
    pub(crate) wide adam(
        sizes: (f64, f64),
        gradient: &[f64],
        mean: &mut [f64],
        square: &mut [f64],
        theta: &mut [f64]
    ) {
        let (rate, least) = sizes;
        let [first, second] = crate::model::adam::KEEP;
        let means = mean.iter_mut().zip(square);
        for ((theta, slope), (mean, square)) in theta.iter_mut().zip(gradient).zip(means) {
            *mean = first * *mean + (1.0 - first) * slope;
            *square = second * *square + (1.0 - second) * slope * slope;
            *theta -= rate * *mean / (square.sqrt() + least);
        }
    }
}

/// `e^x` as numerator and denominator: a sigmoid divides anyway, and a ratio of short polynomials is
/// as close as a long one. Without branches, so that several can be computed at a time.
///
/// `x = k ln 2 + r` with `|r| <= ln 2 / 2`; `e^r` by its diagonal Pade approximant of degree 6, even
/// part plus and minus odd part, whose relative error is below 2e-19.
#[inline(always)]
fn exp_ratio(x: f64) -> (f64, f64) {
    // ln 2 in two parts: the first has trailing zeros, so k * LN2_HIGH is exact for |k| < 2^11.
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    // Adding and subtracting 1.5 * 2^52 rounds to the nearest integer.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let x = x.clamp(-708.0, 709.0);
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN2_HIGH) - k * LN2_LOW;
    let square = r * r;
    let even = 1.0 + square * (5.0 / 44.0 + square * (1.0 / 792.0 + square * (1.0 / 665_280.0)));
    let odd = r * (0.5 + square * (1.0 / 66.0 + square * (1.0 / 15_840.0)));
    // The low bits of `shifted` are k + a constant whose bits the shift pushes out.
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    ((even + odd) * scale, even - odd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn exp_is_within_two_units_in_the_last_place(x in -700.0..700.0_f64) {
            let mut value = [x];
            exp_in_place(&mut value);
            prop_assert!((value[0] / x.exp() - 1.0).abs() <= 4.5e-16);
        }

        #[test]
        fn sigmoid_stays_inside_the_unit_interval(z in -1e6..1e6_f64) {
            let mut pairs = [[0.0; 2]];
            sigmoid_pairs(&[z], &mut pairs);
            let [[q, p]] = pairs;
            prop_assert!((0.0..=1.0).contains(&p));
            prop_assert_eq!(q, 1.0 - p);
            let exact = 1.0 / (1.0 + (-z).exp());
            prop_assert!((p - exact).abs() < 1e-15);
        }
    }

    #[test]
    fn lanes_do_not_change_a_bit() {
        // A single value goes through the scalar tail of the loop, a long slice through lanes.
        let values: Vec<f64> = (-400..400).map(|i| f64::from(i) * 0.37).collect();
        let sigmoids = |values: &mut [f64]| {
            let mut pairs = vec![[0.0; 2]; values.len()];
            sigmoid_pairs(values, &mut pairs);
            values.iter_mut().zip(pairs).for_each(|(value, [_, p])| *value = p);
        };
        for function in [exp_in_place, tanh_in_place, sigmoids] {
            let mut together = values.clone();
            function(&mut together);
            for (&value, &lane) in values.iter().zip(&together) {
                let mut alone = [value];
                function(&mut alone);
                assert_eq!(alone[0].to_bits(), lane.to_bits(), "{value}");
            }
        }
    }
}
