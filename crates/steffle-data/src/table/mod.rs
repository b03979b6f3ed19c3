//! Tables of named columns, read from CSV and Parquet files.

mod blocks;
mod builder;
mod categories;
#[cfg(feature = "parquet")]
mod contain;
mod csv;
mod date;
mod dialect;
mod lent;
mod notation;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "without_parquet.rs"]
mod parquet;
mod quotes;
mod reader;
mod reading;
mod spoiled;
mod text;
mod write;

use std::fmt;

use steffle_attributes::SealedColumns;
pub(crate) use steffle_privacy::ledger::same_name;

use crate::{Error, NameError};

pub(crate) use categories::level_order;
pub use categories::{Categories, MISSING_LEVEL};
pub use date::DateOrder;
pub(crate) use date::date_of;
pub use dialect::{Decimal, Delimiter, Dialect, Encoding};
pub(crate) use lent::PIECE;
pub use lent::{Cells, Here, Lent};
pub(crate) use notation::plain_number;
pub use reader::{Columns, Kind, Reader, read, read_as};
pub(crate) use reader::{read_names, read_parquet_bytes};
pub use reading::Reading;
pub use spoiled::Spoiled;
pub use write::write;
pub(crate) use write::{temporary_beside, write_atomically};

/// A column of a [`Table`].
///
/// Text is kept as codes, so that a level costs its letters once.
#[derive(Debug, Clone)]
pub enum Column {
    /// Numbers; a missing one is NaN, which no file can hold as a value.
    Numbers(Vec<f64>),
    /// Text, dictionary-coded.
    Text(Categories),
    /// Either, in the memory of somebody else.
    Lent(Lent),
}

impl Column {
    /// Whether each row has no value.
    pub(crate) fn gaps(&self) -> Vec<bool> {
        match self.here() {
            Here::Numbers(numbers) => numbers.iter().map(|number| number.is_nan()).collect(),
            Here::Text(text) => text.codes.iter().map(|&code| code == MISSING_LEVEL).collect(),
        }
    }

