//! Loss, imputed tables and the gradient of the fairness term, over all records of a silo.

use std::ops::Range;

use steffle_model::blocks::{BLOCK, Merge, sum_in_order};
use steffle_model::model::{Coefficients, Factor, Gradient, Pass, Point, head};
use steffle_wire::{CellQuestion, ImputedCell, ImputedQuestion, ImputedSums};

use super::memberships::{add_to_tables, combine};
use super::{Imputed, RecordsDivision, RecordsDivisionError};
use crate::division::{Objective, ScoreTable};
use crate::record::{Records, Rows};

/// The logits of all records at the last theta that was asked about: a model of one layer needs
/// nothing else for the gradient, so that the second exchange costs no forward pass.
#[derive(Debug, Default)]
pub(super) struct LastLogits {
    theta: Vec<f64>,
    logits: Vec<f64>,
}

impl RecordsDivision {
    /// Takes in the memberships of its records; refuses another number of records or classes.
    pub fn set_imputed(&mut self, imputed: Imputed) -> Result<(), RecordsDivisionError> {
        if imputed.len() != self.records.len() || imputed.classes() != self.objective.classes() {
            return Err(RecordsDivisionError::Memberships);
        }
        self.imputed = Some(imputed);
        Ok(())
    }

    /// The memberships of its records, once they are imputed.
    pub fn imputed(&self) -> Option<&Imputed> {
        self.imputed.as_ref()
    }

    /// Answers one exchange of an evaluation on imputed classes.
    pub fn answer_imputed(
        &mut self,
        question: &ImputedQuestion,
    ) -> Result<ImputedSums, RecordsDivisionError> {
        let (objective, model) = (self.objective.as_ref(), self.model.as_ref());
        let (classes, columns) = (objective.classes(), objective.columns());
        question.check(model.parameters(), objective.cells(), classes, columns)?;
        let Some(imputed) = &self.imputed else {
            return Err(RecordsDivisionError::NotImputed);
        };
        let evaluation = Evaluation {
            records: &self.records,
            cells: self.cells.each(),
            objective,
            imputed,
            point: Point::new(model, &question.theta),
        };
        if !question.cells.is_empty() {
            let LastLogits { theta, logits } = &self.last;
            let known = model.blocks().len() == 1 && *theta == question.theta;
            return Ok(evaluation.fairness(&question.cells, known.then_some(logits)));
        }
        let LastLogits { theta, logits } = &mut self.last;
        theta.clone_from(&question.theta);
        logits.resize(self.records.len() * model.logits(), 0.0);
        Ok(evaluation.tables(logits))
    }
}

/// What a question is about, prepared for all blocks of records.
struct Evaluation<'a> {
    records: &'a Records,
    cells: &'a [u16],
    objective: &'a dyn Objective,
    imputed: &'a Imputed,
    point: Point<'a>,
}

/// Buffers of a block, kept from chunk to chunk.
struct Buffers {
    which: Vec<u32>,
    rows: Rows,
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

impl Evaluation<'_> {
    /// Loss, loss gradient and tables; leaves the logits of all records in `logits`.
    fn tables(&self, logits: &mut [f64]) -> ImputedSums {
        let width = self.point.model().logits();
        let blocks = logits.chunks_mut(BLOCK * width).enumerate().collect();
        let sums = sum_in_order(self.empty(true), blocks, |(block, logits)| {
            let mut sums = self.empty(true);
            let mut buffers = self.buffers();
            let chunks = logits.chunks_mut(Pass::CHUNK * width).enumerate();
            for (chunk, logits) in chunks {
                let start = block * BLOCK + chunk * Pass::CHUNK;
                self.add_loss(start..start + logits.len() / width, &mut buffers, &mut sums);
                logits.copy_from_slice(&buffers.pass.logits);
            }
            sums
        });
        self.finish(sums)
    }

