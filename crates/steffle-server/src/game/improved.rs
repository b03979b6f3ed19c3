//! The improved server for two groups and two labels: everything that post-processing can do with the
//! same messages. Every round tells the same slope there, so that messages can be averaged as they are;
//! where there are more, [`ManyGroups`](super::ManyGroups) sorts them out.
//!
//! It starts at the public unconstrained model, averages the noisy messages over the rounds, takes
//! W in closed form from the averaged table and steps in the metric of the public curvature. All of
//! it is a function of what was released, so none of it costs privacy.
//!
//! A network's gradients turn as theta moves, so that an average over all rounds is soon about
//! another model: there a message counts the more, the less noise alone explains how far it is from
//! the average. Without noise the average is then the last message.

use steffle_model::fairness::ClassWeights;
use steffle_model::model::Block;
use steffle_wire::{Batch, CellQuestion, Form, Question};

use super::shrinkage::Shrinkage;
use crate::server::{Aggregate, AggregateCell, InverseHessian, Steps};

/// Steps are this part of a Newton step: the curvature is an estimate, and so is the gradient.
const STEP: f64 = 0.2;

/// No step is longer than this before [`STEP`] is applied, in the metric of the loss: outputs of a
/// logistic model then move by about one logit.
const LONGEST: f64 = 0.3;

/// A network's loss is taken to bend at least this much in every direction: where it hardly bends,
/// the curvature of the start soon says nothing, and steps along it would be long and mostly noise.
const LEAST_BEND: f64 = 1e-2;

/// How much a new message counts at least: class counts do not move, gradients slowly, the table
/// with every step.
const LEAST_GAIN: (f64, f64) = (0.02, 0.2);

/// Of labels and of classes.
const TWO: usize = 2;

/// The improved server of SteFFLe for two groups and two labels.
///
/// It takes curvature from public gradients and lets steps shrink where noise is all there is.
#[derive(Debug, Clone)]
pub struct Improved {
    lambda: f64,
    ridge: f64,
    theta: Vec<f64>,
    /// Where the last question was asked, for predictions.
    before: Vec<f64>,
    /// The inverse Hessian of the loss, from public gradients.
    curvature: InverseHessian,
    /// The model's last layer: its outputs' slopes sum to 0 where it has one per label.
    last: Block,
    cells: Vec<Cell>,
    /// n_in, records in some cell.
    inside: f64,
}

/// What is known about one cell.
#[derive(Debug, Clone)]
struct Cell {
    /// n_c.
    count: f64,
    /// Running mean of the class counts.
    counts: Vec<f64>,
    /// Variance of one round's class count.
    variance: f64,
    /// `P(u)` at the point of the last question.
    columns: Vec<f64>,
    /// `P(u, r) - P(u) P(r)`, `[class][label]`, filtered.
    deviation: Vec<f64>,
    /// The theta message over the size of what was asked, averaged.
    direction: Vec<f64>,
    /// Messages that were averaged.
    messages: u32,
    /// The noise of `direction` over that of one message, as variances.
    noise: f64,
    /// Whether a message that noise does not explain counts more than its turn.
    follows: bool,
}

/// What a cell adds to a step.
struct Slope {
    /// The gradient of D.
    gradient: Vec<f64>,
    /// `weight * vector vector'` is the curvature of D along its steepest direction.
    weight: f64,
    vector: Vec<f64>,
}

impl Improved {
    /// Starts at `theta`, the public optimum, with the curvature that its solution has shown; the
    /// census is round 0's answer.
    pub fn new(
        lambda: f64,
        blocks: &[Block],
        theta: Vec<f64>,
        curvature: InverseHessian,
        census: &Aggregate,
    ) -> Self {
        // With hidden layers gradients turn as theta moves.
        let layered = blocks.len() > 1;
        let curvature = if layered { curvature.lifted(LEAST_BEND) } else { curvature };
        let cell = |cell| Cell::new(cell, layered);
        let cells = census.cells.iter().map(cell).collect();
        Self {
            lambda,
            ridge: super::RIDGE,
            before: theta.clone(),
            theta,
            curvature,
            last: blocks[blocks.len() - 1],
            cells,
            inside: census.in_cells().max(1.0),
        }
    }

    /// Every combination asks for the same vector, the gradient of the difference between the classes'
    /// mean outputs, and the server can ask for it as such.
    fn questions(&self) -> Vec<CellQuestion> {
        let ask = CellQuestion {
            combinations: vec![0.0, 0.0, 0.0, 1.0],
            // 2 mean C - q = (0, 1): the public part is the gradient of the mean output.
            quadratic: vec![0.0, 0.0],
        };
        vec![ask; self.cells.len()]
    }
}

