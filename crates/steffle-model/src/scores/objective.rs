//! What a record contributes to a min-max problem, before its class is known.

use crate::model::{Classifier, Pass};

/// The cell of a record that is in none.
pub const NO_CELL: u16 = u16::MAX;

/// Scores of a chunk of records and their slopes in the model's logits.
///
/// Fairness is about the scores, and their slopes say how theta moves them.
#[derive(Debug, Default)]
pub struct ScoreTable {
    /// `phi_i`, `[record][column]`.
    pub values: Vec<f64>,
    /// `d phi_i / d logits`, `[record][logit][column]`.
    pub slopes: Vec<f64>,
}

/// How large scores can be.
///
/// The price of a question rests on them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreBounds {
    /// No score is larger: a power of two.
    pub score: f64,
    /// No slope of a score in a logit is larger.
    pub slope: f64,
}

/// The silo's side of Algorithm 2, for problems of the form
/// `f(theta, w; z) = public(theta, w; x, y) + 2 <C_s(w), phi(theta; x, y)> - <q(w), phi>`.
///
/// The scores `phi` do not involve `s`. The attributes division adds `phi_i` to the row of the
/// record's class (the message about w) and pulls `C_s` back through `phi` (the message about
/// theta). SteFFLe has `phi = F`; see `examples/group_robust.rs` for another problem.
pub trait Objective: Send + Sync {
    /// Sensitive classes, k.
    fn classes(&self) -> usize;

    /// Scores per record: the columns of a class table.
    fn columns(&self) -> usize;

    /// Cells; each has its own class table.
    fn cells(&self) -> usize;

    /// The cell of a record, if it is in one: a function of public columns.
    fn cell(&self, label: u16, stratum: u16) -> Option<usize>;

    /// What the outcome of a record depends on beside its features: the part of the features that
    /// it is told apart by where classes are decoded from features. The cell, unless scores depend
    /// on the label in other ways.
    fn part(&self, label: u16, stratum: u16) -> Option<usize> {
        self.cell(label, stratum)
    }

    /// How many parts there are.
    fn parts(&self) -> usize {
        self.cells()
    }

    /// How large its scores and slopes can be. A private message is refused where a score exceeds
    /// them, whatever `s` is.
    fn bounds(&self) -> ScoreBounds;

    /// Fills `scores` for the records of `pass`, whose labels are `labels`. It may take the
    /// probabilities for itself: nobody reads them again.
    fn score(
        &self,
        model: &dyn Classifier,
        pass: &mut Pass,
        labels: &[u16],
        scores: &mut ScoreTable,
    );
}
