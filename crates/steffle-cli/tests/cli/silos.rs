//! Silos as people have them: exports without ids, other orders, other spellings, swapped files.

use crate::harness::{Place, columns, pairs};

const RECIPE: &str =
    "[recipe]\nlabel = \"label\"\nsensitive = [\"group\"]\nclasses = [\"a\", \"b\"]\n";

/// Three silos of eighty rows and a test file; `change` may spoil a file.
fn silos(place: &Place, keep: impl Fn(&str) -> bool, change: impl Fn(usize, String) -> String) {
    for silo in 0..3 {
        let rows = columns(&pairs(silo * 80..(silo + 1) * 80), &keep);
        place.write(&format!("silo-{silo}.csv"), change(silo as usize, rows));
    }
    place.write("test.csv", columns(&pairs(300..400), &keep));
}

fn job(place: &Place, text: &str) {
    place.write("job.toml", format!("version = 1\n{text}\ntest = \"test.csv\"\n{RECIPE}"));
}

const WHOLE: &str = "silos = [\"silo-0.csv\", \"silo-1.csv\", \"silo-2.csv\"]";

const TRAIN: [&str; 8] =
    ["train", "--data", "job.toml", "--rounds", "2", "--out", "run", "--force"];

#[test]
fn whole_exports_without_record_ids_just_work() {
    let place = Place::new("silos-whole");
    job(&place, WHOLE);
    silos(&place, |_| true, |_, rows| rows);
    let with = place.json(&TRAIN);
    silos(&place, |name| name != "record_id", |_, rows| rows);
    let without = place.json(&TRAIN);
    assert_eq!((&with["test"], &with["silo_rows"]), (&without["test"], &without["silo_rows"]));
    assert_eq!(without["centralisation"], "silos");
    // A party in a process of its own counts its rows for itself.
    let apart = place.json(&[&TRAIN[..], &["--processes"]].concat());
    assert_eq!(apart["test"], without["test"]);
}

/// Records and attributes apart, attributes backwards, a blank feature in one file.
#[test]
fn attributes_are_matched_by_id_and_the_job_is_law() {
    let place = Place::new("silos-divided");
    let divided = |blank: bool| {
        for silo in 0..3_u64 {
            let rows = pairs(silo * 80..(silo + 1) * 80);
            let mut records = columns(&rows, |name| name != "group");
            if blank && silo == 1 {
                records = records.replacen(",north,", ",,", 1);
            }
            let attributes = columns(&rows, |name| ["record_id", "group"].contains(&name));
            let (header, body) = attributes.split_once('\n').unwrap();
            let backwards: Vec<&str> = body.lines().rev().collect();
            place.write(&format!("records-{silo}.csv"), records);
            place.write(
                &format!("attributes-{silo}.csv"),
                format!("{header}\n{}\n", backwards.join("\n")),
            );
        }
        place.write("test.csv", pairs(300..400));
    };
    let list = |stem: &str| format!("[\"{stem}-0.csv\", \"{stem}-1.csv\", \"{stem}-2.csv\"]");
    let files = format!("records = {}\nattributes = {}", list("records"), list("attributes"));
    job(&place, &files);
    divided(false);
    let apart = place.json(&TRAIN);
    assert_eq!(apart["centralisation"], "silos");
    // The same people as whole files give the same model.
    silos(&place, |_| true, |_, rows| rows);
    job(&place, WHOLE);
    let whole = place.json(&TRAIN);
    assert_eq!(apart["test"], whole["test"]);
    // A blank cell leaves a row out; it does not change who sees what.
    job(&place, &files);
    divided(true);
    let blank = place.json(&TRAIN);
    assert_eq!((&blank["centralisation"], &blank["rows"]["dropped"]), (&"silos".into(), &1.into()));
    let plan = place.json(&[&TRAIN[..5], &["--dry-run"]].concat());
    assert!(plan["reading"].to_string().contains("1 rows are not used"), "{}", plan["reading"]);
    let processes = place.json(&[&TRAIN[..], &["--processes"]].concat());
    assert_eq!(processes["test"], blank["test"]);
    // Swapped files are told by name, and so is what belongs elsewhere.
    divided(false);
    let swapped = files.replace(
        "[\"attributes-0.csv\", \"attributes-1.csv\"",
        "[\"attributes-1.csv\", \"attributes-0.csv\"",
    );
    job(&place, &swapped);
    let refused = place.run(&TRAIN);
    assert_eq!(refused.status, 3);
    for word in ["steffle::data::swapped", "records-0.csv", "attributes-0.csv", "80 of"] {
        assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
    }
    job(&place, &format!("records = {}\nattributes = {}", list("attributes"), list("records")));
    let refused = place.run(&TRAIN);
    assert!(refused.stderr.contains("stands under `records`"), "{}", refused.stderr);
    // Holders with a cut of their own have to say so.
    job(&place, &format!("centralisation = \"general:3\"\n{swapped}"));
    let general = place.json(&TRAIN);
    assert_eq!(general["centralisation"], "general:3");
    job(&place, &format!("centralisation = \"central-attributes\"\n{files}"));
    let refused = place.run(&TRAIN);
    assert!(refused.stderr.contains("does not fit"), "{}", refused.stderr);
}

#[test]
fn differences_between_files_get_their_own_messages() {
    let place = Place::new("silos-differences");
    job(&place, WHOLE);
    let told = |change: fn(usize, String) -> String, words: &[&str]| {
        silos(&place, |_| true, change);
        let ran = place.run(&TRAIN);
        assert_eq!(ran.status, 3, "{}", ran.stderr);
        for word in words.iter().chain(&["silo-1.csv"]) {
            assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
        }
    };
    told(
        |silo, rows| if silo == 1 { rows.replace(",high", ",High") } else { rows },
        &["steffle::data::labels", "`High`", "case or spaces"],
    );
    told(
        |silo, rows| if silo == 1 { rows.replacen("town", "Town", 1) } else { rows },
        &["steffle::data::disagreement", "did you mean `Town`?"],
    );
    told(
        |silo, rows| if silo == 1 { rows.replacen("\n80,", "\n81,", 1) } else { rows },
        &["steffle::data::id", "1 record ids", "stand more than once"],
    );
    told(
        |silo, rows| if silo == 1 { rows.replacen("\n80,", "\n3,", 1) } else { rows },
        &["steffle::data::id", "silo-0.csv", "1 of the same record ids"],
    );
    // Agreed labels refuse what is not among them.
    let recipe = format!("{RECIPE}labels = [\"low\", \"high\"]\n");
    place.write("job.toml", format!("version = 1\n{WHOLE}\ntest = \"test.csv\"\n{recipe}"));
    told(
        |silo, rows| if silo == 1 { rows.replacen(",high", ",hihg", 1) } else { rows },
        &["steffle::data::labels", "1 rows", "did you mean `high`?"],
    );
    // Levels of features that look alike are reported.
    silos(
        &place,
        |_| true,
        |silo, rows| match silo {
            1 => rows.replace(",north,", ",North,"),
            _ => rows,
        },
    );
    let run = place.json(&TRAIN);
    assert!(run["warnings"].to_string().contains("`North` and `north`"), "{}", run["warnings"]);
}
