//! A pass over the silo's own records: small steps from the server's parameters to its own.
//!
//! Steps are taken one after the other and sums in the order of records, so that neither threads nor
//! who carries the messages can change a bit. What is computed from classes is computed from released
//! memberships.

use steffle_model::fairness::MovingTable;
use steffle_model::model::{Adam, Factor, Gradient, Pass, Point, head};
use steffle_model::randomness::{Purpose, stream};
use steffle_model::record::Rows;
use steffle_wire::{ImputedCell, PassQuestion, PassSums, Pull, Tables};

use super::batches::shuffle;
use super::memberships::add_to_tables;
use super::{Imputed, RecordsDivision, RecordsDivisionError};
use crate::division::{NO_CELL, ScoreTable};

/// One record of so many is held out, to tell when to stop.
const HELD_OUT: usize = 10;

/// Records of a step at most, and parts of a silo's records at least.
const BATCH: usize = 64;
const PARTS: usize = 8;

/// Steps at least: small silos go over their records several times.
const STEPS: usize = 32;

/// How much a batch counts for where the tables are by now.
const GAIN: f64 = 0.1;

impl RecordsDivision {
    /// Answers a question about a network's parameters.
    pub fn answer_pass(&self, question: &PassQuestion) -> Result<PassSums, RecordsDivisionError> {
        question.check(self.model.parameters(), self.tables())?;
        let (held_out, mut others) = self.parted();
        let point = Point::new(self.model.as_ref(), question.theta());
        let mut sums = PassSums {
            held_out: held_out.len() as u64,
            loss: self.loss_of(&point, &held_out),
            ..PassSums::default()
        };
        match question {
            PassQuestion::Look { imputed: false, .. } => {}
            PassQuestion::Look { imputed: true, .. } => {
                let imputed = self.imputed.as_ref().ok_or(RecordsDivisionError::NotImputed)?;
                sums.cells = self.class_tables(&self.scores(&point), imputed);
            }
            PassQuestion::Walk { theta, trip, step, decay, pull } => {
                let (seed, node) = self.seeds;
                let mut random = stream(seed, node, Purpose::Pass, u64::from(*trip));
                let pulled = match (pull, &self.imputed) {
                    (None, _) => None,
                    (Some(_), None) => return Err(RecordsDivisionError::NotImputed),
                    (Some(pull), Some(imputed)) => {
                        Some(Pulled::new(self, imputed, pull, self.scores(&point)))
                    }
                };
                let records = others.len() as f64;
                sums.walked = others.len() as u64;
                sums.theta.clone_from(theta);
                let mut steps = Walk::new(self, (*step, *decay), pulled);
                let size = (others.len() / PARTS).clamp(1, BATCH);
                for _ in 0..STEPS.div_ceil((others.len() / size).max(1)) {
                    shuffle(&mut others, &mut random);
                    // Records that fill no batch are left out.
                    let batches = others.chunks_exact(size);
                    batches.for_each(|batch| steps.take(batch, &mut sums.theta));
                }
                sums.theta.iter_mut().for_each(|value| *value *= records);
            }
        }
        Ok(sums)
    }

    /// Records that are held out, and the others: the same for all trips of a run.
    fn parted(&self) -> (Vec<u32>, Vec<u32>) {
        let mut order: Vec<u32> = (0..self.records.len() as u32).collect();
        let (seed, node) = self.seeds;
        shuffle(&mut order, &mut stream(seed, node, Purpose::HeldOut, 0));
        let others = order.split_off(order.len() / HELD_OUT);
        (order, others)
    }

    fn loss_of(&self, point: &Point<'_>, which: &[u32]) -> f64 {
        let model = point.model();
        let (mut rows, mut pass) = (Rows::empty(model.layout()), Pass::default());
        let loss = |which: &[u32]| {
            rows.gather(self.records.rows(), which);
            model.forward(point, &rows, &mut pass);
            let labels = self.labels_of(which);
            head::loss_sum(&pass.logits, &pass.probabilities, &labels, model.logits())
        };
        which.chunks(Pass::CHUNK).map(loss).sum()
    }

    fn labels_of(&self, which: &[u32]) -> Vec<u16> {
        which.iter().map(|&row| self.records.labels()[row as usize]).collect()
    }

    /// The scores of all records, `[record][column]`.
    fn scores(&self, point: &Point<'_>) -> Vec<f64> {
        let model = point.model();
        let all: Vec<u32> = (0..self.records.len() as u32).collect();
        let mut scores = Vec::with_capacity(all.len() * self.objective.columns());
        let (mut rows, mut pass) = (Rows::empty(model.layout()), Pass::default());
        let mut table = ScoreTable::default();
        for which in all.chunks(Pass::CHUNK) {
            rows.gather(self.records.rows(), which);
            model.forward(point, &rows, &mut pass);
            self.objective.score(model, &mut pass, &self.labels_of(which), &mut table);
            scores.extend_from_slice(&table.values);
        }
        scores
    }

    /// Counts and class tables of all cells.
    fn class_tables(&self, scores: &[f64], imputed: &Imputed) -> Vec<(f64, Vec<f64>)> {
        let Tables { cells, classes, columns } = self.tables();
        let empty = ImputedCell { table: vec![0.0; classes * columns], ..ImputedCell::default() };
        let mut sums = vec![empty; cells];
        let memberships = imputed.range(0..self.records.len());
        add_to_tables(self.cells.each(), memberships, scores, (classes, columns), &mut sums);
        sums.into_iter().map(|cell| (cell.count, cell.table)).collect()
    }
}

/// The steps of a walk, and the room that they take.
struct Walk<'a> {
    division: &'a RecordsDivision,
    pulled: Option<Pulled<'a>>,
    adam: Adam,
    decay: f64,
    rows: Rows,
    pass: Pass,
    slopes: Vec<Vec<f64>>,
    sum: Gradient,
    gradient: Vec<f64>,
}

