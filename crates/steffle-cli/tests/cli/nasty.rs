//! A folder of nasty files: each ends in a sensible model, or in a message that an outsider can act on.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::harness::{Place, Ran};

/// What becomes of a file.
enum End {
    /// A model; these words are among what is said about it.
    Model(&'static [&'static str]),
    /// A refusal with status 2 or 3; these words are in its message.
    Message(&'static [&'static str]),
}
use End::{Message, Model};

/// A file, the flags that go with it, and what becomes of it.
struct Nasty {
    name: &'static str,
    bytes: Vec<u8>,
    flags: &'static [&'static str],
    end: End,
}

/// Two hundred people: a label that leans on `score`, two groups.
fn plain(header: &str, mut row: impl FnMut(usize, &Person) -> String) -> Vec<u8> {
    let mut text = format!("{header}\n");
    for at in 0..200 {
        writeln!(text, "{}", row(at, &Person::new(at))).unwrap();
    }
    text.into_bytes()
}

struct Person {
    score: usize,
    town: &'static str,
    sex: &'static str,
    hired: &'static str,
}

impl Person {
    fn new(at: usize) -> Self {
        let score = at * 7919 % 101;
        let sex = ["f", "m"][at * 31 % 7 % 2];
        let lean = score + at * 13 % 40 + if sex == "m" { 12 } else { 0 };
        Self {
            score,
            town: ["north", "south", "east"][at * 17 % 3],
            sex,
            hired: if lean > 75 { "yes" } else { "no" },
        }
    }

    fn cells(&self) -> String {
        let Self { score, town, sex, hired } = self;
        format!("{score},{town},{sex},{hired}")
    }
}

const HEADER: &str = "score,town,sex,hired";

