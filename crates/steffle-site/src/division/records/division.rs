//! A records division: a question in, public sums out, candidates handed over on the way.

use std::sync::{Arc, OnceLock};

use steffle_attributes::{Centred, PriceError, Sizes};
use steffle_model::blocks::{Merge, sweep};
use steffle_model::linear::{Whitening, WhiteningError};
use steffle_model::model::{Classifier, Coefficients, Gradient, Pending, Point};
use steffle_model::record::Records;
use steffle_wire::{Batch, Handover, PublicSums, Question, QuestionError, RowCap};

use super::fit::Fitting;
use super::measure::Kept;
use super::protection::Protection;
use super::workspace::{Cells, Logits, PublicPart, PublicSumming, Workspace};
use super::{Batches, Imputed};
use crate::division::{Candidates, NO_CELL, Objective};

/// Why a records division refuses.
///
/// It depends on features, labels and the question alone.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordsDivisionError {
    /// The rows have another layout than the model reads.
    #[error("the records were encoded for another schema than the model")]
    Layout,
    /// The memberships do not fit the records.
    #[error("the imputed memberships are not one finite number per record and class")]
    Memberships,
    /// Nobody released the class of a record.
    #[error("no attributes holder released a class for record {0}; every record needs one")]
    NoClass(u64),
    /// A question about imputed classes before there are any.
    #[error("a question about imputed classes, but none were imputed")]
    NotImputed,
    /// A fit of a model that has none.
    #[error("a fit in few trips of {parameters} parameters in {layers} layer(s); allowed are models of one layer and, with images, up to {most} parameters", most = steffle_wire::MOST_FACTORED)]
    NotFitted {
        /// Parameters of the model.
        parameters: usize,
        /// Its layers.
        layers: usize,
    },
    /// Images before there was a metric.
    #[error("a step with images, but no metric was asked for before it")]
    NoMetric,
    /// Shares of noise before there is a common cap, or of a model that has none.
    #[error(
        "a round whose noise is shared, before the sites agreed on its shape and on a cap; models of one \
         layer can, on records of one person each"
    )]
    NotAgreed,
    /// The question does not fit.
    #[error(transparent)]
    Question(#[from] QuestionError),
    /// The rows cannot be whitened.
    #[error(transparent)]
    Whitening(#[from] WhiteningError),
    /// The question is outside of what a private one may contain.
    #[error(transparent)]
    Price(#[from] PriceError),
}

/// Holds features and labels; knows nothing of `s`.
///
/// It answers with exact sums, and hands over what each record would contribute under every class.
pub struct RecordsDivision {
    pub(super) records: Records,
    pub(super) cells: Cells,
    pub(super) objective: Arc<dyn Objective>,
    pub(super) model: Arc<dyn Classifier>,
    /// The seed of the run and the number of the node.
    pub(super) seeds: (u64, u64),
    pub(super) batches: Batches,
    pub(super) protection: Protection,
    /// What a pass for the price leaves to the pass for the sums.
    pub(super) kept: Kept,
    /// What the rows weigh in sums of integers, once it was asked for.
    reach: OnceLock<Result<u64, PriceError>>,
    /// Room of the last pass, to be used again.
    room: Option<(Box<PublicSumming>, Box<Workspace>)>,
    /// Room of the last reply, and of the parameters as kernels read them.
    sent: PublicSums,
    padded: Vec<f64>,
    /// Memberships in place of `s`, for methods that release it once.
    pub(super) imputed: Option<Imputed>,
    /// What evaluations of a linear model left behind.
    pub(super) fitting: Fitting,
}

/// What a pass over a batch builds up: the public sums and whatever the receiver of the
/// candidates keeps.
struct Summing<T> {
    /// Boxed: it goes through many hands, and is large.
    public: Box<PublicSumming>,
    other: T,
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

/// Zeros in the place of a theta message.
struct Unread(Gradient);

impl MergeOther for Unread {
    fn merge_other(&mut self, _: &Self) {}
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
        let cells = Cells::new(records.labels().iter().enumerate().map(cell).collect());
        let batches = Batches::new(seed, node, records.clone());
        let (protection, imputed, fitting) = (Protection::default(), None, Fitting::default());
        let (room, reach, kept) = (None, OnceLock::new(), Kept::default());
        let (sent, padded) = (PublicSums::default(), Vec::new());
        Ok(Self {
            records,
            cells,
            objective,
            model,
            seeds: (seed, node),
            batches,
            protection,
            kept,
            reach,
            room,
            sent,
            padded,
            imputed,
            fitting,
        })
    }

    /// The records.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// The cell of every record; `NO_CELL` for none.
    pub(crate) fn cells(&self) -> &[u16] {
        self.cells.each()
    }

    /// The part of its features that every record is told by; `NO_CELL` for none.
    pub(crate) fn parts(&self) -> Vec<u16> {
        let part = |(row, &label): (usize, &u16)| {
            let part = self.objective.part(label, self.records.stratum(row));
            part.map_or(NO_CELL, |part| part as u16)
        };
        self.records.labels().iter().enumerate().map(part).collect()
    }

    /// The model all parties agreed on.
    pub fn model(&self) -> &dyn Classifier {
        self.model.as_ref()
    }

    /// The same, to be held on to while the division works.
    pub(in crate::division) fn shared_model(&self) -> Arc<dyn Classifier> {
        self.model.clone()
    }

    /// The objective all parties agreed on.
    pub fn objective(&self) -> &dyn Objective {
        self.objective.as_ref()
    }

    /// How many records the batch of a round has.
    pub fn batch_len(&mut self, batch: Batch, round: u32) -> usize {
        self.batches.len_of(batch, round)
    }

    /// Chooses the row caps and, with `shaped`, the noise's shape for a run that starts at `theta`:
    /// from the division's own rows, never from `s`. Refuses rows that cannot be whitened.
    pub fn protect(
        &mut self,
        theta: &[f64],
        cap: RowCap,
        shaped: bool,
    ) -> Result<(), RecordsDivisionError> {
        // A run that begins has no use for what the fit before it left behind.
        self.fitting.forget();
        let model = self.model.as_ref();
        self.protection = Protection::new(self.records.rows(), model, theta, cap, shaped)?;
        Ok(())
    }

    /// Forgets caps and shape: a run that claims nothing has neither.
    pub fn unprotect(&mut self) {
        self.protection = Protection::default();
    }

    /// The shape of the noise, if it has one.
    pub fn whitening(&self) -> Option<&Arc<Whitening>> {
        self.protection.whitening()
    }

    /// How large the numbers of a question's answer can be, by bounds that hold for all records.
    pub(in crate::division) fn sizes(
        &self,
        question: &Question,
        centred: &Centred,
    ) -> Result<Sizes, PriceError> {
        /// Covers the rounding of slopes.
        const MARGIN: f64 = 1.0 + 1.0 / (1 << 20) as f64;
        /// Of a surrogate a thousand times as sharp as the model.
        const STEEPEST: f64 = 256.0;
        let bounds = self.objective.bounds();
        if bounds.slope.is_nan() || bounds.slope > STEEPEST {
            return Err(PriceError::Bound("a surrogate sharpness above 1024"));
        }
        let slopes = self.model.slope_bounds(&question.theta, bounds.slope);
        let slope = slopes.iter().fold(0.0, |top: f64, &slope| top.max(slope));
        let reach = self.reach.get_or_init(|| steffle_attributes::reach(self.records.rows()));
        let reach = *reach.as_ref().map_err(Clone::clone)?;
        let coefficient = MARGIN * slope * centred.largest();
        Ok(Sizes { coefficient, score: bounds.score, reach, records: self.records.len() })
    }

    pub(in crate::division) fn check(&self, question: &Question) -> Result<(), QuestionError> {
        let objective = self.objective.as_ref();
        let (cells, classes, columns) =
            (objective.cells(), objective.classes(), objective.columns());
        question.check(self.model.parameters(), cells, classes, columns)?;
        match question.batch {
            Batch::Mini(size) | Batch::Block(size) if size as usize > self.records.len() => {
                Err(QuestionError::Batch(size))
            }
            _ => Ok(()),
        }
    }

    /// Answers a question that involves no attributes: loss, gradient, public sums.
    pub fn answer(
        &mut self,
        question: &Question,
        round: u32,
    ) -> Result<PublicSums, RecordsDivisionError> {
        self.check(question)?;
        let add = |(): &mut (), (): &mut (), _: &Candidates<'_>, pending: Option<Pending<'_>>| {
            pending.into_iter().for_each(Pending::add);
        };
        Ok(self.pass((question, round), ((), || ()), ((), || ()), add).0)
    }

    /// The public sums of a reply that is sent again, to the bit those that went with it: where it has a theta
    /// message they were added beside that, which adds up chunk by chunk and not row by row. Without this a
    /// run that goes on after a crash would ask something else than before, and pay for it or be refused.
    pub(in crate::division) fn answer_again(
        &mut self,
        question: &Question,
        round: u32,
        has_theta: bool,
    ) -> Result<PublicSums, RecordsDivisionError> {
        if !has_theta {
            return self.answer(question, round);
        }
        self.check(question)?;
        let (model, columns) = (self.shared_model(), self.objective.columns());
        let nothing = vec![0.0; columns];
        let empty = || Unread(Gradient::new(model.as_ref()));
        let (public, ..) = self.pass(
            (question, round),
            (empty(), empty),
            (Coefficients::default(), Coefficients::default),
            |unread, room, candidates, pending| {
                let slots = vec![0; candidates.cells.len()];
                room.fill(candidates.factors, &slots, &nothing, columns, None);
                if let Some(pending) = pending {
                    unread.0.add_beside(candidates.factors, room, pending);
                }
            },
        );
        Ok(public)
    }

    /// Answers, and writes down the candidates for attributes divisions elsewhere.
    pub fn answer_and_hand_over(
        &mut self,
        question: &Question,
        round: u32,
    ) -> Result<(PublicSums, Handover), RecordsDivisionError> {
        self.check(question)?;
        self.cap_round(question, round)?;
        let empty = Handover::empty(self.model.blocks(), self.model.layout());
        let ids: Vec<u64> = self.records.ids().to_vec();
        let (public, handover, ()) = self.pass(
            (question, round),
            (empty.clone(), || empty.clone()),
            ((), || ()),
            |handover, (), candidates, pending| {
                pending.into_iter().for_each(Pending::add);
                handover.push(candidates, &ids);
            },
        );
        Ok((public, handover))
    }

    /// One pass over the round's batch for a question that was checked; every chunk's candidates go
    /// to `receive`, and with them the pending gradient of its loss. `room` is its own, made anew
    /// by `more` where several tasks run.
    pub(in crate::division) fn pass<T: MergeOther, R: Send>(
        &mut self,
        (question, round): (&Question, u32),
        (first, empty): (T, impl Fn() -> T + Sync),
        (room, more): (R, impl Fn() -> R + Sync + Send),
        receive: impl Fn(&mut T, &mut R, &Candidates<'_>, Option<Pending<'_>>) + Sync,
    ) -> (PublicSums, T, R) {
        let objective = self.objective.as_ref();
        let model = self.model.as_ref();
        let caps = self.protection.caps();
        let padded = std::mem::take(&mut self.padded);
        let point = Point::new_in(padded, model, &question.theta);
        let part = PublicPart::new(&self.records, &self.cells, objective, point, question, caps);
        let (old, workspace) = self.room.take().unzip();
        let fresh = || Box::new(Workspace::new(model.layout()));
        let mut rooms = (workspace.unwrap_or_else(fresh), room);
        let batch = self.batches.draw_ahead(question.batch, round);
        let (kept, width) = (self.kept.of(question, round), model.logits());
        let sums = sweep(
            batch,
            Summing { public: part.empty_in(old), other: first },
            || Summing { public: Box::new(part.empty()), other: empty() },
            &mut rooms,
            || (fresh(), more()),
            |sums, (workspace, room), at, chunk, later| {
                let Summing { public: sums, other } = sums;
                let known = kept.map_or(Logits::Fresh, |kept| {
                    Logits::Known(&kept[at * width..][..chunk.len() * width])
                });
                part.run((chunk, later), known, workspace, Some(sums), |candidates, pending| {
                    receive(other, room, candidates, pending);
                });
            },
        );
        let sent = std::mem::take(&mut self.sent);
        let public = sums.public.finish_in(sent, self.records.len(), question);
        self.padded = part.point.into_room();
        self.room = Some((sums.public, rooms.0));
        (public, sums.other, rooms.1)
    }

    /// Takes back a reply that was sent, as room for the next one.
    pub(in crate::division) fn give_back(&mut self, sent: PublicSums) {
        self.sent = sent;
    }
}
