//! The silo's side of a fit in few trips: its own optimum, diagonals, images and steps.
//!
//! Every reply is a function of the question, of the records and, for images of a step, of the
//! metric that was asked for last; what else is kept only saves time.

mod along;
mod hessian;
mod inverse;
mod own;

use steffle_model::model::head::RIDGE;
use steffle_wire::{FitQuestion, FitSums, MOST_FACTORED, Metric, Tables};

use self::inverse::Inverse;
use super::evaluate::Evaluated;
use super::{RecordsDivision, RecordsDivisionError};

/// What evaluations of a linear model left behind.
#[derive(Debug, Default)]
pub(super) struct Fitting {
    inverse: Option<Inverse>,
    /// The start and the end of the last step: the next one starts at one of them.
    known: Vec<Evaluated>,
    /// Whether other silos have records, too: then it is not alone, whatever a question says.
    among: bool,
}

impl Fitting {
    /// Forgets evaluations, whose tables are about other memberships.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    /// Keeps an evaluation beside the last one.
    pub(super) fn keep(&mut self, at: Evaluated) {
        if self.known.len() > 1 {
            self.known.remove(0);
        }
        self.known.push(at);
    }

    fn take(&mut self, theta: &[f64], imputed: bool) -> Option<Evaluated> {
        let fits = |at: &Evaluated| at.theta == theta && (!imputed || !at.cells.is_empty());
        let place = self.known.iter().position(fits)?;
        Some(self.known.swap_remove(place))
    }
}

impl RecordsDivision {
    /// Says that other silos have records, too.
    pub fn join_others(&mut self) {
        self.fitting.among = true;
    }

    /// Answers a question of the fit in few trips; refuses networks.
    pub fn answer_fit(&mut self, question: &FitQuestion) -> Result<FitSums, RecordsDivisionError> {
        let (parameters, layers) = (self.model.parameters(), self.model.blocks().len());
        question.check(parameters, self.tables())?;
        let factored = match question {
            FitQuestion::Own | FitQuestion::Image { .. } => true,
            FitQuestion::Curvature { .. } => false,
            FitQuestion::Step { before, .. } => !before.is_empty(),
        };
        if layers > 1 || (factored && parameters > MOST_FACTORED) {
            return Err(RecordsDivisionError::NotFitted { parameters, layers });
        }
        let held = self.records.len() as u64;
        let (values, vectors) = match question {
            FitQuestion::Own => (Vec::new(), self.own_fit()?),
            FitQuestion::Curvature { theta } => {
                let at = self.evaluate(theta, false)?;
                let vectors = vec![at.gradient.clone(), self.diagonal(&at.logits)];
                let values = vec![at.loss];
                self.fitting.keep(at);
                (values, vectors)
            }
            FitQuestion::Image { metric, vectors } => (Vec::new(), self.images(metric, vectors)?),
            FitQuestion::Step { theta, direction, before, imputed } => {
                self.step(theta, direction, before, *imputed)?
            }
        };
        Ok(FitSums { held, values, vectors })
    }

    /// The size of what is imputed.
    pub(super) fn tables(&self) -> Tables {
        let objective = self.objective.as_ref();
        Tables {
            cells: objective.cells(),
            classes: objective.classes(),
            columns: objective.columns(),
        }
    }

    fn images(
        &mut self,
        metric: &Metric,
        vectors: &[Vec<f64>],
    ) -> Result<Vec<Vec<f64>>, RecordsDivisionError> {
        let inverse = match self.fitting.inverse.take() {
            Some(inverse) if inverse.metric() == metric => inverse,
            _ => {
                let at = self.known(&metric.theta, false)?;
                let held = self.records.len();
                // A server that guesses how many records are here is told nothing by it.
                let alone = !self.fitting.among && held as u64 == metric.records;
                let inverse = Inverse::new(&self.hessian(&at.logits), held, alone, metric);
                self.fitting.keep(at);
                inverse
            }
        };
        let images = vectors.iter().map(|vector| inverse.share(vector.clone())).collect();
        self.fitting.inverse = Some(inverse);
        Ok(images)
    }

    /// What is known at `theta`, or is to be known now.
    fn known(&mut self, theta: &[f64], imputed: bool) -> Result<Evaluated, RecordsDivisionError> {
        match self.fitting.take(theta, imputed) {
            Some(at) => Ok(at),
            None => self.evaluate(theta, imputed),
        }
    }

    /// Values along a step; gradients at its end and, where `before` has them at its start over all
    /// silos, shares of images: a silo takes the change of its own gradient for that of all.
    fn step(
        &mut self,
        theta: &[f64],
        direction: &[f64],
        before: &[Vec<f64>],
        imputed: bool,
    ) -> Result<(Vec<f64>, Vec<Vec<f64>>), RecordsDivisionError> {
        let end: Vec<f64> = theta.iter().zip(direction).map(|(theta, step)| theta + step).collect();
        let (from, to) = (self.known(theta, imputed)?, self.evaluate(&end, imputed)?);
        let values = self.along(&from, &to, imputed);
        let mut vectors: Vec<Vec<f64>> = gradients(&to, imputed).cloned().collect();
        if !before.is_empty() {
            let inverse = self.fitting.inverse.as_ref().ok_or(RecordsDivisionError::NoMetric)?;
            let n = (self.records.len() as f64).max(1.0);
            let sums = gradients(&from, imputed).zip(gradients(&to, imputed)).zip(before);
            let images = sums.enumerate().map(|(row, ((old, new), before))| {
                let change = old.iter().zip(new).map(|(old, new)| (new - old) / n);
                let mut vector: Vec<f64> =
                    before.iter().zip(change).map(|(before, change)| before + change).collect();
                if row == 0 {
                    let ridge = direction.iter().map(|step| 2.0 * RIDGE * step);
                    vector.iter_mut().zip(ridge).for_each(|(slope, ridge)| *slope += ridge);
                }
                inverse.share(vector)
            });
            let images: Vec<Vec<f64>> = images.collect();
            vectors.extend(images);
        }
        self.fitting.known = vec![from, to];
        Ok((values, vectors))
    }
}

/// The loss's gradient and those of the tables.
fn gradients(at: &Evaluated, imputed: bool) -> impl Iterator<Item = &Vec<f64>> {
    let cells = at.cells.iter().take(if imputed { usize::MAX } else { 0 });
    std::iter::once(&at.gradient).chain(cells.flat_map(|cell| &cell.slopes))
}
