//! Loss, imputed tables and their gradients at one theta, over all records of a silo.

use std::ops::Range;

use steffle_model::blocks::{BLOCK, Merge, sum_in_order};
use steffle_model::model::{Coefficients, Factor, Gradient, Pass, Point, head};
use steffle_model::record::{Records, Rows};
use steffle_wire::{ImputedCell, ImputedQuestion, ImputedSums};

use super::memberships::{add_to_tables, choose};
use super::{Imputed, RecordsDivision, RecordsDivisionError};
use crate::division::{Objective, ScoreTable};

/// Everything that a silo sums at one theta.
#[derive(Debug, Clone, Default)]
pub(super) struct Evaluated {
    pub(super) theta: Vec<f64>,
    /// Of all records.
    pub(super) logits: Vec<f64>,
    pub(super) loss: f64,
    pub(super) gradient: Vec<f64>,
    /// Empty where nothing imputed was asked for.
    pub(super) cells: Vec<ImputedCell>,
}

impl RecordsDivision {
    /// Takes in the memberships of its records; refuses another number of records or classes.
    pub fn set_imputed(&mut self, imputed: Imputed) -> Result<(), RecordsDivisionError> {
        if imputed.len() != self.records.len() || imputed.classes() != self.objective.classes() {
            return Err(RecordsDivisionError::Memberships);
        }
        self.imputed = Some(imputed);
        self.fitting.forget();
        Ok(())
    }

    /// The memberships of its records, once they are imputed.
    pub fn imputed(&self) -> Option<&Imputed> {
        self.imputed.as_ref()
    }

    /// Answers an evaluation on imputed classes.
    pub fn answer_imputed(
        &mut self,
        question: &ImputedQuestion,
    ) -> Result<ImputedSums, RecordsDivisionError> {
        question.check(self.model.parameters())?;
        let at = self.evaluate(&question.theta, true)?;
        let linear = self.model.blocks().len() == 1;
        let sums = ImputedSums {
            held: self.records.len() as u64,
            loss: at.loss,
            gradient: at.gradient.clone(),
            diagonal: if linear { self.diagonal(&at.logits) } else { Vec::new() },
            cells: at.cells.clone(),
        };
        if linear {
            self.fitting.keep(at);
        }
        Ok(sums)
    }

    /// Everything at `theta`, which was checked; refuses imputed tables where nothing was imputed.
    pub(super) fn evaluate(
        &self,
        theta: &[f64],
        imputed: bool,
    ) -> Result<Evaluated, RecordsDivisionError> {
        let imputed = match (&self.imputed, imputed) {
            (None, true) => return Err(RecordsDivisionError::NotImputed),
            (known, wanted) => known.as_ref().filter(|_| wanted),
        };
        let model = self.model.as_ref();
        let evaluation = Evaluation {
            records: &self.records,
            cells: self.cells.each(),
            objective: self.objective.as_ref(),
            imputed,
            point: Point::new(model, theta),
        };
        let mut logits = vec![0.0; self.records.len() * model.logits()];
        let mut sums = evaluation.tables(&mut logits);
        if imputed.is_some() {
            let known = (model.blocks().len() == 1).then_some(&logits[..]);
            for (cell, sums) in sums.cells.iter_mut().enumerate() {
                sums.slopes = evaluation.slopes(cell, known);
            }
        }
        let Sums { loss, gradient, cells } = sums;
        Ok(Evaluated { theta: theta.to_vec(), logits, loss, gradient: gradient.into_flat(), cells })
    }
}

/// What a question is about, prepared for all blocks of records.
struct Evaluation<'a> {
    records: &'a Records,
    cells: &'a [u16],
    objective: &'a dyn Objective,
    imputed: Option<&'a Imputed>,
    point: Point<'a>,
}

/// Buffers of a block, kept from chunk to chunk.
struct Buffers {
    which: Vec<u32>,
    rows: Rows,
    labels: Vec<u16>,
    pass: Pass,
    scores: ScoreTable,
    slopes: Vec<Vec<f64>>,
    combinations: Vec<f64>,
    coefficients: Coefficients,
}

/// Sums of a block.
struct Sums {
    loss: f64,
    gradient: Gradient,
    cells: Vec<ImputedCell>,
}

impl Merge for Sums {
    fn merge(&mut self, other: &Self) {
        self.loss += other.loss;
        self.gradient.merge(&other.gradient);
        for (mine, theirs) in self.cells.iter_mut().zip(&other.cells) {
            mine.count += theirs.count;
            mine.table.iter_mut().zip(&theirs.table).for_each(|(mine, theirs)| *mine += theirs);
        }
    }
}

/// Gradients of the entries of one table.
struct Slopes(Vec<Gradient>);

impl Merge for Slopes {
    fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| mine.merge(theirs));
    }
}

