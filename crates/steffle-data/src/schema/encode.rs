//! Rows of a table become rows of numbers and codes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use steffle_model::record::{Records, Rows};

use super::{Coding, MISSING_NAME, Numeric, Schema};
use crate::dataset::Dataset;
use crate::recipe::Missing;
use crate::table::{Categories, Column, Here, PIECE, Spoiled, Table};
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
    encode_as(data, rows, schema, true)
}

/// The same for a site, whose refusal would tell whoever wrote the schema that there is such a row: a
/// stratum that was not agreed on is in no cell.
pub(crate) fn encode_any(data: &Dataset, rows: &[u32], schema: &Schema) -> Result<Encoded, Error> {
    encode_as(data, rows, schema, false)
}

fn encode_as(
    data: &Dataset,
    rows: &[u32],
    schema: &Schema,
    refusing: bool,
) -> Result<Encoded, Error> {
    let (encoded, unmatched) = encode_rows(data.table(), rows, schema, Merges::Done)?;
    let recipe = schema.recipe();
    let labels = data.label().map_or_else(
        || Err(Error::Schema(format!("label `{}` is not text", recipe.label))),
        |label| {
            let labels = schema.labels();
            let place =
                |level: &str| labels.iter().position(|own| own == level).map(|at| at as u16);
            numbered(data, &label, rows, (&recipe.label, labels), place, false)
        },
    )?;
    let kept = recipe.missing != Missing::Drop;
    let strata = match (data.stratum(), &recipe.stratum) {
        (Some(stratum), Some(name)) => {
            let place = |level: &str| schema.stratum_of(level);
            let other = (!refusing).then_some(schema.strata().len() as u16);
            let place = |level: &str| place(level).or(other);
            Some(numbered(data, stratum, rows, (name, schema.strata()), place, kept)?)
        }
        _ => None,
    };
    let ids = data.ids(rows);
    let mut records = Records::new(ids, encoded, labels, strata, schema.labels().len())?;
    if let Some(units) = data.units() {
        let units: Vec<u32> = rows.iter().map(|&row| units[row as usize]).collect();
        records = records.with_units(&units)?;
    }
    if let Some(people) = data.people(rows) {
        records = records.with_people(people)?;
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

/// The same for the rows that can be encoded: returns which these are, and adds the others to those
/// that could not be read.
pub fn encode_features_sparing(
    table: &Table,
    schema: &Schema,
) -> Result<(Vec<u32>, Rows, Unmatched, Spoiled), Error> {
    let mut spoiled = table.spoiled().clone();
    for column in schema.numeric() {
        let Some(Here::Numbers(values)) = table.column(&column.name).map(Column::here) else {
            continue;
        };
        for (row, &value) in values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            if !scaled(value, column).is_finite() {
                spoiled.note(row, &not_finite(table, row as u32, column, value));
            }
        }
    }
    let kept: Vec<u32> =
        (0..table.rows() as u32).filter(|&row| !spoiled.contains(row as usize)).collect();
    let (rows, unmatched) = encode_rows(table, &kept, schema, Merges::ToDo)?;
    Ok((kept, rows, unmatched, spoiled))
}

/// No number is taken to be farther from its column's centre, in units of its scale: it is clipped. Larger
/// ones have no price, and a refusal would tell whoever names the scale which site has a number beyond
/// some point. Rows that their own mean and deviation scale have none below 16 million records.
pub const FARTHEST: f32 = 4096.0;

/// Whether the table already has the recipe's names for values, as a data set has; rows to predict do not.
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
    let codings = schema.codings_as(merges == Merges::ToDo);
    let names = codings.iter().map(|own| Names::new(table, own)).collect::<Result<Vec<_>, _>>()?;
    let mut encoded = Rows::with_room(layout, rows.len())?;
    for piece in rows.chunks(PIECE) {
        let numbers = encode_numbers(table, piece, schema, &mut unmatched, merges)?;
        let mut codes = vec![0u32; piece.len() * layout.categorical];
        for (at, names) in names.iter().enumerate() {
            let slots = codes.iter_mut().skip(at).step_by(layout.categorical);
            names.encode(piece, slots, layout.absent(), &mut unmatched);
        }
        encoded.push_all(piece.len(), numbers, codes)?;
    }
    Ok((encoded, unmatched))
}

