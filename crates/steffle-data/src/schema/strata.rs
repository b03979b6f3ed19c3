//! The cells of conditional parity: values of a public column, and what becomes of small ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{MISSING_NAME, Schema, sorted};
use crate::dataset::OTHER_NAME;
use crate::table::{Categories, MISSING_LEVEL};

/// Values of the column that conditional parity conditions on which too few training rows have to be
/// cells of their own.
///
/// What a release says about a cell has the same noise however few its rows are: below about 100 of them
/// it says nothing. So small values are one cell, `(other)`, and where all of them together are too few,
/// their rows are in no cell: they are trained on, and nothing is asked of the decisions about them. The
/// rule reads counts of public values over all silos, never s, and its result is part of what is agreed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallStrata {
    /// The values, in order.
    pub values: Vec<String>,
    /// Training rows that have one of them.
    pub rows: u64,
    /// Each has fewer training rows than this.
    pub below: u32,
    /// Whether they are one cell; else their rows are in none.
    pub pooled: bool,
}

impl Schema {
    /// The number of the cell of a value, or the number of cells where it is in none; nothing for a
    /// value that was not agreed on.
    pub(super) fn stratum_of(&self, value: &str) -> Option<u16> {
        let (cells, small) = (self.strata(), self.small_strata());
        let pooled = usize::from(small.is_some_and(|small| small.pooled));
        let own = cells.len().saturating_sub(pooled);
        let place = cells[..own].iter().position(|name| name == value);
        let is_small = || small.is_some_and(|small| small.values.iter().any(|name| name == value));
        // Those of the last cell, or of one beyond all.
        place.or_else(|| is_small().then_some(own)).map(|at| at as u16)
    }

    /// What became of values that too few rows have, in a sentence.
    pub(super) fn small_strata_told(&self) -> Option<String> {
        let (small, column) = (self.small_strata()?, self.recipe().stratum.as_ref()?);
        let SmallStrata { values, rows, below, pooled } = small;
        let (count, cells) = (values.len(), self.strata().len());
        let what = if *pooled {
            format!("are one cell, `{OTHER_NAME}`")
        } else {
            "are in no cell: nothing is asked of decisions about them".to_owned()
        };
        Some(format!(
            "given `{column}` there are {cells} cells: {count} values that fewer than {below} \
             training rows have, {rows} rows in all, {what}; <smallest-stratum 0> makes every value \
             a cell"
        ))
    }
}

/// Adds up the rows of every value. A missing one counts where it is a value.
pub(super) fn count(
    counts: &mut BTreeMap<String, u64>,
    text: &Categories,
    rows: &[u32],
    missing_counts: bool,
) {
    let (mut by_level, mut missing) = (vec![0u64; text.levels.len()], 0);
    for &row in rows {
        let code = text.codes[row as usize];
        match by_level.get_mut(code as usize) {
            Some(count) => *count += 1,
            None => missing += u64::from(missing_counts && code == MISSING_LEVEL),
        }
    }
    let named = text.levels.iter().map(String::as_str).zip(by_level);
    for (name, count) in named.chain([(MISSING_NAME, missing)]).filter(|&(_, count)| count > 0) {
        *counts.entry(name.to_owned()).or_default() += count;
    }
}

/// The cells in order, `(other)` last, and the values that are none of their own. There always is a
/// cell: where every value is small, they are one.
pub(super) fn cells(
    counts: &BTreeMap<String, u64>,
    smallest: Option<u32>,
) -> (Vec<String>, Option<SmallStrata>) {
    let all: u64 = counts.values().sum();
    let below = smallest.unwrap_or_else(|| usual(all));
    let is_small = |name: &&String| counts[*name] < u64::from(below);
    let (small, large): (Vec<&String>, Vec<&String>) = counts.keys().partition(is_small);
    let mut cells = sorted(large);
    if small.is_empty() {
        return (cells, None);
    }
    let rows = small.iter().map(|&name| counts[name]).sum();
    let pooled = rows >= u64::from(below) || cells.is_empty();
    if pooled {
        cells.push(OTHER_NAME.to_owned());
    }
    (cells, Some(SmallStrata { values: sorted(small), rows, below, pooled }))
}

/// The rows below which a value is no cell, where nobody says: 100, or one row in 100 where that is
/// fewer, so that small tables have cells at all.
fn usual(rows: u64) -> u32 {
    rows.div_ceil(100).min(100) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(&str, u64)]) -> BTreeMap<String, u64> {
        of.iter().map(|&(name, rows)| (name.to_owned(), rows)).collect()
    }

    fn names(of: &[&str]) -> Vec<String> {
        of.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn small_values_are_one_cell_or_in_none() {
        let towns = counts(&[("a", 19_641), ("b", 99), ("c", 100), ("d", 60), ("e", 0)]);
        let (cells, small) = super::cells(&towns, None);
        assert_eq!(cells, names(&["a", "c", "(other)"]));
        let values = names(&["b", "d", "e"]);
        assert_eq!(small, Some(SmallStrata { values, rows: 159, below: 100, pooled: true }));
        // All of them together are too few: 60 and 20 rows.
        let few = counts(&[("a", 19_820), ("c", 100), ("d", 60), ("e", 20)]);
        let (cells, small) = super::cells(&few, None);
        assert_eq!(cells, names(&["a", "c"]));
        let values = names(&["d", "e"]);
        assert_eq!(small, Some(SmallStrata { values, rows: 80, below: 100, pooled: false }));
        let all = (names(&["a", "b", "c", "d", "e"]), None);
        assert_eq!(super::cells(&towns, Some(0)), all, "every value is a cell");
        let (cells, small) = super::cells(&towns, Some(1_000_000));
        assert_eq!((cells, small.unwrap().rows), (names(&["(other)"]), 19_900));
        assert_eq!(super::cells(&counts(&[]), None), (Vec::new(), None));
    }

    #[test]
    fn few_rows_have_few_small_values() {
        assert_eq!([0, 1, 100, 101, 5_000, 1_000_000].map(usual), [0, 1, 1, 2, 50, 100]);
    }
}