impl Evaluation<'_> {
    /// Loss, loss gradient and tables; leaves the logits of all records in `logits`.
    fn tables(&self, logits: &mut [f64]) -> Sums {
        let width = self.point.model().logits();
        let blocks = logits.chunks_mut(BLOCK * width).enumerate().collect();
        sum_in_order(self.empty(), blocks, |(block, logits)| {
            let mut sums = self.empty();
            let mut buffers = self.buffers();
            let chunks = logits.chunks_mut(Pass::CHUNK * width).enumerate();
            for (chunk, logits) in chunks {
                let start = block * BLOCK + chunk * Pass::CHUNK;
                self.add_loss(start..start + logits.len() / width, &mut buffers, &mut sums);
                logits.copy_from_slice(&buffers.pass.logits);
            }
            sums
        })
    }

    /// Per class and column but the first, `sum_i shat_ir J_i' e_u` over the records of a cell.
    fn slopes(&self, cell: usize, known: Option<&[f64]>) -> Vec<Vec<f64>> {
        let all = 0..self.records.len() as u32;
        let members: Vec<u32> =
            all.filter(|&row| usize::from(self.cells[row as usize]) == cell).collect();
        let (classes, columns) = (self.objective.classes(), self.objective.columns());
        let count = classes * columns.saturating_sub(1);
        let empty = || Slopes(vec![Gradient::new(self.point.model()); count]);
        let blocks = members.chunks(BLOCK).collect();
        let sums = sum_in_order(empty(), blocks, |members| {
            let (mut sums, mut buffers) = (empty(), self.buffers());
            for which in members.chunks(Pass::CHUNK) {
                self.add_slopes(which, known, &mut buffers, &mut sums);
            }
            sums
        });
        sums.0.into_iter().map(Gradient::into_flat).collect()
    }

    fn add_loss(&self, range: Range<usize>, buffers: &mut Buffers, sums: &mut Sums) {
        let Buffers { which, rows, pass, scores, slopes, .. } = buffers;
        let model = self.point.model();
        which.clear();
        which.extend(range.start as u32..range.end as u32);
        rows.gather(self.records.rows(), which);
        model.forward(&self.point, rows, pass);
        let labels = &self.records.labels()[range.clone()];
        sums.loss += head::loss_sum(&pass.logits, &pass.probabilities, labels, model.logits());
        let last = slopes.len() - 1;
        head::loss_slopes(&pass.probabilities, labels, model.logits(), &mut slopes[last]);
        model.backward(&self.point, pass, 1, slopes);
        sums.gradient.add_plain(&Factor::layers(model.blocks(), slopes, rows, &pass.hidden));
        let Some(imputed) = self.imputed else { return };
        self.objective.score(model, pass, labels, scores);
        let shape = (self.objective.classes(), self.objective.columns());
        let (cells, memberships) = (&self.cells[range.clone()], imputed.range(range));
        add_to_tables(cells, memberships, &scores.values, shape, &mut sums.cells);
    }

    fn add_slopes(
        &self,
        which: &[u32],
        known: Option<&[f64]>,
        buffers: &mut Buffers,
        sums: &mut Slopes,
    ) {
        let Some(imputed) = self.imputed else { return };
        let Buffers { which: slots, rows, labels, pass, scores, slopes, .. } = buffers;
        let model = self.point.model();
        rows.gather(self.records.rows(), which);
        match known {
            Some(logits) => {
                let width = model.logits();
                let own = |&row: &u32| &logits[row as usize * width..][..width];
                pass.logits.clear();
                which.iter().for_each(|row| pass.logits.extend_from_slice(own(row)));
                head::probabilities(&pass.logits, width, &mut pass.probabilities);
            }
            None => model.forward(&self.point, rows, pass),
        }
        labels.clear();
        labels.extend(which.iter().map(|&row| self.records.labels()[row as usize]));
        self.objective.score(model, pass, labels, scores);
        let last = slopes.len() - 1;
        std::mem::swap(&mut slopes[last], &mut scores.slopes);
        let columns = self.objective.columns();
        model.backward(&self.point, pass, columns, slopes);
        slots.clear();
        slots.extend(0..which.len() as u32);
        let factors = Factor::layers(model.blocks(), slopes, rows, &pass.hidden);
        let Buffers { combinations, coefficients, .. } = buffers;
        for (at, sum) in sums.0.iter_mut().enumerate() {
            let (class, column) = (at / (columns - 1), at % (columns - 1) + 1);
            choose(imputed, which, (class, column), columns, combinations);
            coefficients.fill(&factors, slots, combinations, columns, None);
            sum.add(&factors, coefficients);
        }
    }

    fn empty(&self) -> Sums {
        let numbers = self.objective.classes() * self.objective.columns();
        let cell = ImputedCell { table: vec![0.0; numbers], ..ImputedCell::default() };
        let cells = if self.imputed.is_some() { self.objective.cells() } else { 0 };
        Sums { loss: 0.0, gradient: Gradient::new(self.point.model()), cells: vec![cell; cells] }
    }

    fn buffers(&self) -> Buffers {
        let model = self.point.model();
        Buffers {
            which: Vec::new(),
            rows: Rows::empty(model.layout()),
            labels: Vec::new(),
            pass: Pass::default(),
            scores: ScoreTable::default(),
            slopes: vec![Vec::new(); model.blocks().len()],
            combinations: Vec::new(),
            coefficients: Coefficients::default(),
        }
    }
}