/// A column of names, or of numbers whose absence is a feature, ready to be encoded.
enum Names<'t> {
    Indicated(&'t Coding, &'t Column),
    /// Text, or names of numbers; and the feature of every level.
    Coded(&'t Coding, Cow<'t, Column>, Vec<u32>),
}

impl<'t> Names<'t> {
    fn new(table: &'t Table, coding: &'t Coding) -> Result<Self, Error> {
        let place = table.require(&coding.column, "a categorical feature")?;
        let text = match &table.columns()[place] {
            text if text.is_text() => Cow::Borrowed(text),
            numbers if coding.indicates => return Ok(Self::Indicated(coding, numbers)),
            numbers => Cow::Owned(Column::Text(Categories::from_column(numbers))),
        };
        let levels = text.levels().unwrap_or_default();
        let by_level = levels.iter().map(|level| coding.of(level)).collect();
        Ok(Self::Coded(coding, text, by_level))
    }

    fn encode<'s>(
        &self,
        rows: &[u32],
        slots: impl Iterator<Item = &'s mut u32>,
        absent: u32,
        unmatched: &mut Unmatched,
    ) {
        match self {
            Self::Indicated(coding, column) => {
                for (slot, number) in slots.zip(column.numbers_of(rows).unwrap_or_default()) {
                    *slot = if number.is_nan() { coding.missing } else { absent };
                }
            }
            Self::Coded(coding, text, by_level) => {
                let (mut unseen, mut missing) = (0, 0);
                for (slot, code) in slots.zip(text.codes_of(rows).unwrap_or_default()) {
                    let level = by_level.get(code as usize);
                    *slot = *level.unwrap_or(&coding.missing);
                    let counted = if level.is_some() { &mut unseen } else { &mut missing };
                    *counted += u64::from(*slot == absent);
                }
                note(&mut unmatched.unseen, &coding.column, unseen);
                note(&mut unmatched.missing, &coding.column, missing);
            }
        }
    }
}

fn encode_numbers(
    table: &Table,
    rows: &[u32],
    schema: &Schema,
    unmatched: &mut Unmatched,
    merges: Merges,
) -> Result<Vec<f32>, Error> {
    let layout = schema.layout();
    let mut numbers = vec![0f32; rows.len() * layout.numeric];
    for (at, column) in schema.numeric().iter().enumerate() {
        let place = table.require(&column.name, "a numeric feature")?;
        let Some(values) = table.columns()[place].numbers_of(rows) else {
            return Err(not_numbers(table, place).into());
        };
        let mut missing = 0;
        let slots = numbers.iter_mut().skip(at).step_by(layout.numeric);
        for (slot, (value, &row)) in slots.zip(values.into_iter().zip(rows)) {
            if value.is_nan() {
                missing += 1;
                continue;
            }
            let scaled = scaled(value, column);
            // Rows to predict are their owner's, who is told; of rows to train on nobody is.
            if merges == Merges::ToDo && !scaled.is_finite() {
                return Err(not_finite(table, row, column, value));
            }
            *slot = scaled.clamp(-FARTHEST, FARTHEST);
        }
        // One that has a feature to say so is not unmatched.
        if !schema.categorical().iter().any(|own| own.name == column.name) {
            note(&mut unmatched.missing, &column.name, missing);
        }
    }
    Ok(numbers)
}

/// What the model sees of a number, before it is clipped and rounded to the grid.
fn scaled(value: f64, column: &Numeric) -> f32 {
    ((value - column.centre) / column.scale) as f32
}

fn not_finite(table: &Table, row: u32, column: &Numeric, value: f64) -> Error {
    Error::from(CellError::NotFinite {
        origin: table.origin().to_owned(),
        row: table.first_row() + u64::from(row) + 1,
        column: column.name.clone(),
        value: format!("{value:e} (after scaling)"),
    })
}

fn note(counts: &mut BTreeMap<String, u64>, column: &str, count: u64) {
    if count > 0 {
        *counts.entry(column.to_owned()).or_default() += count;
    }
}

fn not_numbers(table: &Table, place: usize) -> CellError {
    let levels = table.columns()[place].levels().unwrap_or_default();
    let value = levels.first().cloned().unwrap_or_default();
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
    (column, known): (&str, &[String]),
    place: impl Fn(&str) -> Option<u16>,
    missing_counts: bool,
) -> Result<Vec<u16>, Error> {
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
