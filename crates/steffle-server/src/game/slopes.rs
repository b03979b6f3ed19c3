//! How the groups' mean outputs move with theta, from messages that each tell one combination of it.
//!
//! `e_ru = P(u, r) - P(u) p_r` is a class's deviation from independence, and `U_ru` its gradient in
//! theta. A round may ask for one combination `sum_ru c_ru U_ru` of these gradients, and gets it with
//! noise. All rounds together are a regression: a Kalman filter whose state are the rows `U_ru` and
//! whose errors have the same covariance in every column, up to the shape that all messages' noise
//! has. What was never asked about stays unknown, with a variance that says so.
//!
//! Slopes turn as theta moves. Where noise does not explain how far a message is from what was
//! believed, it is news, and beliefs become unsure by as much; without noise the last message counts
//! in full.

use steffle_model::linear::SHAPE_RIDGE;

use super::shrinkage::Shrinkage;

/// The size of the coefficients of a regression of one class on features of unit variance.
pub(super) const TYPICAL: f64 = 0.8;

/// Noise that is shaped by curvature has at most this variance in the mean over its numbers, in units of
/// its scale: features vary by 1 or less.
const SHAPED: f64 = 1.0 + SHAPE_RIDGE;

/// What is not known at all has this many times the variance of the first message.
const UNKNOWN: f64 = 1e6;

/// What is believed about the slopes of one cell's table.
#[derive(Debug, Clone)]
pub(super) struct Slopes {
    classes: usize,
    /// Labels but the first, whose slopes are minus the sum of the others'.
    width: usize,
    /// `U`, `[class][label after the first]`, one vector each.
    rows: Vec<Vec<f64>>,
    /// Of the errors of the rows in one column, and the part of it that is the messages' noise.
    covariance: Vec<Vec<f64>>,
    noise: Vec<Vec<f64>>,
}

impl Slopes {
    pub(super) fn new(classes: usize, labels: usize) -> Self {
        let (width, size) = (labels - 1, classes * (labels - 1));
        let zero = vec![vec![0.0; size]; size];
        Self { classes, width, rows: Vec::new(), covariance: zero.clone(), noise: zero }
    }

    /// Takes in `message = sum_ru asked_ru U_ru` plus noise of this variance; `shares` are the classes'.
    pub(super) fn learn(&mut self, asked: &[f64], message: &[f64], variance: f64, shares: &[f64]) {
        let first = self.rows.is_empty();
        if first {
            self.rows = vec![vec![0.0; message.len()]; self.classes * self.width];
        }
        let numbers = message.len().max(1) as f64;
        let surprise: Vec<f64> = {
            let believed = combine(&self.rows, asked);
            message.iter().zip(&believed).map(|(new, old)| new - old).collect()
        };
        let squares = dot(&surprise, &surprise) / numbers;
        let shape = self.shape(shares);
        let drift = quadratic(&shape, asked);
        if drift <= 0.0 {
            return;
        }
        let unsure = quadratic(&self.covariance, asked) + variance;
        let more = if first {
            UNKNOWN * squares.max(variance)
        } else if squares > unsure * SHAPED * (1.0 + 3.0 * (2.0 / numbers).sqrt()) {
            squares - unsure
        } else {
            0.0
        };
        widen(&mut self.covariance, more / drift, &shape);
        if first {
            widen(&mut self.noise, UNKNOWN * variance / drift, &shape);
        }
        let along: Vec<f64> = self.covariance.iter().map(|row| dot(row, asked)).collect();
        let unsure = dot(&along, asked) + variance;
        if unsure <= 0.0 {
            return;
        }
        let gains: Vec<f64> = along.iter().map(|along| along / unsure).collect();
        self.filter_noise(&gains, asked, variance);
        for (at, gain) in gains.iter().enumerate() {
            add(&mut self.rows[at], *gain, &surprise);
            add(&mut self.covariance[at], -gain, &along);
        }
    }

