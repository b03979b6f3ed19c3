//! What one silo says about its columns so that all silos can agree on a schema.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use steffle_attributes::{RevealTo, Revealed};

use super::{MISSING_NAME, strata};
use crate::Error;
use crate::dataset::Dataset;
use crate::recipe::Missing;
use crate::table::{Categories, Column, MISSING_LEVEL};

/// Count, mean and squared deviations of a column.
///
/// Deviations from the mean instead of raw squares: summing squares of large numbers and
/// subtracting loses every digit of a small variance.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Moments {
    /// Values that are not missing.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The sum of their squared deviations from the mean.
    pub squares: f64,
}

impl Moments {
    /// Of the values that are not missing.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let mut taken = Taken::default();
        taken.sum(values.clone());
        taken.square(values);
        taken.moments()
    }

    /// Of two sets of values together (Chan, Golub & LeVeque 1979).
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        if other.count == 0 {
            return self;
        }
        if self.count == 0 {
            return other;
        }
        let count = self.count + other.count;
        let gap = other.mean - self.mean;
        let share = other.count as f64 / count as f64;
        Self {
            count,
            mean: self.mean + gap * share,
            squares: self.squares + other.squares + gap * gap * share * self.count as f64,
        }
    }

    /// The population standard deviation, or 1 if there is no deviation.
    pub fn scale(self) -> f64 {
        let variance = self.squares / self.count as f64;
        if variance > 0.0 { variance.sqrt() } else { 1.0 }
    }
}

/// Moments of values that come in pieces, all of them twice: for the sum, and then for the squares.
#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    /// The first value, which sums are taken from: a constant column has deviations of exactly 0.
    origin: Option<f64>,
    count: u64,
    sum: f64,
    squares: f64,
}

impl Taken {
    fn sum(&mut self, values: impl Iterator<Item = f64>) {
        for value in values.filter(|value| !value.is_nan()) {
            self.count += 1;
            self.sum += value - *self.origin.get_or_insert(value);
        }
    }

    fn square(&mut self, values: impl Iterator<Item = f64>) {
        let Some(origin) = self.origin else { return };
        let shift = self.sum / self.count as f64;
        for value in values.filter(|value| !value.is_nan()) {
            self.squares += (value - origin - shift).powi(2);
        }
    }

    fn moments(self) -> Moments {
        let Self { origin, count, sum, squares } = self;
        let mean = origin.map_or(0.0, |origin| origin + sum / count as f64);
        Moments { count, mean, squares }
    }
}

/// One silo's summary: moments of its numeric columns, names of everything else, and how many rows have
/// each value that parity is conditioned on.
///
/// Moments and counts are of training rows only. Names come from all usable rows: they are agreed, not
/// estimated. About the sensitive columns a summary holds nothing where the recipe declares the
/// classes, and else the names of the levels, no counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Training rows.
    pub rows: u64,
    pub(super) labels: BTreeSet<String>,
    pub(super) sensitive: Vec<BTreeSet<String>>,
    pub(super) strata: BTreeMap<String, u64>,
    pub(super) numeric: Vec<(String, Moments)>,
    pub(super) categorical: Vec<(String, BTreeSet<String>)>,
}

impl Summary {
    /// The summary of a silo whose training rows are given.
    pub fn of(data: &Dataset, training: &[u32]) -> Self {
        let mut taken = vec![Taken::default(); data.numeric().count()];
        data.each_number(training, |at, numbers| taken[at].sum(numbers.iter().copied()));
        data.each_number(training, |at, numbers| taken[at].square(numbers.iter().copied()));
        let named = data.numeric().zip(taken);
        let kept = data.recipe().missing != Missing::Drop;
        let mut names = data.names().clone();
        if let Some(text) = data.stratum() {
            strata::count(&mut names.strata, text, training, kept);
        }
        Self {
            rows: training.len() as u64,
            numeric: named.map(|((name, _), own)| (name.to_owned(), own.moments())).collect(),
            ..names
        }
    }

    /// The same with nothing about any number: which columns there are, and the names in them.
    #[must_use]
    pub fn without_numbers(mut self) -> Self {
        self.rows = 0;
        self.numeric.iter_mut().for_each(|(_, moments)| *moments = Moments::default());
        self.strata.values_mut().for_each(|rows| *rows = 0);
        self
    }

