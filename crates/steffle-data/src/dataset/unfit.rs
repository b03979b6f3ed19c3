//! Columns that would be features and should not be: names, ids, counters, nothing at all.

use super::roles::is_feature;
use crate::recipe::Recipe;
use crate::table::{Column, Here, MISSING_LEVEL, Table};

/// A column that is left out by itself, and why.
pub(super) struct LeftOut {
    pub(super) column: String,
    why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Why {
    /// Text that nearly every row has another of.
    Names,
    /// Whole numbers that name rows.
    Ids,
    /// No value in any row.
    Empty,
}

impl LeftOut {
    pub(super) fn sentence(&self) -> String {
        let column = &self.column;
        match self.why {
            Why::Names => format!(
                "column `{column}` is left out: nearly every row has another word in it, as names and \
                 ids do; insist with <keep {column}>"
            ),
            Why::Ids => format!(
                "column `{column}` is left out: it numbers the rows, as an index or an id does; insist \
                 with <keep {column}>"
            ),
            Why::Empty => format!("column `{column}` is left out: it has no value in any row"),
        }
    }
}

/// Columns that would be features and are names, ids or empty. Not those that somebody insists on or
/// has another use for.
pub(super) fn unfit(table: &Table, recipe: &Recipe) -> Vec<LeftOut> {
    let named = |name: &String| {
        recipe.keep.contains(name)
            || recipe.categorical.contains(name)
            || recipe.merges.contains_key(name)
            || recipe.stratum.as_ref() == Some(name)
    };
    let columns = table.names().iter().zip(table.columns());
    let free = columns.filter(|(name, _)| is_feature(name, recipe) && !named(name));
    let found = free.filter_map(|(name, column)| {
        why(name, column).map(|why| LeftOut { column: name.clone(), why })
    });
    found.collect()
}

fn why(name: &str, column: &Column) -> Option<Why> {
    if column.is_empty() {
        return None;
    }
    // Most columns of amounts are told by their first rows, and need not be read.
    let first: Vec<u32> = (0..column.len().min(FEWEST_NAMES) as u32).collect();
    let amount = |number: &f64| !number.is_nan() && number.fract() != 0.0;
    if column.numbers_of(&first).is_some_and(|numbers| numbers.iter().any(amount)) {
        return None;
    }
    match column.here() {
        Here::Text(text) => {
            let values = text.codes.iter().filter(|&&code| code != MISSING_LEVEL).count();
            if values == 0 {
                return Some(Why::Empty);
            }
            let names = text.levels.len() >= FEWEST_NAMES && 2 * text.levels.len() >= values;
            names.then_some(Why::Names)
        }
        Here::Numbers(numbers) => {
            if numbers.iter().all(|number| number.is_nan()) {
                return Some(Why::Empty);
            }
            // A missing number has no whole part.
            let whole =
                numbers.len() >= FEWEST_NAMES && numbers.iter().all(|number| number.fract() == 0.0);
            (whole && (counts_on(&numbers) || (is_called_id(name) && all_differ(&numbers))))
                .then_some(Why::Ids)
        }
    }
}

/// Fewer different values than this are categories, however few rows there are.
const FEWEST_NAMES: usize = 50;

/// Whether every number is one more than the one before.
fn counts_on(numbers: &[f64]) -> bool {
    numbers.windows(2).all(|pair| pair[1] == pair[0] + 1.0)
}

/// `id`, `index`, `customer_id`, `CustomerID`, `row number`, and what pandas calls an index.
fn is_called_id(name: &str) -> bool {
    let lower = name.to_lowercase();
    let last = lower.rsplit([' ', '_', '-', '.']).next().unwrap_or_default();
    matches!(last, "id" | "index" | "idx" | "key" | "uuid")
        || name.ends_with("Id")
        || name.ends_with("ID")
        || lower.starts_with("unnamed:")
}

fn all_differ(numbers: &[f64]) -> bool {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}
