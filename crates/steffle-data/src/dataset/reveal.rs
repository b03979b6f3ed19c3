//! Sensitive columns for their keeper, and columns that tell them, or what is to be predicted, almost alone.

use std::collections::HashMap;

use steffle_attributes::{RevealTo, Revealed};

use super::Dataset;
use crate::table::{Categories, Column, MISSING_LEVEL};

/// Rows to look at: more would not change the answer.
const SAMPLE: usize = 50_000;
/// Fewer rows than this tell nothing.
const FEWEST: usize = 50;
/// Numbers are looked at in this many bins with equally many rows.
const BINS: usize = 64;

impl Dataset {
    /// Features that alone make at most a tenth of the errors that the best guess without them makes
    /// about the label, one sentence each: mostly something that is known only afterwards.
    pub fn reveals_label(&self) -> &[String] {
        self.tells_label.get_or_init(|| self.telling_label())
    }

    /// The same about the sensitive columns. It is computed from s: for those who hold it, and for
    /// runs that claim no privacy.
    pub fn reveals_sensitive(&self) -> &[String] {
        self.tells_sensitive.get_or_init(|| self.telling_sensitive())
    }

    /// The sensitive columns as their keeper has them, each with the place where it stood, in that order:
    /// for files that the keeper writes, and for published data.
    pub fn kept_columns(&self) -> Vec<(String, usize, Column)> {
        let own = self.sealed().names().zip(self.sealed().reveal(RevealTo::Keeper));
        let column = |((name, place), Revealed { codes, levels }): ((&str, usize), Revealed)| {
            (name.to_owned(), place, Column::Text(Categories { codes, levels }))
        };
        let mut columns: Vec<_> = own.map(column).collect();
        columns.sort_by_key(|(_, place, _)| *place);
        columns
    }

    fn telling_label(&self) -> Vec<String> {
        let label = self.label().map(|label| self.revealing(&label)).unwrap_or_default();
        let sentence = |(column, right): (&str, f64)| {
            format!(
                "column `{column}` alone tells the label of {} of the rows; is it known only \
                 afterwards? Then <drop {column}>",
                percent(right)
            )
        };
        label.into_iter().map(sentence).collect()
    }

    fn telling_sensitive(&self) -> Vec<String> {
        let columns = self.sealed().reveal(RevealTo::Unclaimed);
        let names = self.sealed().names().map(|(name, _)| name).zip(columns);
        let of = |(name, Revealed { codes, levels }): (&str, Revealed)| -> Vec<String> {
            let values = Categories { codes, levels };
            let sentence = |(column, right): (&str, f64)| {
                format!(
                    "column `{column}` alone tells the sensitive `{name}` of {} of the rows, so a \
                     model can use it in its place; <drop {column}> takes it away",
                    percent(right)
                )
            };
            self.revealing(&values).into_iter().map(sentence).collect()
        };
        names.flat_map(of).collect()
    }

    /// Features and the share of rows whose target they tell.
    fn revealing(&self, target: &Categories) -> Vec<(&str, f64)> {
        let known = |row: &&u32| target.level(**row as usize).is_some();
        let rows: Vec<u32> = self.rows().iter().filter(known).copied().collect();
        let stride = rows.len().div_ceil(SAMPLE).max(1);
        let rows: Vec<u32> = rows.into_iter().step_by(stride).collect();
        let targets: Vec<u32> = rows.iter().map(|&row| target.codes[row as usize]).collect();
        let mistakes = 1.0 - most_frequent(&targets);
        if rows.len() < FEWEST || mistakes <= 0.0 {
            return Vec::new();
        }
        let numeric = self.numeric().filter_map(|(name, column)| {
            column.numbers_of(&rows).map(|values| (name, bins(&values)))
        });
        let categorical = self
            .categorical()
            .filter_map(|(name, column)| column.codes_of(&rows).map(|codes| (name, codes)));
        let all = numeric.chain(categorical).map(|(name, cells)| (name, told(&cells, &targets)));
        all.filter(|(_, right)| 1.0 - right <= mistakes / 10.0).collect()
    }
}

/// The share of rows whose target most of the other rows with the same cell have: of the others, so
/// that a cell that occurs once tells nothing.
fn told(cells: &[u32], targets: &[u32]) -> f64 {
    let mut counts: HashMap<u32, HashMap<u32, usize>> = HashMap::new();
    for (&cell, &target) in cells.iter().zip(targets) {
        *counts.entry(cell).or_default().entry(target).or_default() += 1;
    }
    let right = |counts: &HashMap<u32, usize>| {
        let most = counts.iter().max_by_key(|&(&target, &count)| (count, target));
        let Some((target, &most)) = most else { return 0 };
        let second = counts.iter().filter(|&(other, _)| other != target).map(|(_, &count)| count);
        if most > 1 + second.max().unwrap_or(0) || (counts.len() == 1 && most > 1) {
            most
        } else {
            0
        }
    };
    counts.values().map(right).sum::<usize>() as f64 / targets.len().max(1) as f64
}

/// The share of the most frequent target.
fn most_frequent(targets: &[u32]) -> f64 {
    let mut counts: HashMap<u32, usize> = HashMap::new();
    for &target in targets {
        *counts.entry(target).or_default() += 1;
    }
    counts.values().copied().max().unwrap_or(0) as f64 / targets.len().max(1) as f64
}

/// The bin of every number; equal numbers share one, and missing ones have their own.
fn bins(values: &[f64]) -> Vec<u32> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut distinct = sorted.clone();
    distinct.dedup();
    let edges: Vec<f64> = if distinct.len() <= BINS {
        distinct
    } else {
        let mut edges: Vec<f64> = (0..BINS).map(|bin| sorted[bin * sorted.len() / BINS]).collect();
        edges.dedup();
        edges
    };
    let bin = |value: &f64| match value {
        value if value.is_nan() => MISSING_LEVEL,
        value => edges.partition_point(|edge| edge <= value) as u32,
    };
    values.iter().map(bin).collect()
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_occur_once_tell_nothing() {
        let targets: Vec<u32> = (0..100).map(|row| row % 2).collect();
        let unique: Vec<u32> = (0..100).collect();
        assert_eq!(told(&unique, &targets), 0.0);
        assert_eq!(told(&targets, &targets), 1.0);
        assert_eq!(told(&vec![7; 100], &targets), 0.0, "a draw tells nothing");
    }

    #[test]
    fn numbers_are_looked_at_in_bins() {
        let values: Vec<f64> = (0..1000).map(f64::from).chain([f64::NAN]).collect();
        let found = bins(&values);
        assert!(found.windows(2).all(|pair| pair[0] <= pair[1]));
        assert_eq!((found[0], found[999], found[1000]), (1, 64, MISSING_LEVEL));
        assert_eq!(bins(&[3.0, 3.0, 1.0]), [2, 2, 1]);
    }
}
