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

    // Spaces between cells, no header, a name that promises nothing: found, and asked about.
    place.write("german.data", "A11 6 1\nA12 48 2\nA11 24 1\n");
    let said = describe(&place, &["german.data"]).stdout;
    assert!(said.contains("separated by `space`") && said.contains("--columns"), "{said}");
    assert!(
        said.split_whitespace().collect::<Vec<_>>().join(" ").contains("with 3 names"),
        "{said}"
    );
    let said = describe(&place, &["german.data", "--columns", "status,months,risk"]).stdout;
    assert!(said.contains("3 rows, 3 columns") && said.contains("months"), "{said}");

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
    let rows: Vec<String> = (0..60)
        .map(|i| format!("1,{:03};{};{};{}\n", 100 + i, i * 7 % 50, i % 2, i % 3 % 2))
        .collect();
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

/// Excerpts in the shape of three raw files of the field, made up: `;` and quotes; names that repeat,
/// dates, columns that are mostly missing and one that tells the label; spaces and no header.
#[test]
fn raw_files_of_the_field_load_with_what_describe_suggests() {
    let place = Place::new("tables-field");
    let rows = |row: fn(usize) -> String| (0..300).map(row).collect::<Vec<_>>().concat();
    let bank = rows(|i| {
        let job = ["admin.", "services", "blue-collar"][i * 7 % 3];
        let said = if i * 31 % 11 < 3 { "yes" } else { "no" };
        let married = ["married", "single"][i * 13 % 5 % 2];
        format!("{};\"{job}\";\"{married}\";{};\"{said}\"\n", 20 + i % 50, 93.2 + (i % 9) as f64)
    });
    place
        .write("bank.csv", format!("\"age\";\"job\";\"marital\";\"cons.price.idx\";\"y\"\n{bank}"));
    let bank = ["train", "--data", "bank.csv", "--label", "y", "--sensitive", "marital"];
    let bank = [&bank[..], &["--favourable", "yes", "--mode", "none", "--rounds", "2"]].concat();
    assert_eq!(place.json(&bank)["rows"]["train"], 225);

    let compas = rows(|i| {
        let again = usize::from(i * 31 % 11 < 5);
        let when = if again == 1 { format!("2014-0{}-11", 1 + i % 9) } else { String::new() };
        let race = ["Other", "Caucasian"][i * 13 % 5 % 2];
        format!(
            "{i},name {i},{race},19{}-04-18,{},{},,{when},{again}\n",
            50 + i % 45,
            i % 10,
            i % 3
        )
    });
    let header =
        "id,name,race,dob,decile_score,decile_score,violent_recid,r_offense_date,two_year_recid";
    place.write("compas.csv", format!("{header}\n{compas}"));
    let meaning = ["--label", "two_year_recid", "--sensitive", "race"];
    let look = [&["compas.csv"], &meaning[..]].concat();
    // One label only has the date: nothing complete is left to learn from.
    let refused = describe(&place, &look);
    let half = refused.stdout.clone() + &refused.stderr;
    assert!(half.contains("--missing impute"), "{half}");
    let said = describe(&place, &[&look[..], &["--missing", "impute"]].concat()).stdout;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "`decile_score.2`",
        "dates, as days from 1970-01-01, in `dob`",
        "column `name` is left out",
        "column `violent_recid` is left out",
        "the favourable label is taken to be `1`",
        "column `r_offense_date` alone tells the label",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let train = ["train", "--data", "compas.csv", "--missing", "impute", "--favourable", "0"];
    let drop = ["--drop", "r_offense_date", "--mode", "none", "--rounds", "2"];
    assert_eq!(place.json(&[&train[..], &meaning, &drop].concat())["favourable"], "0");
}

#[test]
fn codes_and_the_favourable_label_are_asked_about() {
    let place = Place::new("tables-questions");
    let people = pairs(0..400);
    let coded = people.lines().enumerate().map(|(at, line)| match at {
        0 => format!("{line},REGION\n"),
        at => format!("{line},{}\n", 1 + at * 7 % 4),
    });
    place.write("t.csv", coded.collect::<String>());
    let look = |rest: &[&str]| {
        let flags = ["data", "describe", "t.csv"];
        place.json(&[&flags[..], &MEANING, rest].concat())["questions"].to_string()
    };
    let asked = look(&[]);
    for words in ["`REGION` has 4 whole numbers, 1 to 4", "--categorical REGION", "--favourable"] {
        assert!(asked.contains(words), "{words}: {asked}");
    }
    let fewer = look(&["--categorical", "REGION", "--favourable", "high"]);
    assert!(!fewer.contains("REGION") && !fewer.contains("--favourable"), "{fewer}");
    // Equal opportunity is about the favourable label: it is not guessed.
    let flags = ["train", "--data", "t.csv", "--notion", "equal-opportunity", "--dry-run"];
    let refused = place.run(&[&flags[..], &MEANING, &CLASSES].concat());
    assert_eq!((refused.status, refused.stderr.contains("`high`, `low`")), (2, true));
    let flags = [&flags[..], &MEANING, &CLASSES, &["--favourable", "high"]].concat();
    assert_eq!(place.run(&flags).status, 0);
}