    /// How many rows have no value.
    pub fn missing(&self) -> usize {
        match self.here() {
            Here::Numbers(numbers) => numbers.iter().filter(|number| number.is_nan()).count(),
            Here::Text(text) => text.codes.iter().filter(|&&code| code == MISSING_LEVEL).count(),
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Text(text) => text.codes.len(),
            Self::Lent(lent) => lent.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Named columns of equal length.
///
/// ```
/// use steffle_data::{Column, Table};
/// let table = Table::new(
///     "example",
///     vec![("age".into(), Column::Numbers(vec![31.0, f64::NAN]))],
/// )?;
/// assert_eq!(table.rows(), 2);
/// assert_eq!(table.column("age").map(Column::missing), Some(1));
/// # Ok::<(), steffle_data::Error>(())
/// ```
pub struct Table {
    origin: String,
    names: Vec<String>,
    columns: Vec<Column>,
    rows: usize,
    first_row: u64,
    reading: Reading,
    spoiled: Spoiled,
    /// Sensitive columns: no name leads to them.
    sealed: SealedColumns,
}

impl Table {
    /// A table from its columns; refuses nameless and repeated names and unequal lengths.
    pub fn new(origin: &str, columns: Vec<(String, Column)>) -> Result<Self, Error> {
        let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        check_names(origin, &names)?;
        let rows = columns.first().map_or(0, |(_, column)| column.len());
        if let Some((name, column)) = columns.iter().find(|(_, column)| column.len() != rows) {
            return Err(Error::Csv {
                origin: origin.to_owned(),
                line: 1,
                message: format!("column `{name}` has {} rows, others {rows}", column.len()),
            });
        }
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        let origin = origin.to_owned();
        let (reading, spoiled, sealed) = <_>::default();
        Ok(Self { origin, names, columns, rows, first_row: 0, reading, spoiled, sealed })
    }

    /// Parts that a reader has already checked.
    fn from_parts(origin: String, names: Vec<String>, columns: Vec<Column>, first: u64) -> Self {
        let rows = columns.first().map_or(0, Column::len);
        let (reading, spoiled, sealed) = <_>::default();
        Self { origin, names, columns, rows, first_row: first, reading, spoiled, sealed }
    }

    fn with_reading(self, reading: Reading) -> Self {
        Self { reading, ..self }
    }

    fn with_spoiled(self, spoiled: Spoiled) -> Self {
        Self { spoiled, ..self }
    }

    /// Rows that could not be read; none unless its reader spares them.
    pub fn spoiled(&self) -> &Spoiled {
        &self.spoiled
    }

    /// What was decided while it was read.
    pub fn reading(&self) -> &Reading {
        &self.reading
    }

    /// The file or data set it came from, for messages.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The place of the first row in its file, when the table is a chunk of one.
    pub fn first_row(&self) -> u64 {
        self.first_row
    }

    /// The places of the rows in their file.
    pub(crate) fn row_numbers(&self) -> std::ops::Range<u64> {
        self.first_row..self.first_row + self.rows as u64
    }

    /// Column names, in the order of the file.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns, in the order of the names.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column called `name`.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.position(name).map(|at| &self.columns[at])
    }

    /// The place of the column called `name`.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// The place of a column that a role needs.
    pub(crate) fn require(&self, name: &str, role: &'static str) -> Result<usize, Error> {
        self.position(name).ok_or_else(|| Error::UnknownColumn {
            origin: self.origin.clone(),
            column: name.to_owned(),
            role,
            known: self.all_names(),
        })
    }

    /// Replaces a column by one of the same length.
    pub(crate) fn replace(&mut self, at: usize, column: Column) {
        debug_assert_eq!(column.len(), self.rows);
        self.columns[at] = column;
    }

    /// Appends a column of the same length under a new name.
    pub(crate) fn push(&mut self, name: &str, column: Column) {
        debug_assert!(column.len() == self.rows && self.position(name).is_none());
        self.names.push(name.to_owned());
        self.columns.push(column);
    }

    /// Takes the columns of these names out of the table and seals them: from here on no name leads to
    /// them. Refuses a table that has one of the names a second time, in other letters or between
    /// spaces, because the copy would be a feature.
    pub(crate) fn seal(&mut self, names: &[String]) -> Result<(), Error> {
        check_sealed(&self.origin, &self.all_names(), names)?;
        for name in names {
            let Some(at) = self.position(name) else { continue };
            let column = self.columns.remove(at);
            self.names.remove(at);
            let before = self.sealed.names().filter(|(_, place)| *place <= at).count();
            let text = Categories::of(&column);
            self.sealed.add(name, at + before, &text.codes, text.levels.clone());
        }
        Ok(())
    }

    /// Names of all columns in the order of the file, those that are sealed included.
    fn all_names(&self) -> Vec<String> {
        let mut names = self.names.clone();
        let mut sealed: Vec<(&str, usize)> = self.sealed.names().collect();
        sealed.sort_by_key(|(_, place)| *place);
        for (name, place) in sealed {
            names.insert(place.min(names.len()), name.to_owned());
        }
        names
    }

    /// The columns that were sealed.
    pub(crate) fn sealed(&self) -> &SealedColumns {
        &self.sealed
    }

    /// The same for whoever keeps them from here on.
    pub(crate) fn take_sealed(&mut self) -> SealedColumns {
        std::mem::take(&mut self.sealed)
    }

    /// Forgets the columns whose place `keep` refuses.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        let mut at = 0;
        let kept: Vec<bool> = self.names.iter().map(|name| keep(name)).collect();
        self.columns.retain(|_| {
            at += 1;
            kept[at - 1]
        });
        self.names.retain(|name| keep(name));
    }
}

/// Shape and names only: a table may hold sensitive values, and logs may be read by anyone.
impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("origin", &self.origin)
            .field("rows", &self.rows)
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

/// By names and cells, as far as these are open.
impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        (&self.names, &self.columns, self.first_row, &self.reading, &self.spoiled)
            == (&other.names, &other.columns, other.first_row, &other.reading, &other.spoiled)
    }
}

/// Refuses names of a table of which two are that of one sensitive column.
fn check_sealed(origin: &str, names: &[String], sealed: &[String]) -> Result<(), Error> {
    for column in sealed {
        let found: Vec<&String> = names.iter().filter(|name| same_name(name, column)).collect();
        if found.len() > 1 {
            let found = found.into_iter().cloned().collect();
            let (origin, column) = (origin.to_owned(), column.clone());
            return Err(NameError::SensitiveTwice { origin, column, found }.into());
        }
    }
    Ok(())
}

/// Gives names that repeat a number, `name`, `name.2`; returns the new ones.
fn unique_names(names: &mut [String]) -> Vec<String> {
    let mut taken: std::collections::HashSet<String> = names.iter().cloned().collect();
    let mut seen = std::collections::HashSet::new();
    let mut renamed = Vec::new();
    for name in names.iter_mut() {
        if seen.insert(name.clone()) {
            continue;
        }
        let mut number = 2_u64;
        while taken.contains(&format!("{name}.{number}")) {
            number += 1;
        }
        *name = format!("{name}.{number}");
        taken.insert(name.clone());
        seen.insert(name.clone());
        renamed.push(name.clone());
    }
    renamed
}

fn check_names(origin: &str, names: &[String]) -> Result<(), Error> {
    let mut seen = std::collections::HashSet::new();
    for (at, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(Error::UnnamedColumn { origin: origin.to_owned(), position: at + 1 });
        }
        if !seen.insert(name) {
            return Err(Error::RepeatedColumn { origin: origin.to_owned(), column: name.clone() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
