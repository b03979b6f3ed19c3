//! Limited-memory BFGS: the public, unconstrained model from gradients alone.
//!
//! No matrix of the size of the parameters squared ever leaves a silo: the curvature is estimated
//! from the last few gradients (Nocedal & Wright, Algorithms 7.4 and 3.1).

use std::collections::VecDeque;
use std::ops::ControlFlow;

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Largest number of evaluations.
    pub evaluations: u32,
    /// Stop when the largest entry of the gradient is at most this.
    pub gradient: f64,
}

/// Where the minimisation ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// The parameters.
    pub theta: Vec<f64>,
    /// The value there.
    pub value: f64,
    /// The largest entry of the gradient there.
    pub gradient: f64,
    /// Evaluations used.
    pub evaluations: u32,
}

/// Steps that are remembered.
const MEMORY: usize = 20;

/// Minimises `evaluate`, which returns a value and a gradient. `observe` sees every accepted
/// point and may stop the work; an error of `evaluate` is passed on.
pub fn minimise<E>(
    start: Vec<f64>,
    tolerance: Tolerance,
    mut evaluate: impl FnMut(&[f64]) -> Result<(f64, Vec<f64>), E>,
    mut observe: impl FnMut(u32, f64) -> ControlFlow<()>,
) -> Result<Minimum, E> {
    let mut theta = start;
    let (mut value, mut gradient) = evaluate(&theta)?;
    let mut evaluations = 1;
    let mut memory: VecDeque<Pair> = VecDeque::with_capacity(MEMORY);
    while evaluations < tolerance.evaluations && largest(&gradient) > tolerance.gradient {
        if observe(evaluations, value).is_break() {
            break;
        }
        let mut direction = two_loop(&memory, &gradient);
        let mut slope = dot(&direction, &gradient);
        if slope >= 0.0 {
            // Rounding has made the memory useless; start again from steepest descent.
            memory.clear();
            direction = gradient.iter().map(|g| -g).collect();
            slope = -dot(&gradient, &gradient);
        }
        let first = memory.is_empty();
        let mut step = if first { 1.0 / largest(&gradient).max(1.0) } else { 1.0 };
        let accepted = loop {
            let candidate: Vec<f64> =
                theta.iter().zip(&direction).map(|(t, d)| t + step * d).collect();
            let (new_value, new_gradient) = evaluate(&candidate)?;
            evaluations += 1;
            if new_value <= value + 1e-4 * step * slope {
                break Some((candidate, new_value, new_gradient));
            }
            if evaluations >= tolerance.evaluations || step < 1e-12 {
                break None;
            }
            step *= interpolate(value, slope * step, new_value);
        };
        let Some((candidate, new_value, new_gradient)) = accepted else {
            if memory.is_empty() {
                break; // not even steepest descent improves: this is the minimum to rounding
            }
            memory.clear();
            continue;
        };
        let pair = Pair::new(&theta, &candidate, &gradient, &new_gradient);
        (theta, value, gradient) = (candidate, new_value, new_gradient);
        if let Some(pair) = pair {
            if memory.len() == MEMORY {
                memory.pop_front();
            }
            memory.push_back(pair);
        }
    }
    Ok(Minimum { theta, value, gradient: largest(&gradient), evaluations })
}

/// A step and the change of the gradient along it.
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    inverse: f64,
}

impl Pair {
    /// `None` where the curvature along the step is not positive.
    fn new(from: &[f64], to: &[f64], before: &[f64], after: &[f64]) -> Option<Self> {
        let difference =
            |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| b - a).collect() };
        let (step, change) = (difference(from, to), difference(before, after));
        let curvature = dot(&step, &change);
        let positive = curvature > 1e-12 * dot(&change, &change).sqrt() * dot(&step, &step).sqrt();
        positive.then(|| Self { step, change, inverse: 1.0 / curvature })
    }
}

/// Minus the inverse Hessian estimate times the gradient.
fn two_loop(memory: &VecDeque<Pair>, gradient: &[f64]) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut weights = Vec::with_capacity(memory.len());
    for pair in memory.iter().rev() {
        let weight = pair.inverse * dot(&pair.step, &direction);
        add(&mut direction, -weight, &pair.change);
        weights.push(weight);
    }
    if let Some(pair) = memory.back() {
        let scale = 1.0 / (pair.inverse * dot(&pair.change, &pair.change));
        direction.iter_mut().for_each(|d| *d *= scale);
    }
    for (pair, weight) in memory.iter().zip(weights.iter().rev()) {
        let back = pair.inverse * dot(&pair.change, &direction);
        add(&mut direction, weight - back, &pair.step);
    }
    direction
}

/// The minimiser of the parabola through what is known, kept inside [0.1, 0.5].
fn interpolate(value: f64, slope: f64, new_value: f64) -> f64 {
    let best = -slope / (2.0 * (new_value - value - slope));
    if best.is_finite() { best.clamp(0.1, 0.5) } else { 0.1 }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(sum: &mut [f64], weight: f64, values: &[f64]) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |top, value| value.abs().max(top))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn run(start: Vec<f64>, f: impl Fn(&[f64]) -> (f64, Vec<f64>)) -> Minimum {
        let tolerance = Tolerance { evaluations: 2000, gradient: 1e-9 };
        let evaluate = |x: &[f64]| Ok::<_, Infallible>(f(x));
        match minimise(start, tolerance, evaluate, |_, _| ControlFlow::Continue(())) {
            Ok(minimum) => minimum,
            Err(never) => match never {},
        }
    }

    #[test]
    fn a_badly_scaled_quadratic_is_solved() {
        let scales = [1.0, 1e2, 1e4, 1e-2];
        let minimum = run(vec![1.0; 4], |x| {
            let value = x.iter().zip(scales).map(|(x, s)| 0.5 * s * (x - 3.0).powi(2)).sum();
            (value, x.iter().zip(scales).map(|(x, s)| s * (x - 3.0)).collect())
        });
        assert!(minimum.gradient <= 1e-9, "{minimum:?}");
        assert!(minimum.theta.iter().all(|x| (x - 3.0).abs() < 1e-6), "{minimum:?}");
    }

    #[test]
    fn the_banana_valley_is_followed() {
        let minimum = run(vec![-1.2, 1.0], |x| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            (a * a + 100.0 * b * b, vec![-2.0 * a - 400.0 * x[0] * b, 200.0 * b])
        });
        assert!(minimum.theta.iter().all(|x| (x - 1.0).abs() < 1e-6), "{minimum:?}");
    }
}
