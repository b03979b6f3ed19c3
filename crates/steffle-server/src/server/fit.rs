//! The unconstrained fit of a linear model in few trips.
//!
//! Every evaluation is a trip over the network, so each is made to tell as much as it can. The silos'
//! own fits, merged, are the start; the mean of the silos' inverse Hessians is the first guess of the
//! inverse Hessian; and that mean is applied inside the trip of a step, to what each silo takes for
//! the new gradient, so that quasi-Newton steps take one trip each. No matrix leaves a silo.

mod descent;
mod guess;
mod imaged;

pub(crate) use self::descent::{Aim, Descent, Point, Slope, Stop};
pub(crate) use self::imaged::Imaged;

use std::ops::ControlFlow;

use steffle_wire::{FitQuestion, FitSums, MOST_FACTORED, Metric};

use super::{Found, Minimum};
use crate::game::RIDGE;

/// Most trips of a fit with images, and of one without.
const TRIPS: (u32, u32) = (34, 150);

/// Enough: a step that promises less than this part of the value.
const ENOUGH: f64 = 1e-6;

/// Keeps columns that nobody has from dividing nothing by nothing.
const NOBODY: f64 = 1e-9;

/// The loss alone.
struct Loss;

impl Aim for Loss {
    fn value(&self, values: &[f64]) -> f64 {
        values[0]
    }

    fn slope(&self, at: &Point) -> Slope {
        Slope { gradient: at.gradients[0].clone(), terms: Vec::new() }
    }
}

/// Minimises the mean loss plus ridge of a model of one layer with `parameters` parameters over all
/// records of whoever answers `ask`, in the shape of the question. `observe` sees (trips, value) and
/// may end the work early.
pub fn fit<E>(
    parameters: usize,
    mut ask: impl FnMut(&FitQuestion) -> Result<FitSums, E>,
    mut observe: impl FnMut(u32, f64) -> ControlFlow<()>,
) -> Result<Minimum, E> {
    let images = parameters <= MOST_FACTORED;
    let (theta, own) =
        if images { (merged(&ask(&FitQuestion::Own)?), 1) } else { (vec![0.0; parameters], 0) };
    let sums = ask(&FitQuestion::Curvature { theta: theta.clone() })?;
    let metric = metric(&theta, &sums.vectors[1], sums.held);
    let mut descent = Descent::new(metric.clone(), images, false);
    let (values, gradients) = means(&theta, &sums.values, &sums.vectors[..1], sums.held);
    let point = descent.begin(theta, values, gradients, &mut ask)?;
    let before = own + 1;
    let left = most_trips(parameters) - before - descent.trips();
    let stop = Stop { decrease: ENOUGH, trips: left };
    let mut seen = |trips: u32, value: f64| observe(before + trips, value);
    let end = descent.descend(point, &Loss, stop, &mut ask, &mut seen)?;
    let gradient = end.gradients[0].own.iter().fold(0.0, |top: f64, slope| top.max(slope.abs()));
    Ok(Minimum {
        value: end.values[0],
        gradient,
        evaluations: before + descent.trips(),
        curvature: descent.curvature(),
        found: Found::FewTrips(metric),
        theta: end.theta,
    })
}

/// Trips that a fit of so many parameters takes at most.
pub(crate) fn most_trips(parameters: usize) -> u32 {
    if parameters <= MOST_FACTORED { TRIPS.0 } else { TRIPS.1 }
}

/// Where silos are to factor their Hessians, from the summed diagonal there.
pub(crate) fn metric(theta: &[f64], diagonal: &[f64], held: u64) -> Metric {
    let n = (held as f64).max(1.0);
    let diagonal = diagonal.iter().map(|sum| sum / n + 2.0 * RIDGE).collect();
    Metric { theta: theta.to_vec(), diagonal, records: held }
}

/// Sums at one theta as means, with the ridge in the first value and gradient, which are the loss's.
pub(crate) fn means(
    theta: &[f64],
    values: &[f64],
    gradients: &[Vec<f64>],
    held: u64,
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = (held as f64).max(1.0);
    let mut values: Vec<f64> = values.iter().map(|sum| sum / n).collect();
    let mut gradients: Vec<Vec<f64>> =
        gradients.iter().map(|sums| sums.iter().map(|sum| sum / n).collect()).collect();
    values[0] += RIDGE * theta.iter().map(|theta| theta * theta).sum::<f64>();
    let slopes = gradients[0].iter_mut().zip(theta);
    slopes.for_each(|(slope, theta)| *slope += 2.0 * RIDGE * theta);
    (values, gradients)
}

/// The silos' own optima, each entry weighed by how much curvature a silo has seen there.
fn merged(own: &FitSums) -> Vec<f64> {
    let entries = own.vectors[0].iter().zip(&own.vectors[1]);
    entries.map(|(weighed, weight)| weighed / (weight + NOBODY)).collect()
}
