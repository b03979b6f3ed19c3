//! A curator: all records and the class of each in one place, as central methods have them.

use steffle_attributes::ClassRelease;
use steffle_model::fairness::Notion;
use steffle_model::model::Classifier;
use steffle_model::record::Records;
use steffle_server::federation::{Federation, FederationError};
use steffle_site::division::records::Imputed;
use steffle_site::node::{Embedded, Node};

/// What a curator has. It is trusted with all of it: nothing here is private.
pub struct Curator<'a> {
    pub(super) model: &'a dyn Classifier,
    pub(super) records: &'a Records,
    pub(super) imputed: &'a Imputed,
    /// The condition (cell) of every record, if it is in one.
    pub(super) cells: Vec<Option<usize>>,
    /// n_c.
    pub(super) sizes: Vec<f64>,
    /// Whether it is compared how often decisions are right, not which they are.
    pub(super) right: bool,
    /// n_cg; a record without a class counts `1/k` in each.
    pub(super) counts: Vec<Vec<f64>>,
}

/// Why nobody can be the curator.
///
/// A curator has all records in one place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CuratorError {
    /// The records are in several places.
    #[error("the records are in {0} silos; a curator has all of them in 1")]
    Silos(usize),
    /// More labels than the method is defined for.
    #[error("the model has {0} labels; this method is defined for 2")]
    Labels(usize),
    /// Classes could not be revealed.
    #[error(transparent)]
    Federation(#[from] FederationError),
}

impl<'a> Curator<'a> {
    /// Has the federation's one silo reveal its classes.
    pub fn new<T: Embedded>(federation: &'a mut Federation<T>) -> Result<Self, CuratorError> {
        federation.impute(ClassRelease::Revealed)?;
        let right = federation.agreement().scores.notion == Notion::AccuracyParity;
        let nodes = federation.transport().here();
        let divisions: Vec<_> = nodes.iter().filter_map(Node::records).collect();
        let silos = divisions.len();
        let (Some(division), 1) = (divisions.into_iter().next(), silos) else {
            return Err(CuratorError::Silos(silos));
        };
        let (records, model) = (division.records(), division.model());
        let Some(imputed) = division.imputed() else { return Err(CuratorError::Silos(0)) };
        if model.labels() != 2 {
            return Err(CuratorError::Labels(model.labels()));
        }
        let objective = division.objective();
        let cell = |row: usize| objective.cell(records.labels()[row], records.stratum(row));
        let cells: Vec<Option<usize>> = (0..records.len()).map(cell).collect();
        let (conditions, classes) = (objective.cells(), objective.classes());
        let mut sizes = vec![0.0; conditions];
        let mut counts = vec![vec![0.0; classes]; conditions];
        for (row, cell) in cells.iter().enumerate() {
            let Some(cell) = *cell else { continue };
            sizes[cell] += 1.0;
            counts[cell].iter_mut().zip(imputed.of(row)).for_each(|(n, share)| *n += share);
        }
        Ok(Self { model, records, imputed, cells, sizes, right, counts })
    }

    /// 1, or -1 where the outcome of a record is the more likely the less its second label is.
    pub(super) fn turn(&self, row: usize) -> f64 {
        if self.right && self.records.labels()[row] == 0 { -1.0 } else { 1.0 }
    }

    /// The outcome of a record whose second label has probability `p`.
    pub(super) fn outcome(&self, row: usize, p: f64) -> f64 {
        if self.turn(row) < 0.0 { 1.0 - p } else { p }
    }

    /// Per condition and group, `mean of h in the group - mean of h in the condition`.
    pub(super) fn violations(&self, h: impl Fn(usize) -> f64) -> Vec<Vec<f64>> {
        let mut of_group: Vec<Vec<f64>> =
            self.counts.iter().map(|counts| vec![0.0; counts.len()]).collect();
        let mut of_all = vec![0.0; self.sizes.len()];
        for (row, cell) in self.cells.iter().enumerate() {
            let Some(cell) = *cell else { continue };
            let h = h(row);
            of_all[cell] += h;
            let shares = of_group[cell].iter_mut().zip(self.imputed.of(row));
            shares.for_each(|(sum, share)| *sum += share * h);
        }
        for (cell, sums) in of_group.iter_mut().enumerate() {
            let mean = of_all[cell] / self.sizes[cell].max(1.0);
            for (sum, count) in sums.iter_mut().zip(&self.counts[cell]) {
                *sum = if *count > 0.0 { *sum / count - mean } else { 0.0 };
            }
        }
        of_group
    }
}
