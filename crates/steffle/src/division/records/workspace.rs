//! One pass of a chunk through the model and the objective, and the public sums it adds to.

use crate::division::banks::add_by_slot;
use crate::division::{Candidates, Objective, ScoreTable, Who};
use crate::model::{Classifier, Coefficients, Factor, Gradient, Pass, Point, head};
use crate::protocol::{CellQuestion, CellSums, Form, PublicSums, Question};
use crate::record::{Layout, Records, Rows};

/// Buffers of a pass, kept from chunk to chunk.
pub(in crate::division) struct Workspace {
    rows: Rows,
    pass: Pass,
    labels: Vec<u16>,
    cells: Vec<u16>,
    slots: Vec<u32>,
    caps: Vec<f64>,
    scores: ScoreTable,
    slopes: Vec<Vec<f64>>,
    coefficients: Coefficients,
}

impl Workspace {
    pub(in crate::division) fn new(layout: Layout) -> Self {
        Self {
            rows: Rows::empty(layout),
            pass: Pass::default(),
            labels: Vec::new(),
            cells: Vec::new(),
            slots: Vec::new(),
            caps: Vec::new(),
            scores: ScoreTable::default(),
            slopes: Vec::new(),
            coefficients: Coefficients::default(),
        }
    }
}

/// What a question asks of the records division, prepared once for all chunks.
pub(in crate::division) struct PublicPart<'a> {
    pub(in crate::division) records: &'a Records,
    /// The cell of every record.
    pub(in crate::division) cells: &'a [u16],
    pub(in crate::division) objective: &'a dyn Objective,
    pub(in crate::division) point: Point<'a>,
    pub(in crate::division) question: &'a Question,
    /// The row cap of every record; empty for 1.
    pub(in crate::division) caps: &'a [f64],
    /// Per cell a table with `2 mean_r C_r - q` in the cell's row and 0 in all others; empty where
    /// the public theta term is not asked for or is 0.
    common: Vec<Vec<f64>>,
}

/// Public sums while they grow.
pub(in crate::division) struct PublicSumming {
    batch: u64,
    loss: f64,
    gradient: Gradient,
    counts: Vec<u64>,
    /// `[cell][column]`, with a last row for records in no cell that nobody reads.
    scores: Vec<f64>,
    thetas: Vec<Gradient>,
}

impl<'a> PublicPart<'a> {
    pub(in crate::division) fn new(
        records: &'a Records,
        cells: &'a [u16],
        objective: &'a dyn Objective,
        model: &'a dyn Classifier,
        question: &'a Question,
        caps: &'a [f64],
    ) -> Self {
        let columns = objective.columns();
        let classes = objective.classes() as f64;
        let common = |combinations: &[f64], quadratic: &[f64]| -> Vec<f64> {
            let sum = |u: usize| combinations.iter().skip(u).step_by(columns).sum::<f64>();
            quadratic.iter().enumerate().map(|(u, q)| 2.0 * sum(u) / classes - q).collect()
        };
        let mut commons = Vec::new();
        if question.form == Form::Centred {
            let table = |(at, cell): (usize, &CellQuestion)| {
                let mut table = vec![0.0; (question.cells.len() + 1) * columns];
                let own = common(&cell.combinations, &cell.quadratic);
                table[at * columns..][..columns].copy_from_slice(&own);
                table
            };
            commons = question.cells.iter().enumerate().map(table).collect();
        }
        if commons.iter().flatten().all(|&value| value == 0.0) {
            commons.clear();
        }
        let point = Point::new(model, &question.theta);
        Self { records, cells, objective, point, question, caps, common: commons }
    }

    pub(in crate::division) fn empty(&self) -> PublicSumming {
        let (cells, model) = (self.question.cells.len(), self.point.model());
        PublicSumming {
            batch: 0,
            loss: 0.0,
            gradient: Gradient::new(model),
            counts: vec![0; cells + 1],
            scores: vec![0.0; self.objective.columns() * (cells + 1)],
            thetas: vec![Gradient::new(model); self.common.len()],
        }
    }

