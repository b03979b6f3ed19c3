use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use steffle_site::record::Records;

use super::*;
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
fn row(records: &Records, id: u64) -> (u16, &[f32], &[u32]) {
    let at = records.ids().iter().position(|known| *known == id).unwrap();
    (records.labels()[at], records.rows().numeric(at), records.rows().codes(at))
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
            for &id in silo.ids() {
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
                assert_eq!(names(&loaded.schema, codes), names(&pooled, codes_before));
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
        Err(Error::SensitiveInRecords { column, .. }) if column == "sex"
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
    let text = |records: &str, attributes: &str| {
        format!(
            "version = 1\nrecords = {records}\nattributes = {attributes}\ntest = \"test.csv\"\n\
             [recipe]\nlabel = \"y\"\nsensitive = [\"s\"]\n"
        )
    };
    let load = |text: &str| {
        let path = scratch.file("job.toml", text);
        Job::read(&path).and_then(|job| job.load())
    };
    let both = r#"["a1.csv", "a2.csv"]"#;
    let loaded = load(&text(r#"["r1.csv", "r2.csv"]"#, both)).unwrap();
    assert_eq!(loaded.schema.classes(), ["f", "m"]);
    assert_eq!(loaded.attributes[0].ids(), [4, 3, 9]);
    let refused = [
        text(r#"["r1.csv", "r1.csv"]"#, both),
        text(r#"["r1.csv", "r2.csv"]"#, r#"["a1.csv"]"#),
        text(r#"["r1.csv"]"#, r#"["a2.csv", "a2.csv"]"#),
    ];
    for text in refused {
        assert!(matches!(load(&text), Err(Error::Id { .. })), "{text}");
    }
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
    assert!(matches!(load(&text(r#"["r1.csv"]"#, both)), Err(Error::Id { row: 2, .. })));
}