fn usual(change: impl Fn(usize, String) -> String) -> Vec<u8> {
    plain(HEADER, |at, person| change(at, person.cells()))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn nasty(name: &'static str, bytes: Vec<u8>, end: End) -> Nasty {
    Nasty { name, bytes, flags: &[], end }
}

fn flagged(name: &'static str, flags: &'static [&'static str], bytes: Vec<u8>, end: End) -> Nasty {
    Nasty { name, bytes, flags, end }
}

/// How text can be written.
fn written() -> Vec<Nasty> {
    let text = usual(|_, row| row);
    let replaced = |from: &str, to: &str| {
        String::from_utf8(text.clone()).unwrap().replace(from, to).into_bytes()
    };
    let lines = |end: &str| replaced("\n", end);
    vec![
        nasty("semicolon.csv", replaced(",", ";"), Model(&["`;`"])),
        nasty("tab.csv", replaced(",", "\t"), Model(&["tab"])),
        nasty("pipe.txt", replaced(",", "|"), Model(&["`|`"])),
        nasty("space.data", replaced(",", " "), Model(&["space"])),
        nasty("crlf.csv", lines("\r\n"), Model(&[])),
        nasty("cr.csv", lines("\r"), Model(&[])),
        nasty("bom.csv", [b"\xef\xbb\xbf", &text[..]].concat(), Model(&[])),
        nasty("utf16.csv", [b"\xff\xfe", &text[..]].concat(), Message(&["UTF-16", "UTF-8"])),
        nasty("packed.csv.gz", gzip(&text), Model(&["gzip"])),
        nasty("packed.csv", gzip(&text), Message(&["gzip", ".csv.gz"])),
        nasty("cut.csv.gz", gzip(&text)[..200].to_vec(), Message(&["damaged or cut off"])),
        nasty("sheet.xlsx", b"PK\x03\x04rest".to_vec(), Message(&["unknown kind of file", ".csv"])),
        nasty("sheet.csv", b"PK\x03\x04rest".to_vec(), Message(&["spreadsheet", "CSV"])),
        nasty("list.json", b"[{\"a\": 1}]".to_vec(), Message(&["unknown kind of file"])),
        nasty("empty.csv", Vec::new(), Message(&["empty", "header"])),
        nasty("header.csv", format!("{HEADER}\n").into_bytes(), Message(&["no rows"])),
        nasty("title.csv", [b"Report of May\n", &text[..]].concat(), Message(&["line 2", "title"])),
        nasty(
            "ragged.csv",
            usual(|at, row| if at == 9 { row + ",x" } else { row }),
            Message(&["line 11", "5 cells"]),
        ),
        nasty(
            "quote.csv",
            usual(|at, row| if at == 9 { format!("\"{row}") } else { row }),
            Message(&["quote is not closed"]),
        ),
        nasty(
            "quoted.csv",
            usual(|_, row| row.replace("north", "\"north, \"\"old\"\" side\"")),
            Model(&[]),
        ),
        nasty(
            "blank-lines.csv",
            usual(|at, row| if at % 9 == 3 { row + "\n" } else { row }),
            Model(&[]),
        ),
        nasty(
            "latin.csv",
            replaced("north", "M?nchen")
                .iter()
                .map(|b| if *b == b'?' { 0xfc } else { *b })
                .collect(),
            Message(&["--encoding latin-1", "row"]),
        ),
        flagged(
            "latin-said.csv",
            &["--encoding", "latin-1"],
            replaced("north", "M?nchen")
                .iter()
                .map(|b| if *b == b'?' { 0xfc } else { *b })
                .collect(),
            Model(&["Latin-1"]),
        ),
        nasty(
            "nul.csv",
            usual(|at, row| if at == 5 { row.replacen(',', "\0,", 1) } else { row }),
            Message(&["NUL", "row 6"]),
        ),
        nasty("no-header.csv", text[HEADER.len() + 1..].to_vec(), Message(&["no column `hired`"])),
        flagged(
            "names-given.csv",
            &["--columns", HEADER],
            text[HEADER.len() + 1..].to_vec(),
            Model(&["no header line"]),
        ),
        nasty("spaces.csv", replaced(",", " , "), Model(&[])),
        nasty("escape.csv", replaced("town", "to\x1b[2Jwn"), Model(&[])),
    ]
}

/// The usual people with one more column.
fn with(name: &str, cell: fn(usize) -> String) -> Vec<u8> {
    plain(&format!("{HEADER},{name}"), |at, person| format!("{},{}", person.cells(), cell(at)))
}

/// What can stand in columns.
fn columns() -> Vec<Nasty> {
    vec![
        nasty(
            "index.csv",
            plain(&format!(",{HEADER}"), |at, p| format!("{at},{}", p.cells())),
            Model(&["numbers the rows"]),
        ),
        nasty(
            "id.csv",
            with("customer_id", |at| (at * 7 + 1000).to_string()),
            Model(&["`customer_id` is left out"]),
        ),
        nasty("names.csv", with("name", |at| format!("person {at}")), Model(&["--keep name"])),
        nasty(
            "remarks.csv",
            with("remark", |at| format!("\"said {at}, then left\"")),
            Model(&["--keep remark"]),
        ),
        nasty("nothing.csv", with("fax", |_| String::new()), Model(&["`fax` is left out"])),
        nasty(
            "trailing.csv",
            usual(|_, row| row + ","),
            Message(&["5 cells where the header has 4"]),
        ),
        nasty("trailing-both.csv", with("", |_| String::new()), Model(&["`column 5`"])),
        nasty(
            "dates.csv",
            with("born", |at| {
                format!("19{:02}-{:02}-{:02}", 50 + at % 40, 1 + at % 12, 1 + at % 28)
            }),
            Model(&["dates, as days"]),
        ),
        nasty(
            "times.csv",
            with("seen", |at| format!("2020-01-{:02} {:02}:30:00", 1 + at % 28, at % 24)),
            Model(&["dates, as days"]),
        ),
        nasty(
            "two-days.csv",
            with("seen", |at| format!("{}/{}/2020", 1 + at % 12, 1 + at % 11)),
            Model(&["--dates day-first"]),
        ),
        flagged(
            "day-said.csv",
            &["--dates", "day-first"],
            with("seen", |at| format!("{}/{}/2020", 1 + at % 12, 1 + at % 11)),
            Model(&["dates, as days"]),
        ),
    ]
}

/// Numbers as people write them, and what else can stand beside them.
fn numbers() -> Vec<Nasty> {
    vec![
        nasty(
            "money.csv",
            with("pay", |at| format!("\"${},{:03}.50\"", 1 + at % 9, at)),
            Model(&["signs of money"]),
        ),
        nasty(
            "two-numbers.csv",
            with("pay", |at| format!("\"{},{:03}\"", 1 + at % 9, at)),
            Model(&["--decimal"]),
        ),
        nasty(
            "total.csv",
            with(
                "pay",
                |at| if at == 199 { "Total".to_owned() } else { (at * 3 % 97).to_string() },
            ),
            Model(&["`Total` after 199 numbers"]),
        ),
        nasty(
            "markers.csv",
            with("pay", |at| ["1", "2.5", "NA", "-", "n/a"][at % 5].to_owned()),
            Model(&["rows left out"]),
        ),
        flagged(
            "imputed.csv",
            &["--missing", "impute"],
            with("pay", |at| ["1", "2.5", "NA"][at % 3].to_owned()),
            Model(&[]),
        ),
        nasty(
            "nan.csv",
            with("pay", |at| if at == 3 { "NaN".to_owned() } else { at.to_string() }),
            Message(&["row 4", "--missing-markers NaN"]),
        ),
        nasty(
            "huge.csv",
            with("pay", |at| if at == 3 { "1e308".to_owned() } else { format!("{at}.5") }),
            Message(&["row 4", "too large"]),
        ),
        nasty(
            "long.csv",
            with("note", |at| if at == 5 { "x".repeat(10_000_000) } else { "y".to_owned() }),
            Message(&["row 6, column `note`", "10000000 bytes"]),
        ),
        nasty("mostly-missing.csv", with("pay", |_| "NA".to_owned()), Model(&["no value"])),
        nasty(
            "never-together.csv",
            plain(&format!("{HEADER},a,b"), |at, p| {
                if at % 2 == 0 {
                    format!("{},1.5,", p.cells())
                } else {
                    format!("{},,2.5", p.cells())
                }
            }),
            Message(&["no rows left", "--missing impute"]),
        ),
        nasty(
            "leak.csv",
            plain(&format!("{HEADER},outcome"), |_, p| {
                format!("{},{}", p.cells(), usize::from(p.hired == "yes"))
            }),
            Model(&["`outcome` alone tells the label"]),
        ),
        nasty("constant.csv", with("country", |_| "here".to_owned()), Model(&[])),
        nasty(
            "twice.csv",
            plain("score,town,sex,score,hired", |at, p| {
                format!("{},{},{},{at}.5,{}", p.score, p.town, p.sex, p.hired)
            }),
            Model(&["`score.2`"]),
        ),
    ]
}

/// What can be wrong with labels and groups.
fn labels() -> Vec<Nasty> {
    let labelled = |label: fn(usize, &Person) -> String| {
        plain(HEADER, move |at, p| format!("{},{},{},{}", p.score, p.town, p.sex, label(at, p)))
    };
    vec![
        nasty(
            "one-label.csv",
            labelled(|_, _| "yes".to_owned()),
            Message(&["label column `hired`", "at least 2"]),
        ),
        nasty(
            "case.csv",
            labelled(|at, p| if at == 7 { p.hired.to_uppercase() } else { p.hired.to_owned() }),
            Message(&["differ in case or spaces only"]),
        ),
        nasty("many-labels.csv", labelled(|at, _| format!("{at}.25")), Model(&[])),
        flagged(
            "odd-label.csv",
            &["--labels", "no,yes"],
            labelled(|at, p| if at == 7 { "yess".to_owned() } else { p.hired.to_owned() }),
            Message(&["1 rows", "did you mean `yes`?"]),
        ),
        nasty(
            "label-missing.csv",
            labelled(|at, p| if at % 4 == 0 { String::new() } else { p.hired.to_owned() }),
            Model(&["rows left out", "`hired`"]),
        ),
        nasty(
            "no-sex.csv",
            plain("score,town,hired", |_, p| format!("{},{},{}", p.score, p.town, p.hired)),
            Message(&["no column `sex`"]),
        ),
        nasty(
            "SEX.csv",
            plain("score,town,Sex,hired", |_, p| p.cells()),
            Message(&["did you mean `Sex`?"]),
        ),
        nasty("few.csv", b"score,town,sex,hired\n1,a,f,no\n".to_vec(), Message(&["1 usable rows"])),
    ]
}

fn train(place: &Place, file: &Nasty) -> Ran {
    let fixed = ["train", "--data", file.name, "--label", "hired", "--sensitive", "sex"];
    let run = ["--classes", "f,m", "--rounds", "2", "--out", "run", "--force"];
    place.run(&[&fixed[..], &run, file.flags].concat())
}

fn check(place: &Place, file: &Nasty) {
    place.write(file.name, &file.bytes);
    let ran = train(place, file);
    let plan = |words: &[&str]| -> String {
        // What was decided is in the plan, what to look at in both.
        let fixed = ["train", "--dry-run", "--data", file.name, "--label", "hired", "--sensitive"];
        let fixed = [&fixed[..], &["sex", "--classes", "f,m"], file.flags].concat();
        if words.is_empty() { String::new() } else { place.run(&fixed).stdout }
    };
    let (said, words) = match file.end {
        Model(words) => {
            assert_eq!(ran.status, 0, "{}: {}", file.name, ran.stderr);
            (ran.stdout.clone() + &plan(words), words)
        }
        Message(words) => {
            assert!([2, 3].contains(&ran.status), "{}: status {}", file.name, ran.status);
            (ran.stderr.clone(), words)
        }
    };
    // Paragraphs are broken into lines.
    let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in words {
        assert!(flat.contains(word), "{}: no {word:?} in {said}", file.name);
    }
    assert!(!said.contains('\x1b'), "{}: a control character in {said:?}", file.name);
    if let Message(_) = file.end {
        let told = [file.name, "--", "`hired`"].iter().any(|word| flat.contains(word));
        assert!(told, "{}: neither file, flag nor column in {said}", file.name);
        assert!(said.len() < 2000, "{}: {} characters", file.name, said.len());
    }
}

#[test]
fn files_as_they_are_written() {
    let place = Place::new("nasty-written");
    written().iter().for_each(|file| check(&place, file));
}

#[test]
fn columns_as_they_are_filled() {
    let place = Place::new("nasty-columns");
    columns().iter().for_each(|file| check(&place, file));
}

#[test]
fn numbers_as_they_are_written() {
    let place = Place::new("nasty-numbers");
    numbers().iter().for_each(|file| check(&place, file));
}

#[test]
fn labels_as_they_are_given() {
    let place = Place::new("nasty-labels");
    labels().iter().for_each(|file| check(&place, file));
    assert!(written().len() + columns().len() + numbers().len() + labels().len() >= 40);
}
