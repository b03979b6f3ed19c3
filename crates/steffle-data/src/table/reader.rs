//! Reads files whole or in chunks; the file name says which format it is.

use std::fs::File;
use std::path::Path;

use super::csv::CsvReader;
use super::parquet::ParquetReader;
use super::{Column, Table};
use crate::Error;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Numbers.
    Number,
    /// Text.
    Text,
}

/// Which columns to read, and as what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Columns {
    /// Every column. One whose non-missing cells are all numbers is read as numbers, unless it
    /// is among these.
    All {
        /// Columns to read as text whatever they hold.
        text: Vec<String>,
    },
    /// These columns and no other, as the given kinds.
    Only(Vec<(String, Kind)>),
}

impl Columns {
    /// Which places of a file to read under which name; `natural` is the kind found in the file.
    pub(super) fn choose(
        &self,
        origin: &str,
        names: &[String],
        natural: impl Fn(usize) -> Kind,
    ) -> Result<Vec<(usize, Kind)>, Error> {
        super::check_names(origin, names)?;
        match self {
            Self::All { text } => Ok(names
                .iter()
                .enumerate()
                .map(|(at, name)| (at, if text.contains(name) { Kind::Text } else { natural(at) }))
                .collect()),
            Self::Only(wanted) => wanted
                .iter()
                .map(|(name, kind)| {
                    let at = names.iter().position(|known| known == name);
                    at.map(|at| (at, *kind)).ok_or_else(|| Error::UnknownColumn {
                        column: name.clone(),
                        role: "a column of the schema",
                        known: names.to_vec(),
                    })
                })
                .collect(),
        }
    }
}

/// Reads a file in chunks of rows, so that its size does not matter.
///
/// ```no_run
/// use steffle_data::{Columns, Reader};
/// let mut reader = Reader::open("people.csv".as_ref(), &Columns::All { text: vec![] })?;
/// while let Some(chunk) = reader.next_chunk(10_000)? {
///     println!("rows {}..{}", chunk.first_row(), chunk.first_row() + chunk.rows() as u64);
/// }
/// # Ok::<(), steffle_data::Error>(())
/// ```
pub struct Reader(Format);

enum Format {
    Csv(Box<CsvReader<File>>),
    Parquet(Box<ParquetReader>),
}

impl Reader {
    /// Opens a file; refuses unknown extensions, missing columns and unsupported types.
    pub fn open(path: &Path, columns: &Columns) -> Result<Self, Error> {
        let format = FileFormat::of(path)?;
        let file = File::open(path).map_err(|source| Error::io(path, source))?;
        if file.metadata().map_err(|source| Error::io(path, source))?.is_dir() {
            let source = std::io::Error::from(std::io::ErrorKind::IsADirectory);
            return Err(Error::Io { path: path.to_path_buf(), source });
        }
        let origin = path.display().to_string();
        Ok(Self(match format {
            FileFormat::Delimited(delimiter) => {
                Format::Csv(Box::new(CsvReader::new(origin, file, delimiter, columns)?))
            }
            FileFormat::Parquet => {
                Format::Parquet(Box::new(ParquetReader::new(origin, file, columns)?))
            }
        }))
    }

    /// The next rows, at most `limit` of them; none at the end.
    pub fn next_chunk(&mut self, limit: usize) -> Result<Option<Table>, Error> {
        let table = match &mut self.0 {
            Format::Csv(reader) => reader.next_chunk(limit)?,
            Format::Parquet(reader) => reader.next_chunk(limit)?,
        };
        Ok((table.columns().first().map_or(0, Column::len) > 0).then_some(table))
    }

    /// All remaining rows, which may be none.
    fn rest(&mut self) -> Result<Table, Error> {
        match &mut self.0 {
            Format::Csv(reader) => reader.next_chunk(usize::MAX),
            Format::Parquet(reader) => reader.next_chunk(usize::MAX),
        }
    }
}

/// A whole file as a table.
pub fn read(path: &Path, columns: &Columns) -> Result<Table, Error> {
    Reader::open(path, columns)?.rest()
}

/// A Parquet file that is already in memory.
pub fn read_parquet_bytes(
    origin: &str,
    bytes: &'static [u8],
    columns: &Columns,
) -> Result<Table, Error> {
    let bytes = bytes::Bytes::from_static(bytes);
    ParquetReader::new(origin.to_owned(), bytes, columns)?.next_chunk(usize::MAX)
}

/// What the extension of a file name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileFormat {
    Delimited(u8),
    Parquet,
}

impl FileFormat {
    pub(super) fn of(path: &Path) -> Result<Self, Error> {
        let extension = path.extension().map(|name| name.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref() {
            Some("csv") => Ok(Self::Delimited(b',')),
            Some("tsv") => Ok(Self::Delimited(b'\t')),
            Some("parquet" | "pq") => Ok(Self::Parquet),
            _ => Err(Error::Extension { path: path.to_path_buf() }),
        }
    }
}
