//! Preconditioned L-BFGS: one factorisation for a whole descent, where Newton's method has one per step.

use std::collections::VecDeque;

/// Steps that are remembered.
const MEMORY: usize = 10;

/// Most evaluations. Real tables take 4 to 80; without noise, where the optimum is far out, some 240.
const EVALUATIONS: u32 = 300;

/// A step is taken if it has this share of the decrease that the slope promises.
const ENOUGH: f64 = 1e-4;

/// A step that lowers the value by less than this, relative to it, is the last.
const HARDLY: f64 = 1e-9;

/// Where a descent ended.
pub(super) struct Found {
    pub(super) weights: Vec<f64>,
    pub(super) evaluations: u32,
    /// Whether it came to an end before its evaluations did.
    pub(super) converged: bool,
}

/// A step and the change of the gradient over it.
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    /// One over their product.
    inverse: f64,
}

/// Minimises a convex function from `weights` on, until its gradient has at most this `length`.
/// `precondition` multiplies by about the inverse of the curvature.
pub(super) fn descend(
    mut weights: Vec<f64>,
    evaluate: impl Fn(&[f64]) -> (f64, Vec<f64>),
    precondition: impl Fn(&mut [f64]),
    length: impl Fn(&[f64]) -> f64,
    tolerance: f64,
) -> Found {
    let (mut value, mut gradient) = evaluate(&weights);
    let (mut pairs, mut evaluations) = (VecDeque::new(), 1);
    loop {
        let direction = direction(&gradient, &pairs, &precondition);
        let slope = dot(&gradient, &direction);
        // Where not even the slope promises more, the value has no digits left to show it.
        let flat = -slope <= HARDLY * 1e-2 * value.abs();
        if flat || length(&gradient) <= tolerance {
            return Found { weights, evaluations, converged: true };
        }
        let mut far = 1.0;
        let (next, (lower, after)) = loop {
            if evaluations >= EVALUATIONS || !slope.is_finite() {
                return Found { weights, evaluations, converged: false };
            }
            let next: Vec<f64> =
                weights.iter().zip(&direction).map(|(own, step)| own + far * step).collect();
            let found = evaluate(&next);
            evaluations += 1;
            // Also false of what is not a number.
            if found.0 <= value + ENOUGH * far * slope {
                break (next, found);
            }
            far *= 0.5;
        };
        remember(&mut pairs, &weights, &next, &gradient, &after);
        let decrease = value - lower;
        (weights, value, gradient) = (next, lower, after);
        if decrease <= HARDLY * value.abs() {
            return Found { weights, evaluations, converged: true };
        }
    }
}

/// Against the gradient, as far as the remembered steps and the preconditioner know the curvature.
fn direction(
    gradient: &[f64],
    pairs: &VecDeque<Pair>,
    precondition: impl Fn(&mut [f64]),
) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|entry| -entry).collect();
    let mut weights = Vec::with_capacity(pairs.len());
    for Pair { step, change, inverse } in pairs.iter().rev() {
        let weight = inverse * dot(step, &direction);
        add(&mut direction, -weight, change);
        weights.push(weight);
    }
    precondition(&mut direction);
    for (Pair { step, change, inverse }, weight) in pairs.iter().zip(weights.iter().rev()) {
        let back = inverse * dot(change, &direction);
        add(&mut direction, weight - back, step);
    }
    direction
}

/// Keeps a step, unless it says nothing about the curvature.
fn remember(
    pairs: &mut VecDeque<Pair>,
    before: &[f64],
    after: &[f64],
    gradient: &[f64],
    next: &[f64],
) {
    let difference =
        |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| b - a).collect() };
    let (step, change) = (difference(before, after), difference(gradient, next));
    let product = dot(&step, &change);
    if product > 1e-10 * (dot(&step, &step) * dot(&change, &change)).sqrt() {
        if pairs.len() == MEMORY {
            pairs.pop_front();
        }
        pairs.push_back(Pair { step, change, inverse: 1.0 / product });
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(to: &mut [f64], factor: f64, other: &[f64]) {
    to.iter_mut().zip(other).for_each(|(to, other)| *to += factor * other);
}