    /// Runs a chunk: adds its public sums, where there is somewhere to add them, then hands its
    /// candidates to `hand_over`.
    pub(in crate::division) fn run(
        &self,
        which: &[u32],
        workspace: &mut Workspace,
        mut sums: Option<&mut PublicSumming>,
        hand_over: impl FnOnce(&Candidates<'_>),
    ) {
        let Workspace { rows, pass, labels, cells, slots, caps, scores, slopes, coefficients } =
            workspace;
        let (records, model) = (self.records, self.point.model());
        rows.gather(records.rows(), which);
        model.forward(&self.point, rows, pass);
        labels.clear();
        labels.extend(which.iter().map(|&row| records.labels()[row as usize]));

        slopes.resize_with(model.blocks().len(), Vec::new);
        let last = slopes.len() - 1;
        if let Some(sums) = sums.as_deref_mut() {
            sums.batch += which.len() as u64;
            if self.question.loss {
                let Pass { logits, probabilities, .. } = &*pass;
                sums.loss += head::loss_sum(logits, probabilities, labels, model.logits());
            }
            head::loss_slopes(&pass.probabilities, labels, model.logits(), &mut slopes[last]);
            model.backward(&self.point, pass, 1, slopes);
            let factors = Factor::layers(model.blocks(), slopes, rows, &pass.hidden);
            sums.gradient.add_plain(&factors);
        }
        if self.question.cells.is_empty() {
            return;
        }

        cells.clear();
        cells.extend(which.iter().map(|&row| self.cells[row as usize]));
        // Cells are slots; the one after the last is for records in none.
        let none = self.question.cells.len() as u32;
        slots.clear();
        slots.extend(cells.iter().map(|&cell| u32::from(cell).min(none)));
        self.objective.score(model, pass, labels, scores);
        std::mem::swap(&mut slopes[last], &mut scores.slopes);
        let columns = self.objective.columns();
        model.backward(&self.point, pass, columns, slopes);
        let factors = Factor::layers(model.blocks(), slopes, rows, &pass.hidden);
        if let Some(sums) = sums {
            if let [count, _] = &mut sums.counts[..] {
                // One cell: counting needs no slot to wait for.
                *count += slots.iter().filter(|&&cell| cell == 0).count() as u64;
            } else {
                slots.iter().for_each(|&cell| sums.counts[cell as usize] += 1);
            }
            add_by_slot(slots, &scores.values, columns, &mut sums.scores);
            for (common, theta) in self.common.iter().zip(&mut sums.thetas) {
                coefficients.fill(&factors, slots, common, columns, None);
                theta.add(&factors, coefficients);
            }
        }
        caps.clear();
        if !self.caps.is_empty() {
            caps.extend(which.iter().map(|&row| self.caps[row as usize]));
        }
        hand_over(&Candidates {
            who: Who::Positions(which),
            cells,
            scores: &scores.values,
            caps,
            factors: &factors,
        });
    }
}

impl PublicSumming {
    pub(in crate::division) fn merge(&mut self, other: &Self) {
        self.batch += other.batch;
        self.loss += other.loss;
        self.gradient.merge(&other.gradient);
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.scores.iter_mut().zip(&other.scores).for_each(|(mine, theirs)| *mine += theirs);
        for (mine, theirs) in self.thetas.iter_mut().zip(&other.thetas) {
            mine.merge(theirs);
        }
    }

    /// The reply of a silo that holds `held` records. A public theta term that is 0 everywhere is
    /// sent as zeros, so that the reply's shape is the question's.
    pub(in crate::division) fn finish(self, held: usize, question: &Question) -> PublicSums {
        let gradient = self.gradient.flatten();
        let theta = |cell: usize| match (question.form, self.thetas.get(cell)) {
            (Form::Clipped { .. }, _) => Vec::new(),
            (Form::Centred, Some(theta)) => theta.flatten(),
            (Form::Centred, None) => vec![0.0; gradient.len()],
        };
        let columns = question.cells.first().map_or(1, |cell| cell.quadratic.len());
        let cells = self.counts.iter().zip(self.scores.chunks_exact(columns)).enumerate();
        let cells = cells
            .take(question.cells.len())
            .map(|(cell, (&count, scores))| CellSums {
                count,
                scores: scores.to_vec(),
                theta: theta(cell),
            })
            .collect();
        PublicSums { held: held as u64, batch: self.batch, loss: self.loss, gradient, cells }
    }
}
