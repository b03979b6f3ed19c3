//! Collects cells of any kind into a column of a wanted kind.

use std::collections::HashMap;

use super::categories::number_level;
use super::{Categories, Column, Kind, MISSING_LEVEL};

/// Why a cell does not fit its column.
#[derive(Debug, PartialEq)]
pub(super) enum Misfit {
    NotFinite,
    NotANumber,
}

/// A column under construction.
pub(super) enum Builder {
    Numbers(Vec<f64>),
    Text { text: Categories, known: HashMap<String, u32>, numbers: HashMap<u64, u32> },
}

impl Builder {
    pub(super) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Number => Self::Numbers(Vec::new()),
            Kind::Text => Self::Text {
                text: Categories::default(),
                known: HashMap::new(),
                numbers: HashMap::new(),
            },
        }
    }

    pub(super) fn push_missing(&mut self) {
        match self {
            Self::Numbers(numbers) => numbers.push(f64::NAN),
            Self::Text { text, .. } => text.codes.push(MISSING_LEVEL),
        }
    }

    pub(super) fn push_number(&mut self, number: f64) -> Result<(), Misfit> {
        if !number.is_finite() {
            return Err(Misfit::NotFinite);
        }
        match self {
            Self::Numbers(numbers) => numbers.push(number),
            Self::Text { text, known, numbers } => {
                let code = *numbers
                    .entry((number + 0.0).to_bits())
                    .or_insert_with(|| intern(&number_level(number), known, &mut text.levels));
                text.codes.push(code);
            }
        }
        Ok(())
    }

    pub(super) fn push_text(&mut self, cell: &str) -> Result<(), Misfit> {
        if is_missing(cell) {
            self.push_missing();
            return Ok(());
        }
        match self {
            Self::Numbers(_) => match cell.parse() {
                Ok(number) => self.push_number(number)?,
                Err(_) => return Err(Misfit::NotANumber),
            },
            Self::Text { text, known, .. } => {
                let code = intern(whole_number(cell), known, &mut text.levels);
                text.codes.push(code);
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Column {
        match self {
            Self::Numbers(numbers) => Column::Numbers(numbers),
            Self::Text { text, .. } => Column::Text(text),
        }
    }
}

/// The spellings of a missing value, in every file.
pub(super) fn is_missing(cell: &str) -> bool {
    matches!(cell, "" | "?" | "NA")
}

fn intern(level: &str, known: &mut HashMap<String, u32>, levels: &mut Vec<String>) -> u32 {
    if let Some(&code) = known.get(level) {
        return code;
    }
    let code = levels.len() as u32;
    levels.push(level.to_owned());
    known.insert(level.to_owned(), code);
    code
}

/// `3.0` is the level `3`: tools write whole numbers with a fraction as soon as one is missing,
/// and the same category must not get two names by that.
fn whole_number(level: &str) -> &str {
    match level.split_once('.') {
        Some((whole, fraction))
            if !fraction.is_empty()
                && fraction.bytes().all(|byte| byte == b'0')
                && !whole.trim_start_matches('-').is_empty()
                && whole.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            whole
        }
        _ => level,
    }
}
