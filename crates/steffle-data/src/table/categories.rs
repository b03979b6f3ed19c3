//! Dictionary-coded text.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use super::{Column, Here};

/// The code of a missing value.
pub const MISSING_LEVEL: u32 = u32::MAX;

/// Text as one small number per row and a list of the different values, its levels.
///
/// A column with few different values takes little memory so.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Categories {
    /// Per row the place in `levels`, or [`MISSING_LEVEL`].
    pub codes: Vec<u32>,
    /// The different values, in order of appearance.
    pub levels: Vec<String>,
}

impl Categories {
    /// The level of row `row`, or none if it is missing.
    pub fn level(&self, row: usize) -> Option<&str> {
        self.levels.get(self.codes[row] as usize).map(String::as_str)
    }

    /// From the text of every row, or none where it is missing.
    pub fn from_text<'a>(rows: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let mut known: HashMap<&str, u32> = HashMap::new();
        let mut levels: Vec<String> = Vec::new();
        let codes = rows.into_iter().map(|text| {
            let Some(text) = text else { return MISSING_LEVEL };
            *known.entry(text).or_insert_with(|| {
                levels.push(text.to_owned());
                levels.len() as u32 - 1
            })
        });
        Self { codes: codes.collect(), levels }
    }

    /// Text as it is, numbers by name: 1.0 is the level `1`.
    pub fn from_column(column: &Column) -> Self {
        Self::of(column).into_owned()
    }

    /// The same without a copy of text that is here.
    pub(crate) fn of(column: &Column) -> Cow<'_, Self> {
        let numbers = match column.here() {
            Here::Text(text) => return text,
            Here::Numbers(numbers) => numbers,
        };
        let mut known: HashMap<u64, u32> = HashMap::new();
        let mut levels = Vec::new();
        let codes = numbers.iter().map(|&number| {
            if number.is_nan() {
                return MISSING_LEVEL;
            }
            // Adding zero turns -0 into 0, which has the same name.
            *known.entry((number + 0.0).to_bits()).or_insert_with(|| {
                levels.push(number_level(number));
                levels.len() as u32 - 1
            })
        });
        Cow::Owned(Self { codes: codes.collect(), levels })
    }

    /// Gives levels new names; levels with the same new name become one.
    pub(crate) fn rename(&mut self, names: &BTreeMap<String, String>) {
        let mut known: HashMap<String, u32> = HashMap::new();
        let mut levels = Vec::new();
        let renamed: Vec<u32> = self
            .levels
            .iter()
            .map(|level| {
                let name = names.get(level).unwrap_or(level);
                *known.entry(name.clone()).or_insert_with(|| {
                    levels.push(name.clone());
                    levels.len() as u32 - 1
                })
            })
            .collect();
        for code in self.codes.iter_mut().filter(|code| **code != MISSING_LEVEL) {
            *code = renamed[*code as usize];
        }
        self.levels = levels;
    }

    /// Which levels occur in the given rows.
    pub(crate) fn occurring(&self, rows: &[u32]) -> Vec<&str> {
        let mut occurs = vec![false; self.levels.len()];
        for &row in rows {
            if let Some(slot) = occurs.get_mut(self.codes[row as usize] as usize) {
                *slot = true;
            }
        }
        self.levels.iter().zip(occurs).filter_map(|(level, on)| on.then_some(&**level)).collect()
    }
}

/// The name of a number as a level.
pub(crate) fn number_level(number: f64) -> String {
    format!("{}", number + 0.0)
}

/// Numbers by value, then other text by its letters.
pub(crate) fn level_order(a: &str, b: &str) -> Ordering {
    let number = |level: &str| level.parse::<f64>().ok().filter(|value| value.is_finite());
    match (number(a), number(b)) {
        (Some(x), Some(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}