    /// The noise that is left: `(I - g c') N (I - g c')' + v g g'`.
    fn filter_noise(&mut self, gains: &[f64], asked: &[f64], variance: f64) {
        let along: Vec<f64> = self.noise.iter().map(|row| dot(row, asked)).collect();
        let own = dot(&along, asked) + variance;
        for ((row, gain), noise) in self.noise.iter_mut().zip(gains).zip(&along) {
            add(row, -gain, &along);
            add(row, gain * own - noise, gains);
        }
    }

    /// What a move does to the table, `[class][label]`, as the messages have it.
    pub(super) fn predict(&self, moved: &[f64]) -> Vec<f64> {
        let mut all = vec![0.0; self.classes * (self.width + 1)];
        for (at, row) in self.rows.iter().enumerate() {
            let (class, label) = (at / self.width, at % self.width);
            let step = dot(row, moved);
            all[class * (self.width + 1)] -= step;
            all[class * (self.width + 1) + label + 1] = step;
        }
        all
    }

    /// Takes in how far a move took the table from what was predicted, `[class][label]`: `along` is 1 on the
    /// move, and the slopes change by no more than explains it.
    pub(super) fn correct(&mut self, missed: &[f64], along: &[f64]) {
        if self.rows.is_empty() {
            return;
        }
        for class in 0..self.classes {
            for label in 0..self.width {
                let missed = missed[class * (self.width + 1) + label + 1];
                add(&mut self.rows[class * self.width + label], missed, along);
            }
        }
    }

    /// The slopes, `[class][label]`, each as far as it is more likely signal than noise; `outputs` are the labels'
    /// shares.
    pub(super) fn estimate(
        &self,
        shrinkage: &Shrinkage<'_>,
        shares: &[f64],
        outputs: &[f64],
    ) -> Vec<Vec<f64>> {
        let (classes, width) = (self.classes, self.width);
        let parameters = self.rows.first().map_or(0, Vec::len);
        let mut all = vec![vec![0.0; parameters]; classes * (width + 1)];
        if self.rows.is_empty() {
            return all;
        }
        for label in 1..=width {
            let output = outputs[label].clamp(1e-6, 1.0 - 1e-6);
            // Outputs spread, so their mean slope is about half of the slope of their mean.
            let weight = 0.5 * output * (1.0 - output);
            for (class, row) in
                self.shrunk(label, weight, shrinkage, shares).into_iter().enumerate()
            {
                add(&mut all[class * (width + 1)], -1.0, &row);
                all[class * (width + 1) + label] = row;
            }
        }
        all
    }

    /// The rows of one label. `U = Pi V` with `Pi = diag p - p p'`, where the rows of V are about of one size,
    /// whatever the classes' shares: in the axes of V's errors every row is shrunk on its own.
    fn shrunk(
        &self,
        label: usize,
        weight: f64,
        shrinkage: &Shrinkage<'_>,
        shares: &[f64],
    ) -> Vec<Vec<f64>> {
        let classes = self.classes;
        let at = |class: usize| class * self.width + label - 1;
        let raise = raised(shares);
        // V = raise U, so its errors have the covariance raise P raise'.
        let block: Vec<Vec<f64>> = (0..classes)
            .map(|r| (0..classes).map(|s| self.noise[at(r)][at(s)]).collect())
            .collect();
        let errors = product(&product(&raise, &block), &transposed(&raise));
        let (values, axes) = eigen(errors);
        let parameters = self.rows.first().map_or(0, Vec::len);
        let mut found = vec![vec![0.0; parameters]; classes];
        let own: Vec<Vec<f64>> = (0..classes).map(|class| self.rows[at(class)].clone()).collect();
        for (value, axis) in values.iter().zip(&axes) {
            // axis' V, and what it adds to U = Pi V.
            let in_rows: Vec<f64> =
                (0..classes).map(|s| (0..classes).map(|r| axis[r] * raise[r][s]).sum()).collect();
            let received = combine(&own, &in_rows);
            if dot(&received, &received) == 0.0 {
                continue;
            }
            let rho = value.max(0.0) / (TYPICAL * weight).powi(2);
            let kept = shrinkage.filter(received, rho, weight);
            let mean: f64 = axis.iter().zip(shares).map(|(a, p)| a * p).sum();
            for ((row, a), p) in found.iter_mut().zip(axis).zip(shares) {
                add(row, p * (a - mean), &kept);
            }
        }
        found
    }

