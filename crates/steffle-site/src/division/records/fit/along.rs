//! Losses and tables along a step: logits of a linear model move along straight lines.

use steffle_model::blocks::{BLOCK, Merge, sum_in_order};
use steffle_model::model::{Pass, head};
use steffle_wire::{ImputedCell, LENGTHS};

use super::super::RecordsDivision;
use super::super::evaluate::Evaluated;
use super::super::memberships::add_to_tables;
use crate::division::ScoreTable;

/// Per length, the loss and the tables.
struct Values(Vec<(f64, Vec<ImputedCell>)>);

impl Merge for Values {
    fn merge(&mut self, other: &Self) {
        for ((loss, cells), (other, theirs)) in self.0.iter_mut().zip(&other.0) {
            *loss += other;
            for (mine, theirs) in cells.iter_mut().zip(theirs) {
                mine.table.iter_mut().zip(&theirs.table).for_each(|(mine, own)| *mine += own);
            }
        }
    }
}

impl RecordsDivision {
    /// Per length of a step, the loss and, `imputed`, the tables of all cells.
    pub(super) fn along(&self, from: &Evaluated, to: &Evaluated, imputed: bool) -> Vec<f64> {
        let model = self.model.as_ref();
        let (n, width) = (self.records.len(), model.logits());
        let (classes, columns) = (self.objective.classes(), self.objective.columns());
        let imputed = self.imputed.as_ref().filter(|_| imputed);
        let cells = if imputed.is_some() { self.objective.cells() } else { 0 };
        let empty = || {
            let cell =
                ImputedCell { table: vec![0.0; classes * columns], ..ImputedCell::default() };
            Values(vec![(0.0, vec![cell; cells]); LENGTHS.len() - 1])
        };
        let blocks = (0..n).step_by(BLOCK).collect();
        let sums = sum_in_order(empty(), blocks, |block: usize| {
            let (mut sums, mut pass, mut scores) =
                (empty(), Pass::default(), ScoreTable::default());
            for start in (block..n.min(block + BLOCK)).step_by(Pass::CHUNK) {
                let range = start..n.min(block + BLOCK).min(start + Pass::CHUNK);
                let labels = &self.records.labels()[range.clone()];
                let logits = range.start * width..range.end * width;
                let (old, new) = (&from.logits[logits.clone()], &to.logits[logits]);
                for ((loss, cells), length) in sums.0.iter_mut().zip(&LENGTHS[1..]) {
                    let between = old.iter().zip(new).map(|(old, new)| old + length * (new - old));
                    pass.logits.clear();
                    pass.logits.extend(between);
                    head::probabilities(&pass.logits, width, &mut pass.probabilities);
                    *loss += head::loss_sum(&pass.logits, &pass.probabilities, labels, width);
                    let Some(imputed) = imputed else { continue };
                    self.objective.score(model, &mut pass, labels, &mut scores);
                    let own = &self.cells.each()[range.clone()];
                    let memberships = imputed.range(range.clone());
                    add_to_tables(own, memberships, &scores.values, (classes, columns), cells);
                }
            }
            sums
        });
        let whole = (to.loss, if imputed.is_some() { to.cells.clone() } else { Vec::new() });
        let all = std::iter::once(whole).chain(sums.0);
        all.flat_map(|(loss, cells)| {
            std::iter::once(loss).chain(cells.into_iter().flat_map(|cell| cell.table))
        })
        .collect()
    }
}
