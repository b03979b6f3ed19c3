//! Delimited text: a header line, then one record per line.

use std::io::{Read, Seek, SeekFrom};

use csv::{ByteRecord, ReaderBuilder};

use super::Table;
use super::builder::{Builder, Misfit, is_missing};
use super::reader::{Columns, Kind};
use crate::Error;

/// Reads a delimited file in chunks.
pub(super) struct CsvReader<R> {
    origin: String,
    reader: csv::Reader<R>,
    names: Vec<String>,
    chosen: Vec<(usize, Kind)>,
    record: ByteRecord,
    next_row: u64,
}

impl<R: Read + Seek> CsvReader<R> {
    /// Reads the header. When all columns are wanted, the file is read once beforehand to see
    /// which of them hold only numbers: a later row may turn `01` from a number into a code, and
    /// by then its spelling would be lost.
    pub(super) fn new(
        origin: String,
        mut source: R,
        delimiter: u8,
        columns: &Columns,
    ) -> Result<Self, Error> {
        let kinds = match columns {
            Columns::All { .. } => {
                let kinds = scan_kinds(&origin, &mut open(delimiter, &mut source))?;
                source.seek(SeekFrom::Start(0)).map_err(|error| failure(&origin, &error.into()))?;
                kinds
            }
            Columns::Only(_) => Vec::new(),
        };
        let mut reader = open(delimiter, source);
        let names = header(&origin, &mut reader)?;
        let kind = |at: usize| kinds.get(at).copied().unwrap_or(Kind::Text);
        let chosen = columns.choose(&origin, &names, kind)?;
        Ok(Self { origin, reader, names, chosen, record: ByteRecord::new(), next_row: 0 })
    }

    /// The next rows, at most `limit` of them.
    pub(super) fn next_chunk(&mut self, limit: usize) -> Result<Table, Error> {
        let first = self.next_row;
        let mut builders: Vec<Builder> =
            self.chosen.iter().map(|(_, kind)| Builder::new(*kind)).collect();
        for _ in 0..limit {
            let more = self.reader.read_byte_record(&mut self.record);
            if !more.map_err(|error| failure(&self.origin, &error))? {
                break;
            }
            self.next_row += 1;
            for (&(at, _), builder) in self.chosen.iter().zip(&mut builders) {
                let cell = cell(&self.origin, &self.names[at], &self.record, at)?;
                builder.push_text(cell).map_err(|misfit| self.misfit(&misfit, at, cell))?;
            }
        }
        let names = self.chosen.iter().map(|&(at, _)| self.names[at].clone()).collect();
        let columns = builders.into_iter().map(Builder::finish).collect();
        Ok(Table::from_parts(self.origin.clone(), names, columns, first))
    }

    fn misfit(&self, misfit: &Misfit, at: usize, cell: &str) -> Error {
        let (origin, row) = (self.origin.clone(), self.next_row);
        let (column, value) = (self.names[at].clone(), cell.to_owned());
        match misfit {
            Misfit::NotFinite => Error::NotFinite { origin, row, column, value },
            Misfit::NotANumber => Error::NotANumber { origin, row, column, value },
        }
    }
}

fn open<R: Read>(delimiter: u8, source: R) -> csv::Reader<R> {
    ReaderBuilder::new().delimiter(delimiter).buffer_capacity(1 << 18).from_reader(source)
}

fn header<R: Read>(origin: &str, reader: &mut csv::Reader<R>) -> Result<Vec<String>, Error> {
    let header = reader.byte_headers().map_err(|error| failure(origin, &error))?;
    if header.is_empty() {
        return Err(Error::EmptyCsv { origin: origin.to_owned() });
    }
    header
        .iter()
        .map(|name| std::str::from_utf8(name.trim_ascii()).map(str::to_owned))
        .collect::<Result<_, _>>()
        .map_err(|_| Error::Csv {
            origin: origin.to_owned(),
            line: 1,
            message: "a column name is not UTF-8 text".to_owned(),
        })
}

/// A column is numeric when every cell that is not missing reads as a number, NaN and the
/// infinities included: those are then refused by place instead of turning numbers into text.
fn scan_kinds<R: Read>(origin: &str, reader: &mut csv::Reader<R>) -> Result<Vec<Kind>, Error> {
    let names = header(origin, reader)?;
    let mut kinds = vec![Kind::Number; names.len()];
    let mut record = ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(|error| failure(origin, &error))? {
        for (at, kind) in kinds.iter_mut().enumerate().filter(|(_, kind)| **kind == Kind::Number) {
            let cell = cell(origin, &names[at], &record, at)?;
            if !is_missing(cell) && cell.parse::<f64>().is_err() {
                *kind = Kind::Text;
            }
        }
    }
    Ok(kinds)
}

fn cell<'r>(
    origin: &str,
    column: &str,
    record: &'r ByteRecord,
    at: usize,
) -> Result<&'r str, Error> {
    let bytes = record.get(at).unwrap_or_default().trim_ascii();
    std::str::from_utf8(bytes).map_err(|_| Error::Csv {
        origin: origin.to_owned(),
        line: record.position().map_or(0, csv::Position::line),
        message: format!("column `{column}` is not UTF-8 text; save the file as UTF-8"),
    })
}

fn failure(origin: &str, error: &csv::Error) -> Error {
    let origin = origin.to_owned();
    let line = error.position().map_or(0, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            Error::Ragged { origin, line, expected: *expected_len, found: *len }
        }
        _ => Error::Csv { origin, line, message: error.to_string() },
    }
}
