//! Fair linear models in few trips: steps along images of gradients, on a path over lambdas.
//!
//! A path follows the minimum that it began in. Where a group is the middle of a range there may be a lower one by
//! then, nearer to the model that tells nobody apart. So the first large lambda of a path is tried from
//! there, too, and what was not taken is looked at again with every lambda after it.

use std::ops::ControlFlow;

use steffle_wire::{FitQuestion, MOST_FACTORED, Transport};

use super::{Fair, FairAim, FairPath, TrainError, listed};
use crate::server::fit::{Aim, Descent, Point, Stop, means, metric};

/// From one lambda to the next on the way to a large one.
const RUNG: f64 = 4.0;

/// A lambda so many times the one at which silos have factored their Hessians has them do it again.
const FAR: f64 = 16.0;

/// How exact a model on the way is, and the last one.
const ON_THE_WAY: Stop = Stop { decrease: 1e-4, trips: 4 };
const AT_THE_END: Stop = Stop { decrease: 1e-6, trips: 34 };

/// A model that was found from elsewhere is taken where its value is lower by this part, and not for what is left
/// of two ways to the same minimum. There may be two where a group is the middle of a range.
const LOWER: f64 = 1e-3;

/// A path in few trips.
pub(super) struct Going {
    descent: Descent,
    point: Point,
    /// Where silos have factored their Hessians.
    factored: f64,
    /// The model that was found from elsewhere and not taken, or the one that was left for it.
    other: Option<Vec<f64>>,
}

/// Trips of a solve at most: two ways to the end, where lambda is large.
pub(super) fn most(parameters: usize, lambda: f64) -> u32 {
    let begin = if parameters <= MOST_FACTORED { 2 } else { 1 };
    let far = if lambda >= FAR { 3 * begin + AT_THE_END.trips } else { 0 };
    begin + ON_THE_WAY.trips * rungs(0.0, lambda).count() as u32 + far + AT_THE_END.trips
}

/// Lambdas on the way from one to another that is far.
fn rungs(from: f64, to: f64) -> impl Iterator<Item = f64> {
    let rungs = std::iter::successors(Some(1.0_f64.max(from * RUNG)), |rung| Some(rung * RUNG));
    rungs.take_while(move |rung| rung * RUNG.sqrt() < to)
}

impl<T: Transport> FairPath<'_, T> {
    /// The optimum for `lambda`, over smaller lambdas if this one is far.
    pub(super) fn in_few_trips(
        &mut self,
        lambda: f64,
        mut observe: impl FnMut(u32, f64) -> ControlFlow<()>,
    ) -> Result<Fair, TrainError> {
        let before = self.federation.trips();
        // Back from a large lambda the path begins again: it may have left the minimum of small ones.
        let back = lambda < FAR && self.lambda >= FAR;
        if back {
            (self.descent, self.lambda) = (None, 0.0);
        }
        let mut going = match self.descent.take() {
            Some(going) => going,
            None => self.begin(&self.public.theta.clone(), 0.0)?,
        };
        for rung in rungs(self.lambda, lambda) {
            self.descend(&mut going, (rung, lambda), ON_THE_WAY, before, &mut observe)?;
        }
        let aim = (lambda, lambda);
        let mut end = |path: &mut Self, going: &mut Going| {
            path.descend(going, aim, AT_THE_END, before, &mut observe)
        };
        let mut found = None;
        if lambda >= FAR * going.factored.max(1.0) {
            // First, because silos keep the factors that they were asked for last.
            let mut other = self.begin(&vec![0.0; going.point.theta.len()], lambda)?;
            found = Some(end(self, &mut other)?);
            going = self.begin(&going.point.theta, lambda)?;
        }
        let mut fair = end(self, &mut going)?;
        if let Some(found) = found {
            going.other = Some(found.theta.clone());
            if found.value < (1.0 - LOWER) * fair.value {
                going = Going { other: Some(fair.theta), ..self.begin(&found.theta, lambda)? };
                fair = found;
            }
        } else if let Some(other) = going.other.clone() {
            let at = self.evaluate(&other)?;
            if at.loss + lambda * at.penalty < (1.0 - LOWER) * fair.value {
                going = Going { other: Some(fair.theta), ..self.begin(&other, lambda)? };
                fair = end(self, &mut going)?;
            }
        }
        self.descent = Some(going);
        Ok(fair)
    }

    /// Has silos factor their Hessians at `theta`: two trips.
    fn begin(&mut self, theta: &[f64], lambda: f64) -> Result<Going, TrainError> {
        let sums = self.ask(theta)?;
        let (values, gradients) = listed(&sums);
        let (values, gradients) = means(theta, &values, &gradients, sums.held);
        let metric = metric(theta, &sums.diagonal, sums.held);
        let images = metric.diagonal.len() <= MOST_FACTORED;
        let mut descent = Descent::new(metric, images, true);
        let federation = &mut *self.federation;
        let mut ask = |question: &FitQuestion| federation.ask_fit(question);
        let point = descent.begin(theta.to_vec(), values, gradients, &mut ask)?;
        Ok(Going { descent, point, factored: lambda, other: None })
    }

    /// Goes on to the optimum for `lambda`, on the way to the one that was `asked` for, in a solve
    /// that began after `before` trips.
    fn descend(
        &mut self,
        going: &mut Going,
        (lambda, asked): (f64, f64),
        stop: Stop,
        before: u64,
        observe: &mut impl FnMut(u32, f64) -> ControlFlow<()>,
    ) -> Result<Fair, TrainError> {
        let records = self.federation.sizes().iter().sum::<usize>() as f64;
        let aim = FairAim { penalty: &self.penalty, records, lambda, asked };
        let made = (self.federation.trips() - before) as u32;
        let ahead = made.saturating_sub(going.descent.trips());
        let mut seen = |trips: u32, value: f64| observe(ahead + trips, value);
        let federation = &mut *self.federation;
        let mut ask = |question: &FitQuestion| federation.ask_fit(question);
        let point = going.point.clone();
        let point = going.descent.descend(point, &aim, stop, &mut ask, &mut seen)?;
        let slope = aim.slope(&point).gradient.own;
        let fair = Fair {
            theta: point.theta.clone(),
            chi_square: aim.penalised(&point.values).chi_square,
            value: aim.value(&point.values),
            gradient: slope.iter().fold(0.0, |top, slope| slope.abs().max(top)),
            evaluations: made,
        };
        going.point = point;
        Ok(fair)
    }
}
