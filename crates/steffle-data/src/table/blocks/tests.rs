//! Blocks give what lines give, or nothing.

use std::fmt::Write as _;

use super::*;
use crate::table::csv::CsvReader;
use crate::table::reader::{Packing, read_as};
use crate::table::{Encoding, Here, Table};

/// Writes a file, reads it in blocks and line by line, and says whether blocks were enough.
fn both(name: &str, text: &str, columns: &Columns, dialect: &Dialect) -> bool {
    let path =
        std::env::temp_dir().join(format!("steffle-blocks-{}-{name}.csv", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let file = TextFile { path: path.clone(), packing: Packing::None, encoding: Encoding::Utf8 };
    let lines = CsvReader::new(&file, b',', columns, dialect, false)
        .and_then(|mut reader| reader.next_chunk(usize::MAX));
    let names = lines.as_ref().map(|table: &Table| table.names().to_vec()).unwrap_or_default();
    let chosen = (0..names.len()).collect();
    let markers = dialect.markers();
    let sealed = vec![false; names.len()];
    let layout =
        Layout { delimiter: b',', names: &names, sealed: &sealed, chosen, markers: &markers };
    let blocks = matches!(columns, Columns::All { .. })
        .then(|| read(&file, &layout, columns, dialect))
        .flatten();
    let whole = read_as(&path, columns, dialect);
    std::fs::remove_file(&path).unwrap();
    match (&lines, &whole) {
        (Ok(lines), Ok(whole)) => assert!(same(lines, whole), "{name}"),
        (Err(lines), Err(whole)) => assert_eq!(lines.to_string(), whole.to_string(), "{name}"),
        _ => panic!("{name}: {:?} {:?}", lines.is_ok(), whole.is_ok()),
    }
    blocks.is_some()
}

/// Whether two tables are equal, missing numbers included.
fn same(a: &Table, b: &Table) -> bool {
    let bits = |column: &Column| match column.here() {
        Here::Numbers(numbers) => {
            (numbers.iter().map(|number| number.to_bits()).collect(), Categories::default())
        }
        Here::Text(text) => (Vec::new(), text.into_owned()),
    };
    a.names() == b.names()
        && a.reading() == b.reading()
        && a.columns().iter().map(bits).eq(b.columns().iter().map(bits))
}

const ALL: Columns = Columns::All { text: Vec::new() };

/// Rows of several blocks, cells of every usual kind.
fn rows(count: usize, cell: impl Fn(usize) -> String) -> String {
    let mut text = String::from("number,name,late,said\n");
    for row in 0..count {
        let late = if row < count / 2 { "?".to_owned() } else { format!("{}.50", row % 90) };
        let name = ["Ada", "Bo", "", "NA", "3.0", " Eve "][row * 7 % 6];
        writeln!(text, "{},{name},{late},{}", row % 1000, cell(row)).unwrap();
    }
    text
}

#[test]
fn several_blocks_are_what_lines_are() {
    let usual = Dialect::default();
    for (name, cell) in [
        ("plain", (|row| format!("level {}", row % 300)) as fn(usize) -> String),
        ("quoted", |row| format!("\"a, \"\"b\"\"\n{} c\"", row % 7)),
        ("stray", |row| if row % 5 == 0 { "it\"s \"so\"".to_owned() } else { "no".to_owned() }),
        ("returns", |row| format!("\"x{}\"\r", row % 3)),
        ("long", |row| if row == 40_000 { "x".repeat(70_000) } else { "y".to_owned() }),
    ] {
        let text = rows(200_000, cell);
        assert!(text.len() > 2 * BLOCK, "{name}: {}", text.len());
        assert!(both(name, &text, &ALL, &usual), "{name}");
    }
}

#[test]
fn what_is_unusual_is_left_to_lines() {
    let usual = Dialect::default();
    let damaged = |line: &str| rows(60_000, |_| "x".to_owned()) + line;
    for (name, text) in [
        ("stranger", damaged("twelve,Ada,1,x\n")),
        ("short", damaged("12,Ada,1\n")),
        ("infinite", damaged("inf,Ada,1,x\n")),
        ("dates", rows(60_000, |row| format!("2020-01-{:02}", 1 + row % 28))),
        ("comma", rows(60_000, |row| format!("\"1,{}\"", row % 900 + 100))),
        ("nul", damaged("1,\0,1,x\n")),
        ("open", damaged("1,\"Ada,1,x\n")),
    ] {
        assert!(!both(name, &text, &ALL, &usual), "{name}");
    }
    let comma = Dialect { decimal: Some(Decimal::Comma), ..usual.clone() };
    assert!(!both("preferred", &rows(10, |_| "1.234".to_owned()), &ALL, &comma));
    let only =
        Columns::Only(vec![("late".to_owned(), Kind::Number), ("name".to_owned(), Kind::Text)]);
    both("only", &rows(50_000, |_| "x".to_owned()), &only, &usual);
}

#[test]
fn small_files_have_their_corners() {
    let usual = Dialect::default();
    let named = Dialect { columns: vec!["a".to_owned(), "b".to_owned()], ..usual.clone() };
    for (name, text) in [
        ("header", "a,b\n"),
        ("end", "a,b\n1,x"),
        ("empty-lines", "\na,b\n\n1,x\n\n\n2,y\n"),
        ("mark", "\u{feff}a,b\n1,x\n"),
        ("nothing", "a,b\n?,\n,NA\n"),
        ("zero", "a,b\n-0,0\n007,1e3\n"),
    ] {
        both(name, text, &ALL, &usual);
        both(name, text, &ALL, &named);
    }
    assert!(both("usual", "a,b\n1,x\n2,y\n", &ALL, &usual));
}

/// Random lines of the bytes that matter, cut anywhere: a block never ends within a line.
#[test]
fn a_block_ends_with_a_line() {
    use rand::Rng as _;
    use steffle_model::randomness::{Purpose, stream};
    let mut random = stream(3, 0, Purpose::Split, 0);
    for _ in 0..20_000 {
        let length = 1 + random.next_u32() as usize % 40;
        let bytes: Vec<u8> =
            (0..length).map(|_| b"a,\"\n\"b\n,"[random.next_u32() as usize % 8]).collect();
        let records = |bytes: &[u8]| {
            let reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
            reader.into_byte_records().map(Result::unwrap).collect::<Vec<_>>()
        };
        if let Some(end) = last_line(&bytes, b',') {
            let parts = [records(&bytes[..end]), records(&bytes[end..])].concat();
            let (whole, parts): (Vec<Vec<_>>, Vec<Vec<_>>) = (
                records(&bytes)
                    .iter()
                    .map(|own| own.iter().map(<[u8]>::to_vec).collect())
                    .collect(),
                parts.iter().map(|own| own.iter().map(<[u8]>::to_vec).collect()).collect(),
            );
            assert_eq!(whole, parts, "{:?}", String::from_utf8_lossy(&bytes));
        }
    }
}
