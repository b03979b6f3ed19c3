//! SteFFLe's scores: what the model says about a record.

use super::{Objective, ScoreBounds, ScoreTable};
use crate::fairness::Notion;
use crate::model::{Classifier, Pass, head};

/// The silo's side: a record's scores are its model outputs, sharpened or not.
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
        self.labels
    }

    fn cells(&self) -> usize {
        self.notion.cells()
    }

    fn cell(&self, label: u16, stratum: u16) -> Option<usize> {
        self.notion.cell(label, stratum)
    }

    /// Probabilities, and `tau F_u ([u = o] - F_o)`.
    fn bounds(&self) -> ScoreBounds {
        ScoreBounds { score: 1.0, slope: self.sharpness.abs() / 4.0 }
    }

    fn score(
        &self,
        model: &dyn Classifier,
        pass: &mut Pass,
        _labels: &[u16],
        scores: &mut ScoreTable,
    ) {
        let ScoreTable { values, slopes } = scores;
        let logits = model.logits();
        if self.sharpness == 1.0 {
            std::mem::swap(values, &mut pass.probabilities);
            head::output_slopes(values, self.labels, logits, slopes);
            return;
        }
        let sharpened: Vec<f64> = pass.logits.iter().map(|z| self.sharpness * z).collect();
        head::probabilities(&sharpened, logits, values);
        head::output_slopes(values, self.labels, logits, slopes);
        slopes.iter_mut().for_each(|slope| *slope *= self.sharpness);
    }
}