#[test]
fn an_own_test_file_one_silo_and_groups_that_are_too_small() {
    let place = Place::new("tables-test");
    place.write("t.csv", pairs(0..400));
    // Five people of a third group.
    let spoil = |(at, line): (usize, &str)| match at % 60 {
        7 => line.replace(",b,", ",c,"),
        _ => line.to_owned(),
    };
    let rare: Vec<String> = pairs(400..700).lines().enumerate().map(spoil).collect();
    let rare = rare.join("\n");
    place.write("later.csv", rare);
    let flags = ["train", "--data", "t.csv", "--test", "later.csv", "--classes", "a,b,c"];
    let flags = [&flags[..], &MEANING, &["--rounds", "2", "--out", "run", "--force"]].concat();
    let run = place.json(&flags);
    assert_eq!((&run["rows"]["train"], &run["rows"]["test"]), (&400.into(), &300.into()));
    assert_eq!((&run["silos"], &run["centralisation"]), (&1.into(), &"one-silo".into()));
    assert_eq!(run["test"]["min_group"], 30);
    let left_out = run["test"]["left_out"].to_string();
    assert!(left_out.contains("\"group\":\"c\""), "{left_out}");
    let odds = run["test"]["equalized_odds"].as_f64().unwrap();
    let all = place.json(&[&flags[..], &["--min-group", "1"]].concat());
    assert!(odds <= all["test"]["equalized_odds"].as_f64().unwrap());
    assert!(place.run(&flags).stdout.contains("Not enough evidence: group c"));
    assert!(place.read("run/report.html").contains("Not enough evidence: group c"));
    let several = place.run(&["train", "--lambda", "1,2"]);
    assert_eq!(several.status, 2);
    assert!(several.stderr.contains("steffle sweep --lambda 1,2"), "{}", several.stderr);
    let written = place.json(&["predict", "run", "later.csv", "--output", "p.parquet"]);
    assert_eq!(written["records"], 300);
    let read = place.json(&["data", "describe", "p.parquet"]);
    assert_eq!((&read["rows"], read["columns"].as_array().unwrap().len()), (&300.into(), 4));
    assert_eq!(read["columns"][1]["name"], "label");
}

#[test]
fn results_come_first_and_privacy_in_brief() {
    let place = Place::new("tables-order");
    place.write("t.csv", pairs(0..400));
    let flags = ["train", "--data", "t.csv", "--rounds", "2", "--out", "run", "--force"];
    let flags = [&flags[..], &MEANING, &CLASSES].concat();
    let brief = place.run(&flags).stdout;
    assert!(brief.trim_start().starts_with("test "), "{brief}");
    let privacy: Vec<&str> = brief
        .lines()
        .skip_while(|line| !line.starts_with("Privacy"))
        .take_while(|line| !line.is_empty())
        .collect();
    assert!(privacy.len() <= 2, "{brief}");
    let long = place.run(&[&flags[..], &["--explain"]].concat()).stdout;
    assert!(long.contains("differentially private") && !brief.contains("differentially private"));
    let once = place.json(
        &[&flags[..5], &["--method", "one-shot", "--out", "once"], &MEANING, &CLASSES]
            .concat()
            .into_iter()
            .filter(|flag| !["--rounds", "2"].contains(flag))
            .collect::<Vec<_>>(),
    );
    assert!(once["mode"].is_null(), "{}", once["mode"]);
    let plan = place.run(&[&flags[..], &["--dry-run"]].concat()).stdout;
    for past in [" was ", " were ", " came "] {
        assert!(!plan.contains(past), "{past}: {plan}");
    }
}

/// What tells s is computed from s: only runs that claim nothing look for it.
#[test]
fn columns_that_tell_s_are_told_by_runs_that_claim_nothing() {
    let place = Place::new("tables-proxy");
    let people = pairs(0..400);
    let proxied = people.lines().enumerate().map(|(at, line)| match at {
        0 => format!("{line},title\n"),
        _ => format!("{line},{}\n", if line.contains(",a,") { "Ms" } else { "Mr" }),
    });
    place.write("t.csv", proxied.collect::<String>());
    let flags = ["train", "--data", "t.csv", "--favourable", "high", "--dry-run"];
    let warned = |more: &[&str]| {
        let plan = place.json(&[&flags[..], &MEANING, &CLASSES, more].concat());
        plan["warnings"].to_string().contains("`title` alone tells the sensitive `group`")
    };
    assert!(!warned(&[]), "a private run's warnings are no function of s");
    assert!(!warned(&["--method", "one-shot"]));
    assert!(warned(&["--mode", "none"]) && warned(&["--method", "fermi"]));
}

/// A notion that is none is trained without, or refused before anything is done.
#[test]
fn notion_none_works_or_is_refused_at_once() {
    let place = Place::new("tables-none");
    place.write("t.csv", pairs(0..400));
    for method in ["steffle", "fermi", "erm"] {
        let flags = ["train", "--data", "t.csv", "--notion", "none", "--method", method];
        let run = place.json(&[&flags[..], &MEANING, &CLASSES].concat());
        assert_eq!(run["notion"], "none", "{method}");
    }
    let flags = ["train", "--data", "t.csv", "--notion", "none", "--method", "one-shot"];
    let refused = place.run(&[&flags[..], &MEANING, &CLASSES, &["--dry-run"]].concat());
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("--method erm"), "{}", refused.stderr);
}
