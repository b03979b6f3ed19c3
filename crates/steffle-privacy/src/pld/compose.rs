//! Many rounds: powers of a tilted Fourier transform.
//!
//! The deltas of interest are far below the rounding errors of a plain FFT. Multiplying each mass
//! by `e^(tilt * loss)` first moves the bulk of the composed distribution to the epsilon that is
//! asked for; dividing by it afterwards scales the errors down with the masses.

use realfft::RealFftPlanner;
use realfft::num_complex::Complex;

use super::discretise::Masses;

/// Tilted probability outside the window, each side: e^-24.
const OUTSIDE: f64 = 24.0;
/// The error of a transform of length n is at most `TRANSFORM * log2(n)` of its size, both in the
/// 2-norm (Higham 2002, theorem 24.2, with room to spare).
const TRANSFORM: f64 = 4.0 * f64::EPSILON;
/// Allowance for sums, in all and per round, relative to delta.
const SUMS: (f64, f64) = (1e-9, 1e-12);
/// About half the number of groups in an outline.
const OUTLINE: f64 = 1000.0;

/// One round's losses, and how often they are repeated.
pub(super) struct Part {
    masses: Masses,
    rounds: u64,
    /// Few (position, mass) whose exponential moments are at least those of the masses: groups of
    /// cells, each moved to its two ends such that mass and mean stay.
    outline: Vec<(f64, f64)>,
}

/// The loss of all rounds: probability `e^(log_scale - tilt * loss) * tilted[i]` at loss
/// `(first + i) * step`.
pub(super) struct Composed {
    step: f64,
    first: i64,
    tilt: f64,
    log_scale: f64,
    tilted: Vec<f64>,
    /// Probability above the window, or of infinite loss.
    above: f64,
    /// How far each tilted mass may be off by rounding.
    rounding: f64,
    /// How far `log_scale` may be off by rounding.
    sums: f64,
}

/// Cumulant generating function at a tilt, with two derivatives.
#[derive(Default)]
struct Cumulants {
    value: f64,
    mean: f64,
    variance: f64,
}

impl Part {
    pub(super) fn new(masses: Masses, rounds: u64) -> Self {
        let outline = outline(&masses);
        Self { masses, rounds, outline }
    }

    fn cumulants(&self, step: f64, tilt: f64) -> Cumulants {
        let exponents =
            || self.outline.iter().map(|&(position, mass)| (position * step, mass.ln()));
        let largest = exponents()
            .map(|(loss, log_mass)| log_mass + tilt * loss)
            .fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
        for (loss, log_mass) in exponents() {
            let weight = (log_mass + tilt * loss - largest).exp();
            sum += weight;
            first += weight * loss;
            second += weight * loss * loss;
        }
        let mean = first / sum;
        Cumulants {
            value: largest + sum.ln(),
            mean,
            variance: (second / sum - mean * mean).max(0.0),
        }
    }

    /// The masses times e^(tilt * loss), adding up to 1, and the logarithm of what they added up to.
    fn tilted(&self, step: f64, tilt: f64) -> (Vec<f64>, f64) {
        // The outline knows the size of the sum, so nothing overflows.
        let near = self.cumulants(step, tilt).value;
        let first = self.masses.first;
        let mut tilted: Vec<f64> = self
            .masses
            .mass
            .iter()
            .enumerate()
            .map(|(i, mass)| match tilt * ((first + i as i64) as f64 * step) - near {
                exponent if exponent < 600.0 => mass * exponent.exp(),
                exponent => (mass.ln() + exponent).exp(),
            })
            .collect();
        let sum: f64 = tilted.iter().sum();
        for mass in &mut tilted {
            *mass /= sum;
        }
        (tilted, near + sum.ln())
    }
}

/// Upper bounds for the cumulants of all rounds.
fn total(parts: &[Part], step: f64, tilt: f64) -> Cumulants {
    parts.iter().fold(Cumulants::default(), |all, part| {
        let (one, rounds) = (part.cumulants(step, tilt), part.rounds as f64);
        Cumulants {
            value: all.value + rounds * one.value,
            mean: all.mean + rounds * one.mean,
            variance: all.variance + rounds * one.variance,
        }
    })
}

