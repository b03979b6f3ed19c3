use proptest::prelude::*;

use super::*;
use crate::CellError;
use crate::scratch::Scratch;

const ALL: Columns = Columns::All { text: Vec::new() };

fn csv(text: &str) -> Result<Table, Error> {
    let scratch = Scratch::new();
    read(&scratch.file("table.csv", text), &ALL)
}

fn numbers(table: &Table, name: &str) -> Vec<Option<f64>> {
    match table.column(name).unwrap().here() {
        Here::Numbers(numbers) => {
            numbers.iter().map(|&number| (!number.is_nan()).then_some(number)).collect()
        }
        Here::Text(_) => panic!("`{name}` is text"),
    }
}

fn levels(table: &Table, name: &str) -> Vec<Option<String>> {
    match table.column(name).unwrap().here() {
        Here::Text(text) => {
            (0..table.rows()).map(|row| text.level(row).map(str::to_owned)).collect()
        }
        Here::Numbers(_) => panic!("`{name}` is numbers"),
    }
}

fn csv_as(name: &str, bytes: impl AsRef<[u8]>, dialect: &Dialect) -> Result<Table, Error> {
    let scratch = Scratch::new();
    read_as(&scratch.file(name, bytes), &ALL, dialect)
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
    assert!(
        matches!(&refused, Error::Cell(CellError::NotANumber { row: 1, value, .. }) if value == "x")
    );
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
    assert_eq!(csv(",a,\n0,2,\n").unwrap().names(), ["column 1", "a", "column 3"]);
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
fn delimiters_are_found_by_the_shape_of_the_first_lines() {
    let found = |text: &str| csv(text).unwrap().names().to_vec();
    assert_eq!(found("a;b;c\n1,5;x;2,5\n1,0;y;0,5\n"), ["a", "b", "c"]);
    assert_eq!(found("a|b\n1|2\n"), ["a", "b"]);
    assert_eq!(found("a\tb\n1\t2\n"), ["a", "b"]);
    assert_eq!(found("a,b\n\"x;y;z\",2\n\"x;y;z\",3\n"), ["a", "b"], "quoted");
    assert_eq!(found("a;b\n\"x,y\";1\n"), ["a", "b"]);
    assert_eq!(found("a,b\nx;y;z,1\nx;y,2\n"), ["a", "b"], "not every line has as many");
    assert_eq!(found("v\n1\n2\n"), ["v"]);
    // A broken line does not hide the delimiter: the message is about the line.
    let message = csv("a;b;c\n1;2;3\n4;5\n").unwrap_err().to_string();
    assert!(message.ends_with("line 3: 2 cells where the header has 3"), "{message}");
    let given = Dialect { delimiter: Some("space".parse().unwrap()), ..Dialect::default() };
    let table = csv_as("german.data", "a b\n1 x\n", &given).unwrap();
    assert_eq!(table.names(), ["a", "b"]);
    for word in ["", "ab", "\"", "é", "x"] {
        assert!(word.parse::<Delimiter>().is_err(), "{word}");
    }
}

#[test]
fn compressed_tables_are_read_and_damaged_archives_refused() {
    use std::io::Write;
    let rows: Vec<String> = (0..5000).map(|row| format!("{row};x{}\n", row % 7)).collect();
    let text = format!("a;b\n{}", rows.concat());
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    // As the command does, and unlike the library by default: with a checksum.
    let mut zstd = zstd::Encoder::new(Vec::new(), 1).unwrap();
    zstd.include_checksum(true).unwrap();
    zstd.write_all(text.as_bytes()).unwrap();
    let zstd = zstd.finish().unwrap();
    let plain = csv(&text).unwrap();
    for (name, bytes) in [("t.csv.gz", &gzip), ("t.tsv.zst", &zstd)] {
        let usual = Dialect::default();
        let table = csv_as(name, bytes, &usual).unwrap();
        assert_eq!(table.columns(), plain.columns(), "{name}");
        let refused = |bytes: &[u8]| match csv_as(name, bytes, &usual) {
            Err(Error::Csv { .. } | Error::Ragged { .. } | Error::EmptyCsv { .. }) => {}
            other => panic!("{name}: {other:?}"),
        };
        for cut in [0, 1, 5, bytes.len() / 2, bytes.len() - 1] {
            refused(&bytes[..cut]);
        }
        refused(text.as_bytes());
        let mut flipped = bytes.clone();
        let middle = flipped.len() / 2;
        flipped[middle..middle + 8].fill(0xff);
        assert!(csv_as(name, &flipped, &usual).is_err(), "{name}");
    }
    let message = csv_as("t.csv", &gzip, &Dialect::default()).unwrap_err().to_string();
    assert!(message.contains(".csv.gz"), "{message}");
}

#[test]
fn latin_1_is_read_when_it_is_said() {
    let bytes = b"name,caf\xe9,price\nJos\xe9,1,\x805\n";
    let message = csv_as("t.csv", bytes, &Dialect::default()).unwrap_err().to_string();
    assert!(message.contains("line 1") && message.contains("<encoding latin-1>"), "{message}");
    let said = Dialect { encoding: Encoding::Latin1, ..Dialect::default() };
    let table = csv_as("t.csv", bytes, &said).unwrap();
    assert_eq!(table.names(), ["name", "café", "price"]);
    assert_eq!(levels(&table, "name"), some(&["José"]));
    assert_eq!(numbers(&table, "price"), [Some(5.0)]);
    let message = csv_as("t.csv", b"\xff\xfea\0,\0", &Dialect::default()).unwrap_err().to_string();
    assert!(message.contains("UTF-16"), "{message}");
    // Of a sealed column nothing is refused: that would tell something about a value.
    let sealed = Dialect { sealed: vec!["s".to_owned()], ..Dialect::default() };
    let table = csv_as("t.csv", b"x,s\n1,a\xe9\0\n", &sealed).unwrap();
    assert_eq!(table.rows(), 1);
}

#[test]
fn numbers_are_read_as_people_write_them() {
    let table = csv("comma;money;both;plain\n1.234,5;$1,200.00;1,234;1.5\n0,25;$ 5;2,345;2\n;;;\n")
        .unwrap();
    assert_eq!(numbers(&table, "comma"), [Some(1234.5), Some(0.25), None]);
    assert_eq!(numbers(&table, "money"), [Some(1200.0), Some(5.0), None]);
    assert_eq!(levels(&table, "both"), some(&["1,234", "2,345", "-"]));
    let said = table.reading().sentences().join("\n");
    for words in ["`;`", "decimal comma in `comma`", "money in `money`", "`both` is read as text"] {
        assert!(said.contains(words), "{said}");
    }
    let file = "both;x\n1,234;1\n2,345;2\n";
    let read = |decimal| {
        numbers(&csv_as("t.csv", file, &Dialect { decimal, ..Dialect::default() }).unwrap(), "both")
    };
    assert_eq!(read(Some(Decimal::Point)), [Some(1234.0), Some(2345.0)]);
    assert_eq!(read(Some(Decimal::Comma)), [Some(1.234), Some(2.345)]);
    // Where a schema asks for a number there is no text to fall back to.
    let scratch = Scratch::new();
    let path = scratch.file("t.csv", file);
    let only = Columns::Only(vec![("both".to_owned(), Kind::Number)]);
    assert!(matches!(
        super::read(&path, &only),
        Err(Error::Cell(CellError::AmbiguousNumber { .. }))
    ));
    // What training saw decides, also where a program could have written the file.
    let path = scratch.file("t.csv", "both;x\n1.234;1\n");
    let seen = Dialect { decimal_comma: vec!["both".to_owned()], ..Dialect::default() };
    assert_eq!(numbers(&read_as(&path, &only, &seen).unwrap(), "both"), [Some(1234.0)]);
}

#[test]
fn names_are_made_unique_or_given() {
    let table = csv("a,a,a.2,b,a\n1,2,3,4,5\n").unwrap();
    assert_eq!(table.names(), ["a", "a.3", "a.2", "b", "a.4"]);
    assert!(table.reading().sentences().join(" ").contains("`a.3`, `a.4`"));
    let names = ["x", "y"].map(str::to_owned).to_vec();
    let given = Dialect { columns: names, ..Dialect::default() };
    let table = csv_as("t.csv", "1,u\n2,v\n", &given).unwrap();
    assert_eq!((table.rows(), table.names()), (2, &given.columns[..]));
    let message = csv_as("t.csv", "1,u,3\n", &given).unwrap_err().to_string();
    assert!(message.contains("line 1: 3 cells"), "{message}");
}

#[test]
fn missing_values_have_several_spellings() {
    let table = csv("a,b\n1,x\nNA,n/a\nnull,-\n?,\nN/A,NULL\n-,#N/A\n-5,-x\n").unwrap();
    assert_eq!(numbers(&table, "a"), [Some(1.0), None, None, None, None, None, Some(-5.0)]);
    assert_eq!(table.column("b").unwrap().missing(), 5);
    let given = Dialect { missing_markers: vec!["999".to_owned()], ..Dialect::default() };
    let table = csv_as("t.csv", "a,b\n1,-\n999,\n", &given).unwrap();
    assert_eq!(numbers(&table, "a"), [Some(1.0), None]);
    assert_eq!(levels(&table, "b")[0].as_deref(), Some("-"));
}

#[test]
fn cells_that_are_no_values_are_refused_by_place() {
    let message = |text: &str| csv(text).unwrap_err().to_string();
    let nul = message("a,b\n1,x\n2,y\0z\n");
    assert!(nul.contains("row 2, column `b`") && nul.contains("NUL"), "{nul}");
    let long = message(&format!("a,b\n1,{}\n", "x".repeat(10 << 20)));
    assert!(long.contains("row 1, column `b`") && long.contains("10485760 bytes"), "{long}");
    let open = message("a,b\n\"1,x\n2,y\n3,z\n");
    assert!(open.contains("line 2") && open.contains("a quote is not closed"), "{open}");
    let endless = message(&format!("a,b\n1,\"{}\n", "x\n".repeat(34 << 20)));
    assert!(endless.contains("line 2") && endless.contains("64 MiB"), "{endless}");
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
        parquet::ParquetReader::new(
            "damaged".to_owned(),
            bytes,
            &ALL,
            Dialect::default().markers(),
        )?
        .next_chunk(usize::MAX)
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
