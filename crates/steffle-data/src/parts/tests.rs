use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use steffle_model::record::Records;
use steffle_site::node::Holding as _;
use steffle_wire::Described;

use super::*;
use crate::NameError;
use crate::scratch::{Scratch, list};
use crate::{Source, encode, split};

const ALL: [Parts; 4] = [
    parts(Cut::Whole { silos: 3 }, Format::Parquet),
    parts(Cut::Divided { silos: 3 }, Format::Csv),
    parts(Cut::Crossed { records: 3, attributes: 1 }, Format::Parquet),
    parts(Cut::Crossed { records: 2, attributes: 5 }, Format::Csv),
];

const fn parts(cut: Cut, format: Format) -> Parts {
    Parts { cut, heterogeneity: 0.5, format }
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(11)
}

fn load(name: &str) -> Dataset {
    let source = Source::parse(name, None).unwrap();
    let recipe = source.recipe().unwrap();
    Dataset::new(source.read(&recipe).unwrap(), recipe).unwrap()
}

/// Features of a record as numbers with their place, to compare records from different encodings.
fn row(records: &Records, id: u64) -> (u16, &[f32], Vec<u32>) {
    let at = records.ids().iter().position(|known| known == id).unwrap();
    (records.labels()[at], records.rows().numeric(at), records.rows().codes(at).collect())
}

#[test]
fn files_give_back_what_was_handed_out() {
    for name in ["adult", "credit-card"] {
        let data = load(name);
        // A slice of the data keeps the test fast; every id is still looked up.
        let (train, test) = (&data.rows()[..1500], &data.rows()[29_000..]);
        let pooled = Schema::from_summary(data.recipe(), &Summary::of(&data, train)).unwrap();
        let expected = encode(&data, train, &pooled).unwrap().records;
        for parts in ALL {
            let scratch = Scratch::new();
            let directory = scratch.path("out");
            let job = parts.write(&directory, &data, train, test, &mut rng()).unwrap();
            assert_eq!(Job::read(&directory.join("job.toml")).unwrap(), job);
            let loaded = job.load().unwrap();
            assert_eq!(loaded.schema.labels(), pooled.labels());
            assert_eq!(loaded.schema.classes(), pooled.classes());
            assert_eq!(loaded.schema.favourable(), pooled.favourable());
            assert_eq!(loaded.test.rows().len(), test.len());
            for (ours, theirs) in loaded.schema.numeric().iter().zip(pooled.numeric()) {
                // Summaries are merged in another order than the rows were added.
                assert!((ours.centre - theirs.centre).abs() <= 1e-12 * theirs.scale, "{ours:?}");
                assert!((ours.scale / theirs.scale - 1.0).abs() <= 1e-12, "{ours:?}");
            }
            let total: usize = loaded.records.iter().map(Records::len).sum();
            assert_eq!(total, train.len());
            let attributes: usize = loaded.attributes.iter().map(|silo| silo.ids().len()).sum();
            assert_eq!(attributes, train.len());
            let silo = &loaded.records[1];
            for id in silo.ids().iter() {
                let (label, numbers, codes) = row(silo, id);
                let (label_before, numbers_before, codes_before) = row(&expected, id);
                assert_eq!(label, label_before);
                for (ours, theirs) in numbers.iter().zip(numbers_before) {
                    assert!((ours - theirs).abs() <= 1e-6 * theirs.abs().max(1.0));
                }
                let names = |schema: &Schema, codes: &[u32]| -> Vec<String> {
                    let names = schema.feature_names();
                    codes.iter().map(|&code| names[code as usize].clone()).collect()
                };
                assert_eq!(names(&loaded.schema, &codes), names(&pooled, &codes_before));
            }
        }
    }
}

#[test]
fn divisions_get_only_what_is_theirs() {
    let scratch = Scratch::new();
    let directory = scratch.path("out");
    let data = load("adult");
    let rows = split(&data, 0.0, &mut rng()).unwrap();
    let job = ALL[3].write(&directory, &data, &rows.train, &rows.test, &mut rng()).unwrap();
    let mut expected: Vec<String> = (1..=5).map(|at| format!("attributes-{at}.csv")).collect();
    expected.extend(["job.toml", "records-1.csv", "records-2.csv", "test.csv"].map(str::to_owned));
    assert_eq!(list(&directory), expected);
    let header =
        |path: &PathBuf| fs::read_to_string(path).unwrap().lines().next().unwrap().to_owned();
    for path in &job.attributes {
        assert_eq!(header(path), "record_id,sex");
    }
    for path in &job.records {
        let header = header(path);
        assert!(header.starts_with("record_id,age,workclass"), "{header}");
        assert!(!header.split(',').any(|name| name == "sex"), "{header}");
    }
    // The same silo in a records file that does hold s is refused.
    let whole = job.test.clone();
    assert!(matches!(
        load_records(&whole, &job.recipe),
        Err(Error::Name(NameError::SensitiveInRecords { column, .. })) if column == "sex"
    ));
}