impl Steps for Improved {
    fn ask(&self, batch: Batch) -> Question {
        let (theta, cells) = (self.theta.clone(), self.questions());
        Question { theta, cells, form: Form::Centred, batch, loss: false }
    }

    fn learn(&mut self, round: u32, answers: &Aggregate) {
        let moved: Vec<f64> =
            self.theta.iter().zip(&self.before).map(|(now, before)| now - before).collect();
        let shrinkage = Shrinkage::new(&self.curvature, answers);
        let mut descent: Vec<f64> = answers
            .gradient
            .iter()
            .zip(&self.theta)
            .map(|(sum, theta)| sum / answers.records + 2.0 * self.ridge * theta)
            .collect();
        let mut metric = self.curvature.clone();
        let mut terms = Vec::new();
        for (cell, answer) in self.cells.iter_mut().zip(&answers.cells) {
            cell.average(round, answer, answers.theta_variance, self.last);
            let slope = cell.slope(round, answer, &moved, &shrinkage);
            let strength = self.lambda * cell.count / self.inside;
            for (total, part) in descent.iter_mut().zip(&slope.gradient) {
                *total += strength * part;
            }
            if strength > 0.0 {
                metric.push_rank_one(strength * slope.weight, &slope.vector);
                terms.push((strength * slope.weight, slope.vector));
            }
        }
        let mut step = metric.apply(&descent);
        // The rank-one terms taken off again: what is left is the loss's part.
        let off: f64 = terms.iter().map(|(weight, v)| weight * dot(v, &step).powi(2)).sum();
        let length = (dot(&step, &descent) - off).max(0.0).sqrt();
        let by = if length > LONGEST { LONGEST / length } else { 1.0 } * STEP;
        step.iter_mut().for_each(|d| *d *= by);
        self.before.copy_from_slice(&self.theta);
        self.theta.iter_mut().zip(&step).for_each(|(theta, d)| *theta -= d);
    }

    fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// `sum_c w_c D_c` of the filtered tables.
    fn violation(&self) -> f64 {
        self.cells.iter().map(|cell| cell.count / self.inside * cell.divergence()).sum()
    }
}

impl Cell {
    fn new(census: &AggregateCell, follows: bool) -> Self {
        let table = census.table();
        let count = census.count.max(1.0);
        let mut cell = Self {
            count,
            counts: table.chunks_exact(TWO).map(|row| row.iter().sum()).collect(),
            variance: census.table_variance * TWO as f64,
            columns: census.scores.iter().map(|sum| sum / count).collect(),
            deviation: Vec::new(),
            direction: Vec::new(),
            messages: 0,
            noise: 0.0,
            follows,
        };
        cell.deviation = cell.observed(&table);
        cell
    }

    /// `p~`, clamped where the noise of the counts would decide.
    fn weights(&self) -> ClassWeights {
        let rounds = f64::from(self.messages + 1).min(1.0 / LEAST_GAIN.0);
        super::cell::weights(&self.counts, self.variance / rounds, self.count)
    }

    fn observed(&self, table: &[f64]) -> Vec<f64> {
        super::cell::deviation(table, &self.columns, self.count)
    }

    /// Takes counts and theta message into the running means.
    fn average(&mut self, round: u32, answer: &AggregateCell, variance: f64, last: Block) {
        let table = answer.table();
        // The census was the first count.
        let gain = (1.0 / f64::from(round + 1)).max(LEAST_GAIN.0);
        let counts = table.chunks_exact(TWO).map(|row| row.iter().sum::<f64>());
        self.counts.iter_mut().zip(counts).for_each(|(mean, new)| *mean += gain * (new - *mean));
        self.variance = answer.table_variance * TWO as f64;
        self.columns = answer.scores.iter().map(|sum| sum / self.count).collect();
        let mut message = answer.private.clone();
        if last.outputs > 1 {
            // The outputs sum to 1, so their slopes sum to 0: noise that does not is projected off.
            for input in message[last.offset..].chunks_exact_mut(last.outputs) {
                let mean = input.iter().sum::<f64>() / last.outputs as f64;
                input.iter_mut().for_each(|value| *value -= mean);
            }
        }
        self.messages += 1;
        let mut gain = (1.0 / f64::from(self.messages)).max(LEAST_GAIN.0);
        self.direction.resize(message.len(), 0.0);
        if self.follows {
            let surprise = message.iter().zip(&self.direction).map(|(new, mean)| new - mean);
            gain = gain.max(news(surprise, variance));
        }
        self.noise = (1.0 - gain).powi(2) * self.noise + gain * gain;
        for (mean, new) in self.direction.iter_mut().zip(message) {
            *mean += gain * (new - *mean);
        }
    }

