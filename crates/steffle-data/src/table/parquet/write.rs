//! Rows as a Parquet file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{self, TypePtr};

use crate::table::{Categories, Here};

/// Rows per row group.
const GROUP: usize = 1 << 20;

/// Largest whole number that every `f64` below it can name exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Writes the given rows of named columns; says what the Parquet writer said.
pub(in crate::table) fn write_parquet(
    file: &mut BufWriter<File>,
    columns: &[(&str, Here<'_>)],
    rows: &[u32],
) -> Result<(), String> {
    written(file, columns, rows).map_err(|error| error.to_string())
}

fn written(
    file: &mut BufWriter<File>,
    columns: &[(&str, Here<'_>)],
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
                Here::Text(text) => write_text(&mut group, text, rows)?,
                Here::Numbers(numbers) => write_numbers(&mut group, numbers, rows, kind)?,
            }
        }
        group.close()?;
    }
    writer.close().map(drop)
}

/// Whole numbers are written as integers, so that ids and counts look like themselves.
fn stored_type(column: &Here<'_>, rows: &[u32]) -> Type {
    let whole = |number: f64| number.is_nan() || (number.fract() == 0.0 && number.abs() < EXACT);
    match column {
        Here::Text(_) => Type::BYTE_ARRAY,
        Here::Numbers(numbers) if rows.iter().all(|&row| whole(numbers[row as usize])) => {
            Type::INT64
        }
        Here::Numbers(_) => Type::DOUBLE,
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
