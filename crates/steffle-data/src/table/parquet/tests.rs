use std::sync::Arc;

use parquet::data_type::{
    BoolType, ByteArrayType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
    Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::*;
use crate::table::{Column, Dialect, Here};

/// A file of one column with the given values.
fn file<T: DataType>(field: &str, values: &[T::T], levels: Option<&[i16]>) -> Vec<u8> {
    let message = format!("message table {{ {field} }}");
    let schema = Arc::new(parse_message_type(&message).unwrap());
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::new());
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, levels, levels).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

fn read(bytes: Vec<u8>) -> Result<Column, Error> {
    read_all(bytes, Vec::new())
}

fn read_as_text(bytes: Vec<u8>) -> Result<Column, Error> {
    read_all(bytes, vec!["v".to_owned()])
}

fn read_all(bytes: Vec<u8>, text: Vec<String>) -> Result<Column, Error> {
    let all = Columns::All { text };
    let bytes = bytes::Bytes::from(bytes);
    let mut reader =
        ParquetReader::new("test".to_owned(), bytes, &all, Dialect::default().markers())?;
    Ok(reader.next_chunk(usize::MAX)?.columns()[0].clone())
}

fn numbers(bytes: Vec<u8>) -> Vec<f64> {
    match read(bytes).unwrap().here() {
        Here::Numbers(numbers) => numbers.into_owned(),
        Here::Text(text) => panic!("text: {text:?}"),
    }
}

fn levels(bytes: Vec<u8>) -> Vec<String> {
    levels_of(&read(bytes).unwrap())
}

fn levels_of(column: &Column) -> Vec<String> {
    match column.here() {
        Here::Text(text) => {
            (0..text.codes.len()).map(|row| text.level(row).unwrap_or("-").to_owned()).collect()
        }
        Here::Numbers(numbers) => panic!("numbers: {numbers:?}"),
    }
}

#[test]
fn every_kind_of_number_is_one() {
    assert_eq!(numbers(file::<Int32Type>("required int32 v;", &[-1, 7], None)), [-1.0, 7.0]);
    let unsigned = file::<Int32Type>("required int32 v (UINT_32);", &[-1], None);
    assert_eq!(numbers(unsigned), [4_294_967_295.0]);
    assert_eq!(numbers(file::<Int64Type>("required int64 v;", &[1 << 40], None)), [2f64.powi(40)]);
    let unsigned = file::<Int64Type>("required int64 v (UINT_64);", &[-1], None);
    assert_eq!(numbers(unsigned), [2f64.powi(64)]);
    let decimal = file::<Int64Type>("required int64 v (DECIMAL(9, 2));", &[1234], None);
    assert_eq!(numbers(decimal), [12.34]);
    assert_eq!(numbers(file::<FloatType>("required float v;", &[0.5], None)), [0.5]);
    assert_eq!(numbers(file::<DoubleType>("required double v;", &[1e-9], None)), [1e-9]);
}

#[test]
fn nulls_question_marks_and_blanks_are_missing() {
    let some = file::<DoubleType>("optional double v;", &[1.5], Some(&[0, 1, 0]));
    let numbers = numbers(some);
    assert!(numbers[0].is_nan() && numbers[2].is_nan());
    assert_eq!(numbers[1], 1.5);
    let cells = ["a", "?", "NA", " ", " b "].map(ByteArray::from);
    let text =
        file::<ByteArrayType>("optional binary v (UTF8);", &cells, Some(&[1, 1, 1, 1, 0, 1]));
    assert_eq!(levels(text), ["a", "-", "-", "-", "-", "b"]);
    let truth = file::<BoolType>("required boolean v;", &[true, false], None);
    assert_eq!(levels(truth), ["true", "false"]);
}

#[test]
fn values_that_are_no_numbers_are_refused_by_place() {
    for value in [f64::NAN, f64::INFINITY] {
        let error =
            read(file::<DoubleType>("required double v;", &[0.0, value], None)).unwrap_err();
        assert!(matches!(error, Error::Cell(CellError::NotFinite { row: 2, .. })), "{error}");
    }
    // Where numbers are read as names, a sensitive value could be quoted: none is refused.
    let bytes = file::<DoubleType>("required double v;", &[1.0, f64::NAN, f64::INFINITY], None);
    assert_eq!(levels_of(&read_as_text(bytes).unwrap()), ["1", "-", "inf"]);
    let bytes = ByteArray::from(vec![0xff, 0xfe]);
    let error = read(file::<ByteArrayType>("required binary v;", &[bytes], None)).unwrap_err();
    assert!(error.to_string().contains("UTF-8"), "{error}");
}

#[test]
fn other_types_are_refused_by_name() {
    let time = file::<Int96Type>("required int96 v;", &[Int96::new()], None);
    let id = parquet::data_type::FixedLenByteArray::from(vec![0; 16]);
    let fixed = file::<FixedLenByteArrayType>("required fixed_len_byte_array(16) v;", &[id], None);
    let list = file::<Int32Type>("repeated int32 v;", &[], Some(&[0]));
    let group = file::<Int32Type>("required group v { required int32 w; }", &[1], None);
    for (bytes, found) in [(time, "INT96"), (fixed, "FIXED"), (list, "list"), (group, "struct")] {
        let error = read(bytes).unwrap_err();
        assert!(matches!(error, Error::ColumnType { .. }), "{error}");
        assert!(error.to_string().contains(found), "{error}");
    }
}
