//! One pass of a chunk through the model and the objective, and the public sums it adds to.

use steffle_model::model::{Coefficients, Factor, Gradient, Pass, Pending, Point, head, kernel};
use steffle_model::record::{Layout, Records, Rows};
use steffle_wire::{CellQuestion, CellSums, Form, PublicSums, Question};

use super::protection::Caps;
use crate::division::{Candidates, Objective, ScoreTable, Who};

/// Buffers of a pass, kept from chunk to chunk.
pub(in crate::division) struct Workspace {
    rows: Rows,
    pass: Pass,
    labels: Vec<u16>,
    cells: Vec<u16>,
    slots: Vec<u32>,
    caps: Vec<f64>,
    scores: ScoreTable,
    loss_slopes: Vec<Vec<f64>>,
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
            loss_slopes: Vec::new(),
            slopes: Vec::new(),
            coefficients: Coefficients::default(),
        }
    }
}

/// Where the logits of a chunk come from and go to.
pub(in crate::division) enum Logits<'a> {
    /// They are computed.
    Fresh,
    /// They are computed and kept.
    Kept(&'a mut [f64]),
    /// They were kept.
    Known(&'a [f64]),
}

/// What a question asks of the records division, prepared once for all chunks.
pub(in crate::division) struct PublicPart<'a> {
    pub(in crate::division) records: &'a Records,
    /// The cell of every record.
    pub(in crate::division) cells: &'a Cells,
    pub(in crate::division) objective: &'a dyn Objective,
    pub(in crate::division) point: Point<'a>,
    pub(in crate::division) question: &'a Question,
    /// The row cap of every record.
    pub(in crate::division) caps: Caps<'a>,
    /// Per cell a table with `2 mean_r C_r - q` in the cell's row and 0 in all others; empty where
    /// the public theta term is not asked for or is 0.
    common: Vec<Vec<f64>>,
}

/// The cell of every record: a function of public columns, so it never changes.
pub(in crate::division) struct Cells {
    each: Vec<u16>,
    /// The one that all records are in, if there is such a one.
    same: Option<u16>,
}

impl Cells {
    pub(in crate::division) fn new(each: Vec<u16>) -> Self {
        let same = each.first().copied().filter(|first| each.iter().all(|cell| cell == first));
        Self { each, same }
    }

    pub(in crate::division) fn each(&self) -> &[u16] {
        &self.each
    }