/// The tilt at which Chernoff's bound is `delta`, and the loss it is for: near the epsilon that is
/// looked for. Any tilt is valid; this one keeps the most digits.
pub(super) fn tilt_for(parts: &[Part], step: f64, delta: f64) -> (f64, f64) {
    let spread = total(parts, step, 0.0).variance.sqrt().max(step);
    let guess = ((-2.0 * delta.ln()).sqrt() / spread).ln();
    // Rare large losses have a spread that says nothing about them: look far down.
    let (mut low, mut high) = (guess - 40.0, guess + 6.0);
    for _ in 0..30 {
        let middle = 0.5 * (low + high);
        let at = total(parts, step, middle.exp());
        if at.value - middle.exp() * at.mean > delta.ln() { low = middle } else { high = middle }
    }
    (low.exp(), total(parts, step, low.exp()).mean)
}

/// Composes all parts. `Err` tells how many points it would take when there are too many.
pub(super) fn compose(
    parts: &[Part],
    step: f64,
    tilt: f64,
    most_points: usize,
) -> Result<Composed, f64> {
    let tilted: Vec<(Vec<f64>, f64)> = parts.iter().map(|part| part.tilted(step, tilt)).collect();
    let log_sum: f64 =
        parts.iter().zip(&tilted).map(|(part, (_, log_sum))| part.rounds as f64 * log_sum).sum();
    let spread = total(parts, step, tilt).variance.sqrt().max(step);
    // Chernoff: P(X > x) <= e^(K(tilt + b) - K(tilt) - b x) for every b > 0; likewise below.
    let (mut bottom, mut top) = (f64::NEG_INFINITY, f64::INFINITY);
    for factor in [0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0] {
        let b = factor / spread;
        let up = total(parts, step, tilt + b).value - log_sum;
        top = top.min((up + OUTSIDE) / b);
        let down = total(parts, step, tilt - b).value - log_sum;
        bottom = bottom.max(-(down + OUTSIDE) / b);
    }
    let points = ((top - bottom) / step).ceil() + 3.0;
    if points.is_nan() || points > most_points as f64 {
        return Err(points);
    }
    let length = fast_length(points as usize);
    let first = (bottom / step).floor() as i64 - 1;
    let top = (first + length as i64) as f64 * step;
    let (mut circle, rounding) = convolve(parts, &tilted, length).ok_or(f64::INFINITY)?;
    // The window may begin anywhere on the circle.
    circle.rotate_left(first.rem_euclid(length as i64) as usize);
    let rounds = parts.iter().map(|part| part.rounds as f64).sum::<f64>();
    let finite: f64 = parts
        .iter()
        .map(|part| part.rounds as f64 * (-part.masses.infinite.min(1.0)).ln_1p())
        .sum();
    let above = -finite.exp_m1() + (log_sum - tilt * top - OUTSIDE).exp();
    let sums = SUMS.0 + SUMS.1 * rounds;
    Ok(Composed { step, first, tilt, log_scale: log_sum, tilted: circle, above, rounding, sums })
}

impl Composed {
    /// The smallest epsilon whose delta, with everything that could be missing added, is at most
    /// `delta`. `None` when the probability above the window is already more. `near` is a guess
    /// that sets the scale.
    pub(super) fn epsilon(&self, delta: f64, near: f64) -> Option<f64> {
        self.root(delta - self.above, near, 1.0)
    }

    /// An epsilon whose delta is at least `delta` on the grid, with everything that could have been
    /// added taken away. Not above [`Composed::epsilon`].
    pub(super) fn epsilon_from_below(&self, delta: f64, near: f64) -> f64 {
        // What was wrapped into the window, from both sides, weighs more at a smaller epsilon: take
        // four times what it weighs, and see that this was enough.
        let wrapped = |epsilon: f64| 2.0 * (self.log_scale - self.tilt * epsilon - OUTSIDE).exp();
        let bound = |delta| self.root(delta, near, -1.0).unwrap_or(0.0);
        let first = bound(delta + self.above);
        let taken = 4.0 * wrapped(first);
        let second = bound(delta + self.above + taken);
        if wrapped(second) <= taken { second } else { 0.0 }
    }