    /// Filters the table's deviation after it was moved by `predicted(class, label)`.
    fn filter(
        &mut self,
        round: u32,
        answer: &AggregateCell,
        predicted: &dyn Fn(usize, usize) -> f64,
    ) {
        let mut gain = (1.0 / f64::from(round + 1)).max(LEAST_GAIN.1);
        let observed = self.observed(&answer.table());
        for (at, filtered) in self.deviation.iter_mut().enumerate() {
            *filtered += predicted(at / TWO, at % TWO);
        }
        if self.follows {
            let surprise = observed.iter().zip(&self.deviation).map(|(new, old)| new - old);
            gain = gain.max(news(surprise, answer.table_variance / (self.count * self.count)));
        }
        for (filtered, new) in self.deviation.iter_mut().zip(observed) {
            *filtered += gain * (new - *filtered);
        }
    }

    /// Two classes, two labels: `D = c^2 / (p_0 p_1 P(0) P(1))` with c the covariance of class and
    /// output.
    fn slope(
        &mut self,
        round: u32,
        answer: &AggregateCell,
        moved: &[f64],
        shrinkage: &Shrinkage<'_>,
    ) -> Slope {
        // `public` is the gradient of the summed output, `direction` of its centred class sum.
        let share = self.weights().get()[1];
        let vector: Vec<f64> = self
            .direction
            .iter()
            .zip(&answer.public)
            .map(|(own, all)| (own + (0.5 - share) * all) / self.count)
            .collect();
        let mean = self.columns[1].clamp(1e-6, 1.0 - 1e-6);
        let rounds = if self.follows {
            1.0 / self.noise.max(LEAST_GAIN.0)
        } else {
            f64::from(self.messages).min(1.0 / LEAST_GAIN.0)
        };
        // Outputs spread, so their mean slope is about half of the slope of their mean.
        let vector = shrinkage.apply(vector, self.count, rounds, 0.5 * mean * (1.0 - mean));
        let step = dot(&vector, moved);
        self.filter(round, answer, &|class, label| if class == label { step } else { -step });
        let c = self.deviation[3];
        let classes = share * (1.0 - share);
        let spread = classes * mean * (1.0 - mean);
        let shrink = c * c * (1.0 - 2.0 * mean) / (spread * mean * (1.0 - mean));
        let gradient = vector
            .iter()
            .zip(&answer.public)
            .map(|(slope, all)| 2.0 * c / spread * slope - shrink * all / self.count)
            .collect();
        Slope { gradient, weight: 2.0 / spread, vector }
    }

    /// `D` of the filtered table.
    fn divergence(&self) -> f64 {
        let weights = self.weights();
        let rows = self.deviation.chunks_exact(self.columns.len().max(1)).zip(weights.get());
        rows.map(|(row, p)| {
            let entry = |(e, column): (&f64, &f64)| e * e / (column.max(1e-6) * p.max(1e-6));
            row.iter().zip(&self.columns).map(entry).sum::<f64>()
        })
        .sum()
    }
}

/// The share of a surprise that is news: 0 where noise of this variance explains it, towards 1
/// where it is far larger. Noise alone passes for news in about one of 1,000 messages.
fn news(surprise: impl Iterator<Item = f64>, variance: f64) -> f64 {
    let (numbers, squares): (f64, f64) =
        surprise.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value * value));
    let noise = variance * (numbers + 3.0 * (2.0 * numbers).sqrt());
    if squares > noise { 1.0 - noise / squares } else { 0.0 }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_is_what_noise_does_not_explain() {
        // 50 numbers of variance 4: noise explains squares of up to 4 (50 + 3 sqrt(100)) = 320.
        let share = |size: f64| news(std::iter::repeat_n(size, 50), 4.0);
        assert_eq!(share(2.5), 0.0);
        assert!((share(8.0) - 0.9).abs() < 1e-12);
        assert_eq!(news([1e-3, 0.0].into_iter(), 0.0), 1.0);
        assert_eq!(news([0.0].into_iter(), 0.0), 0.0);
    }
}