impl<'a> Walk<'a> {
    fn new(
        division: &'a RecordsDivision,
        (step, decay): (f64, f64),
        pulled: Option<Pulled<'a>>,
    ) -> Self {
        let model = division.model.as_ref();
        Self {
            division,
            pulled,
            adam: Adam::new(step, model.parameters()),
            decay,
            rows: Rows::empty(model.layout()),
            pass: Pass::default(),
            slopes: vec![Vec::new(); model.blocks().len()],
            sum: Gradient::new(model),
            gradient: vec![0.0; model.parameters()],
        }
    }

    /// A step on a batch.
    fn take(&mut self, batch: &[u32], theta: &mut [f64]) {
        let Self { division, pulled, adam, decay, rows, pass, slopes, sum, gradient } = self;
        let model = division.model.as_ref();
        let last = slopes.len() - 1;
        let point = Point::new(model, theta);
        rows.gather(division.records.rows(), batch);
        model.forward(&point, rows, pass);
        let labels = division.labels_of(batch);
        head::loss_slopes(&pass.probabilities, &labels, model.logits(), &mut slopes[last]);
        if let Some(pulled) = pulled {
            pulled.add(batch, &labels, pass, &mut slopes[last]);
        }
        model.backward(&point, pass, 1, slopes);
        sum.clear();
        sum.add_plain(&Factor::layers(model.blocks(), slopes, rows, &pass.hidden));
        gradient.fill(0.0);
        sum.add_to(gradient);
        for (slope, theta) in gradient.iter_mut().zip(theta.iter()) {
            *slope = *slope / batch.len() as f64 + *decay * theta;
        }
        adam.step(theta, gradient);
    }
}

/// What pulls a pass towards fairness: tables that move with it.
struct Pulled<'a> {
    division: &'a RecordsDivision,
    imputed: &'a Imputed,
    strength: f64,
    tables: Vec<MovingTable>,
    /// The share of the silo's records that every cell has.
    shares: Vec<f64>,
    /// Scores where the pass began, `[record][column]`.
    before: Vec<f64>,
    scores: ScoreTable,
}

impl<'a> Pulled<'a> {
    fn new(
        division: &'a RecordsDivision,
        imputed: &'a Imputed,
        pull: &Pull,
        before: Vec<f64>,
    ) -> Self {
        let columns = division.objective.columns();
        let table = |cell: &steffle_wire::PullCell| {
            MovingTable::new(cell.table.clone(), columns, cell.count, cell.floor)
        };
        let mut shares = vec![0.0; pull.cells.len()];
        for &cell in division.cells.each().iter().filter(|&&cell| cell != NO_CELL) {
            shares[usize::from(cell)] += 1.0 / division.records.len() as f64;
        }
        let (strength, scores) = (pull.strength, ScoreTable::default());
        let tables = pull.cells.iter().map(table).collect();
        Self { division, imputed, strength, tables, shares, before, scores }
    }

    /// Moves the tables to where the batch says they are, and adds the penalty's slopes in the logits
    /// to those of the loss.
    fn add(&mut self, batch: &[u32], labels: &[u16], pass: &mut Pass, slopes: &mut [f64]) {
        let (division, imputed) = (self.division, self.imputed);
        let (model, objective) = (division.model.as_ref(), division.objective.as_ref());
        objective.score(model, pass, labels, &mut self.scores);
        self.follow(batch);
        let (columns, logits) = (objective.columns(), model.logits());
        let pulls: Vec<Vec<f64>> = self.tables.iter().map(MovingTable::slopes).collect();
        let records = self.scores.slopes.chunks_exact(logits * columns);
        let mut combination = vec![0.0; columns];
        for ((&row, own), slopes) in batch.iter().zip(records).zip(slopes.chunks_exact_mut(logits))
        {
            let Some(pull) = pulls.get(usize::from(division.cells.each()[row as usize])) else {
                continue;
            };
            combination.fill(0.0);
            for (pull, member) in pull.chunks_exact(columns).zip(imputed.of(row as usize)) {
                let all = combination.iter_mut().zip(pull);
                all.for_each(|(sum, pull)| *sum += self.strength * member * pull);
            }
            for (slope, own) in slopes.iter_mut().zip(own.chunks_exact(columns)) {
                *slope += own.iter().zip(&combination).map(|(own, by)| own * by).sum::<f64>();
            }
        }
    }

    /// What the batch's scores have moved since the pass began.
    fn follow(&mut self, batch: &[u32]) {
        let columns = self.division.objective.columns();
        let size = self.imputed.classes() * columns;
        let mut moved = vec![(0.0, vec![0.0; size]); self.tables.len()];
        for (&row, now) in batch.iter().zip(self.scores.values.chunks_exact(columns)) {
            let row = row as usize;
            let Some((count, sums)) = moved.get_mut(usize::from(self.division.cells.each()[row]))
            else {
                continue;
            };
            *count += 1.0;
            let before = &self.before[row * columns..][..columns];
            for (sums, member) in sums.chunks_exact_mut(columns).zip(self.imputed.of(row)) {
                for ((sum, now), before) in sums.iter_mut().zip(now).zip(before) {
                    *sum += member * (now - before);
                }
            }
        }
        for ((table, (count, sums)), share) in self.tables.iter_mut().zip(moved).zip(&self.shares) {
            if count > 0.0 {
                // A cell counts by how much of it the batch has.
                let gain = (GAIN * count / (batch.len() as f64 * share)).min(1.0);
                let means: Vec<f64> = sums.iter().map(|sum| sum / count).collect();
                table.follow(gain, &means);
            }
        }
    }
}