    /// The names in all usable rows, and nothing about any number.
    pub(crate) fn names(data: &Dataset) -> Self {
        let kept = data.recipe().missing != Missing::Drop;
        let names = |text: &Categories, missing| level_names(text, data.rows(), missing);
        let levels = |(name, column): (&str, &Column)| {
            (name.to_owned(), names(&Categories::of(column), kept))
        };
        // A summary leaves its silo: where classes are declared, nothing in it comes from s.
        let declared = !data.recipe().classes.is_empty();
        Self {
            rows: 0,
            labels: data.label().map(|text| names(&text, false)).unwrap_or_default(),
            sensitive: if declared { Vec::new() } else { undeclared(data) },
            strata: data
                .stratum()
                .map(|text| names(text, kept).into_iter().map(|name| (name, 0)).collect())
                .unwrap_or_default(),
            numeric: Vec::new(),
            categorical: data.categorical().map(levels).chain(indicators(data)).collect(),
        }
    }

    /// Takes in another silo's summary; refuses silos whose columns differ.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        self.check_same_columns(other)?;
        self.rows += other.rows;
        self.labels.extend(other.labels.iter().cloned());
        for (name, rows) in &other.strata {
            *self.strata.entry(name.clone()).or_default() += rows;
        }
        // A records silo knows nothing of s.
        if self.sensitive.is_empty() {
            self.sensitive.clone_from(&other.sensitive);
        }
        for (mine, theirs) in self.sensitive.iter_mut().zip(&other.sensitive) {
            mine.extend(theirs.iter().cloned());
        }
        for (name, mine) in &mut self.numeric {
            if let Some((_, theirs)) = other.numeric.iter().find(|(known, _)| known == name) {
                *mine = mine.merge(*theirs);
            }
        }
        for (name, mine) in &mut self.categorical {
            if let Some((_, theirs)) = other.categorical.iter().find(|(known, _)| known == name) {
                mine.extend(theirs.iter().cloned());
            }
        }
        Ok(())
    }

    /// Names of columns of numbers; columns of categories, with these.
    pub(crate) fn columns(&self) -> (Vec<String>, Vec<(String, Vec<String>)>) {
        let numeric = self.numeric.iter().map(|(name, _)| name.clone()).collect();
        let levels = |levels: &BTreeSet<String>| levels.iter().cloned().collect();
        let categorical = self.categorical.iter();
        (numeric, categorical.map(|(name, own)| (name.clone(), levels(own))).collect())
    }

    /// The first column whose levels differ from those of another silo.
    pub fn other_levels(&self, other: &Self) -> Option<&str> {
        let own = |(name, levels): &&(String, BTreeSet<String>)| {
            other.categorical.iter().any(|(known, found)| known == name && found != levels)
        };
        self.categorical.iter().find(own).map(|(name, _)| name.as_str())
    }

    /// Features after encoding.
    pub fn features(&self) -> usize {
        let levels: usize = self.categorical.iter().map(|(_, levels)| levels.len()).sum();
        self.numeric.len() + levels
    }

    /// Labels in the order of their numbers.
    pub fn sorted_labels(&self) -> Vec<String> {
        super::sorted(&self.labels)
    }

    fn check_same_columns(&self, other: &Self) -> Result<(), Error> {
        for (one, two) in [(self, other), (other, self)] {
            let numeric = |name: &String| two.numeric.iter().any(|(known, _)| known == name);
            let text = |name: &String| two.categorical.iter().any(|(known, _)| known == name);
            let refuse =
                |name: &String, problem| Err(Error::Disagreement { column: name.clone(), problem });
            for (name, _) in &one.numeric {
                if text(name) && !numeric(name) {
                    return refuse(name, "some have numbers, some text");
                }
                if !numeric(name) {
                    return refuse(name, "some do not have it");
                }
            }
            for (name, _) in &one.categorical {
                if !text(name) && !numeric(name) {
                    return refuse(name, "some do not have it");
                }
            }
        }
        Ok(())
    }
}

/// Numeric columns whose missing values have a feature, and whether one is missing here: another
/// silo may be the one that misses it.
fn indicators(data: &Dataset) -> impl Iterator<Item = (String, BTreeSet<String>)> {
    let wanted = data.recipe().missing == Missing::Impute;
    data.numeric().zip(data.gappy()).filter(move |_| wanted).map(|((name, _), missing)| {
        let level = missing.then(|| MISSING_NAME.to_owned());
        (name.to_owned(), level.into_iter().collect())
    })
}

/// The values that occur in every sensitive column, where nothing is declared: a run that claims privacy
/// refuses a recipe without classes.
fn undeclared(data: &Dataset) -> Vec<BTreeSet<String>> {
    let names =
        |Revealed { codes, levels }| level_names(&Categories { codes, levels }, data.rows(), false);
    data.sealed().reveal(RevealTo::Unclaimed).into_iter().map(names).collect()
}

fn level_names(text: &Categories, rows: &[u32], missing_counts: bool) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = text.occurring(rows).into_iter().map(str::to_owned).collect();
    if missing_counts && rows.iter().any(|&row| text.codes[row as usize] == MISSING_LEVEL) {
        names.insert(MISSING_NAME.to_owned());
    }
    names
}
