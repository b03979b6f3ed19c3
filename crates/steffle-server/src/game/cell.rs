//! What the improved server knows about one cell.

use steffle_model::fairness::ClassWeights;
use steffle_model::model::Block;
use steffle_wire::CellQuestion;

use super::shrinkage::Shrinkage;
use super::slopes::{Slopes, TYPICAL, add, dot};
use crate::server::AggregateCell;

/// How much a new class count counts at least.
const LEAST_GAIN: f64 = 0.02;

/// How much of a predicted move of the table may be wrong.
const WRONG: f64 = 0.25;

/// Every so many rounds a question is about one class alone, where there are more than two.
const ALONE: u32 = 4;

/// Classes that are rarer count as if they were not, where noise is weighed.
const RAREST: f64 = 0.005;

/// What is known about one cell.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    /// n_c.
    pub(super) count: f64,
    labels: usize,
    /// Rounds that were asked.
    rounds: u32,
    /// Running mean of the class counts.
    counts: Vec<f64>,
    /// Variance of one round's class count.
    variance: f64,
    /// `P(u)` at the point of the last question, and the gradients of all but the first.
    columns: Vec<f64>,
    public: Vec<Vec<f64>>,
    /// `e_ru = P(u, r) - P(u) P(r)`, `[class][label]`, filtered, and the variance of an entry.
    deviation: Vec<f64>,
    unsure: f64,
    /// How it moves with theta: what messages told, and what of it is believed, `[class][label]`.
    slopes: Slopes,
    believed: Vec<Vec<f64>>,
    /// Variance of a number of the last message.
    heard: f64,
    /// By how much the last move missed the table that was predicted, over what it was to do.
    missed: f64,
    start: Began,
}

/// The deviation at the model that was started from: all tables tell of it, less what moves have done.
#[derive(Debug, Clone)]
struct Began {
    deviation: Vec<f64>,
    /// What moves are believed to have done.
    gone: Vec<f64>,
    /// One over the variance of an entry, but for the noise of row sums.
    information: f64,
}

/// What a cell adds to a step.
pub(super) struct Penalty {
    /// The gradient of D.
    pub(super) gradient: Vec<f64>,
    /// `sum weight v v'` is about the curvature of D.
    pub(super) terms: Vec<(f64, Vec<f64>)>,
}

impl Cell {
    pub(super) fn new(census: &AggregateCell, labels: usize) -> Self {
        let table = census.table();
        let count = census.count.max(1.0);
        let unsure = census.table_variance / (count * count);
        let start = Began {
            deviation: Vec::new(),
            gone: vec![0.0; table.len()],
            information: 1.0 / unsure.max(f64::MIN_POSITIVE),
        };
        let mut cell = Self {
            count,
            labels,
            rounds: 0,
            counts: table.chunks_exact(labels).map(|row| row.iter().sum()).collect(),
            variance: census.table_variance * labels as f64,
            columns: census.scores.iter().map(|sum| sum / count).collect(),
            public: vec![Vec::new(); labels - 1],
            deviation: Vec::new(),
            unsure,
            slopes: Slopes::new(table.len() / labels, labels),
            believed: Vec::new(),
            heard: 0.0,
            missed: 0.0,
            start,
        };
        cell.deviation = cell.observed(&table);
        cell.start.deviation.clone_from(&cell.deviation);
        cell
    }

    fn classes(&self) -> usize {
        self.counts.len()
    }

    /// Entries of the table that are free where its sums are known.
    fn free(&self) -> f64 {
        ((self.classes() - 1) * (self.labels - 1)) as f64
    }

    /// The most that the mean square of a table's entries is by chance, over its expectation.
    fn chance(&self) -> f64 {
        1.0 + 3.0 * (2.0 / self.free()).sqrt()
    }

    /// `p~`, clamped where the noise of the counts would decide.
    fn weights(&self) -> ClassWeights {
        let rounds = f64::from(self.rounds + 1).min(1.0 / LEAST_GAIN);
        let deviation = (self.variance / rounds).sqrt();
        let floor = if deviation > 0.0 { (3.0 * deviation / self.count).max(0.01) } else { 0.0 };
        ClassWeights::from_counts(&self.counts, floor.min(0.5 / self.classes() as f64))
    }

