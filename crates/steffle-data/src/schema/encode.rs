//! Rows of a table become rows of numbers and codes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use steffle_model::record::{Records, Rows};

use super::{MISSING_NAME, Schema};
use crate::dataset::{Dataset, OTHER_NAME};
use crate::recipe::Missing;
use crate::table::{Categories, Column, Table};
use crate::{CellError, Error};

/// Cells that the schema has no feature for, by column.
///
/// Such a cell switches no feature on (a missing number counts as the column's mean); it is
/// counted here so that somebody looks at it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Unmatched {
    /// Categories that the schema does not know.
    pub unseen: BTreeMap<String, u64>,
    /// Missing values without a level of their own.
    pub missing: BTreeMap<String, u64>,
}

impl Unmatched {
    /// Categories that the schema does not know, over all columns.
    pub fn unseen_total(&self) -> u64 {
        self.unseen.values().sum()
    }

    /// Missing values without a level of their own, over all columns.
    pub fn missing_total(&self) -> u64 {
        self.missing.values().sum()
    }

    /// Adds the counts of another table.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in
            [(&mut self.unseen, &other.unseen), (&mut self.missing, &other.missing)]
        {
            for (column, count) in theirs {
                *mine.entry(column.clone()).or_default() += count;
            }
        }
    }
}

/// Encoded records and what did not fit the schema.
///
/// What did not fit is counted, not guessed.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// The records.
    pub records: Records,
    /// Cells without a feature.
    pub unmatched: Unmatched,
}

/// Encodes rows of a data set; refuses labels and strata that the schema does not know.
pub fn encode(data: &Dataset, rows: &[u32], schema: &Schema) -> Result<Encoded, Error> {
    let (encoded, unmatched) = encode_rows(data.table(), rows, schema, Merges::Done)?;
    let recipe = schema.recipe();
    let labels = data.label().map_or_else(
        || Err(Error::Schema(format!("label `{}` is not text", recipe.label))),
        |label| numbered(data, label, rows, &recipe.label, schema.labels(), false),
    )?;
    let kept = recipe.missing != Missing::Drop;
    let strata = match (data.stratum(), &recipe.stratum) {
        (Some(stratum), Some(name)) => {
            Some(numbered(data, stratum, rows, name, schema.strata(), kept)?)
        }
        _ => None,
    };
    let ids = data.ids(rows);
    let mut records = Records::new(ids, encoded, labels, strata, schema.labels().len())?;
    if let Some(units) = data.units() {
        let units: Vec<u32> = rows.iter().map(|&row| units[row as usize]).collect();
        records = records.with_units(&units)?;
    }
    Ok(Encoded { records, unmatched })
}

/// Encodes the features of every row of a table, read with [`Schema::feature_columns`].
///
/// Needs neither label nor sensitive column, drops no row and refuses no category.
pub fn encode_features(table: &Table, schema: &Schema) -> Result<(Rows, Unmatched), Error> {
    let rows: Vec<u32> = (0..table.rows() as u32).collect();
    encode_rows(table, &rows, schema, Merges::ToDo)
}

/// Whether the table already has the recipe's names for values.
#[derive(Clone, Copy, PartialEq)]
enum Merges {
    Done,
    ToDo,
}

