//! Labels and probabilities for the rows of a file, in chunks, without the sensitive column.

use std::path::Path;

use steffle::metrics::decide;
use steffle_data::{
    Column, Columns, Dialect, Here, Kind, Reader, Table, Unmatched, encode_features,
    encode_features_sparing,
};

use super::Model;
use crate::Error;

/// Rows per chunk: a few megabytes, whatever the size of the file.
const CHUNK: usize = 8192;
/// The column that names records, where a file has one and no other is said to.
const RECORD_ID: &str = "record_id";

/// How to predict the rows of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Asked {
    /// How the file is written.
    pub dialect: Dialect,
    /// The column that names records; none: `record_id` if there is one, else rows are counted.
    pub id: Option<String>,
    /// From which probability on a record gets the favourable one of two labels; none: the more
    /// probable label.
    pub threshold: Option<f64>,
    /// Whether rows that cannot be read are left out and listed; otherwise they are errors.
    pub skip: bool,
}

/// The rows of a file, chunk by chunk. Its number of rows does not matter.
pub struct Predictions<'a> {
    model: &'a Model,
    reader: Reader,
    id: String,
    asked: Asked,
    unmatched: Unmatched,
    skipped: Vec<Skipped>,
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

/// A row that was left out.
///
/// Its place in the file, and why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Skipped {
    /// The row, counted from 1 after the header.
    pub row: u64,
    /// What is wrong with it.
    pub reason: String,
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

    /// Opens a file to predict; refuses one that lacks a feature's column or the one of ids, and a
    /// threshold outside of 0 to 1 or for more than two labels.
    pub fn predict(&self, file: impl AsRef<Path>, asked: &Asked) -> Result<Predictions<'_>, Error> {
        if let Some(threshold) = asked.threshold {
            let labels = self.schema.labels().len();
            if labels != 2 {
                let why = format!("a threshold is for two labels, and the model has {labels}");
                return Err(Error::value("threshold", threshold, why));
            }
            if !(0.0..=1.0).contains(&threshold) {
                return Err(Error::value("threshold", threshold, "it must be from 0 to 1"));
            }
        }
        let (file, dialect) = (file.as_ref(), &self.schema.dialect(&asked.dialect));
        let open = |columns: &Columns| {
            let open = if asked.skip { Reader::open_sparing } else { Reader::open_as };
            open(file, columns, dialect)
        };
        let features = self.schema.feature_columns();
        let id = asked.id.clone().unwrap_or_else(|| RECORD_ID.to_owned());
        let reader = match features.clone() {
            Columns::Only(mut columns) => {
                if columns.iter().all(|(name, _)| *name != id) {
                    columns.push((id.clone(), Kind::Text));
                }
                match open(&Columns::Only(columns)) {
                    Err(steffle_data::Error::UnknownColumn { column, .. })
                        if column == id && asked.id.is_none() =>
                    {
                        open(&features)
                    }
                    opened => opened,
                }
            }
            Columns::All { .. } => open(&features),
        };
        let (unmatched, skipped) = <_>::default();
        let asked = asked.clone();
        Ok(Predictions { model: self, reader: reader?, id, asked, unmatched, skipped })
    }
}

impl<'a> Predictions<'a> {
    /// The next rows, which may be none that can be used; nothing after the last.
    pub fn next_chunk(&mut self) -> Result<Option<Vec<Predicted<'a>>>, Error> {
        let Some(chunk) = self.reader.next_chunk(CHUNK)? else { return Ok(None) };
        let model = self.model;
        let labels = model.schema.labels();
        let (kept, rows) = if self.asked.skip {
            let (kept, rows, unmatched, spoiled) = encode_features_sparing(&chunk, &model.schema)?;
            self.unmatched.add(&unmatched);
            self.skipped.extend(spoiled.iter().map(|(row, why)| Skipped {
                row: chunk.first_row() + row as u64 + 1,
                reason: why.to_owned(),
            }));
            (kept, rows)
        } else {
            let (rows, unmatched) = encode_features(&chunk, &model.schema)?;
            self.unmatched.add(&unmatched);
            ((0..chunk.rows() as u32).collect(), rows)
        };
        let probabilities = model.probabilities(&rows);
        let most_probable = decide(&probabilities, labels.len());
        let one = |(place, &row): (usize, &u32)| {
            let own = &probabilities[place * labels.len()..][..labels.len()];
            let label = self.chosen(own).unwrap_or(usize::from(most_probable[place]));
            Predicted {
                id: id(&chunk, &self.id, row as usize),
                label: &labels[label],
                probabilities: own.to_vec(),
            }
        };
        Ok(Some(kept.iter().enumerate().map(one).collect()))
    }

    /// The label that the threshold gives, where there is one.
    fn chosen(&self, probabilities: &[f64]) -> Option<usize> {
        let favourable = usize::from(self.model.schema.favourable());
        let gets = probabilities[favourable] >= self.asked.threshold?;
        Some(if gets { favourable } else { 1 - favourable })
    }

    /// Cells of the rows until now that do not fit the schema.
    pub fn unmatched(&self) -> &Unmatched {
        &self.unmatched
    }

    /// Rows that were left out since this was last asked.
    pub fn take_skipped(&mut self) -> Vec<Skipped> {
        std::mem::take(&mut self.skipped)
    }
}

fn id(chunk: &Table, column: &str, row: usize) -> String {
    match chunk.column(column).map(Column::here) {
        Some(Here::Text(ids)) => ids.level(row).unwrap_or_default().to_owned(),
        Some(Here::Numbers(ids)) if !ids[row].is_nan() => ids[row].to_string(),
        Some(Here::Numbers(_)) => String::new(),
        None => (chunk.first_row() + row as u64).to_string(),
    }
}