/// Silos that were cut by s are known for it, so that a private run can refuse them.
#[test]
fn a_job_remembers_that_it_was_cut_by_s() {
    let data = |by: &str| {
        let source = Source::parse("credit-card", None).unwrap();
        let recipe = Recipe { partition_by: Some(by.to_owned()), ..source.recipe().unwrap() };
        Dataset::new(source.read(&recipe).unwrap(), recipe).unwrap()
    };
    for (by, private) in [("AGE", true), ("SEX", false)] {
        let (scratch, data) = (Scratch::new(), data(by));
        let (train, test) = (&data.rows()[..300], &data.rows()[29_900..]);
        let job = ALL[1].write(&scratch.path("out"), &data, train, test, &mut rng()).unwrap();
        let job = Job::read(&job.test.with_file_name("job.toml")).unwrap();
        assert_eq!(job.recipe.check_private().is_ok(), private, "{by}");
        assert_eq!(job.load().unwrap().records.len(), 3, "{by}: without a claim it can be used");
    }
}

#[test]
fn an_occupied_directory_is_left_alone() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("out")).unwrap();
    scratch.file("out/mine.txt", "mine");
    let data = load("credit-card");
    let rows = split(&data, 0.0, &mut rng()).unwrap();
    let refused = ALL[0].write(&scratch.path("out"), &data, &rows.train, &rows.test, &mut rng());
    assert!(matches!(refused, Err(Error::Occupied { .. })));
    let too_many = parts(Cut::Whole { silos: 1_000_000 }, Format::Csv);
    let refused = too_many.write(&scratch.path("new"), &data, &rows.train, &rows.test, &mut rng());
    assert!(matches!(refused, Err(Error::Silos { .. })));
    assert_eq!(scratch.entries(), ["out"]);
    assert_eq!(list(&scratch.path("out")), ["mine.txt"]);
}