fn encode_rows(
    table: &Table,
    rows: &[u32],
    schema: &Schema,
    merges: Merges,
) -> Result<(Rows, Unmatched), Error> {
    let layout = schema.layout();
    let mut unmatched = Unmatched::default();
    let numbers = encode_numbers(table, rows, schema, &mut unmatched)?;
    let mut codes = vec![0u32; rows.len() * layout.categorical];
    let mut first = layout.numeric as u32;
    for (at, column) in schema.categorical().iter().enumerate() {
        let place = table.require(&column.name, "a categorical feature")?;
        if let (Column::Numbers(numbers), true) =
            (&table.columns()[place], schema.indicates(column))
        {
            let slots = codes.iter_mut().skip(at).step_by(layout.categorical);
            for (slot, &row) in slots.zip(rows) {
                let missing = numbers[row as usize].is_nan();
                *slot = if missing { first } else { layout.absent() };
            }
            first += 1;
            continue;
        }
        let text = match &table.columns()[place] {
            Column::Text(text) => Cow::Borrowed(text),
            numbers @ Column::Numbers(_) => Cow::Owned(Categories::from_column(numbers)),
        };
        let known: BTreeMap<&str, u32> =
            column.levels.iter().map(String::as_str).zip(first..).collect();
        let renamed = schema.recipe().merges.get(&column.name).filter(|_| merges == Merges::ToDo);
        // Where rare levels are pooled, one that training never saw is as rare as they are.
        let unknown = known.get(OTHER_NAME).copied().unwrap_or(layout.absent());
        let code = |level: &str| known.get(level).copied().unwrap_or(unknown);
        let by_level: Vec<u32> = text
            .levels
            .iter()
            .map(|level| code(renamed.and_then(|names| names.get(level)).unwrap_or(level)))
            .collect();
        let for_missing = known.get(MISSING_NAME).copied().unwrap_or(layout.absent());
        let (mut unseen, mut missing) = (0, 0);
        let slots = codes.iter_mut().skip(at).step_by(layout.categorical);
        for (slot, &row) in slots.zip(rows) {
            let level = by_level.get(text.codes[row as usize] as usize);
            *slot = *level.unwrap_or(&for_missing);
            let absent = u64::from(*slot == layout.absent());
            *(if level.is_some() { &mut unseen } else { &mut missing }) += absent;
        }
        note(&mut unmatched.unseen, &column.name, unseen);
        note(&mut unmatched.missing, &column.name, missing);
        first += column.levels.len() as u32;
    }
    Ok((Rows::new(layout, rows.len(), numbers, codes)?, unmatched))
}

fn encode_numbers(
    table: &Table,
    rows: &[u32],
    schema: &Schema,
    unmatched: &mut Unmatched,
) -> Result<Vec<f32>, Error> {
    let layout = schema.layout();
    let mut numbers = vec![0f32; rows.len() * layout.numeric];
    for (at, column) in schema.numeric().iter().enumerate() {
        let place = table.require(&column.name, "a numeric feature")?;
        let Column::Numbers(values) = &table.columns()[place] else {
            return Err(not_numbers(table, place).into());
        };
        let mut missing = 0;
        let slots = numbers.iter_mut().skip(at).step_by(layout.numeric);
        for (slot, &row) in slots.zip(rows) {
            let value = values[row as usize];
            if value.is_nan() {
                missing += 1;
                continue;
            }
            *slot = ((value - column.centre) / column.scale) as f32;
            if !slot.is_finite() {
                return Err(Error::from(CellError::NotFinite {
                    origin: table.origin().to_owned(),
                    row: table.first_row() + u64::from(row) + 1,
                    column: column.name.clone(),
                    value: format!("{value:e} (after scaling)"),
                }));
            }
        }
        // One that has a feature to say so is not unmatched.
        if !schema.categorical().iter().any(|own| own.name == column.name) {
            note(&mut unmatched.missing, &column.name, missing);
        }
    }
    Ok(numbers)
}

fn note(counts: &mut BTreeMap<String, u64>, column: &str, count: u64) {
    if count > 0 {
        counts.insert(column.to_owned(), count);
    }
}

fn not_numbers(table: &Table, place: usize) -> CellError {
    let value = match &table.columns()[place] {
        Column::Text(text) => text.levels.first().cloned().unwrap_or_default(),
        Column::Numbers(_) => String::new(),
    };
    CellError::NotANumber {
        origin: table.origin().to_owned(),
        row: table.first_row() + 1,
        column: table.names()[place].clone(),
        value,
    }
}

/// The number of each row's level among the agreed names; refuses other levels.
fn numbered(
    data: &Dataset,
    text: &Categories,
    rows: &[u32],
    column: &str,
    known: &[String],
    missing_counts: bool,
) -> Result<Vec<u16>, Error> {
    let place = |level: &str| known.iter().position(|name| name == level).map(|at| at as u16);
    let by_level: Vec<Option<u16>> = text.levels.iter().map(|level| place(level)).collect();
    let for_missing = if missing_counts { place(MISSING_NAME) } else { None };
    rows.iter()
        .map(|&row| {
            let level = by_level.get(text.codes[row as usize] as usize);
            level.copied().unwrap_or(for_missing).ok_or_else(|| Error::Unagreed {
                origin: data.table().origin().to_owned(),
                row: u64::from(row) + 1,
                column: column.to_owned(),
                known: known.to_vec(),
            })
        })
        .collect()
}
