//! Limited-memory BFGS: the public, unconstrained model from gradients alone.
//!
//! No matrix of the size of the parameters squared ever leaves a silo: the curvature is estimated
//! from the last few gradients (Nocedal & Wright, Algorithms 7.4 and 3.1).

use std::ops::ControlFlow;

use steffle_wire::Metric;

use super::curvature::{CurvaturePair, InverseHessian, dot};

/// When to stop.
///
/// Evaluations are trips, so both are limited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Largest number of evaluations.
    pub evaluations: u32,
    /// Stop when the largest entry of the gradient is at most this.
    pub gradient: f64,
}

/// Where the minimisation ended.
///
/// It also knows how far from the optimum that may be.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// The parameters.
    pub theta: Vec<f64>,
    /// The value there.
    pub value: f64,
    /// The largest entry of the gradient there; infinite where nobody asked for one.
    pub gradient: f64,
    /// Evaluations used.
    pub evaluations: u32,
    /// The curvature that the steps have shown: a start for problems that are close to this one.
    pub curvature: InverseHessian,
    /// How it was found.
    pub found: Found,
}

/// How a model was found.
///
/// Fair ones are found from it in the same way.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// From losses and gradients.
    Gradients,
    /// In few trips; where silos have factored their Hessians.
    FewTrips(Metric),
    /// By passes of the silos over their own records.
    Passes,
}

impl Minimum {
    /// A place of which nothing else is known.
    pub fn at(theta: Vec<f64>) -> Self {
        let (curvature, found) = (InverseHessian::scaled(1.0), Found::Gradients);
        Self { theta, value: 0.0, gradient: 0.0, evaluations: 0, curvature, found }
    }
}

/// Steps that are remembered for `parameters` parameters. More cost little beside an evaluation,
/// and a solve of up to this many steps is then full BFGS; but no more than about 64 MB of them
/// unless ten take more.
pub(crate) fn memory(parameters: usize) -> usize {
    (4_000_000 / parameters.max(1)).clamp(10, 100)
}

/// Minimises `evaluate`, which returns a value and a gradient. `observe` sees every accepted
/// point and may stop the work; an error of `evaluate` is passed on.
pub fn minimise<E>(
    start: Vec<f64>,
    tolerance: Tolerance,
    evaluate: impl FnMut(&[f64]) -> Result<(f64, Vec<f64>), E>,
    observe: impl FnMut(u32, f64) -> ControlFlow<()>,
) -> Result<Minimum, E> {
    minimise_from(start, None, tolerance, evaluate, observe)
}

/// As [`minimise`], starting from what is known about the curvature, if anything is.
pub fn minimise_from<E>(
    start: Vec<f64>,
    known: Option<&InverseHessian>,
    tolerance: Tolerance,
    mut evaluate: impl FnMut(&[f64]) -> Result<(f64, Vec<f64>), E>,
    mut observe: impl FnMut(u32, f64) -> ControlFlow<()>,
) -> Result<Minimum, E> {
    let mut theta = start;
    let (mut value, mut gradient) = evaluate(&theta)?;
    let mut evaluations = 1;
    let mut memory = Memory::new(known);
    while evaluations < tolerance.evaluations && largest(&gradient) > tolerance.gradient {
        if observe(evaluations, value).is_break() {
            break;
        }
        let mut direction = memory.estimate.apply(&gradient);
        let mut slope = -dot(&direction, &gradient);
        if slope >= 0.0 {
            // Rounding has made the memory useless; start again from steepest descent.
            memory = Memory::new(None);
            direction.copy_from_slice(&gradient);
            slope = -dot(&gradient, &gradient);
        }
        let mut step = if memory.is_empty() { 1.0 / largest(&gradient).max(1.0) } else { 1.0 };
        let accepted = loop {
            let candidate: Vec<f64> =
                theta.iter().zip(&direction).map(|(t, d)| t - step * d).collect();
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
            memory = Memory::new(None);
            continue;
        };
        let pair = CurvaturePair::new(
            difference(&theta, &candidate),
            difference(&gradient, &new_gradient),
        );
        (theta, value, gradient) = (candidate, new_value, new_gradient);
        if let Some(pair) = pair {
            memory.learn(pair);
        }
    }
    let curvature = memory.estimate;
    let (gradient, found) = (largest(&gradient), Found::Gradients);
    Ok(Minimum { theta, value, gradient, evaluations, curvature, found })
}

/// What is known about the curvature: from before, and from the last steps.
struct Memory {
    estimate: InverseHessian,
    /// Layers that were known before.
    known: Option<usize>,
}

impl Memory {
    fn new(known: Option<&InverseHessian>) -> Self {
        Self {
            estimate: known.cloned().unwrap_or_else(|| InverseHessian::scaled(1.0)),
            known: known.map(InverseHessian::layers),
        }
    }

    fn is_empty(&self) -> bool {
        self.known.is_none() && self.estimate.layers() == 0
    }

    /// Where nothing was known, the identity under the pairs has the scale of the last one.
    fn learn(&mut self, pair: CurvaturePair) {
        if self.known.is_none() {
            self.estimate.rescale(pair.scale());
        }
        let first = self.known.unwrap_or(0);
        if self.estimate.layers() - first == memory(pair.parameters()) {
            self.estimate.remove(first);
        }
        self.estimate.push_pair(pair);
    }
}

/// The minimiser of the parabola through what is known, kept inside [0.1, 0.5].
fn interpolate(value: f64, slope: f64, new_value: f64) -> f64 {
    let best = -slope / (2.0 * (new_value - value - slope));
    if best.is_finite() { best.clamp(0.1, 0.5) } else { 0.1 }
}

fn difference(from: &[f64], to: &[f64]) -> Vec<f64> {
    from.iter().zip(to).map(|(from, to)| to - from).collect()
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
