//! Rows that could not be read, where a reader was asked to go on behind them.

use std::collections::BTreeMap;

use crate::Error;

/// Rows of a table whose cells could not be read, by their place, and why. Their cells count as
/// missing meanwhile, so that rows keep their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spoiled(BTreeMap<usize, String>);

impl Spoiled {
    /// Notes why a row cannot be used; the first reason counts.
    pub(crate) fn note(&mut self, row: usize, why: &Error) {
        self.0.entry(row).or_insert_with(|| why.to_string());
    }

    /// Whether a row is among them.
    pub fn contains(&self, row: usize) -> bool {
        self.0.contains_key(&row)
    }

    /// Their places and reasons, in order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        self.0.iter().map(|(&row, why)| (row, why.as_str()))
    }
}
