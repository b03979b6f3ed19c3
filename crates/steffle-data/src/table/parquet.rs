//! Parquet files, column by column, without Arrow.

mod write;

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

pub(super) use self::write::write_parquet;
use super::builder::{Builder, Misfit};
use super::contain::contain;
use super::dialect::Markers;
use super::notation::Notation;
use super::reader::{Columns, Kind};
use super::{Spoiled, Table};
use crate::{CellError, Error};

/// Cells decoded at a time: large enough to be fast, small enough to stay in cache.
const BATCH: usize = 2048;

/// Reads a Parquet file in chunks.
pub(super) struct ParquetReader {
    origin: String,
    file: Box<dyn FileReader>,
    names: Vec<String>,
    chosen: Vec<(usize, Kind)>,
    markers: Markers,
    sparing: bool,
    next_group: usize,
    open: Vec<ColumnReader>,
    left_in_group: usize,
    next_row: u64,
}

impl ParquetReader {
    /// Opens bytes that are a file.
    pub(super) fn of_bytes(
        origin: &str,
        bytes: &'static [u8],
        columns: &Columns,
        markers: Markers,
    ) -> Result<Self, Error> {
        Self::new(origin.to_owned(), bytes::Bytes::from_static(bytes), columns, markers)
    }

    /// Opens a file, or bytes that are one.
    pub(super) fn new<R: ChunkReader + 'static>(
        origin: String,
        source: R,
        columns: &Columns,
        markers: Markers,
    ) -> Result<Self, Error> {
        let file = guarded(&origin, || SerializedFileReader::new(source))?;
        let file = file.map_err(|error| failure(&origin, &error))?;
        Self::start(origin, Box::new(file), columns, markers)
    }

    fn start(
        origin: String,
        file: Box<dyn FileReader>,
        columns: &Columns,
        markers: Markers,
    ) -> Result<Self, Error> {
        let schema = file.metadata().file_metadata().schema_descr_ptr();
        let names: Vec<String> =
            schema.columns().iter().map(|column| column.path().string()).collect();
        let kinds = |at: usize| natural_kind(&schema.column(at));
        let chosen = columns.choose(&origin, &names, |at| kinds(at).unwrap_or(Kind::Number))?;
        for &(at, _) in &chosen {
            if kinds(at).is_none() {
                let found = describe_type(&schema.column(at));
                return Err(Error::ColumnType { origin, column: names[at].clone(), found });
            }
        }
        Ok(Self {
            origin,
            file,
            names,
            chosen,
            markers,
            sparing: false,
            next_group: 0,
            open: Vec::new(),
            left_in_group: 0,
            next_row: 0,
        })
    }

    /// The same, but a cell that does not fit spoils its row and is no error.
    pub(super) fn sparing(self) -> Self {
        Self { sparing: true, ..self }
    }

    /// The names of all columns of the file.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The next rows, at most `limit` of them. After an error there is nothing more to read.
    pub(super) fn next_chunk(&mut self, limit: usize) -> Result<Table, Error> {
        let origin = self.origin.clone();
        let outcome = guarded(&origin, || self.decode(limit)).flatten();
        if outcome.is_err() {
            (self.next_group, self.left_in_group) = (usize::MAX, 0);
        }
        outcome
    }

    fn decode(&mut self, limit: usize) -> Result<Table, Error> {
        let first = self.next_row;
        let builder = |&(_, kind): &(usize, Kind)| {
            Builder::new(kind, Notation::Plain, &self.markers).sparing(self.sparing)
        };
        let mut builders: Vec<Builder> = self.chosen.iter().map(builder).collect();
        let mut wanted = limit;
        while wanted > 0 && self.enter_group()? {
            let rows = wanted.min(self.left_in_group).min(BATCH);
            let schema = self.file.metadata().file_metadata().schema_descr_ptr();
            for ((reader, builder), &(at, _)) in
                self.open.iter_mut().zip(&mut builders).zip(&self.chosen)
            {
                let column = schema.column(at);
                read_cells(reader, &column, rows, builder)
                    .map_err(|problem| problem.at(&self.origin, &self.names[at], self.next_row))?;
            }
            self.next_row += rows as u64;
            self.left_in_group -= rows;
            wanted -= rows;
        }
        let mut spoiled = Spoiled::default();
        for (builder, &(at, _)) in builders.iter_mut().zip(&self.chosen) {
            for (offset, misfit, value) in builder.take_spoiled() {
                let problem = Problem::Cell { offset, misfit, value };
                spoiled.note(offset, &problem.at(&self.origin, &self.names[at], first));
            }
        }
        let names = self.chosen.iter().map(|&(at, _)| self.names[at].clone()).collect();
        let columns = builders.into_iter().map(Builder::finish).collect();
        Ok(Table::from_parts(self.origin.clone(), names, columns, first).with_spoiled(spoiled))
    }

    /// Opens the next row group that has rows, if the current one is used up.
    fn enter_group(&mut self) -> Result<bool, Error> {
        while self.left_in_group == 0 {
            if self.next_group >= self.file.num_row_groups() {
                return Ok(false);
            }
            let fail = |error: ParquetError| failure(&self.origin, &error);
            let group = self.file.get_row_group(self.next_group).map_err(fail)?;
            let rows = group.metadata().num_rows();
            self.left_in_group = usize::try_from(rows).map_err(|_| Error::Parquet {
                origin: self.origin.clone(),
                message: format!("row group {} claims {rows} rows", self.next_group),
            })?;
            self.open = self
                .chosen
                .iter()
                .map(|&(at, _)| group.get_column_reader(at))
                .collect::<Result<_, _>>()
                .map_err(fail)?;
            self.next_group += 1;
        }
        Ok(true)
    }
}

