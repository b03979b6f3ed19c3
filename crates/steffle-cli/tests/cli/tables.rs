//! Tables as people have them: what is found, what is said, what is refused.

use std::io::Write;

use crate::harness::{Place, Ran, pairs};

const MEANING: [&str; 4] = ["--label", "label", "--sensitive", "group"];
const CLASSES: [&str; 2] = ["--classes", "a,b"];

/// The made-up people with `;` between cells and a decimal comma.
fn european(rows: std::ops::Range<u64>) -> String {
    pairs(rows).replace(',', ";").replace(".5;", ",5;")
}

fn describe(place: &Place, rest: &[&str]) -> Ran {
    place.run(&[&["data", "describe"], rest].concat())
}

#[test]
fn delimiters_and_decimal_commas_are_found_and_said() {
    let place = Place::new("tables-european");
    place.write("people.csv", pairs(0..400));
    place.write("people-eu.csv", european(0..400));
    let said = describe(&place, &["people-eu.csv"]).stdout;
    for words in ["400 rows, 6 columns", "separated by `;`", "decimal comma in `score`"] {
        assert!(said.contains(words), "{said}");
    }
    // The same table in another dress is the same run, from training to prediction.
    let train = |file: &str, out: &str| {
        let flags = ["train", "--data", file, "--rounds", "3", "--out", out];
        place.json(&[&flags[..], &MEANING, &CLASSES].concat())
    };
    let (plain, dressed) = (train("people.csv", "plain"), train("people-eu.csv", "dressed"));
    assert_eq!(plain["test"], dressed["test"]);
    let predicted = |run: &str, file: &str| place.run(&["predict", run, file]).stdout;
    assert_eq!(predicted("plain", "people.csv"), predicted("dressed", "people-eu.csv"));
    assert_eq!(predicted("dressed", "people.csv"), predicted("dressed", "people-eu.csv"));
    let plan = ["train", "--dry-run", "--data", "people-eu.csv"];
    let plan = place.json(&[&plan[..], &MEANING, &CLASSES].concat());
    assert!(plan["reading"].to_string().contains("decimal comma in `score`"), "{plan}");
}

