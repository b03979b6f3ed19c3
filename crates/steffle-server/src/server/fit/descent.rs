//! Quasi-Newton descent whose steps take one trip each.

use std::ops::ControlFlow;

use steffle_wire::{FitQuestion, FitSums, LENGTHS, Metric};

use super::guess::Guess;
use super::{Imaged, means};
use crate::game::RIDGE;
use crate::server::InverseHessian;
use crate::server::curvature::dot;

/// A step is taken when the value falls by this part of what its slope promises.
const ARMIJO: f64 = 1e-4;

/// A direction is one of descent when its slope has this part of the steepest one.
const STEEP: f64 = 1e-3;

/// Where no length was better, the step is cut to this.
const CUT: f64 = 0.003;

/// Cuts of one step.
const CUTS: u32 = 3;

/// After so many failures the images are not trusted any more.
const EVENTS: u32 = 3;

/// What is minimised: a function of the loss and of tables, as means over all records.
pub(crate) trait Aim {
    /// The value, from the loss (ridge included) and the tables.
    fn value(&self, values: &[f64]) -> f64;

    /// The value that observers see: that of what all the work is for.
    fn told(&self, values: &[f64]) -> f64 {
        self.value(values)
    }

    /// The gradient, from the gradients of loss and tables.
    fn slope(&self, at: &Point) -> Slope;
}

/// A gradient, and what is known of the Hessian beside what pairs tell: `sum weight v v'`.
pub(crate) struct Slope {
    pub(crate) gradient: Imaged,
    pub(crate) terms: Vec<(f64, Imaged)>,
}

/// A theta and what all silos together told about it, as means.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    pub(crate) theta: Vec<f64>,
    pub(crate) values: Vec<f64>,
    pub(crate) gradients: Vec<Imaged>,
}

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stop {
    /// When a step promises less than this part of the value.
    pub(crate) decrease: f64,
    /// Or after so many trips.
    pub(crate) trips: u32,
}

/// A descent under one metric.
pub(crate) struct Descent {
    metric: Metric,
    guess: Guess,
    /// Whether tables are asked for beside the loss.
    imputed: bool,
    events: u32,
    trips: u32,
}

/// The end of a step that was asked about.
struct Trial {
    /// By length.
    values: Vec<Vec<f64>>,
    end: Point,
}

impl Descent {
    /// With the mean of the silos' inverses as the first matrix, or the inverse diagonal.
    pub(crate) fn new(metric: Metric, images: bool, imputed: bool) -> Self {
        let guess = Guess::new(metric.diagonal.clone(), images);
        Self { metric, guess, imputed, events: 0, trips: 0 }
    }

    /// Trips that were made.
    pub(crate) fn trips(&self) -> u32 {
        self.trips
    }

    /// What it has learned about the curvature, to be applied without asking.
    pub(crate) fn curvature(&self) -> InverseHessian {
        self.guess.curvature()
    }

    /// A point to start at, with images of its gradients.
    pub(crate) fn begin<E>(
        &mut self,
        theta: Vec<f64>,
        values: Vec<f64>,
        gradients: Vec<Vec<f64>>,
        ask: &mut impl FnMut(&FitQuestion) -> Result<FitSums, E>,
    ) -> Result<Point, E> {
        let plain = |own| Imaged { own, image: Vec::new() };
        let gradients = gradients.into_iter().map(plain).collect();
        let mut point = Point { theta, values, gradients };
        if self.guess.images() {
            self.image(&mut point, ask)?;
        }
        Ok(point)
    }

    /// Fetches the exact images of a point's gradients.
    fn image<E>(
        &mut self,
        point: &mut Point,
        ask: &mut impl FnMut(&FitQuestion) -> Result<FitSums, E>,
    ) -> Result<(), E> {
        let vectors = point.gradients.iter().map(|gradient| gradient.own.clone()).collect();
        let images = ask(&FitQuestion::Image { metric: self.metric.clone(), vectors })?.vectors;
        self.trips += 1;
        for (gradient, image) in point.gradients.iter_mut().zip(images) {
            gradient.image = image;
        }
        Ok(())
    }

    /// Descends from `point`. `observe` sees (trips, value) and may end the work early; an error of
    /// `ask` is passed on.
    pub(crate) fn descend<E>(
        &mut self,
        mut point: Point,
        aim: &impl Aim,
        stop: Stop,
        ask: &mut impl FnMut(&FitQuestion) -> Result<FitSums, E>,
        observe: &mut impl FnMut(u32, f64) -> ControlFlow<()>,
    ) -> Result<Point, E> {
        let last = self.trips + stop.trips;
        let mut slope = aim.slope(&point);
        while self.trips < last {
            let value = aim.value(&point.values);
            let told = aim.told(&point.values);
            if observe(self.trips, told).is_break() || slope.gradient.own.iter().all(|g| *g == 0.0)
            {
                break;
            }
            let mut step = self.step(&slope);
            if !self.descends(&step, &slope.gradient.own) {
                self.recover(&mut point, ask)?;
                if self.trips >= last {
                    break;
                }
                slope = aim.slope(&point);
                step = self.step(&slope);
            }
            let along = dot(&step, &slope.gradient.own);
            if along >= 0.0 || -along / 2.0 < stop.decrease * value.abs() {
                break;
            }
            let Some(end) = self.search(&point, step, (value, along), aim, last, ask)? else {
                break;
            };
            let next = aim.slope(&end);
            self.learn(&point, &slope, &end, &next);
            (point, slope) = (end, next);
        }
        Ok(point)
    }