    /// `sum_i J_i' (2 sum_r shat_ir C_r - q)` over the records in some cell.
    fn fairness(&self, cells: &[CellQuestion], known: Option<&Vec<f64>>) -> ImputedSums {
        let (n, width) = (self.records.len(), self.point.model().logits());
        let blocks = (0..n).step_by(BLOCK).collect();
        let sums = sum_in_order(self.empty(false), blocks, |start| {
            let mut sums = self.empty(false);
            let mut buffers = self.buffers();
            for start in (start..n.min(start + BLOCK)).step_by(Pass::CHUNK) {
                let range = start..n.min(start + BLOCK).min(start + Pass::CHUNK);
                let known = known.map(|all| &all[range.start * width..range.end * width]);
                self.add_fairness(range, cells, known, &mut buffers, &mut sums);
            }
            sums
        });
        self.finish(sums)
    }

    fn add_loss(&self, range: Range<usize>, buffers: &mut Buffers, sums: &mut Sums) {
        let Buffers { which, rows, pass, scores, slopes, .. } = buffers;
        let model = self.point.model();
        gather(self.records, range.clone(), which, rows);
        model.forward(&self.point, rows, pass);
        let labels = &self.records.labels()[range.clone()];
        sums.loss += head::loss_sum(&pass.logits, &pass.probabilities, labels, model.logits());
        let last = slopes.len() - 1;
        head::loss_slopes(&pass.probabilities, labels, model.logits(), &mut slopes[last]);
        model.backward(&self.point, pass, 1, slopes);
        sums.gradient.add_plain(&Factor::layers(model.blocks(), slopes, rows, &pass.hidden));

        self.objective.score(model, pass, labels, scores);
        let memberships = self.imputed.range(range.clone());
        let (cells, shape) = (&self.cells[range], self.shape());
        add_to_tables(cells, memberships, &scores.values, shape, &mut sums.cells);
    }

    fn add_fairness(
        &self,
        range: Range<usize>,
        cells: &[CellQuestion],
        known: Option<&[f64]>,
        buffers: &mut Buffers,
        sums: &mut Sums,
    ) {
        let Buffers { which, rows, pass, scores, slopes, combinations, coefficients } = buffers;
        let model = self.point.model();
        gather(self.records, range.clone(), which, rows);
        match known {
            Some(logits) => {
                pass.logits.clear();
                pass.logits.extend_from_slice(logits);
                head::probabilities(logits, model.logits(), &mut pass.probabilities);
            }
            None => model.forward(&self.point, rows, pass),
        }
        let labels = &self.records.labels()[range.clone()];
        self.objective.score(model, pass, labels, scores);
        let last = slopes.len() - 1;
        std::mem::swap(&mut slopes[last], &mut scores.slopes);
        let columns = self.objective.columns();
        model.backward(&self.point, pass, columns, slopes);

        let memberships = self.imputed.range(range.clone());
        combine(&self.cells[range.clone()], memberships, cells, self.shape(), combinations);
        which.clear();
        which.extend(0..range.len() as u32);
        let factors = Factor::layers(model.blocks(), slopes, rows, &pass.hidden);
        coefficients.fill(&factors, which, combinations, columns, None);
        sums.gradient.add(&factors, coefficients);
    }

    /// Classes and columns.
    fn shape(&self) -> (usize, usize) {
        (self.objective.classes(), self.objective.columns())
    }

    fn empty(&self, tables: bool) -> Sums {
        let objective = self.objective;
        let cell =
            ImputedCell { count: 0.0, table: vec![0.0; objective.classes() * objective.columns()] };
        let cells = if tables { objective.cells() } else { 0 };
        Sums { loss: 0.0, gradient: Gradient::new(self.point.model()), cells: vec![cell; cells] }
    }

    fn buffers(&self) -> Buffers {
        let model = self.point.model();
        Buffers {
            which: Vec::new(),
            rows: Rows::empty(model.layout()),
            pass: Pass::default(),
            scores: ScoreTable::default(),
            slopes: vec![Vec::new(); model.blocks().len()],
            combinations: Vec::new(),
            coefficients: Coefficients::default(),
        }
    }

    fn finish(&self, sums: Sums) -> ImputedSums {
        let Sums { loss, gradient, cells } = sums;
        ImputedSums { held: self.records.len() as u64, loss, gradient: gradient.flatten(), cells }
    }
}

/// Puts a run of records into the first-level cache.
fn gather(records: &Records, range: Range<usize>, which: &mut Vec<u32>, rows: &mut Rows) {
    which.clear();
    which.extend(range.start as u32..range.end as u32);
    rows.gather(records.rows(), which);
}
