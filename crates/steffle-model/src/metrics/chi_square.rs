//! The chi-square divergence between prediction and group, for hard decisions and soft outputs.

use super::Evidence;
use super::confusion::Joint;
use crate::fairness::{Notion, divergence};
use crate::record::MISSING_CLASS;

/// Divergence of hard decisions: cells weighted by their share of the records in some cell.
pub(super) fn hard(joint: &Joint, notion: Notion) -> Option<f64> {
    let (k, l) = (joint.groups, notion.outcomes(joint.labels));
    let mut tables = vec![vec![0.0; k * l]; notion.cells()];
    for (kind, count) in joint.iter().filter(|(kind, _)| kind.group < k) {
        if let Some(cell) = notion.cell(kind.label, kind.stratum) {
            let outcome = notion.outcome(kind.decision, kind.label);
            tables[cell][kind.group * l + outcome] += count as f64;
        }
    }
    weighted(&tables, l)
}

/// Divergence of soft outputs: what training penalises, here on the judged records.
pub(super) fn soft(judged: &Evidence<'_>, notion: Notion) -> Option<f64> {
    let labels = judged.names.labels.len();
    let (k, l) = (judged.names.groups.len(), notion.outcomes(labels));
    let mut tables = vec![vec![0.0; k * l]; notion.cells()];
    for row in 0..judged.len() {
        let group = judged.groups[row];
        if group == MISSING_CLASS {
            continue;
        }
        if let Some(cell) = notion.cell(judged.labels[row], judged.stratum(row)) {
            let outputs: Vec<f64> = (0..labels).map(|u| judged.probability(row, u)).collect();
            let sums = &mut tables[cell][usize::from(group) * l..][..l];
            let scores = notion.scores(&outputs, judged.labels[row]);
            sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += score);
        }
    }
    weighted(&tables, l)
}

/// Cells weighted by their share; absent when no record is in a cell.
fn weighted(tables: &[Vec<f64>], labels: usize) -> Option<f64> {
    let total: f64 = tables.iter().flatten().sum();
    let part = |table: &Vec<f64>| table.iter().sum::<f64>() / total * divergence(table, labels);
    // Rounding may leave independent decisions a hair below zero.
    (total > 0.0).then(|| tables.iter().map(part).sum::<f64>().max(0.0))
}