    /// How beliefs become unsure: `Pi^2` for every label.
    fn shape(&self, shares: &[f64]) -> Vec<Vec<f64>> {
        let classes = self.classes;
        let pi: Vec<Vec<f64>> = (0..classes)
            .map(|r| {
                (0..classes)
                    .map(|s| if r == s { shares[r] } else { 0.0 } - shares[r] * shares[s])
                    .collect()
            })
            .collect();
        let square = product(&pi, &pi);
        let size = classes * self.width;
        let entry = |a: usize, b: usize| {
            if a % self.width == b % self.width {
                square[a / self.width][b / self.width]
            } else {
                0.0
            }
        };
        (0..size).map(|a| (0..size).map(|b| entry(a, b)).collect()).collect()
    }
}

/// The inverse of `Pi` on vectors that sum to 0: divided by the shares, then centred.
fn raised(shares: &[f64]) -> Vec<Vec<f64>> {
    let k = shares.len() as f64;
    let inverse = |s: usize| 1.0 / shares[s].max(1e-9);
    (0..shares.len())
        .map(|r| {
            (0..shares.len())
                .map(|s| (if r == s { 1.0 } else { 0.0 } - 1.0 / k) * inverse(s))
                .collect()
        })
        .collect()
}

fn widen(matrix: &mut [Vec<f64>], weight: f64, shape: &[Vec<f64>]) {
    matrix.iter_mut().zip(shape).for_each(|(row, shape)| add(row, weight, shape));
}

fn combine(rows: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let mut total = vec![0.0; rows.first().map_or(0, Vec::len)];
    for (row, &weight) in rows.iter().zip(weights) {
        if weight != 0.0 {
            add(&mut total, weight, row);
        }
    }
    total
}

fn quadratic(matrix: &[Vec<f64>], vector: &[f64]) -> f64 {
    matrix.iter().zip(vector).map(|(row, value)| value * dot(row, vector)).sum()
}

fn transposed(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let width = matrix.first().map_or(0, Vec::len);
    (0..width).map(|at| matrix.iter().map(|row| row[at]).collect()).collect()
}

fn product(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let columns = transposed(b);
    a.iter().map(|row| columns.iter().map(|column| dot(row, column)).collect()).collect()
}

/// Eigenvalues and vectors of a small symmetric matrix, by Jacobi's turns.
fn eigen(mut matrix: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let size = matrix.len();
    let mut axes: Vec<Vec<f64>> =
        (0..size).map(|r| (0..size).map(|s| if r == s { 1.0 } else { 0.0 }).collect()).collect();
    for _ in 0..30 {
        let whole: f64 = matrix.iter().map(|row| dot(row, row)).sum();
        let off: f64 = whole - (0..size).map(|at| matrix[at][at].powi(2)).sum::<f64>();
        if off <= 1e-24 * whole {
            break;
        }
        for p in 0..size {
            for q in p + 1..size {
                turn(&mut matrix, &mut axes, p, q);
            }
        }
    }
    ((0..size).map(|at| matrix[at][at]).collect(), axes)
}

