//! Writes rows of a table to CSV or Parquet, whole or not at all.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{self, TypePtr};

use super::reader::{FileFormat, Packing};
use super::{Categories, Column};
use crate::Error;

/// Rows per Parquet row group.
const GROUP: usize = 1 << 20;

/// Largest whole number that every `f64` below it can name exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Writes the given rows of named columns; the extension chooses the format.
///
/// A missing value becomes an empty cell or a null. The file appears under its name only when
/// it is complete.
pub fn write(path: &Path, columns: &[(&str, &Column)], rows: &[u32]) -> Result<(), Error> {
    let format = FileFormat::of(path)?;
    if matches!(format, FileFormat::Delimited(_, Packing::Gzip | Packing::Zstd)) {
        return Err(Error::Extension { path: path.to_path_buf() });
    }
    write_atomically(path, |file| match format {
        FileFormat::Delimited(delimiter, _) => write_delimited(file, delimiter, columns, rows)
            .map_err(|source| Error::io(path, source)),
        FileFormat::Parquet => write_parquet(file, columns, rows).map_err(|error| Error::Parquet {
            origin: path.display().to_string(),
            message: error.to_string(),
        }),
    })
}

/// Lets `fill` write a temporary file beside `path`, makes it durable and gives it its name.
///
/// On any error the temporary file is removed and whatever was at `path` stays.
pub fn write_atomically(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), Error>,
) -> Result<(), Error> {
    let temporary = temporary_beside(path);
    let outcome = (|| {
        let fail = |source| Error::io(path, source);
        let file = File::create_new(&temporary).map_err(fail)?;
        let mut buffered = BufWriter::new(file);
        fill(&mut buffered)?;
        let file = buffered.into_inner().map_err(|error| fail(error.into_error()))?;
        file.sync_all().map_err(fail)?;
        fs::rename(&temporary, path).map_err(fail)?;
        sync_directory(path);
        Ok(())
    })();
    if outcome.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    outcome
}

/// Makes a new name durable, where the system lets directories be synced.
fn sync_directory(path: &Path) {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Ok(directory) = File::open(directory.unwrap_or(Path::new("."))) {
        let _ = directory.sync_all();
    }
}

/// A name in the same directory that no other process uses.
pub(crate) fn temporary_beside(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn write_delimited(
    file: &mut BufWriter<File>,
    delimiter: u8,
    columns: &[(&str, &Column)],
    rows: &[u32],
) -> std::io::Result<()> {
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(file);
    writer.write_record(columns.iter().map(|(name, _)| *name))?;
    let mut cell = String::new();
    for &row in rows {
        for (_, column) in columns {
            cell.clear();
            match column {
                Column::Numbers(numbers) => {
                    let number = numbers[row as usize];
                    if !number.is_nan() {
                        use std::fmt::Write as _;
                        let _ = write!(cell, "{number}");
                    }
                }
                Column::Text(text) => cell.push_str(text.level(row as usize).unwrap_or_default()),
            }
            writer.write_field(&cell)?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    writer.flush()
}

fn write_parquet(
    file: &mut BufWriter<File>,
    columns: &[(&str, &Column)],
    rows: &[u32],
) -> Result<(), ParquetError> {
    let kinds: Vec<Type> = columns.iter().map(|(_, column)| stored_type(column, rows)).collect();
    let fields = columns
        .iter()
        .zip(&kinds)
        .map(|((name, _), &kind)| field(name, kind))
        .collect::<Result<Vec<_>, _>>()?;
    let schema = types::Type::group_type_builder("table").with_fields(fields).build()?;
    let compression = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    for rows in rows.chunks(GROUP) {
        let mut group = writer.next_row_group()?;
        for ((_, column), &kind) in columns.iter().zip(&kinds) {
            match column {
                Column::Text(text) => write_text(&mut group, text, rows)?,
                Column::Numbers(numbers) => write_numbers(&mut group, numbers, rows, kind)?,
            }
        }
        group.close()?;
    }
    writer.close().map(drop)
}

/// Whole numbers are written as integers, so that ids and counts look like themselves.
fn stored_type(column: &Column, rows: &[u32]) -> Type {
    let whole = |number: f64| number.is_nan() || (number.fract() == 0.0 && number.abs() < EXACT);
    match column {
        Column::Text(_) => Type::BYTE_ARRAY,
        Column::Numbers(numbers) if rows.iter().all(|&row| whole(numbers[row as usize])) => {
            Type::INT64
        }
        Column::Numbers(_) => Type::DOUBLE,
    }
}

fn field(name: &str, kind: Type) -> Result<TypePtr, ParquetError> {
    let builder = types::Type::primitive_type_builder(name, kind)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type((kind == Type::BYTE_ARRAY).then_some(LogicalType::String));
    Ok(Arc::new(builder.build()?))
}

fn write_text<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    text: &Categories,
    rows: &[u32],
) -> Result<(), ParquetError> {
    let levels: Vec<ByteArray> =
        text.levels.iter().map(|level| ByteArray::from(level.as_str())).collect();
    let cells = rows.iter().map(|&row| levels.get(text.codes[row as usize] as usize).cloned());
    write_cells::<ByteArrayType, W>(group, cells)
}

fn write_numbers<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    numbers: &[f64],
    rows: &[u32],
    kind: Type,
) -> Result<(), ParquetError> {
    let cells = rows.iter().map(|&row| numbers[row as usize]);
    let present = |number: f64| (!number.is_nan()).then_some(number);
    if kind == Type::INT64 {
        write_cells::<Int64Type, W>(group, cells.map(|cell| present(cell).map(|cell| cell as i64)))
    } else {
        write_cells::<DoubleType, W>(group, cells.map(present))
    }
}

fn write_cells<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for cell in cells {
        levels.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    let missing = || ParquetError::General("the file has fewer columns than the table".to_owned());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(&values, Some(&levels), None)?;
    column.close()
}