#[test]
fn compressed_headless_and_latin_1_files() {
    let place = Place::new("tables-dress");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(pairs(0..50).as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    place.write("people.csv.gz", &gzip);
    place.write("cut.csv.gz", &gzip[..gzip.len() / 2]);
    let said = describe(&place, &["people.csv.gz"]).stdout;
    assert!(said.contains("50 rows, 6 columns") && said.contains("gzip"), "{said}");
    let refused = describe(&place, &["cut.csv.gz"]);
    assert_eq!(refused.status, 3);
    assert!(refused.stderr.contains("damaged or cut off"), "{}", refused.stderr);

    place.write("german.data", "A11 6 1\nA12 48 2\n");
    let refused = describe(&place, &["german.data"]).stderr;
    assert!(refused.contains("--delimiter"), "{refused}");
    let flags = ["german.data", "--delimiter", "space", "--columns", "status,months,risk"];
    let said = describe(&place, &flags).stdout;
    assert!(said.contains("2 rows, 3 columns") && said.contains("months"), "{said}");

    place.write("latin.csv", b"name,city\nJos\xe9,M\xfcnchen\n");
    let refused = describe(&place, &["latin.csv"]);
    assert_eq!(refused.status, 3);
    for words in ["row 1", "`name`", "--encoding latin-1"] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    assert_eq!(describe(&place, &["latin.csv", "--encoding", "latin-1"]).status, 0);
    let odd = describe(&place, &["latin.csv", "--delimiter", "xy"]);
    assert_eq!((odd.status, odd.stderr.contains("semicolon")), (2, true), "{}", odd.stderr);
}

#[test]
fn what_has_two_readings_is_not_guessed() {
    let place = Place::new("tables-ambiguous");
    let rows: Vec<String> =
        (0..60).map(|i| format!("1,{:03};{i};{};{}\n", 100 + i, i % 2, i % 3 % 2)).collect();
    place.write("pay.csv", format!("pay;age;hired;sex\n{}", rows.concat()));
    let said = describe(&place, &["pay.csv"]).stdout;
    assert!(said.contains("`pay` is read as text") && said.contains("--decimal"), "{said}");
    let plan = |rest: &[&str]| {
        let flags = ["train", "--mode", "none", "--dry-run", "--data", "pay.csv"];
        place.json(&[&flags[..], &["--label", "hired", "--sensitive", "sex"], rest].concat())
    };
    assert!(plan(&[])["warnings"].to_string().contains("--decimal comma"));
    assert_eq!(plan(&["--decimal", "comma"])["features"], 2);
}

#[test]
fn repeated_names_are_numbered() {
    let place = Place::new("tables-repeated");
    place.write("t.csv", "score,score,label\n1,2,x\n");
    let said = describe(&place, &["t.csv"]).stdout;
    assert!(said.contains("`score.2`") && said.contains("repeat"), "{said}");
}

#[test]
fn rows_left_out_are_counted_by_column_but_never_by_a_sensitive_one() {
    let place = Place::new("tables-missing");
    let people = pairs(0..400);
    let marked = |people: &str, every: usize, from: &str, to: &str| -> String {
        let mark = |(at, line): (usize, &str)| match at % every {
            1 => format!("{}\n", line.replacen(from, to, 1)),
            _ => format!("{line}\n"),
        };
        people.lines().enumerate().map(mark).collect()
    };
    let gone = marked(&people, 4, ",north,", ",n/a,");
    let expected = gone.matches("n/a").count();
    assert!(expected > 10);
    place.write("t.csv", &gone);
    let flags = ["train", "--rounds", "2", "--data", "t.csv", "--out", "run"];
    let flags = [&flags[..], &MEANING, &CLASSES].concat();
    let plan = place.json(&[&flags[..], &["--dry-run"]].concat());
    assert_eq!(plan["rows"]["dropped"], expected);
    assert_eq!(plan["rows"]["dropped_for"], serde_json::json!({"town": expected}));
    let said = place.run(&flags).stdout;
    assert!(
        said.contains(&format!("{expected} rows left out")) && said.contains("`town`"),
        "{said}"
    );
    // Whatever stands in the sensitive column, the plan is the same to the byte.
    for odd in ["-", "", "null", "1,234", "\u{1}", "zebra"] {
        place.write("t.csv", marked(&gone, 3, ",a,", &format!(",\"{odd}\",")));
        let other = place.json(&[&flags[..], &["--dry-run"]].concat());
        assert_eq!(other, plan, "{odd:?}");
    }
    place.write("t.csv", &gone);
    let kept = ["data", "describe", "t.csv", "--missing-markers", "999"];
    let kept = place.json(&[&kept[..], &MEANING].concat());
    assert_eq!(kept["usable_rows"], 400);
}

#[test]
fn missing_numbers_can_be_imputed_with_an_indicator() {
    let place = Place::new("tables-impute");
    let people: String = pairs(0..400)
        .lines()
        .enumerate()
        .map(|(at, line)| match line.split_once(',').filter(|_| at % 5 == 3) {
            Some((id, rest)) => format!("{id},NA,{}\n", rest.split_once(',').unwrap().1),
            None => format!("{line}\n"),
        })
        .collect();
    place.write("t.csv", people);
    let run = |how: &str| {
        let flags = ["train", "--rounds", "2", "--data", "t.csv", "--missing", how, "--out", how];
        place.json(&[&flags[..], &MEANING, &CLASSES].concat())
    };
    let (category, impute) = (run("category"), run("impute"));
    assert_eq!(impute["rows"]["dropped"], 0);
    assert_eq!(impute["features"].as_u64(), category["features"].as_u64().map(|n| n + 1));
    let schema = place.read("impute/schema.json");
    assert!(schema.contains("(missing)"), "{schema}");
    let predicted = place.json(&["predict", "impute", "t.csv", "--output", "p.csv"]);
    assert_eq!(
        (&predicted["records"], &predicted["missing"]),
        (&400.into(), &serde_json::json!({}))
    );
    assert_eq!(place.run(&["evaluate", "impute", "t.csv"]).status, 0);
}

#[test]
fn columns_are_named_in_lists_and_typing_errors_are_understood() {
    let place = Place::new("tables-columns");
    place.write("t.csv", pairs(0..100));
    let flags = [&["data", "describe", "t.csv"], &MEANING[..], &["--drop", "town,region"]].concat();
    assert_eq!(place.json(&flags)["features"], 1);
    let wrong =
        place.run(&["data", "describe", "t.csv", "--label", "Lable", "--sensitive", "group"]);
    assert!(wrong.stderr.contains("did you mean `label`?"), "{}", wrong.stderr);
}

#[test]
fn odd_cells_and_names_get_a_message_about_themselves() {
    let place = Place::new("tables-odd");
    let told = |bytes: &[u8], words: &[&str]| {
        place.write("t.csv", bytes);
        let ran = describe(&place, &[&["t.csv"], &MEANING[..]].concat());
        assert_eq!(ran.status, 3, "{}", ran.stderr);
        for word in words {
            assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
        }
        assert!(ran.stderr.len() < 2000, "{} characters", ran.stderr.len());
    };
    told(b"x,group,label\n1,a,u\n1e308,b,v\n", &["row 2", "`x`", "1e308", "too large"]);
    told(b"x,group,label\n1,a,u\n2\0,b,v\n", &["row 2", "`x`", "NUL"]);
    let long = format!("x,group,label\n1,a,u\n{},b,v\n", "9".repeat(10 << 20));
    told(long.as_bytes(), &["row 2", "`x`", "10485760 bytes"]);
    place.write("t.csv", "a\x1b[2Jb,c\n1,2\n");
    let said = describe(&place, &["t.csv"]).stdout;
    assert!(said.contains("\\u{1b}[2J") && !said.contains('\x1b'), "{said:?}");
    let refused = describe(&place, &["t.csv", "--label", "a", "--sensitive", "c"]).stderr;
    assert!(refused.contains("\\u{1b}[2J") && !refused.contains('\x1b'), "{refused:?}");
}

#[test]
fn names_and_ids_are_left_out_with_a_word() {
    let place = Place::new("tables-ids");
    let people = pairs(0..200);
    let named = people.lines().enumerate().map(|(at, line)| match at {
        0 => format!("{line},name\n"),
        at => format!("{line},person {at}\n"),
    });
    place.write("t.csv", named.collect::<String>());
    let plan = |rest: &[&str]| {
        let flags = ["train", "--dry-run", "--data", "t.csv"];
        place.json(&[&flags[..], &MEANING, &CLASSES, rest].concat())
    };
    let usual = plan(&[]);
    assert_eq!(usual["features"], 6);
    assert!(usual["warnings"].to_string().contains("--keep name"), "{usual}");
    assert_eq!(plan(&["--keep", "name"])["features"], 206);
    let said = describe(&place, &[&["t.csv"], &MEANING[..]].concat()).stdout;
    assert!(said.contains("column `name` is left out"), "{said}");
    let out = ["data", "partition", "t.csv", "--out", "parts"];
    place.json(&[&out[..], &MEANING].concat());
    assert!(!place.read("parts/silo-1.csv").contains("person"));
    let job = ["train", "--data", "parts/job.toml", "--rounds", "2", "--out", "run"];
    assert_eq!(place.json(&[&job[..], &CLASSES].concat())["features"], 6);
    assert_eq!(place.run(&["predict", "run", "t.csv"]).status, 0);
    assert_eq!(place.run(&["evaluate", "run", "t.csv"]).status, 0);
}