    /// Where the delta of the masses crosses `allowed`, all rounding errors on one side.
    fn root(&self, allowed: f64, near: f64, side: f64) -> Option<f64> {
        let log_scale = self.log_scale + side * self.sums - self.tilt * near;
        let allowed = allowed / log_scale.exp();
        if !(allowed.is_finite() && allowed > 0.0) {
            return None;
        }
        // At epsilon = loss delta is `spent`, and below it grows by
        // discounted (1 - e^(epsilon - loss)): only sums of positive numbers.
        let (mut spent, mut discounted) = (0.0, 0.0);
        let (fade, rise) = ((-self.step).exp(), -(-self.step).exp_m1());
        for (i, mass) in self.tilted.iter().enumerate().rev() {
            let loss = (self.first + i as i64) as f64 * self.step;
            if loss <= 0.0 {
                break;
            }
            let mass = (mass + side * self.rounding).max(0.0);
            discounted = discounted * fade + mass * (-self.tilt * (loss - near)).exp();
            if spent + discounted * rise > allowed {
                let root = loss + (-(allowed - spent) / discounted).ln_1p();
                return Some(root.clamp((loss - self.step).max(0.0), loss));
            }
            spent += discounted * rise;
        }
        Some((self.first as f64 * self.step).max(0.0))
    }
}

/// Groups of cells moved to their ends, small where much of the variance is.
fn outline(masses: &Masses) -> Vec<(f64, f64)> {
    let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
    for (i, mass) in masses.mass.iter().enumerate() {
        let position = i as f64;
        sum += mass;
        first += mass * position;
        second += mass * position * position;
    }
    let tolerance = (second - first * first / sum) / OUTLINE;
    let widest = masses.mass.len() as f64 / OUTLINE;
    let mut outline = Vec::new();
    let (mut low, mut width, mut mass, mut moment) = (masses.first as f64, 0.0, 0.0, 0.0);
    for m in &masses.mass {
        moment += m * width;
        mass += m;
        width += 1.0;
        if width >= widest || mass * width * width > tolerance {
            outline
                .extend([(low, (mass - moment / width).max(0.0)), (low + width, moment / width)]);
            (low, width, mass, moment) = (low + width, 0.0, 0.0, 0.0);
        }
    }
    if width > 0.0 {
        outline.extend([(low, (mass - moment / width).max(0.0)), (low + width, moment / width)]);
    }
    outline.retain(|point| point.1 > 0.0);
    outline
}

/// The tilted masses of all rounds on a circle of `length` points, and how far each of them may be
/// off by rounding. `None` if the transform refuses.
fn convolve(parts: &[Part], tilted: &[(Vec<f64>, f64)], length: usize) -> Option<(Vec<f64>, f64)> {
    let mut planner = RealFftPlanner::<f64>::new();
    let (forward, inverse) = (planner.plan_fft_forward(length), planner.plan_fft_inverse(length));
    let mut product = vec![Complex::new(1.0, 0.0); length / 2 + 1];
    let (mut transformed, mut powered) = (1.0, 0.0);
    for (part, (masses, _)) in parts.iter().zip(tilted) {
        let mut circle = forward.make_input_vec();
        let mut place = part.masses.first.rem_euclid(length as i64) as usize;
        for mass in masses {
            circle[place] += mass;
            place = if place + 1 == length { 0 } else { place + 1 };
        }
        if parts.len() == 1 && part.rounds == 1 {
            return Some((circle, 0.0));
        }
        let norm = circle.iter().map(|mass| mass * mass).sum::<f64>().sqrt();
        transformed += part.rounds as f64 * norm;
        powered += part.rounds as f64;
        let mut spectrum = forward.make_output_vec();
        forward.process(&mut circle, &mut spectrum).ok()?;
        for (all, one) in product.iter_mut().zip(&spectrum) {
            *all *= power(*one, part.rounds);
        }
    }
    let count = product.len() as f64;
    let mean = product.iter().map(|c| c.norm()).sum::<f64>() / count;
    let root_mean_square = (product.iter().map(Complex::norm_sqr).sum::<f64>() / count).sqrt();
    let rounding = TRANSFORM * (length as f64).log2() * transformed * root_mean_square
        + 4.0 * f64::EPSILON * powered * mean;
    // Rounding leaves imaginary crumbs where a real signal has none.
    product[0].im = 0.0;
    if length.is_multiple_of(2) {
        product[length / 2].im = 0.0;
    }
    let mut masses = inverse.make_output_vec();
    inverse.process(&mut product, &mut masses).ok()?;
    for mass in &mut masses {
        *mass /= length as f64;
    }
    Some((masses, rounding))
}

fn power(base: Complex<f64>, exponent: u64) -> Complex<f64> {
    let (mut base, mut exponent, mut result) = (base, exponent, Complex::new(1.0, 0.0));
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

/// The next length of the form 2^a or 3 * 2^a, which transforms fast.
fn fast_length(points: usize) -> usize {
    let two = points.next_power_of_two();
    if two / 4 * 3 >= points { two / 4 * 3 } else { two }
}