#[test]
fn ids_must_match_across_files() {
    let scratch = Scratch::new();
    scratch.file("r1.csv", "record_id,x,y\n1,0.5,0\n2,0.7,1\n");
    scratch.file("r2.csv", "record_id,x,y\n3,0.1,0\n4,0.2,1\n");
    scratch.file("a1.csv", "record_id,s\n4,m\n3,f\n9,f\n");
    scratch.file("a2.csv", "record_id,s\n2,m\n1,?\n");
    scratch.file("test.csv", "record_id,x,y,s\n7,0.5,0,f\n8,0.2,1,m\n");
    let with = |law: &str, records: &str, attributes: &str| {
        format!(
            "version = 1\nrecords = {records}\nattributes = {attributes}\ntest = \"test.csv\"\n\
             {law}[recipe]\nlabel = \"y\"\nsensitive = [\"s\"]\n"
        )
    };
    let text = |records: &str, attributes: &str| with("", records, attributes);
    let load = |text: &str| {
        let path = scratch.file("job.toml", text);
        Job::read(&path).and_then(|job| job.load())
    };
    let both = r#"["a1.csv", "a2.csv"]"#;
    let records = r#"["r1.csv", "r2.csv"]"#;
    let loaded = load(&with("centralisation = \"general:2\"\n", records, both)).unwrap();
    assert_eq!(loaded.schema.classes(), ["f", "m"]);
    assert_eq!(loaded.attributes[0].ids().to_vec(), [4, 3, 9]);
    assert!(!loaded.together);
    // Beside each other they are matched by id, whatever the order of their rows.
    let loaded = load(&text(records, r#"["a2.csv", "a1.csv"]"#)).unwrap();
    assert!(loaded.together);
    assert_eq!(
        (loaded.attributes[0].ids().to_vec(), loaded.attributes[1].ids().to_vec()),
        (vec![1, 2], vec![3, 4])
    );
    assert!(loaded.reading.iter().any(|said| said.contains("1 rows are not used")));
    let refusal = |text: &str| match load(text) {
        Err(Error::Files(problem)) => *problem,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("{text}"),
    };
    let swapped = refusal(&text(records, both));
    assert!(matches!(&swapped, FilesError::Swapped { ids: 2, .. }), "{swapped}");
    let lost = refusal(&text(records, r#"["a1.csv"]"#));
    assert!(matches!(&lost, FilesError::NoAttributes { ids: 2, of: 2, row: 1, .. }), "{lost}");
    for text in [
        text(r#"["r1.csv", "r1.csv"]"#, r#"["a2.csv", "a1.csv"]"#),
        text(r#"["r1.csv"]"#, r#"["a2.csv", "a2.csv"]"#),
    ] {
        let problem = refusal(&text);
        let fits =
            matches!(problem, FilesError::Repeated { ids: 2, .. } | FilesError::Swapped { .. });
        assert!(fits, "{problem}");
    }
    let kind = refusal(&text(both, records));
    assert!(matches!(kind, FilesError::WrongKind { under: "records", .. }), "{kind}");
    let refused = [
        text("[]", both),
        text(r#"["r1.csv"]"#, both).replace("version = 1", "version = 2"),
        text(r#"["r1.csv"]"#, both).replace("test =", "tset ="),
    ];
    for text in refused {
        assert!(matches!(load(&text), Err(Error::Job { .. })), "{text}");
    }
    let twice = "record_id,s\n1,f\n1,m\n";
    scratch.file("a1.csv", twice);
    let twice = load(&text(r#"["r1.csv"]"#, both));
    assert!(matches!(twice, Err(Error::RepeatedIds { row: 2, ids: 1, .. })));
}

#[test]
fn silos_need_no_record_ids_and_differences_are_told_by_file() {
    let scratch = Scratch::new();
    let rows = |from: usize, label: [&str; 2]| -> String {
        let row = |i: usize| format!("{},{},{}\n", i % 7, label[i % 2], ["f", "m"][i / 2 % 2]);
        (from..from + 8).map(row).collect::<Vec<_>>().concat()
    };
    let header = "x,y,s\n";
    scratch.file("one.csv", format!("{header}{}", rows(0, ["no", "yes"])));
    scratch.file("test.csv", format!("{header}{}", rows(3, ["no", "yes"])));
    let job = "version = 1\nsilos = [\"one.csv\", \"two.csv\"]\ntest = \"test.csv\"\n[recipe]\n\
               label = \"y\"\nsensitive = [\"s\"]\n";
    let job = scratch.file("job.toml", job);
    let load = |two: String| {
        scratch.file("two.csv", two);
        Job::read(&job).and_then(|job| job.load())
    };
    let loaded = load(format!("{header}{}", rows(1, ["no", "yes"]))).unwrap();
    assert_eq!(loaded.records[1].ids().to_vec(), (8..16).collect::<Vec<u64>>());
    assert_eq!(loaded.attributes[1].ids(), loaded.records[1].ids());
    let told = |two: String, words: &[&str]| {
        let message = load(two).map(|_| ()).unwrap_err().to_string();
        for word in words {
            assert!(message.contains(word), "{word}: {message}");
        }
    };
    told(format!("{header}{}", rows(1, ["no", "Yes"])), &["`Yes`", "two.csv", "case or spaces"]);
    told(format!("{header}{}", rows(1, ["0", "1"])), &["`0`, `1`", "two.csv", "one.csv"]);
    told(format!("X,y,s\n{}", rows(1, ["no", "yes"])), &["two.csv", "`x`", "did you mean `X`?"]);
    told(
        format!("{header}?!,no,f\n{}", rows(1, ["no", "yes"])),
        &["`x`", "numbers", "text (`?!`)"],
    );
    let ids: String = rows(1, ["no", "yes"])
        .lines()
        .map(|line| format!("9,{line}\n"))
        .collect::<Vec<_>>()
        .concat();
    told(format!("record_id,{header}{ids}"), &["two.csv", "stand more than once"]);
    let ids = ids
        .replacen('9', "8", 7)
        .lines()
        .take(1)
        .map(|l| format!("{l}\n"))
        .collect::<Vec<_>>()
        .concat();
    told(format!("record_id,{header}{ids}"), &["one.csv: has no column `record_id`"]);
}

/// What a site says of itself under masks has names in it, and no number but how many rows one person has.
#[test]
fn under_masks_a_site_says_no_number() {
    fn numbers(value: &serde_json::Value, found: &mut Vec<f64>) {
        match value {
            serde_json::Value::Number(number) => found.extend(number.as_f64()),
            serde_json::Value::Array(all) => all.iter().for_each(|own| numbers(own, found)),
            serde_json::Value::Object(all) => all.values().for_each(|own| numbers(own, found)),
            _ => {}
        }
    }
    let data = load("adult");
    let (train, test) = (&data.rows()[..600], &data.rows()[29_000..29_100]);
    let scratch = Scratch::new();
    let directory = scratch.path("out");
    let parts = parts(Cut::Whole { silos: 3 }, Format::Csv);
    let job = parts.write(&directory, &data, train, test, &mut rng()).unwrap();
    let site = Site::of_job(&job, 0, false).unwrap().unwrap();
    let said = |masked: bool| {
        let Described { records, summary, .. } = site.describe(masked);
        let mut found = vec![records as f64];
        numbers(&serde_json::from_slice(&summary).unwrap(), &mut found);
        found
    };
    assert!(said(false).iter().any(|number| *number > 100.0));
    let masked = said(true);
    assert!(masked.iter().all(|number| *number == 0.0 || *number == 1.0), "{masked:?}");
    let digests = site.digests();
    assert_eq!(digests.len(), site.records().unwrap().rows().len());
    assert!(digests.is_sorted());
}