/// What went wrong in a batch, before the column is known.
enum Problem {
    Parquet(ParquetError),
    Short { wanted: usize, found: usize },
    NotText,
    Cell { offset: usize, misfit: Misfit, value: String },
}

impl Problem {
    fn with_offset(self, offset: usize) -> Self {
        match self {
            Self::Cell { misfit, value, .. } => Self::Cell { offset, misfit, value },
            other => other,
        }
    }

    fn at(self, origin: &str, column: &str, first_row: u64) -> Error {
        let (origin, column) = (origin.to_owned(), column.to_owned());
        match self {
            Self::Parquet(error) => failure(&origin, &error),
            Self::Short { wanted, found } => Error::Parquet {
                origin,
                message: format!("column `{column}` ends {} rows early", wanted - found),
            },
            Self::NotText => Error::Parquet {
                origin,
                message: format!("column `{column}` holds bytes that are not UTF-8 text"),
            },
            Self::Cell { offset, misfit, value } => {
                let row = first_row + offset as u64 + 1;
                match misfit {
                    Misfit::NotFinite => CellError::NotFinite { origin, row, column, value },
                    Misfit::NotANumber => CellError::NotANumber { origin, row, column, value },
                }
                .into()
            }
        }
    }
}

fn read_cells(
    reader: &mut ColumnReader,
    column: &ColumnDescriptor,
    rows: usize,
    builder: &mut Builder,
) -> Result<(), Problem> {
    let unsigned =
        matches!(column.converted_type(), ConvertedType::UINT_32 | ConvertedType::UINT_64);
    let unit = 10f64.powi(decimal_scale(column).unwrap_or(0));
    match reader {
        ColumnReader::BoolColumnReader(reader) => each(reader, rows, builder, |builder, &value| {
            text(builder, if value { "true" } else { "false" })
        }),
        ColumnReader::Int32ColumnReader(reader) => {
            each(reader, rows, builder, |builder, &value| {
                let value = if unsigned { f64::from(value as u32) } else { f64::from(value) };
                number(builder, value / unit)
            })
        }
        ColumnReader::Int64ColumnReader(reader) => {
            each(reader, rows, builder, |builder, &value| {
                let value = if unsigned { value as u64 as f64 } else { value as f64 };
                number(builder, value / unit)
            })
        }
        ColumnReader::FloatColumnReader(reader) => {
            each(reader, rows, builder, |builder, &value| number(builder, f64::from(value)))
        }
        ColumnReader::DoubleColumnReader(reader) => {
            each(reader, rows, builder, |builder, &value| number(builder, value))
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            let mut lately = Lately::default();
            each(reader, rows, builder, |builder, bytes: &ByteArray| lately.put(builder, bytes))
        }
        // Refused when the file was opened.
        ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => {
            Err(Problem::NotText)
        }
    }
}

