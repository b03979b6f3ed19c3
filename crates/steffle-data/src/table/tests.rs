use proptest::prelude::*;

use super::*;
use crate::scratch::Scratch;

const ALL: Columns = Columns::All { text: Vec::new() };

fn csv(text: &str) -> Result<Table, Error> {
    let scratch = Scratch::new();
    read(&scratch.file("table.csv", text), &ALL)
}

fn numbers(table: &Table, name: &str) -> Vec<Option<f64>> {
    match table.column(name).unwrap() {
        Column::Numbers(numbers) => {
            numbers.iter().map(|&number| (!number.is_nan()).then_some(number)).collect()
        }
        Column::Text(_) => panic!("`{name}` is text"),
    }
}

fn levels(table: &Table, name: &str) -> Vec<Option<String>> {
    match table.column(name).unwrap() {
        Column::Text(text) => {
            (0..table.rows()).map(|row| text.level(row).map(str::to_owned)).collect()
        }
        Column::Numbers(_) => panic!("`{name}` is numbers"),
    }
}

fn some(names: &[&str]) -> Vec<Option<String>> {
    names.iter().map(|&name| (name != "-").then(|| name.to_owned())).collect()
}

#[test]
fn columns_are_typed_by_all_their_cells() {
    let text = "\u{feff}age, job ,zip,empty\r\n31,\"a, b\",01,\n?, c ,1.0,NA\n1e2,NA,x,?\n";
    let table = csv(text).unwrap();
    assert_eq!(table.names(), ["age", "job", "zip", "empty"]);
    assert_eq!(numbers(&table, "age"), [Some(31.0), None, Some(100.0)]);
    assert_eq!(levels(&table, "job"), some(&["a, b", "c", "-"]));
    // A last row of text keeps the spelling of the numbers before it; 1.0 is the level 1.
    assert_eq!(levels(&table, "zip"), some(&["01", "1", "x"]));
    assert_eq!(numbers(&table, "empty"), [None; 3]);
}

#[test]
fn named_columns_are_text_and_given_kinds_win() {
    let scratch = Scratch::new();
    let path = scratch.file("table.csv", "a,b,c\n01,2,x\n3,4,y\n");
    let table = read(&path, &Columns::All { text: vec!["a".to_owned()] }).unwrap();
    assert_eq!(levels(&table, "a"), some(&["01", "3"]));
    assert_eq!(numbers(&table, "b"), [Some(2.0), Some(4.0)]);
    let only = |name: &str, kind| Columns::Only(vec![(name.to_owned(), kind)]);
    let table = read(&path, &only("b", Kind::Text)).unwrap();
    assert_eq!(table.names(), ["b"]);
    assert_eq!(levels(&table, "b"), some(&["2", "4"]));
    let refused = read(&path, &only("c", Kind::Number)).unwrap_err();
    assert!(matches!(&refused, Error::NotANumber { row: 1, value, .. } if value == "x"));
    assert!(matches!(read(&path, &only("d", Kind::Text)), Err(Error::UnknownColumn { .. })));
}

#[test]
fn bad_csv_is_refused_with_its_place() {
    let message = |text: &str| csv(text).unwrap_err().to_string();
    let ends = |text: &str, end: &str| {
        let message = message(text);
        assert!(message.ends_with(end), "{message}");
    };
    ends("", "line 1: the file is empty; a header line with column names is needed");
    ends("a,b\n1,2\n3\n", "line 3: 1 cells where the header has 2");
    ends("a,b\n1,2,3\n", "line 2: 3 cells where the header has 2");
    ends("a,a\n1,2\n", "column name `a` stands twice; names must differ");
    ends(",a\n0,2\n", "column 1 has no name (pandas: write with index=False)");
    for value in ["inf", "NaN", "-infinity", "1e999"] {
        let message = message(&format!("a,b\n1,2\n1,{value}\n"));
        let place = format!("row 2, column `b`: `{value}` is not a finite number");
        assert!(message.contains(&place), "{message}");
    }
    assert_eq!(csv("a,b\n").unwrap().rows(), 0);
    let scratch = Scratch::new();
    let latin1 = scratch.file("latin1.csv", b"a,b\n1,caf\xe9\n");
    let message = read(&latin1, &ALL).unwrap_err().to_string();
    assert!(message.contains("line 2") && message.contains("UTF-8"), "{message}");
}

#[test]
fn files_that_are_none_are_refused() {
    let scratch = Scratch::new();
    assert!(matches!(read(&scratch.path("none.csv"), &ALL), Err(Error::NotFound { .. })));
    let excel = scratch.file("table.xlsx", "PK");
    assert!(matches!(read(&excel, &ALL), Err(Error::Extension { .. })));
    std::fs::create_dir(scratch.path("folder.csv")).unwrap();
    assert!(matches!(read(&scratch.path("folder.csv"), &ALL), Err(Error::Io { .. })));
    for bytes in [&b""[..], b"PAR1", b"PAR1PAR1", &[7; 5000]] {
        let path = scratch.file("broken.parquet", bytes);
        assert!(matches!(read(&path, &ALL), Err(Error::Parquet { .. })), "{} bytes", bytes.len());
    }
}

