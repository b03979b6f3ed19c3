//! Collects cells of any kind into a column of a wanted kind.

use std::collections::HashMap;

use super::categories::number_level;
use super::dialect::Markers;
use super::notation::Notation;
use super::{Categories, Column, Kind, MISSING_LEVEL};

/// Why a cell does not fit its column.
#[derive(Debug, PartialEq)]
pub(super) enum Misfit {
    NotFinite,
    NotANumber,
}

/// A column under construction, and how its cells are written.
pub(super) struct Builder {
    cells: Cells,
    notation: Notation,
    markers: Markers,
    /// Rows whose cell does not fit, where these are spared: they count as missing meanwhile.
    spoiled: Option<Vec<(usize, Misfit, String)>>,
}

enum Cells {
    Numbers(Vec<f64>),
    Text(TextBuilder),
}

/// Text under construction: the levels, and how to find the code of one.
#[derive(Default)]
pub(super) struct TextBuilder {
    text: Categories,
    known: HashMap<String, u32>,
    numbers: HashMap<u64, u32>,
    recent: Recent,
}

impl Builder {
    pub(super) fn new(kind: Kind, notation: Notation, markers: &Markers) -> Self {
        let cells = match kind {
            Kind::Number => Cells::Numbers(Vec::new()),
            Kind::Text => Cells::Text(TextBuilder::default()),
        };
        Self { cells, notation, markers: markers.clone(), spoiled: None }
    }

    /// The same; with `sparing` a cell that does not fit spoils its row and is no error.
    pub(super) fn sparing(self, sparing: bool) -> Self {
        Self { spoiled: sparing.then(Vec::new), ..self }
    }

    /// Spoils the row of a cell that does not fit, where rows are spared.
    fn spare(&mut self, misfit: Misfit, cell: impl FnOnce() -> String) -> Result<(), Misfit> {
        let row = match &self.cells {
            Cells::Numbers(numbers) => numbers.len(),
            Cells::Text(column) => column.text.codes.len(),
        };
        let Some(spoiled) = &mut self.spoiled else { return Err(misfit) };
        spoiled.push((row, misfit, cell()));
        self.push_missing();
        Ok(())
    }

    /// Rows of cells that did not fit: their place, why, and the cell.
    pub(super) fn take_spoiled(&mut self) -> Vec<(usize, Misfit, String)> {
        self.spoiled.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn push_missing(&mut self) {
        match &mut self.cells {
            Cells::Numbers(numbers) => numbers.push(f64::NAN),
            Cells::Text(column) => column.text.codes.push(MISSING_LEVEL),
        }
    }

    pub(super) fn push_number(&mut self, number: f64) -> Result<(), Misfit> {
        match &mut self.cells {
            // Among names a number is a name; a refusal would quote it, and it may be sensitive.
            Cells::Text(_) if number.is_nan() => self.push_missing(),
            Cells::Text(column) => column.push_number(number),
            Cells::Numbers(_) if !number.is_finite() => {
                return self.spare(Misfit::NotFinite, || number.to_string());
            }
            Cells::Numbers(numbers) => numbers.push(number),
        }
        Ok(())
    }

    pub(super) fn push_text(&mut self, cell: &str) -> Result<(), Misfit> {
        if self.markers.is_missing(cell) {
            self.push_missing();
            return Ok(());
        }
        match &mut self.cells {
            Cells::Numbers(_) => {
                let Some(number) = self.notation.parse(cell) else {
                    return self.spare(Misfit::NotANumber, || cell.to_owned());
                };
                self.push_number(number)
            }
            Cells::Text(column) => {
                column.push(cell);
                Ok(())
            }
        }
    }

    /// The code of the last cell, where cells are text; that of a missing one too.
    #[cfg(feature = "parquet")]
    pub(super) fn last_code(&self) -> Option<u32> {
        match &self.cells {
            Cells::Numbers(_) => None,
            Cells::Text(column) => column.text.codes.last().copied(),
        }
    }

    /// One more cell like one before; whether it was taken.
    #[cfg(feature = "parquet")]
    pub(super) fn push_code(&mut self, code: u32) -> bool {
        match &mut self.cells {
            Cells::Numbers(_) => false,
            Cells::Text(column) => {
                column.text.codes.push(code);
                true
            }
        }
    }

    pub(super) fn finish(self) -> Column {
        match self.cells {
            Cells::Numbers(numbers) => Column::Numbers(numbers),
            Cells::Text(column) => Column::Text(column.text),
        }
    }
}

impl TextBuilder {
    fn push(&mut self, cell: &str) {
        let code = self.recent.find(cell).unwrap_or_else(|| {
            let code = self.intern(whole_number(cell));
            self.recent.remember(cell, code);
            code
        });
        self.text.codes.push(code);
    }

    fn push_number(&mut self, number: f64) {
        // Adding zero turns -0 into 0, which has the same name.
        let key = (number + 0.0).to_bits();
        let code = self.numbers.get(&key).copied().unwrap_or_else(|| {
            let code = self.intern(&number_level(number));
            self.numbers.insert(key, code);
            code
        });
        self.text.codes.push(code);
    }

    fn intern(&mut self, level: &str) -> u32 {
        if let Some(&code) = self.known.get(level) {
            return code;
        }
        let code = self.text.levels.len() as u32;
        self.text.levels.push(level.to_owned());
        self.known.insert(level.to_owned(), code);
        code
    }
}

/// Cells seen lately, found without hashing them: most columns have few levels, and this is the
/// hot spot of reading a file.
struct Recent(Vec<(String, u32)>);

impl Recent {
    fn slot(cell: &str) -> usize {
        let bytes = cell.as_bytes();
        let at = |place: usize| usize::from(bytes.get(place).copied().unwrap_or_default());
        (at(0)
            ^ at(bytes.len() / 2) << 1
            ^ at(bytes.len().saturating_sub(1)) << 2
            ^ bytes.len() << 4)
            % 256
    }

    fn find(&self, cell: &str) -> Option<u32> {
        let (known, code) = &self.0[Self::slot(cell)];
        (known == cell).then_some(*code)
    }

    fn remember(&mut self, cell: &str, code: u32) {
        let slot = &mut self.0[Self::slot(cell)];
        slot.0.clear();
        slot.0.push_str(cell);
        slot.1 = code;
    }
}

/// Empty slots hold the empty cell, which is missing and never looked up.
impl Default for Recent {
    fn default() -> Self {
        Self(vec![(String::new(), 0); 256])
    }
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