/// Decodes `rows` cells and puts them in order; a null is missing.
fn each<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    builder: &mut Builder,
    mut put: impl FnMut(&mut Builder, &T::T) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let (mut values, mut levels) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let (found, _, _) = reader
        .read_records(rows, Some(&mut levels), None, &mut values)
        .map_err(Problem::Parquet)?;
    if found < rows {
        return Err(Problem::Short { wanted: rows, found });
    }
    if values.len() == rows {
        for (offset, value) in values.iter().enumerate() {
            put(builder, value).map_err(|problem| problem.with_offset(offset))?;
        }
        return Ok(());
    }
    let mut next = values.iter();
    for offset in 0..rows {
        // A required column has no levels; an optional one marks a value by level 1.
        let present = levels.get(offset).is_none_or(|&level| level > 0);
        match present.then(|| next.next()).flatten() {
            Some(value) => put(builder, value).map_err(|problem| problem.with_offset(offset))?,
            None => builder.push_missing(),
        }
    }
    Ok(())
}

/// Entries of a dictionary that a batch has used lately, by where they lie: the same bytes at the
/// same place are the same text, as long as the batch is there. So most cells are not looked at.
struct Lately([(usize, usize, u32); 64]);

impl Default for Lately {
    fn default() -> Self {
        Self([(0, 0, 0); 64])
    }
}

impl Lately {
    fn put(&mut self, builder: &mut Builder, bytes: &ByteArray) -> Result<(), Problem> {
        let (place, length) = (bytes.data().as_ptr() as usize, bytes.len());
        let slot = &mut self.0[(place ^ place >> 6) % 64];
        if (slot.0, slot.1) == (place, length) && builder.push_code(slot.2) {
            return Ok(());
        }
        text(builder, bytes.as_utf8().map_err(|_| Problem::NotText)?)?;
        if let Some(code) = builder.last_code().filter(|_| length > 0) {
            *slot = (place, length, code);
        }
        Ok(())
    }
}

fn number(builder: &mut Builder, value: f64) -> Result<(), Problem> {
    let problem = |misfit| Problem::Cell { offset: 0, misfit, value: value.to_string() };
    builder.push_number(value).map_err(problem)
}

fn text(builder: &mut Builder, value: &str) -> Result<(), Problem> {
    let problem = |misfit| Problem::Cell { offset: 0, misfit, value: value.to_owned() };
    builder.push_text(value.trim_ascii()).map_err(problem)
}

/// What a column holds, or none if it has no meaning here.
fn natural_kind(column: &ColumnDescriptor) -> Option<Kind> {
    if column.max_rep_level() > 0 || column.max_def_level() > 1 || column.path().parts().len() > 1 {
        return None;
    }
    match column.physical_type() {
        Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE => Some(Kind::Number),
        Type::BOOLEAN => Some(Kind::Text),
        Type::BYTE_ARRAY if decimal_scale(column).is_none() => Some(Kind::Text),
        _ => None,
    }
}

fn decimal_scale(column: &ColumnDescriptor) -> Option<i32> {
    let decimal = matches!(column.logical_type_ref(), Some(LogicalType::Decimal(_)))
        || column.converted_type() == ConvertedType::DECIMAL;
    decimal.then(|| column.type_scale())
}

fn describe_type(column: &ColumnDescriptor) -> String {
    if column.path().parts().len() > 1 || column.max_rep_level() > 0 {
        return "list, map or struct".to_owned();
    }
    format!("{}", column.physical_type())
}

fn guarded<T>(origin: &str, work: impl FnOnce() -> T) -> Result<T, Error> {
    contain(work).ok_or_else(|| Error::Parquet {
        origin: origin.to_owned(),
        message: "its pages contradict each other; the file is damaged".to_owned(),
    })
}

fn failure(origin: &str, error: &ParquetError) -> Error {
    Error::Parquet { origin: origin.to_owned(), message: error.to_string() }
}

#[cfg(test)]
mod tests;
