//! SteFFLe's scores: what the model says about a record.

use super::{Objective, ScoreBounds, ScoreTable};
use crate::fairness::Notion;
use crate::model::{Classifier, Pass, head};

/// The silo's side: a record's scores are its model outputs, sharpened or not, or how probable it is
/// that the decision is right, `(F_y, 1 - F_y)`, where the notion is about that.
#[derive(Debug, Clone, Copy)]
pub struct OutputScores {
    /// The fairness notion.
    pub notion: Notion,
    /// Sensitive classes, k.
    pub classes: usize,
    /// Labels, l.
    pub labels: usize,
    /// tau: the scores are `softmax(tau logits)`. At 1 they are the model's outputs; above, they
    /// are closer to its decisions. The loss and predictions never see it.
    pub sharpness: f64,
}

impl Objective for OutputScores {
    fn classes(&self) -> usize {
        self.classes
    }

    fn columns(&self) -> usize {
        self.notion.outcomes(self.labels)
    }

    fn cells(&self) -> usize {
        self.notion.cells()
    }

    fn cell(&self, label: u16, stratum: u16) -> Option<usize> {
        self.notion.cell(label, stratum)
    }

    /// What `F_y` owes to the features is another function of them for every label y.
    fn part(&self, label: u16, stratum: u16) -> Option<usize> {
        match self.notion {
            Notion::AccuracyParity => Some(usize::from(label)),
            notion => notion.cell(label, stratum),
        }
    }

    fn parts(&self) -> usize {
        match self.notion {
            Notion::AccuracyParity => self.labels,
            notion => notion.cells(),
        }
    }

    /// Probabilities, and `tau F_u ([u = o] - F_o)`; `1 - F_y` has the slopes of `F_y`, negated.
    fn bounds(&self) -> ScoreBounds {
        ScoreBounds { score: 1.0, slope: self.sharpness.abs() / 4.0 }
    }

    fn score(
        &self,
        model: &dyn Classifier,
        pass: &mut Pass,
        labels: &[u16],
        scores: &mut ScoreTable,
    ) {
        let ScoreTable { values, slopes } = scores;
        let logits = model.logits();
        if self.sharpness == 1.0 {
            std::mem::swap(values, &mut pass.probabilities);
            head::output_slopes(values, self.labels, logits, slopes);
        } else {
            let sharpened: Vec<f64> = pass.logits.iter().map(|z| self.sharpness * z).collect();
            head::probabilities(&sharpened, logits, values);
            head::output_slopes(values, self.labels, logits, slopes);
            slopes.iter_mut().for_each(|slope| *slope *= self.sharpness);
        }
        if self.notion == Notion::AccuracyParity {
            self.keep_right(labels, logits, scores);
        }
    }
}

impl OutputScores {
    /// Of all outputs and their slopes keeps those of the own label, and the rest as one.
    fn keep_right(&self, labels: &[u16], logits: usize, scores: &mut ScoreTable) {
        let ScoreTable { values, slopes } = scores;
        let outputs = values.chunks_exact(self.labels).zip(labels);
        *values = outputs.flat_map(|(own, &y)| self.notion.scores(own, y)).collect();
        let outputs = slopes.chunks_exact(logits * self.labels).zip(labels);
        let right = outputs.flat_map(|(own, &label)| {
            own.chunks_exact(self.labels).map(move |own| own[usize::from(label)])
        });
        *slopes = right.flat_map(|slope| [slope, -slope]).collect();
    }
}