    fn pick(&self, which: &[u32], into: &mut Vec<u16>) {
        match self.same {
            // All that is there is this cell.
            Some(cell) => into.resize(which.len(), cell),
            None => kernel::pick(&self.each, which, into),
        }
    }
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
        cells: &'a Cells,
        objective: &'a dyn Objective,
        point: Point<'a>,
        question: &'a Question,
        caps: Caps<'a>,
    ) -> Self {
        let columns = objective.columns();
        let common = |cell: &CellQuestion| -> Vec<f64> {
            let mean = cell.mean(objective.classes());
            mean.iter().zip(&cell.quadratic).map(|(mean, q)| 2.0 * mean - q).collect()
        };
        let mut commons = Vec::new();
        if question.form == Form::Centred {
            let table = |(at, cell): (usize, &CellQuestion)| {
                let mut table = vec![0.0; (question.cells.len() + 1) * columns];
                table[at * columns..][..columns].copy_from_slice(&common(cell));
                table
            };
            commons = question.cells.iter().enumerate().map(table).collect();
        }
        if commons.iter().flatten().all(|&value| value == 0.0) {
            commons.clear();
        }
        Self { records, cells, objective, point, question, caps, common: commons }
    }

    /// Empty sums, in the room of old ones.
    pub(in crate::division) fn empty_in(
        &self,
        old: Option<Box<PublicSumming>>,
    ) -> Box<PublicSumming> {
        let Some(mut sums) = old.filter(|old| old.thetas.len() == self.common.len()) else {
            return Box::new(self.empty());
        };
        (sums.batch, sums.loss) = (0, 0.0);
        sums.gradient.clear();
        sums.thetas.iter_mut().for_each(Gradient::clear);
        let cells = self.question.cells.len() + 1;
        sums.counts.clear();
        sums.counts.resize(cells, 0);
        sums.scores.clear();
        sums.scores.resize(self.objective.columns() * cells, 0.0);
        sums
    }

    pub(in crate::division) fn empty(&self) -> PublicSumming {
        let (cells, model) = (self.question.cells.len(), self.point.model());
        PublicSumming {
            batch: 0,
            loss: 0.0,
            gradient: Gradient::new(model),
            counts: kernel::zeros(cells + 1),
            scores: kernel::zeros(self.objective.columns() * (cells + 1)),
            thetas: self.common.iter().map(|_| Gradient::new(model)).collect(),
        }
    }

    /// The slopes of the loss in every layer's outputs; and its sum, where that was asked for.
    fn lose(&self, pass: &Pass, labels: &[u16], slopes: &mut Vec<Vec<f64>>) -> f64 {
        let model = self.point.model();
        let last = model.blocks().len() - 1;
        slopes.resize_with(last + 1, Vec::new);
        head::loss_slopes(&pass.probabilities, labels, model.logits(), &mut slopes[last]);
        model.backward(&self.point, pass, 1, slopes);
        let Pass { logits, probabilities, .. } = pass;
        let wanted = self.question.loss;
        if wanted { head::loss_sum(logits, probabilities, labels, model.logits()) } else { 0.0 }
    }

    /// Cells are slots; the one after the last is for records in none.
    fn fill_slots(&self, cells: &[u16], slots: &mut Vec<u32>) {
        let none = self.question.cells.len() as u32;
        let same = self.cells.same.map(|cell| u32::from(cell).min(none));
        // All that is there may be this slot already.
        if same.is_none() || slots.first().copied() != same {
            slots.clear();
        }
        match same {
            Some(slot) => slots.resize(cells.len(), slot),
            None => slots.extend(cells.iter().map(|&cell| u32::from(cell).min(none))),
        }
    }

    fn forward(&self, known: Logits<'_>, rows: &Rows, pass: &mut Pass) {
        let model = self.point.model();
        match known {
            Logits::Fresh => model.forward(&self.point, rows, pass),
            Logits::Kept(into) => {
                model.forward(&self.point, rows, pass);
                into.copy_from_slice(&pass.logits);
            }
            Logits::Known(logits) => {
                pass.logits.clear();
                pass.logits.extend_from_slice(logits);
                head::probabilities(logits, model.logits(), &mut pass.probabilities);
            }
        }
    }

    /// Has the public theta terms added: one is left pending beside what is, several are added now.
    fn pend<'s>(
        &self,
        pending: Pending<'s>,
        thetas: &'s mut [Gradient],
        slots: &[u32],
        factors: &'s [Factor<'s>],
        coefficients: &'s mut Coefficients,
    ) -> Pending<'s> {
        let columns = self.objective.columns();
        match (&self.common[..], thetas) {
            ([common], [theta]) => {
                coefficients.fill(factors, slots, common, columns, None);
                pending.and(theta, factors, coefficients)
            }
            (all, thetas) => {
                for (common, theta) in all.iter().zip(thetas) {
                    coefficients.fill(factors, slots, common, columns, None);
                    theta.add(factors, coefficients);
                }
                pending
            }
        }
    }

    /// Runs a chunk: adds its public sums, where there is somewhere to add them, then hands its
    /// candidates to `hand_over`, which is also to have the pending gradient of the loss added.
    pub(in crate::division) fn run(
        &self,
        (which, later): (&[u32], &[u32]),
        known: Logits<'_>,
        workspace: &mut Workspace,
        sums: Option<&mut PublicSumming>,
        hand_over: impl FnOnce(&Candidates<'_>, Option<Pending<'_>>),
    ) {
        let Workspace {
            rows,
            pass,
            labels,
            cells,
            slots,
            caps,
            scores,
            loss_slopes,
            slopes,
            coefficients,
        } = workspace;
        let (records, model) = (self.records, self.point.model());
        // The rows to come are fetched a part at a time: between two parts there is work to do.
        let mut parts = later.chunks(later.len().div_ceil(4).max(1));
        let mut fetch = || parts.next().into_iter().for_each(|part| records.rows().fetch(part));
        rows.gather(records.rows(), which);
        fetch();
        self.forward(known, rows, pass);
        fetch();
        let labels = kernel::picked(records.labels(), which, labels);

        let last = model.blocks().len() - 1;
        let public = sums.map(|sums| {
            sums.batch += which.len() as u64;
            sums.loss += self.lose(pass, labels, loss_slopes);
            let PublicSumming { gradient, counts, scores, thetas, .. } = sums;
            (gradient, (counts, scores, thetas))
        });
        if self.question.cells.is_empty() {
            if let Some((gradient, _)) = public {
                let factors = Factor::layers(model.blocks(), loss_slopes, rows, &pass.hidden);
                gradient.add_plain(&factors);
            }
            return;
        }

        self.cells.pick(which, cells);
        self.fill_slots(cells, slots);
        self.objective.score(model, pass, labels, scores);
        fetch();
        slopes.resize_with(last + 1, Vec::new);
        std::mem::swap(&mut slopes[last], &mut scores.slopes);
        let columns = self.objective.columns();
        model.backward(&self.point, pass, columns, slopes);
        let loss_factors = Factor::layers(model.blocks(), loss_slopes, rows, &pass.hidden);
        let factors = Factor::layers(model.blocks(), slopes, rows, &pass.hidden);
        let pending = public.map(|(gradient, (counts, totals, thetas))| {
            match self.cells.same {
                Some(_) => {
                    counts[slots.first().map_or(0, |&slot| slot as usize)] += which.len() as u64;
                }
                None => count(slots, counts),
            }
            kernel::add_by_slot(slots, &scores.values, columns, totals);
            fetch();
            self.pend(gradient.pend(&loss_factors), thetas, slots, &factors, coefficients)
        });
        let caps = self.caps.of(which, caps);
        let candidates = Candidates {
            who: Who::Positions(which),
            cells,
            scores: &scores.values,
            caps,
            factors: &factors,
        };
        hand_over(&candidates, pending);
    }
}