    fn step(&self, slope: &Slope) -> Vec<f64> {
        let mut step = self.guess.newton(&slope.gradient, &slope.terms);
        step.iter_mut().for_each(|value| *value = -*value);
        step
    }

    fn descends(&self, step: &[f64], gradient: &[f64]) -> bool {
        let (length, steepest) = self.guess.lengths(step, gradient);
        dot(step, gradient) < -STEEP * length * steepest
    }

    /// After a direction that is none: exact images and no pairs, or no images any more.
    fn recover<E>(
        &mut self,
        point: &mut Point,
        ask: &mut impl FnMut(&FitQuestion) -> Result<FitSums, E>,
    ) -> Result<(), E> {
        self.fail();
        if self.guess.images() {
            self.guess.forget_pairs();
            self.image(point, ask)?;
        }
        Ok(())
    }

    /// Counts a failure; after the last one the diagonal takes the place of the images.
    fn fail(&mut self) {
        self.events += 1;
        if self.events >= EVENTS {
            self.guess.leave_images();
        }
    }

    /// Takes the step, or the best part of it.
    fn search<E>(
        &mut self,
        point: &Point,
        mut step: Vec<f64>,
        (value, along): (f64, f64),
        aim: &impl Aim,
        last: u32,
        ask: &mut impl FnMut(&FitQuestion) -> Result<FitSums, E>,
    ) -> Result<Option<Point>, E> {
        let trial = self.ask(point, &step, ask)?;
        let values = |trial: &Trial| -> Vec<f64> {
            trial.values.iter().map(|values| aim.value(values)).collect()
        };
        let mut seen = values(&trial);
        if seen[0] <= value + ARMIJO * along {
            return Ok(Some(trial.end));
        }
        self.fail();
        for _ in 0..CUTS {
            let lowest = (0..seen.len()).min_by(|&a, &b| seen[a].total_cmp(&seen[b])).unwrap_or(0);
            let better = seen[lowest] < value;
            if self.trips >= last {
                break;
            }
            let part = if better { LENGTHS[lowest] } else { CUT };
            step.iter_mut().for_each(|value| *value *= part);
            let trial = self.ask(point, &step, ask)?;
            seen = values(&trial);
            if seen[0] < value {
                return Ok(Some(trial.end));
            }
        }
        Ok(None)
    }

    /// The trip of a step.
    fn ask<E>(
        &mut self,
        point: &Point,
        step: &[f64],
        ask: &mut impl FnMut(&FitQuestion) -> Result<FitSums, E>,
    ) -> Result<Trial, E> {
        let images = self.guess.images();
        let own = |gradient: &Imaged| gradient.own.clone();
        let before = if images { point.gradients.iter().map(own).collect() } else { Vec::new() };
        let theta = point.theta.clone();
        let (direction, imputed) = (step.to_vec(), self.imputed);
        let mut sums = ask(&FitQuestion::Step { theta, direction, before, imputed })?;
        self.trips += 1;
        let at = |length: f64| -> Vec<f64> {
            point.theta.iter().zip(step).map(|(theta, step)| theta + length * step).collect()
        };
        let theta = at(1.0);
        let gradients = point.gradients.len();
        let images = sums.vectors.split_off(gradients.min(sums.vectors.len()));
        let (_, own) = means(&theta, &[0.0], &sums.vectors, sums.held);
        let images = images.into_iter().chain(std::iter::repeat(Vec::new()));
        let gradients = own.into_iter().zip(images).map(|(own, image)| Imaged { own, image });
        let gradients = gradients.collect();
        let n = (sums.held as f64).max(1.0);
        let by_length = sums.values.chunks_exact(point.values.len().max(1));
        let values: Vec<Vec<f64>> = by_length
            .zip(LENGTHS)
            .map(|(sums, length)| {
                let mut values: Vec<f64> = sums.iter().map(|sum| sum / n).collect();
                values[0] += RIDGE * at(length).iter().map(|theta| theta * theta).sum::<f64>();
                values
            })
            .collect();
        let end = Point { theta, values: values[0].clone(), gradients };
        Ok(Trial { values, end })
    }

    /// Keeps what a step has shown beside the terms that are known anyway.
    fn learn(&mut self, from: &Point, before: &Slope, to: &Point, after: &Slope) {
        let way = to.theta.iter().zip(&from.theta).map(|(to, from)| to - from);
        let step: Vec<f64> = way.collect();
        let mut change = after.gradient.from(&before.gradient);
        for (weight, vector) in &after.terms {
            change.add(-weight * dot(&vector.own, &step), vector);
        }
        self.guess.learn(step, change);
    }
}