    /// The deviation from independence of a table, with the table's own row sums: their noise cancels a
    /// part of the entries' noise.
    fn observed(&self, table: &[f64]) -> Vec<f64> {
        let row = |row: &[f64]| -> Vec<f64> {
            let mass: f64 = row.iter().sum();
            row.iter().zip(&self.columns).map(|(m, p)| (m - mass * p) / self.count).collect()
        };
        table.chunks_exact(self.labels).flat_map(row).collect()
    }

    /// The class and the label that this round's question is about alone: all of them in turn at the
    /// beginning, smaller classes first, and now and then after it. Two classes have one difference.
    fn alone(&self) -> Option<(usize, usize)> {
        let (classes, width) = (self.classes(), self.labels - 1);
        let turns = (classes - 1) * width;
        let round = self.rounds as usize;
        let turn = match self.rounds {
            early if classes == 2 || (early as usize) < turns => round % turns,
            later if later % ALONE == 0 => round / ALONE as usize % turns,
            _ => return None,
        };
        let weights = self.weights();
        let mut order: Vec<usize> = (0..classes).collect();
        order.sort_by(|a, b| weights.get()[*a].total_cmp(&weights.get()[*b]));
        // Of two classes the second, whichever is smaller: counts with noise may change places.
        let class = if classes == 2 { 1 } else { order[turn % (classes - 1)] };
        Some((class, turn / (classes - 1)))
    }

    /// The combination of slopes to ask for, `[class][label after the first]`, its largest difference
    /// 1: mostly that of the penalty's gradient.
    fn asked(&self) -> Vec<f64> {
        let (classes, width) = (self.classes(), self.labels - 1);
        let mut asked = vec![0.0; classes * width];
        if let Some((class, label)) = self.alone() {
            asked[class * width + label] = 1.0;
            return asked;
        }
        let weights = self.weights();
        for class in 0..classes {
            let over = |u: usize| {
                let deviation = self.deviation[class * self.labels + u];
                deviation / (weights.get()[class].max(1e-6) * self.columns[u].max(1e-6))
            };
            for label in 1..self.labels {
                asked[class * width + label - 1] = over(label) - over(0);
            }
        }
        let range = |label: usize| {
            let column = || asked.iter().skip(label).step_by(width).copied();
            column().fold(f64::MIN, f64::max) - column().fold(f64::MAX, f64::min)
        };
        let range = (0..width).map(range).fold(0.0, f64::max);
        if range > 0.0 {
            asked.iter_mut().for_each(|c| *c /= range);
        } else {
            asked[0] = 1.0;
        }
        asked
    }

    /// The label whose mean output's gradient is asked for.
    fn looked(&self) -> usize {
        1 + self.rounds as usize % (self.labels - 1)
    }

    pub(super) fn question(&self) -> CellQuestion {
        let (classes, width) = (self.classes(), self.labels - 1);
        let asked = self.asked();
        let mut combinations = vec![0.0; classes * self.labels];
        let mut quadratic = vec![0.0; self.labels];
        for (at, c) in asked.iter().enumerate() {
            let label = 1 + at % width;
            combinations[at / width * self.labels + label] = *c;
            quadratic[label] += 2.0 * c / classes as f64;
        }
        // 2 mean C - q is 1 for one label: the public part is the gradient of its mean output.
        quadratic[self.looked()] -= 1.0;
        CellQuestion { combinations, quadratic }
    }

    /// Whether there are more than two groups.
    pub(super) fn many(&self) -> bool {
        self.classes() > 2
    }

    /// By how much the last move missed the table that was predicted, over what it was to do; 0 where nothing
    /// was learned of it.
    pub(super) fn missed(&self) -> f64 {
        self.missed
    }

    /// Whether all public gradients are known.
    pub(super) fn ready(&self) -> bool {
        self.public.iter().all(|gradient| !gradient.is_empty())
    }