/// Counts records by their cell.
fn count(slots: &[u32], counts: &mut [u64]) {
    if let [count, _] = counts {
        // One cell: counting needs no slot to wait for.
        *count += u64::from(slots.iter().map(|&cell| u32::from(cell == 0)).sum::<u32>());
    } else {
        slots.iter().for_each(|&cell| counts[cell as usize] += 1);
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

    /// The reply of a silo that holds `held` records, in the room of an old one. A public theta term that
    /// is 0 everywhere is sent as zeros, so that the reply's shape is the question's.
    pub(in crate::division) fn finish_in(
        &self,
        old: PublicSums,
        held: usize,
        question: &Question,
    ) -> PublicSums {
        let mut reply = PublicSums { held: held as u64, batch: self.batch, ..old };
        // Sums over a batch stand for all records: silos count by their size.
        let scale = reply.scale();
        reply.loss = scale * self.loss;
        self.gradient.scaled_into(scale, &mut reply.gradient);
        let columns = question.cells.first().map_or(1, |cell| cell.quadratic.len());
        let own = self.counts.iter().zip(self.scores.chunks_exact(columns));
        let empty = || CellSums { count: 0.0, scores: Vec::new(), theta: Vec::new() };
        reply.cells.resize_with(question.cells.len(), empty);
        for ((at, cell), (&count, scores)) in reply.cells.iter_mut().enumerate().zip(own) {
            cell.count = scale * count as f64;
            cell.scores.clear();
            cell.scores.extend(scores.iter().map(|score| score * scale));
            match (question.form, self.thetas.get(at)) {
                (Form::Clipped { .. }, _) => cell.theta.clear(),
                (Form::Centred, Some(theta)) => theta.scaled_into(scale, &mut cell.theta),
                (Form::Centred, None) => {
                    cell.theta.clear();
                    cell.theta.resize(reply.gradient.len(), 0.0);
                }
            }
        }
        reply
    }
}
