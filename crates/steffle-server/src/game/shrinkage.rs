//! Takes out of an averaged gradient what is more likely noise than signal.
//!
//! The gradient of the covariance of class and output is `G b / w` where `G` is the curvature of
//! the loss per unit of its mean weight `w` and `b` are the coefficients of a regression of the
//! class on the features. If each coefficient is about [`TYPICAL`](super::slopes::TYPICAL) in size, the signal has
//! covariance `(n w TYPICAL)^2 G^2`, while the noise has `v^2 (G + gamma I)`, where it is shaped, or
//! `v^2 I`. The best linear estimate of the signal is then
//! `(I + rho (G^-1 + gamma G^-2))^-1` or `(I + rho G^-2)^-1` times what was received, with
//! `rho = (v / (n w TYPICAL))^2`: directions in which hardly any record differs are mostly noise
//! and are shrunk, the others stay. The inverse of `G` is the public curvature that the server has
//! anyway, and the system is solved by conjugate gradients, so nothing of size d x d is formed.

use steffle_model::linear::SHAPE_RIDGE;

use super::slopes::{add, dot};
use crate::server::{Aggregate, InverseHessian};

/// Most turns of the solver; it is usually done after a dozen.
const TURNS: usize = 60;

/// The filter of one round.
#[derive(Debug)]
pub(super) struct Shrinkage<'a> {
    curvature: &'a InverseHessian,
    shaped: bool,
}

impl<'a> Shrinkage<'a> {
    pub(super) fn new(curvature: &'a InverseHessian, answers: &Aggregate) -> Self {
        Self { curvature, shaped: answers.theta_shaped }
    }

    /// The estimate where noise is `rho` times the signal in a direction of unit curvature.
    pub(super) fn filter(&self, received: Vec<f64>, rho: f64, weight: f64) -> Vec<f64> {
        if !(rho > 0.0 && rho.is_finite()) {
            return received;
        }
        let inverse = |x: &[f64]| -> Vec<f64> {
            self.curvature.apply(x).iter().map(|value| weight * value).collect()
        };
        let system = |x: &[f64]| -> Vec<f64> {
            let once = inverse(x);
            let twice = inverse(&once);
            let (first, second) = if self.shaped { (1.0, SHAPE_RIDGE) } else { (0.0, 1.0) };
            let all = x.iter().zip(&once).zip(&twice);
            all.map(|((x, once), twice)| x + rho * (first * once + second * twice)).collect()
        };
        solve(received, system)
    }
}

/// Conjugate gradients for a symmetric positive system.
fn solve(right: Vec<f64>, system: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let mut found = vec![0.0; right.len()];
    let mut rest = right;
    let mut direction = rest.clone();
    let mut squared = dot(&rest, &rest);
    let enough = 1e-8 * squared;
    for _ in 0..TURNS {
        if squared <= enough {
            break;
        }
        let image = system(&direction);
        let along = squared / dot(&direction, &image);
        add(&mut found, along, &direction);
        add(&mut rest, -along, &image);
        let next = dot(&rest, &rest);
        let keep = next / squared;
        squared = next;
        direction.iter_mut().zip(&rest).for_each(|(d, r)| *d = r + keep * *d);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_solver_inverts() {
        let scales = [1.0, 4.0, 100.0, 2.5];
        let system =
            |x: &[f64]| -> Vec<f64> { x.iter().zip(scales).map(|(x, scale)| x * scale).collect() };
        let found = solve(vec![1.0, 8.0, 50.0, -5.0], system);
        for (found, expected) in found.iter().zip([1.0, 2.0, 0.5, -2.0]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    #[test]
    fn flat_directions_are_shrunk_and_nothing_is_without_noise() {
        // Curvature 1 along the first axis and 0.01 along the others.
        let mut curvature = InverseHessian::scaled(100.0);
        curvature.push_rank_one(0.99, &[1.0, 0.0]);
        for (shaped, flat) in [(true, 0.001), (false, 0.02)] {
            let shrinkage = Shrinkage { curvature: &curvature, shaped };
            let kept = shrinkage.filter(vec![1.0, 1.0], 1.0, 1.0);
            assert!(kept[0] > 0.4 && kept[0] < 0.6, "{kept:?}");
            assert!(kept[1] > 0.0 && kept[1] < flat, "{kept:?}");
            assert_eq!(shrinkage.filter(vec![1.0, 1.0], 0.0, 1.0), [1.0, 1.0]);
        }
    }
}