    /// Takes in a round's answer, `moved` from where the last one was asked; `along` is 1 on that move.
    pub(super) fn learn(
        &mut self,
        answer: &AggregateCell,
        theta_variance: f64,
        (moved, along): (&[f64], Option<&[f64]>),
        last: Block,
        shrinkage: &Shrinkage<'_>,
    ) {
        let (asked, looked) = (self.asked(), self.looked());
        let table = answer.table();
        self.rounds += 1;
        // The census was the first count.
        let gain = (1.0 / f64::from(self.rounds + 1)).max(LEAST_GAIN);
        let counts = table.chunks_exact(self.labels).map(|row| row.iter().sum::<f64>());
        self.counts.iter_mut().zip(counts).for_each(|(mean, new)| *mean += gain * (new - *mean));
        self.variance = answer.table_variance * self.labels as f64;
        self.columns = answer.scores.iter().map(|sum| sum / self.count).collect();
        self.public[looked - 1] = answer.public.iter().map(|sum| sum / self.count).collect();

        let observed = self.observed(&table);
        let noise = answer.table_variance / (self.count * self.count);
        self.missed = 0.0;
        if let Some(along) = along {
            self.correct(&observed, noise, moved, along);
        }
        let weights = self.weights();
        if answer.private.len() == moved.len() && self.ready() {
            let message = self.message(answer, &asked, &weights, last);
            self.heard = theta_variance / (self.count * self.count);
            self.slopes.learn(&asked, &message, self.heard, weights.get());
        }
        self.believed = self.slopes.estimate(shrinkage, weights.get(), &self.columns);
        self.filter(&observed, noise, moved);
    }

    /// Turns slopes that predicted another table, by as much as noise does not explain.
    fn correct(&mut self, observed: &[f64], noise: f64, moved: &[f64], along: &[f64]) {
        let step = self.slopes.predict(moved);
        let predicted = step.iter().zip(&self.deviation).map(|(step, e)| e + step);
        let missed: Vec<f64> = observed.iter().zip(predicted).map(|(seen, e)| seen - e).collect();
        let weights = self.weights();
        let size = |entries: &[f64]| -> f64 {
            let rows = entries.chunks_exact(self.labels).zip(weights.get());
            rows.map(|(row, p)| dot(row, row) / p.max(1e-6)).sum()
        };
        self.missed = (size(&missed) / size(&step).max(f64::MIN_POSITIVE)).sqrt();
        let explained = (self.unsure + noise) * self.chance() * missed.len() as f64;
        let squares = dot(&missed, &missed);
        if squares > explained {
            let share = 1.0 - explained / squares;
            let missed: Vec<f64> = missed.iter().map(|missed| share * missed).collect();
            self.slopes.correct(&missed, along);
        }
    }

    /// `sum_ru c_ru U_ru` plus noise: the message without what all classes share.
    fn message(
        &self,
        answer: &AggregateCell,
        asked: &[f64],
        weights: &ClassWeights,
        last: Block,
    ) -> Vec<f64> {
        let (classes, width) = (self.classes() as f64, self.labels - 1);
        let mut message: Vec<f64> = answer.private.iter().map(|sum| sum / self.count).collect();
        for (label, public) in self.public.iter().enumerate() {
            let column = asked.iter().skip(label).step_by(width);
            let common: f64 = column.zip(weights.get()).map(|(c, p)| c * (p - 1.0 / classes)).sum();
            add(&mut message, -common, public);
        }
        if last.outputs > 1 {
            // The outputs sum to 1, so their slopes sum to 0: noise that does not is projected off.
            for input in message[last.offset..].chunks_exact_mut(last.outputs) {
                let mean = input.iter().sum::<f64>() / last.outputs as f64;
                input.iter_mut().for_each(|value| *value -= mean);
            }
        }
        message
    }

    /// Moves the table's deviation by the slopes, then towards what was seen: a Kalman filter.
    fn filter(&mut self, observed: &[f64], noise: f64, moved: &[f64]) {
        let step: Vec<f64> = self.believed.iter().map(|slope| dot(slope, moved)).collect();
        let numbers = observed.len().max(1) as f64;
        self.start.learn(observed, noise, &step);
        add(&mut self.deviation, 1.0, &step);
        self.unsure += WRONG * WRONG * dot(&step, &step) / numbers;
        let surprise: Vec<f64> =
            observed.iter().zip(&self.deviation).map(|(new, old)| new - old).collect();
        let squares = dot(&surprise, &surprise) / numbers;
        let expected = self.unsure + noise;
        if squares > expected * self.chance() {
            self.unsure += squares - expected;
        }
        let total = self.unsure + noise;
        let gain = if total > 0.0 { self.unsure / total } else { 1.0 };
        self.unsure *= 1.0 - gain;
        add(&mut self.deviation, gain, &surprise);
    }

    /// The variance of an entry of the deviation at the start.
    fn spread(&self, label: usize) -> f64 {
        // An entry is m_u - P(u) sum_v m_v.
        let p = self.columns[label];
        (1.0 - 2.0 * p + self.labels as f64 * p * p) / self.start.information
    }