#[test]
fn tabs_separate_in_tsv() {
    let scratch = Scratch::new();
    let table = read(&scratch.file("table.tsv", "a\tb,c\n1\tx y\n"), &ALL).unwrap();
    assert_eq!(table.names(), ["a", "b,c"]);
    assert_eq!(levels(&table, "b,c"), some(&["x y"]));
}

#[test]
fn chunks_are_the_file_in_pieces() {
    let scratch = Scratch::new();
    let values: Vec<f64> = (0..25_000).map(f64::from).collect();
    let column = Column::Numbers(values);
    let rows: Vec<u32> = (0..25_000).collect();
    for name in ["table.csv", "table.parquet"] {
        let path = scratch.path(name);
        write(&path, &[("v", &column)], &rows).unwrap();
        let mut reader = Reader::open(&path, &ALL).unwrap();
        let mut next = 0;
        while let Some(chunk) = reader.next_chunk(9_999).unwrap() {
            assert_eq!(chunk.first_row(), next);
            assert_eq!(numbers(&chunk, "v")[0], Some(next as f64));
            assert!(chunk.rows() <= 9_999);
            next += chunk.rows() as u64;
        }
        assert_eq!(next, 25_000, "{name}");
    }
}

#[test]
fn a_failed_write_leaves_what_was_there() {
    let scratch = Scratch::new();
    let path = scratch.file("table.csv", "before");
    let failed = write_atomically(&path, |file| {
        use std::io::Write;
        file.write_all(b"half").unwrap();
        Err(Error::NoFeatures)
    });
    assert!(matches!(failed, Err(Error::NoFeatures)));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "before");
    assert_eq!(scratch.entries(), ["table.csv"]);
}

#[test]
fn messages_and_logs_do_not_show_cells_of_a_table() {
    let column = Column::Text(Categories { codes: vec![0], levels: vec!["secret".to_owned()] });
    let table = Table::new("test", vec![("s".to_owned(), column)]).unwrap();
    assert!(!format!("{table:?}").contains("secret"));
}

/// One byte of a small file is overwritten, or its end cut off: the answer is a table or an
/// error, never a panic. The decoder itself panics for some of these (see `contain`).
#[test]
fn damaged_parquet_is_no_panic() {
    let scratch = Scratch::new();
    let good = scratch.path("good.parquet");
    let text = Categories {
        codes: (0..100).map(|row| row % 7).collect(),
        levels: (0..7).map(|level| format!("level {level}")).collect(),
    };
    let columns = [Column::Numbers((0..100).map(f64::from).collect()), Column::Text(text)];
    let rows: Vec<u32> = (0..100).collect();
    write(&good, &[("x", &columns[0]), ("t", &columns[1])], &rows).unwrap();
    let good = std::fs::read(good).unwrap();
    let read = |bytes: &[u8]| {
        let bytes = bytes::Bytes::copy_from_slice(bytes);
        parquet::ParquetReader::new("damaged".to_owned(), bytes, &ALL)?.next_chunk(usize::MAX)
    };
    let (mut refused, mut files) = (0, 0);
    for place in 0..good.len() {
        for damage in [0x00, 0xff, good[place] ^ 1, good[place] ^ 16] {
            let mut bytes = good.clone();
            bytes[place] = damage;
            refused += u32::from(read(&bytes).is_err());
            files += 1;
        }
        assert!(read(&good[..place]).is_err(), "cut off after {place} bytes");
    }
    // Damage to the values themselves cannot be seen; most other damage can.
    assert!(refused * 4 > files, "{refused} of {files} damaged files refused");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read_back(
        cells in prop::collection::vec((
            prop::option::of(prop_oneof![
                any::<f64>().prop_filter("finite", |value| value.is_finite()),
                (-1000i32..1000).prop_map(f64::from),
            ]),
            prop::option::of("[a-z\",\n ]{0,3}[a-z]"),
        ), 1..40),
        pick in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
    ) {
        let numeric = Column::Numbers(cells.iter().map(|(x, _)| x.unwrap_or(f64::NAN)).collect());
        let known: Vec<String> =
            cells.iter().filter_map(|(_, t)| t.as_ref().map(|t| t.trim().to_owned())).collect();
        let code = |text: &String| known.iter().position(|k| k == text.trim()).unwrap() as u32;
        let codes = cells.iter().map(|(_, t)| t.as_ref().map_or(MISSING_LEVEL, code)).collect();
        let text = Column::Text(Categories { codes, levels: known });
        let rows: Vec<u32> = pick.iter().map(|at| at.index(cells.len()) as u32).collect();
        let scratch = Scratch::new();
        for name in ["t.csv", "t.parquet"] {
            let path = scratch.path(name);
            write(&path, &[("x", &numeric), ("t", &text)], &rows).unwrap();
            let columns = Columns::All { text: vec!["t".to_owned()] };
            let table = read(&path, &columns).unwrap();
            let wanted: Vec<_> = rows.iter().map(|&row| cells[row as usize].0).collect();
            prop_assert_eq!(numbers(&table, "x"), wanted);
            let wanted: Vec<_> = rows
                .iter()
                .map(|&row| cells[row as usize].1.as_ref().map(|t| t.trim().to_owned()))
                .collect();
            prop_assert_eq!(levels(&table, "t"), wanted);
        }
    }
}
