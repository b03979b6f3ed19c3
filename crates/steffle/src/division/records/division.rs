//! A records division: a question in, public sums out, candidates handed over on the way.

use std::sync::Arc;

use super::workspace::{PublicPart, PublicSumming, Workspace};
use crate::division::sweep::{Merge, sweep};
use crate::division::{Candidates, NO_CELL, Objective};
use crate::model::Classifier;
use crate::protocol::{Batch, Handover, PublicSums, Question, QuestionError};
use crate::record::Records;

use super::Batches;

/// Why a records division refuses.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordsDivisionError {
    /// The rows have another layout than the model reads.
    #[error("the records were encoded for another schema than the model")]
    Layout,
    /// The question does not fit.
    #[error(transparent)]
    Question(#[from] QuestionError),
}

/// Holds features and labels; knows nothing of `s`.
pub struct RecordsDivision {
    records: Records,
    /// The cell of every record: a function of public columns, so it never changes.
    cells: Vec<u16>,
    objective: Arc<dyn Objective>,
    model: Arc<dyn Classifier>,
    batches: Batches,
    workspace: Workspace,
}

/// What a pass over a batch builds up: the public sums and whatever the receiver of the
/// candidates keeps.
pub(in crate::division) struct Summing<T> {
    pub(in crate::division) public: PublicSumming,
    pub(in crate::division) other: T,
    workspace: Workspace,
}

impl<T: MergeOther> Merge for Summing<T> {
    fn merge(&mut self, theirs: &Self) {
        self.public.merge(&theirs.public);
        self.other.merge_other(&theirs.other);
    }
}

/// What rides along with the public sums.
pub(in crate::division) trait MergeOther: Send {
    fn merge_other(&mut self, other: &Self);
}

impl MergeOther for () {
    fn merge_other(&mut self, (): &Self) {}
}

impl MergeOther for Handover {
    fn merge_other(&mut self, other: &Self) {
        self.append(other);
    }
}

impl RecordsDivision {
    /// A division of node `node`; refuses records that the model cannot read.
    pub fn new(
        records: Records,
        objective: Arc<dyn Objective>,
        model: Arc<dyn Classifier>,
        seed: u64,
        node: u64,
    ) -> Result<Self, RecordsDivisionError> {
        if records.rows().layout() != model.layout() {
            return Err(RecordsDivisionError::Layout);
        }
        let cell = |(row, &label): (usize, &u16)| {
            objective.cell(label, records.stratum(row)).map_or(NO_CELL, |cell| cell as u16)
        };
        let cells = records.labels().iter().enumerate().map(cell).collect();
        let batches = Batches::new(seed, node, records.len());
        let workspace = Workspace::new(model.layout());
        Ok(Self { records, cells, objective, model, batches, workspace })
    }

    /// The records.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// The model all parties agreed on.
    pub fn model(&self) -> &dyn Classifier {
        self.model.as_ref()
    }

    /// The objective all parties agreed on.
    pub fn objective(&self) -> &dyn Objective {
        self.objective.as_ref()
    }

    /// How many records the batch of a round has.
    pub fn batch_len(&self, batch: Batch, round: u32) -> usize {
        self.batches.len_of(batch, round)
    }

    /// Answers a question that involves no attributes: loss, gradient, public sums.
    pub fn answer(
        &mut self,
        question: &Question,
        round: u32,
    ) -> Result<PublicSums, RecordsDivisionError> {
        self.pass(question, round, (), || (), |(), _| {}).map(|(public, ())| public)
    }

    /// Answers, and writes down the candidates for attributes divisions elsewhere.
    pub fn answer_and_hand_over(
        &mut self,
        question: &Question,
        round: u32,
    ) -> Result<(PublicSums, Handover), RecordsDivisionError> {
        let empty = Handover::empty(self.model.blocks(), self.model.layout());
        let ids: Vec<u64> = self.records.ids().to_vec();
        self.pass(
            question,
            round,
            empty.clone(),
            || empty.clone(),
            |handover, candidates| {
                handover.push(candidates, &ids);
            },
        )
    }

    /// One pass over the round's batch; every chunk's candidates go to `receive`.
    pub(in crate::division) fn pass<T: MergeOther>(
        &mut self,
        question: &Question,
        round: u32,
        first: T,
        empty: impl Fn() -> T + Sync,
        receive: impl Fn(&mut T, &Candidates<'_>) + Sync,
    ) -> Result<(PublicSums, T), RecordsDivisionError> {
        let objective = self.objective.as_ref();
        let (cells, classes, columns) =
            (objective.cells(), objective.classes(), objective.columns());
        question.check(self.model.parameters(), cells, classes, columns)?;
        if let Batch::Mini(size) = question.batch
            && size as usize > self.records.len()
        {
            return Err(QuestionError::Batch(size).into());
        }
        let part =
            PublicPart::new(&self.records, &self.cells, objective, self.model.as_ref(), question);
        let fresh = |other, workspace| Summing { public: part.empty(), other, workspace };
        let layout = self.model.layout();
        let which = self.batches.draw(question.batch, round);
        let sums = sweep(
            which,
            fresh(first, std::mem::replace(&mut self.workspace, Workspace::new(layout))),
            || fresh(empty(), Workspace::new(layout)),
            |sums, chunk| {
                let Summing { public, other, workspace } = sums;
                part.run(chunk, workspace, public, |candidates| receive(other, candidates));
            },
        );
        let public = sums.public.finish(self.records.len(), question);
        self.workspace = sums.workspace;
        Ok((public, sums.other))
    }
}