    /// D at the start over the D that noise alone would show there.
    pub(super) fn evidence(&self) -> Option<f64> {
        let weights = self.weights();
        let (mut told, mut noise) = (0.0, 0.0);
        for (at, start) in self.start.deviation.iter().enumerate() {
            let p = weights.get()[at / self.labels].max(RAREST);
            let over = 1.0 / (p * self.columns[at % self.labels].max(1e-6));
            told += start * start * over;
            noise += self.spread(at % self.labels) * over;
        }
        (noise > 0.0).then(|| told / noise)
    }

    /// The part of a class's deviation at the start that noise does not explain: so much the class counts.
    fn told(&self, class: usize) -> f64 {
        let row = &self.start.deviation[class * self.labels..][..self.labels];
        let noise: f64 = (0..self.labels).map(|label| self.spread(label)).sum();
        let squares = dot(row, row);
        if squares > 0.0 { (1.0 - 2.0 * noise / squares).max(0.0) } else { 0.0 }
    }

    /// The noise of all messages together, over the classes' shares, in units of what slopes are expected to
    /// be.
    pub(super) fn doubt(&self) -> f64 {
        let output = self.columns[1].clamp(1e-6, 1.0 - 1e-6);
        let unit = 0.5 * output * (1.0 - output) * TYPICAL;
        let inverse: f64 = self.weights().get().iter().map(|p| 1.0 / p.max(1e-6)).sum();
        inverse * self.heard / f64::from(self.rounds.max(1)) / (unit * unit)
    }

    /// `D = sum_ru e_ru^2 / (p_r P_u)`, its gradient and, by Gauss and Newton, its curvature. Of two classes
    /// what noise explains of their difference at the start is taken off it: a cell that is not told is kept
    /// where it is while others move. Of more, classes count as far as they are told.
    pub(super) fn penalty(&self) -> Penalty {
        let (classes, labels) = (self.classes(), self.labels);
        let weights = self.weights();
        let mut gradient = vec![0.0; self.believed.first().map_or(0, Vec::len)];
        let mut terms = Vec::new();
        if !self.ready() {
            return Penalty { gradient, terms };
        }
        let column = |u: usize| self.columns[u].max(1e-6);
        // Of two labels the second says it all, with the weight of both.
        let skip = usize::from(labels == 2);
        let curved = |u: usize| match labels {
            2 => 1.0 / column(0) + 1.0 / column(1),
            _ => 1.0 / column(u),
        };
        for r in 0..classes {
            let told = self.told(r);
            let (counts, off) = if classes == 2 { (1.0, 1.0 - told) } else { (told, 0.0) };
            let class = counts / weights.get()[r].max(1e-6);
            for u in 0..labels {
                let at = r * labels + u;
                let (e, slope) =
                    (self.deviation[at] - off * self.start.deviation[at], &self.believed[at]);
                add(&mut gradient, 2.0 * e * class / column(u), slope);
                let common = e * e * class / column(u).powi(2);
                match u {
                    0 => self.public.iter().for_each(|all| add(&mut gradient, common, all)),
                    _ => add(&mut gradient, -common, &self.public[u - 1]),
                }
                if u >= skip {
                    terms.push((2.0 * class * curved(u), slope.clone()));
                }
            }
        }
        Penalty { gradient, terms }
    }

    /// `D` of the filtered table.
    pub(super) fn divergence(&self) -> f64 {
        let weights = self.weights();
        let rows = self.deviation.chunks_exact(self.labels).zip(weights.get());
        rows.map(|(row, p)| {
            let entry = |(e, column): (&f64, &f64)| e * e / (column.max(1e-6) * p.max(1e-6));
            row.iter().zip(&self.columns).map(entry).sum::<f64>()
        })
        .sum()
    }
}

impl Began {
    /// Takes in a table's deviation after one more move, whose effects may be wrong in part.
    fn learn(&mut self, observed: &[f64], noise: f64, step: &[f64]) {
        add(&mut self.gone, 1.0, step);
        let far = dot(&self.gone, &self.gone) / self.gone.len().max(1) as f64;
        let news = 1.0 / (noise + WRONG * WRONG * far).max(f64::MIN_POSITIVE);
        // Without noise the census has said all.
        if !(self.information + news).is_finite() {
            return;
        }
        self.information += news;
        let seen = observed.iter().zip(&self.gone).map(|(seen, gone)| seen - gone);
        for (start, seen) in self.deviation.iter_mut().zip(seen) {
            *start += news / self.information * (seen - *start);
        }
    }
}
