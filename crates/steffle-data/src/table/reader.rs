//! Reads files whole or in chunks; the file name says which format it is.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::csv::CsvReader;
use super::dialect::Dialect;
use super::parquet::ParquetReader;
use super::text::TextFile;
use super::{Column, Table};
use crate::Error;

/// What a column holds.
///
/// It is decided once per file, from all cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Numbers.
    Number,
    /// Text.
    Text,
}

/// Which columns to read, and as what.
///
/// What is not asked for is never parsed.
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
                        origin: origin.to_owned(),
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
    Csv(Box<CsvReader>),
    Parquet(Box<ParquetReader>),
}

impl Reader {
    /// Opens a file; refuses unknown extensions, missing columns and unsupported types.
    pub fn open(path: &Path, columns: &Columns) -> Result<Self, Error> {
        Self::open_as(path, columns, &Dialect::default())
    }

    /// The same for a file whose owner says how it is written. A file of any name that promises nothing
    /// else is text, if a delimiter is given or it looks like text.
    pub fn open_as(path: &Path, columns: &Columns, dialect: &Dialect) -> Result<Self, Error> {
        Self::open_with(path, columns, dialect, false)
    }

    /// The same, but rows that cannot be read are no errors: tables say which these are
    /// ([`Table::spoiled`]).
    pub fn open_sparing(path: &Path, columns: &Columns, dialect: &Dialect) -> Result<Self, Error> {
        Self::open_with(path, columns, dialect, true)
    }

    fn open_with(
        path: &Path,
        columns: &Columns,
        dialect: &Dialect,
        sparing: bool,
    ) -> Result<Self, Error> {
        Ok(Self(match Opened::at(path, dialect)? {
            Opened::Text(text, usual) => {
                Format::Csv(Box::new(CsvReader::new(&text, usual, columns, dialect, sparing)?))
            }
            Opened::Parquet(file) => {
                let reader = parquet(path, file, columns, dialect)?;
                Format::Parquet(Box::new(if sparing { reader.sparing() } else { reader }))
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
}

/// A file that exists, by its format.
enum Opened {
    /// With the delimiter that is usual for its name.
    Text(TextFile, u8),
    Parquet(File),
}

impl Opened {
    fn at(path: &Path, dialect: &Dialect) -> Result<Self, Error> {
        let format = match FileFormat::of(path) {
            Err(Error::Extension { .. })
                if dialect.delimiter.is_some() || looks_like_text(path)? =>
            {
                FileFormat::Delimited(b',', Packing::of(path))
            }
            format => format?,
        };
        let file = File::open(path).map_err(|source| Error::io(path, source))?;
        if file.metadata().map_err(|source| Error::io(path, source))?.is_dir() {
            let source = std::io::Error::from(std::io::ErrorKind::IsADirectory);
            return Err(Error::Io { path: path.to_path_buf(), source });
        }
        Ok(match format {
            FileFormat::Delimited(usual, packing) => {
                let path = path.to_path_buf();
                Self::Text(TextFile { path, packing, encoding: dialect.encoding }, usual)
            }
            FileFormat::Parquet => Self::Parquet(file),
        })
    }
}

fn parquet(
    path: &Path,
    file: File,
    columns: &Columns,
    dialect: &Dialect,
) -> Result<ParquetReader, Error> {
    ParquetReader::new(path.display().to_string(), file, columns, dialect.markers())
}

/// The column names of a file, as they are used.
pub(crate) fn read_names(path: &Path, dialect: &Dialect) -> Result<Vec<String>, Error> {
    let none = Columns::Only(Vec::new());
    match Reader::open_as(path, &none, dialect)?.0 {
        Format::Csv(reader) => Ok(reader.names().to_vec()),
        Format::Parquet(reader) => Ok(reader.names().to_vec()),
    }
}

/// A whole file as a table.
pub fn read(path: &Path, columns: &Columns) -> Result<Table, Error> {
    read_as(path, columns, &Dialect::default())
}

/// A whole file as a table, where its owner says how it is written. Columns that the owner calls
/// sensitive ([`Dialect::sealed`]) are sealed in it.
pub fn read_as(path: &Path, columns: &Columns, dialect: &Dialect) -> Result<Table, Error> {
    let mut table = match Opened::at(path, dialect)? {
        Opened::Text(text, usual) => CsvReader::whole(&text, usual, columns, dialect)?,
        Opened::Parquet(file) => parquet(path, file, columns, dialect)?.next_chunk(usize::MAX)?,
    };
    table.seal(&dialect.sealed)?;
    Ok(table)
}

/// A Parquet file that is already in memory.
pub(crate) fn read_parquet_bytes(
    origin: &str,
    bytes: &'static [u8],
    columns: &Columns,
) -> Result<Table, Error> {
    let markers = Dialect::default().markers();
    ParquetReader::of_bytes(origin, bytes, columns, markers)?.next_chunk(usize::MAX)
}

/// What the name of a file promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileFormat {
    /// Text with the delimiter that is usual for such names.
    Delimited(u8, Packing),
    Parquet,
}

/// How a text file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Packing {
    #[default]
    None,
    Gzip,
    Zstd,
}

impl Packing {
    fn of(path: &Path) -> Self {
        match extension(path).as_deref() {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            _ => Self::None,
        }
    }
}

impl FileFormat {
    pub(super) fn of(path: &Path) -> Result<Self, Error> {
        let packing = Packing::of(path);
        let inner =
            if packing == Packing::None { path.to_path_buf() } else { path.with_extension("") };
        match extension(&inner).as_deref() {
            Some("csv") => Ok(Self::Delimited(b',', packing)),
            Some("tsv") => Ok(Self::Delimited(b'\t', packing)),
            Some("parquet" | "pq") if packing == Packing::None => Ok(Self::Parquet),
            _ => Err(Error::Extension { path: path.to_path_buf() }),
        }
    }
}

/// Whether a file begins with text: no NUL byte, no archive, no JSON.
fn looks_like_text(path: &Path) -> Result<bool, Error> {
    let fail = |source| Error::io(path, source);
    let mut sample = Vec::new();
    let file = File::open(path).map_err(fail)?;
    if file.metadata().map_err(fail)?.is_dir() || Packing::of(path) != Packing::None {
        return Ok(false);
    }
    file.take(1 << 12).read_to_end(&mut sample).map_err(fail)?;
    let other = [&b"PK"[..], b"{", b"[", b"%PDF", b"<"].iter().any(|mark| sample.starts_with(mark));
    Ok(!other && !sample.contains(&0) && !sample.is_empty())
}

fn extension(path: &Path) -> Option<String> {
    path.extension().map(|name| name.to_string_lossy().to_ascii_lowercase())
}