/// One turn of Jacobi's: makes the entry (p, q) 0. The axes are rows.
fn turn(matrix: &mut [Vec<f64>], axes: &mut [Vec<f64>], p: usize, q: usize) {
    let off = matrix[p][q];
    if off == 0.0 {
        return;
    }
    let ratio = (matrix[q][q] - matrix[p][p]) / (2.0 * off);
    let tangent = ratio.signum() / (ratio.abs() + (ratio * ratio + 1.0).sqrt());
    let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
    let sine = tangent * cosine;
    for row in matrix.iter_mut() {
        let (a, b) = (row[p], row[q]);
        (row[p], row[q]) = (cosine * a - sine * b, sine * a + cosine * b);
    }
    for at in 0..matrix.len() {
        let (a, b) = (matrix[p][at], matrix[q][at]);
        (matrix[p][at], matrix[q][at]) = (cosine * a - sine * b, sine * a + cosine * b);
        let (a, b) = (axes[p][at], axes[q][at]);
        (axes[p][at], axes[q][at]) = (cosine * a - sine * b, sine * a + cosine * b);
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn add(sum: &mut [f64], weight: f64, values: &[f64]) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{Aggregate, InverseHessian};

    const SHARES: [f64; 3] = [0.7, 0.2, 0.1];

    /// Slopes of two parameters that sum to 0 over classes.
    fn truth() -> Vec<Vec<f64>> {
        vec![vec![0.3, -0.1], vec![-0.2, 0.4], vec![-0.1, -0.3]]
    }

    fn told(slopes: &Slopes) -> Vec<Vec<f64>> {
        let curvature = InverseHessian::scaled(1.0);
        let shrinkage = Shrinkage::new(&curvature, &Aggregate::default());
        let rows = slopes.estimate(&shrinkage, &SHARES, &[0.5, 0.5]);
        rows.into_iter().skip(1).step_by(2).collect()
    }

    fn far(found: &[Vec<f64>], expected: &[Vec<f64>]) -> f64 {
        let pairs = found.iter().flatten().zip(expected.iter().flatten());
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn two_combinations_tell_the_slopes_of_three_classes() {
        let mut slopes = Slopes::new(3, 2);
        for asked in [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] {
            slopes.learn(&asked, &combine(&truth(), &asked), 0.0, &SHARES);
        }
        assert!(far(&told(&slopes), &truth()) < 1e-6, "{:?}", told(&slopes));
    }

    #[test]
    fn what_noise_does_not_explain_counts_in_full_and_what_it_does_is_averaged() {
        let asked = [0.0, 0.0, 1.0];
        let (mut silent, mut noisy) = (Slopes::new(3, 2), Slopes::new(3, 2));
        for (at, value) in [1.0, 2.0, 3.0].into_iter().enumerate() {
            silent.learn(&asked, &[value, value], 0.0, &SHARES);
            noisy.learn(&asked, &[value, value], 100.0, &SHARES);
            assert!((silent.rows[2][0] - value).abs() < 1e-6, "{at}");
        }
        assert!((noisy.rows[2][0] - 2.0).abs() < 1e-3, "{:?}", noisy.rows);
        // Of three messages of variance 100 the mean has a third.
        assert!((noisy.covariance[2][2] / (100.0 / 3.0) - 1.0).abs() < 1e-3);
        assert!((noisy.noise[2][2] / (100.0 / 3.0) - 1.0).abs() < 1e-3);
        assert!(silent.noise.iter().flatten().all(|&noise| noise == 0.0));
    }

    #[test]
    fn a_missed_prediction_turns_the_slopes_along_the_move_alone() {
        let mut slopes = Slopes::new(3, 2);
        slopes.learn(&[0.0, 0.0, 1.0], &[1.0, 2.0], 0.0, &SHARES);
        let before = slopes.rows.clone();
        // A move of (0.5, 0): what is 1 on it is (2, 0).
        slopes.correct(&[0.0, 0.1, 0.0, 0.0, 0.0, -0.1], &[2.0, 0.0]);
        let changed =
            |class: usize| dot(&slopes.rows[class], &[0.5, 0.0]) - dot(&before[class], &[0.5, 0.0]);
        assert!((changed(0) - 0.1).abs() < 1e-12 && (changed(2) + 0.1).abs() < 1e-12);
        assert!((slopes.rows[2][1] - before[2][1]).abs() < 1e-12);
    }

    #[test]
    fn axes_of_a_small_matrix() {
        // 2 and 4 along the diagonals of a square, 3 apart from it.
        let (values, axes) =
            eigen(vec![vec![3.0, 1.0, 0.0], vec![1.0, 3.0, 0.0], vec![0.0, 0.0, 3.0]]);
        for (value, axis) in values.iter().zip(&axes) {
            let image = [3.0 * axis[0] + axis[1], axis[0] + 3.0 * axis[1], 3.0 * axis[2]];
            let off =
                image.iter().zip(axis).map(|(a, b)| (a - value * b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-12, "{values:?} {axes:?}");
        }
        let mut sorted = values;
        sorted.sort_by(f64::total_cmp);
        assert!((sorted[0] - 2.0).abs() < 1e-12 && (sorted[2] - 4.0).abs() < 1e-12);
    }
}
