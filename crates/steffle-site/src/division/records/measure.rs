//! The pass before the price: how far records could move the private messages. It reads no `s`.

use rayon::prelude::*;
use steffle_attributes::{Asked, MeasureRoom, Measured, Measuring, Seen};
use steffle_model::blocks::{BLOCK, Positions};
use steffle_model::model::{Pass, Point, kernel};
use steffle_wire::{Batch, Question};

use super::division::{RecordsDivision, RecordsDivisionError};
use super::workspace::{Logits, PublicPart, Workspace};
use crate::division::Who;

/// The logits of a round's batch, in its order. The pass for the price computes them and the pass for
/// the sums reads them: a model of one layer is run once per round.
///
/// Both passes make their integers from the same logits by the same code; that they did is what
/// `Digest` compares, as before.
#[derive(Debug, Default)]
pub(super) struct Kept {
    logits: Vec<f64>,
    /// What they are of, once they are there.
    of: Option<(Vec<f64>, Batch, u32)>,
}

impl Kept {
    /// The logits of this question's batch, if they are kept.
    pub(super) fn of(&self, question: &Question, round: u32) -> Option<&[f64]> {
        let (theta, batch, at) = self.of.as_ref()?;
        let same = (*batch, *at) == (question.batch, round) && *theta == question.theta;
        same.then_some(&self.logits)
    }

    /// Room for so many logits.
    fn room(&mut self, count: usize) -> &mut [f64] {
        self.of = None;
        self.logits.resize(count, 0.0);
        &mut self.logits
    }
}

/// Room of a task.
struct Room {
    workspace: Workspace,
    integers: MeasureRoom,
    lengths: Vec<f64>,
    positions: Vec<u32>,
}

impl RecordsDivision {
    /// Measures, for a division of attributes in this house, how far records of the round's batch
    /// could move the private messages.
    pub(in crate::division) fn measure(
        &mut self,
        question: &Question,
        round: u32,
        asked: &Asked,
        measured: &mut Measured,
    ) {
        let (model, objective) = (self.model.as_ref(), self.objective.as_ref());
        let lengths = self.protection.lengths();
        let caps = self.protection.caps();
        let point = Point::new(model, &question.theta);
        let public = PublicPart::new(&self.records, &self.cells, objective, point, question, caps);
        let batch = self.batches.draw(question.batch, round);
        // A question about no cell is about nobody.
        let which = if question.cells.is_empty() { Positions::Listed(&[]) } else { batch };
        measured.start(
            which.len(),
            match which {
                Positions::Before(_) => None,
                Positions::Listed(places) => (question.batch != Batch::All).then_some(places),
            },
        );
        // Networks keep nothing: their hidden units would be more than the records.
        let width = if model.blocks().len() == 1 { model.logits() } else { 0 };
        let kept = self.kept.room(which.len() * width);
        let work = |room: &mut Room, (mut part, start, mut kept): Task<'_>| -> Seen {
            let Room { workspace, integers, lengths: own, positions } = room;
            for chunk in which.block(start, positions).chunks(Pass::CHUNK) {
                let (now, rest) = std::mem::take(&mut kept).split_at_mut(chunk.len() * width);
                kept = rest;
                let logits = if width == 0 { Logits::Fresh } else { Logits::Kept(now) };
                public.run((chunk, &[]), logits, workspace, None, |candidates, _| {
                    let known = matches!(candidates.who, Who::Positions(_)) && !lengths.is_empty();
                    let own = known.then(|| kernel::picked(&lengths, chunk, own));
                    asked.measure(&mut part, candidates, own, integers);
                });
            }
            part.seen()
        };
        let room = || Room {
            workspace: Workspace::new(model.layout()),
            integers: MeasureRoom::default(),
            lengths: Vec::new(),
            positions: Vec::new(),
        };
        let logits = split(kept, BLOCK * width);
        let tasks = measured.parts(BLOCK).zip((0..).step_by(BLOCK)).zip(logits);
        let tasks: Vec<Task<'_>> = tasks.map(|((part, start), kept)| (part, start, kept)).collect();
        let seen: Vec<Seen> = if tasks.len() <= 1 {
            let mut room = room();
            tasks.into_iter().map(|task| work(&mut room, task)).collect()
        } else {
            tasks.into_par_iter().map_init(room, work).collect()
        };
        measured.finish(seen);
        // Without them whitened sums would be priced as if they were not.
        if self.protection.whitening().is_some() && lengths.len() != self.records.len() {
            measured.refuse();
        }
        if width > 0 && !question.cells.is_empty() {
            self.kept.of = Some((question.theta.clone(), question.batch, round));
        }
    }

    /// For models of several layers: fixes the round's row caps, by how far the candidates of each
    /// record are apart.
    pub(in crate::division) fn cap_round(
        &mut self,
        question: &Question,
        round: u32,
    ) -> Result<(), RecordsDivisionError> {
        if !self.protection.by_round() || question.cells.is_empty() {
            return Ok(());
        }
        self.protection.forget_round();
        let classes = self.objective.classes();
        let asked = Asked::on_lattice(question, self.model.blocks(), classes, |centred| {
            self.sizes(question, centred)
        })?;
        let mut measured = Measured::default();
        self.measure(question, round, &asked, &mut measured);
        let records = self.records.len();
        let which = self.batches.draw(question.batch, round);
        self.protection.cap_round(&which.list(), measured.theta(), records);
        Ok(())
    }
}

/// Some of the batch: its part in what is measured, where in the batch it begins, and room for its logits.
type Task<'a> = (Measuring<'a>, usize, &'a mut [f64]);

/// Pieces of so many numbers, and empty ones for ever after.
fn split(mut numbers: &mut [f64], size: usize) -> impl Iterator<Item = &mut [f64]> {
    std::iter::repeat_with(move || {
        let all = std::mem::take(&mut numbers);
        let (piece, rest) = all.split_at_mut(size.min(all.len()));
        numbers = rest;
        piece
    })
}
