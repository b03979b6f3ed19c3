//! Labels and probabilities for the rows of a file, in chunks, without the sensitive column.

use std::path::Path;

use steffle::metrics::decide;
use steffle_data::{Column, Columns, Dialect, Kind, Reader, Table, Unmatched, encode_features};

use super::Model;
use crate::Error;

/// Rows per chunk: a few megabytes, whatever the size of the file.
const CHUNK: usize = 8192;
/// The column that names records, where a file has one.
const RECORD_ID: &str = "record_id";

/// The rows of a file, chunk by chunk. Its number of rows does not matter.
pub struct Predictions<'a> {
    model: &'a Model,
    reader: Reader,
    unmatched: Unmatched,
}

/// What a model says about one row.
///
/// Its label, and how probable each label is.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted<'a> {
    /// The record's id, or the number of its row counted from 0.
    pub id: String,
    /// The label that it gets.
    pub label: &'a str,
    /// The probability of every label, in the order of the schema.
    pub probabilities: Vec<f64>,
}

impl Model {
    /// The probabilities of every label for every row of columns that are in memory, row by row, and
    /// the cells that do not fit the schema; refuses columns that lack a feature.
    pub fn predict_columns(
        &self,
        columns: Vec<(String, Column)>,
    ) -> Result<(Vec<f64>, Unmatched), Error> {
        let table = Table::new("the columns", columns)?;
        let (rows, unmatched) = encode_features(&table, &self.schema)?;
        Ok((self.probabilities(&rows), unmatched))
    }

    /// Opens a file to predict; refuses one that lacks a feature's column.
    pub fn predict(
        &self,
        file: impl AsRef<Path>,
        dialect: &Dialect,
    ) -> Result<Predictions<'_>, Error> {
        let (file, dialect) = (file.as_ref(), &self.schema.dialect(dialect));
        let features = self.schema.feature_columns();
        let reader = match features.clone() {
            Columns::Only(mut columns) => {
                columns.push((RECORD_ID.to_owned(), Kind::Text));
                match Reader::open_as(file, &Columns::Only(columns), dialect) {
                    Err(steffle_data::Error::UnknownColumn { column, .. })
                        if column == RECORD_ID =>
                    {
                        Reader::open_as(file, &features, dialect)
                    }
                    opened => opened,
                }
            }
            Columns::All { .. } => Reader::open_as(file, &features, dialect),
        };
        Ok(Predictions { model: self, reader: reader?, unmatched: Unmatched::default() })
    }
}

impl<'a> Predictions<'a> {
    /// The next rows; nothing after the last.
    pub fn next_chunk(&mut self) -> Result<Option<Vec<Predicted<'a>>>, Error> {
        let Some(chunk) = self.reader.next_chunk(CHUNK)? else { return Ok(None) };
        let model = self.model;
        let labels = model.schema.labels();
        let (rows, unknown) = encode_features(&chunk, &model.schema)?;
        self.unmatched.add(&unknown);
        let probabilities = model.probabilities(&rows);
        let decisions = decide(&probabilities, labels.len());
        let one = |(row, decision): (usize, &u16)| Predicted {
            id: id(&chunk, row),
            label: &labels[usize::from(*decision)],
            probabilities: probabilities[row * labels.len()..][..labels.len()].to_vec(),
        };
        Ok(Some(decisions.iter().enumerate().map(one).collect()))
    }

    /// Cells of the rows until now that do not fit the schema.
    pub fn unmatched(&self) -> &Unmatched {
        &self.unmatched
    }
}

fn id(chunk: &Table, row: usize) -> String {
    match chunk.column(RECORD_ID) {
        Some(Column::Text(ids)) => ids.level(row).unwrap_or_default().to_owned(),
        _ => (chunk.first_row() + row as u64).to_string(),
    }
}
