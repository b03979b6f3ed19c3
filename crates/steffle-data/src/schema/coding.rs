//! Which feature a cell of a categorical column switches on.

use std::collections::BTreeMap;

use super::{Categorical, MISSING_NAME, Schema};
use crate::dataset::OTHER_NAME;

/// Which feature every cell of one column switches on: all that is needed to encode it, here or in
/// another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coding {
    /// The column.
    pub column: String,
    /// Whether the column is one of numbers, whose only feature here says that a number is missing.
    pub indicates: bool,
    /// The feature of every cell that is known; values that the recipe renames stand under both names.
    pub known: BTreeMap<String, u32>,
    /// The feature of all other cells: where rare levels are pooled, one that training never saw is as
    /// rare as they are; elsewhere it is the code that switches on nothing.
    pub unknown: u32,
    /// The feature of a missing cell.
    pub missing: u32,
}

impl Coding {
    /// The feature of a cell that is not missing.
    pub(super) fn of(&self, cell: &str) -> u32 {
        self.known.get(cell).copied().unwrap_or(self.unknown)
    }
}

impl Schema {
    /// How every categorical column is encoded, in the order of the features.
    pub fn codings(&self) -> Vec<Coding> {
        self.codings_as(true)
    }

    /// The same, for a table whose values the recipe has renamed already if `renames` is false.
    pub(super) fn codings_as(&self, renames: bool) -> Vec<Coding> {
        let layout = self.layout();
        let mut first = layout.numeric as u32;
        let coding = |column: &Categorical| {
            let mut known: BTreeMap<String, u32> =
                column.levels.iter().cloned().zip(first..).collect();
            first += column.levels.len() as u32;
            let of = |name: &str| known.get(name).copied();
            let unknown = of(OTHER_NAME).unwrap_or(layout.absent());
            let missing = of(MISSING_NAME).unwrap_or(layout.absent());
            let renamed = self.recipe().merges.get(&column.name).filter(|_| renames);
            let new: Vec<(String, u32)> = renamed
                .into_iter()
                .flatten()
                .map(|(old, new)| (old.clone(), of(new).unwrap_or(unknown)))
                .collect();
            known.extend(new);
            let (column, indicates) = (column.name.clone(), self.indicates(column));
            Coding { column, indicates, known, unknown, missing }
        };
        self.categorical().iter().map(coding).collect()
    }
}
