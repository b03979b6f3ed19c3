use proptest::prelude::*;

use super::*;
use crate::Missing;
use crate::scratch::Scratch;
use crate::{CellError, Column, Dataset, Reader, Source, Table};

fn adult() -> Dataset {
    let source = Source::parse("adult", None).unwrap();
    let recipe = source.recipe().unwrap();
    Dataset::new(source.read(&recipe).unwrap(), recipe).unwrap()
}

fn of(columns: Vec<(&str, Column)>, recipe: Recipe) -> Result<Schema, Error> {
    let columns = columns.into_iter().map(|(name, column)| (name.to_owned(), column)).collect();
    let data = Dataset::new(Table::new("test", columns)?, recipe)?;
    Schema::from_summary(data.recipe(), &Summary::of(&data, data.rows()))
}

fn numbers<const N: usize>(numbers: [f64; N]) -> Column {
    Column::Numbers(numbers.to_vec())
}

#[test]
fn numbers_are_standardised_by_training_rows_only() {
    let data = adult();
    let (train, test) = data.rows().split_at(30_000);
    let schema = Schema::from_summary(data.recipe(), &Summary::of(&data, train)).unwrap();
    let moments = |rows: &[u32], feature: usize| {
        let records = encode(&data, rows, &schema).unwrap().records;
        Moments::of((0..records.len()).map(|row| f64::from(records.rows().numeric(row)[feature])))
    };
    for feature in 0..6 {
        let trained = moments(train, feature);
        // Encoded numbers are rounded to 1/4096 of a standard deviation.
        assert!(trained.mean.abs() < 1e-4 && (trained.scale() - 1.0).abs() < 1e-4);
        assert!(moments(test, feature).mean.abs() > 1e-6);
    }
}

#[test]
fn a_constant_column_is_zero_and_not_noise() {
    let columns = vec![
        ("x", numbers([0.1; 3])),
        ("y", numbers([0.0, 1.0, 1.0])),
        ("s", numbers([0.0, 1.0, 1.0])),
    ];
    let schema = of(columns, Recipe::new("y", &["s"])).unwrap();
    assert_eq!((schema.numeric()[0].centre, schema.numeric()[0].scale), (0.1, 1.0));
    // Also when silos are merged.
    let part = Moments::of([0.1; 7].into_iter());
    let merged = part.merge(Moments::of([0.1; 3].into_iter()));
    assert_eq!((merged.count, merged.mean, merged.squares), (10, 0.1, 0.0));
}

#[test]
fn a_small_variance_of_large_numbers_is_kept() {
    let moments = Moments::of([1e15, 1e15 + 1.0, 1e15 + 2.0].into_iter());
    assert_eq!((moments.mean, moments.squares), (1e15 + 1.0, 2.0));
}

#[test]
fn one_label_or_one_group_is_refused() {
    let x = || ("x", numbers([1.0, 2.0]));
    let recipe = || Recipe::new("y", &["s"]);
    let error = of(vec![x(), ("y", numbers([1.0, 1.0])), ("s", numbers([0.0, 1.0]))], recipe())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "label column `y` has only the class(es) `1`; at least 2 are needed"
    );
    let two = || vec![x(), ("y", numbers([0.0, 1.0])), ("s", numbers([3.0, 3.0]))];
    let error = of(two(), recipe()).unwrap_err();
    assert!(matches!(error, Error::TooFewClasses { role: "sensitive", .. }));
    // Names that were agreed on count also when only one of them occurs.
    let agreed = Recipe { classes: vec!["3".to_owned(), "4".to_owned()], ..recipe() };
    assert_eq!(of(two(), agreed).unwrap().classes(), ["3", "4"]);
}

#[test]
fn numbers_in_the_role_of_names_are_refused() {
    let count = |n: usize| Column::Numbers((0..n).map(|value| value as f64).collect());
    let halves = |n: usize| Column::Numbers((0..n).map(|value| (value % 2) as f64).collect());
    let columns = vec![("x", halves(2000)), ("y", count(2000)), ("s", halves(2000))];
    let error = of(columns, Recipe::new("y", &["s"])).unwrap_err();
    assert!(matches!(error, Error::TooManyClasses { role: "label", found: 2000, .. }));
    let columns = vec![("x", halves(2000)), ("y", halves(2000)), ("s", count(2000))];
    let error = of(columns, Recipe::new("y", &["s"])).unwrap_err();
    assert!(matches!(error, Error::TooManyClasses { role: "sensitive", found: 2000, .. }));
    let columns = vec![("x", count(70_000)), ("y", halves(70_000)), ("s", halves(70_000))];
    let recipe = Recipe { categorical: vec!["x".to_owned()], ..Recipe::new("y", &["s"]) };
    let error = of(columns, recipe).unwrap_err();
    assert!(matches!(error, Error::TooManyClasses { role: "categorical", .. }));
}

#[test]
fn the_favourable_label_is_the_last_or_the_named_one() {
    let columns = || {
        vec![
            ("x", numbers([1.0, 2.0, 3.0])),
            ("y", numbers([10.0, 9.0, 1.0])),
            ("s", numbers([0.0, 1.0, 1.0])),
        ]
    };
    let named =
        |name: &str| Recipe { favourable: Some(name.to_owned()), ..Recipe::new("y", &["s"]) };
    let schema = of(columns(), Recipe::new("y", &["s"])).unwrap();
    assert_eq!(schema.labels(), ["1", "9", "10"]);
    assert_eq!(schema.favourable(), 2);
    assert_eq!(of(columns(), named("9")).unwrap().favourable(), 1);
    assert!(matches!(of(columns(), named("11")), Err(Error::Favourable { .. })));
}

#[test]
fn a_schema_survives_storage_and_damage_is_refused() {
    let data = adult();
    let schema = Schema::from_summary(data.recipe(), &Summary::of(&data, data.rows())).unwrap();
    let json = serde_json::to_string(&schema).unwrap();
    let back: Schema = serde_json::from_str(&json).unwrap();
    assert_eq!(back, schema);
    assert_eq!(back.hash(), schema.hash());
    let back: Schema = toml::from_str(&toml::to_string(&schema).unwrap()).unwrap();
    assert_eq!(back.hash(), schema.hash());
    for (good, bad) in [
        ("\"favourable\":1", "\"favourable\":2"),
        ("\"labels\":[\"<=50K\",", "\"labels\":["),
        ("\"scale\":", "\"scale\":-"),
        ("\"favourable\"", "\"favorable\""),
    ] {
        assert!(json.contains(good));
        assert!(serde_json::from_str::<Schema>(&json.replace(good, bad)).is_err(), "{bad}");
    }
}

#[test]
fn the_hash_tells_agreements_apart() {
    let data = adult();
    let summary = Summary::of(&data, data.rows());
    let hash = |recipe: &Recipe| Schema::from_summary(recipe, &summary).unwrap().hash();
    let recipe = data.recipe().clone();
    let before = hash(&recipe);
    assert_eq!(before, hash(&recipe.clone()));
    let changed = [
        Recipe { favourable: Some("<=50K".to_owned()), ..recipe.clone() },
        Recipe { classes: vec!["Male".to_owned(), "Female".to_owned()], ..recipe.clone() },
        Recipe { missing: Missing::Category, ..recipe.clone() },
        Recipe { unit: Some("who".to_owned()), ..recipe.clone() },
    ];
    for recipe in changed {
        assert_ne!(hash(&recipe), before);
    }
    let other = Schema::from_summary(&recipe, &Summary::of(&data, &data.rows()[..9])).unwrap();
    assert_ne!(other.hash(), before, "centre and scale are part of it");
}

#[test]
fn prediction_needs_features_only_and_counts_what_it_does_not_know() {
    let source = Source::parse("credit-card", None).unwrap();
    let recipe = source.recipe().unwrap();
    let data = Dataset::new(source.read(&recipe).unwrap(), recipe).unwrap();
    let schema = Schema::from_summary(data.recipe(), &Summary::of(&data, data.rows())).unwrap();
    let raw = source.read(&Recipe::default()).unwrap();
    let features: Vec<(&str, &Column)> = raw
        .names()
        .iter()
        .map(String::as_str)
        .zip(raw.columns())
        .filter(|(name, _)| !["SEX", "default payment next month"].contains(name))
        .collect();
    let scratch = Scratch::new();
    let path = scratch.path("new.csv");
    let rows: Vec<u32> = (0..30_000).collect();
    crate::write(&path, &features, &rows).unwrap();
    let expected = encode(&data, data.rows(), &schema).unwrap().records;
    let mut reader = Reader::open(&path, &schema.feature_columns()).unwrap();
    let mut next = 0;
    while let Some(chunk) = reader.next_chunk(7_000).unwrap() {
        // The file has the raw codes; the schema's merges are applied on the way.
        let (rows, unmatched) = encode_features(&chunk, &schema).unwrap();
        assert_eq!(unmatched, Unmatched::default());
        for row in 0..rows.len() {
            assert_eq!(rows.numeric(row), expected.rows().numeric(next));
            assert!(rows.codes(row).eq(expected.rows().codes(next)));
            next += 1;
        }
    }
    assert_eq!(next, 30_000);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    let cells: Vec<&str> = lines.next().unwrap().split(',').collect();
    let change = |name: &str, value: &str| {
        let at = header.split(',').position(|known| known == name).unwrap();
        let mut cells = cells.clone();
        cells[at] = value;
        let path = scratch.file("one.csv", format!("{header}\n{}\n", cells.join(",")));
        let chunk = crate::read(&path, &schema.feature_columns())?;
        encode_features(&chunk, &schema)
    };
    let (rows, unmatched) = change("EDUCATION", "77").unwrap();
    assert_eq!((unmatched.unseen_total(), unmatched.missing_total()), (1, 0));
    assert_eq!(rows.codes(0).next().unwrap(), schema.layout().absent());
    let (rows, unmatched) = change("AGE", "").unwrap();
    assert_eq!((unmatched.missing_total(), rows.numeric(0)[1]), (1, 0.0));
    assert!(matches!(change("AGE", "old"), Err(Error::Cell(CellError::NotANumber { row: 1, .. }))));
    assert!(matches!(change("AGE", "inf"), Err(Error::Cell(CellError::NotFinite { row: 1, .. }))));
    assert!(matches!(
        change("AGE", "1e300"),
        Err(Error::Cell(CellError::NotFinite { row: 1, .. }))
    ));
}

#[test]
fn silos_with_different_columns_are_refused() {
    let silo = |text: &str| {
        let scratch = Scratch::new();
        let recipe = Recipe::new("y", &["s"]);
        let table = crate::read(&scratch.file("silo.csv", text), &recipe.columns()).unwrap();
        let data = Dataset::new(table, recipe).unwrap();
        Summary::of(&data, data.rows())
    };
    let one = silo("a,b,y,s\n1,2,0,f\n");
    for other in ["a,b,y,s\nx,2,0,f\n", "a,y,s\n1,0,f\n", "a,b,c,y,s\n1,2,3,0,f\n"] {
        let error = one.clone().merge(&silo(other)).unwrap_err();
        assert!(matches!(error, Error::Disagreement { .. }), "{error}");
    }
    let mut merged = silo("b,a,s,y\n5,6,m,1\n");
    merged.merge(&one).unwrap();
    assert_eq!(merged.sorted_labels(), ["0", "1"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// However the training rows are cut, the merged summaries give the pooled schema: the same
    /// names, centres and scales within 1e-13 of the largest value there can be.
    #[test]
    fn merged_summaries_give_the_pooled_schema(
        values in prop::collection::vec((-1e6f64..1e6, 0u8..5, 0u8..3, 0u8..2), 8..200),
        owner in prop::collection::vec(0usize..4, 200),
    ) {
        let column = |name: &str, values: Vec<f64>| (name.to_owned(), Column::Numbers(values));
        let columns = vec![
            column("x", values.iter().map(|value| value.0).collect()),
            column("t", values.iter().map(|value| f64::from(value.1)).collect()),
            column("s", values.iter().map(|value| f64::from(value.2)).collect()),
            column("y", values.iter().map(|value| f64::from(value.3)).collect()),
        ];
        let recipe = Recipe {
            categorical: vec!["t".to_owned()],
            classes: vec!["0".to_owned(), "1".to_owned(), "2".to_owned()],
            ..Recipe::new("y", &["s"])
        };
        let data = Dataset::new(Table::new("test", columns).unwrap(), recipe).unwrap();
        let part = |silo: usize| -> Vec<u32> {
            data.rows().iter().copied().filter(|&row| owner[row as usize] == silo).collect()
        };
        let mut merged = Summary::of(&data, &part(0));
        for silo in 1..4 {
            merged.merge(&Summary::of(&data, &part(silo))).unwrap();
        }
        let pooled = Summary::of(&data, data.rows());
        prop_assert_eq!(merged.rows, pooled.rows);
        let (Ok(merged), Ok(pooled)) = (
            Schema::from_summary(data.recipe(), &merged),
            Schema::from_summary(data.recipe(), &pooled),
        ) else {
            // All labels equal: both must refuse.
            prop_assert!(values.iter().all(|value| value.3 == values[0].3));
            return Ok(());
        };
        prop_assert_eq!(merged.labels(), pooled.labels());
        prop_assert_eq!(merged.categorical(), pooled.categorical());
        let (ours, theirs) = (&merged.numeric()[0], &pooled.numeric()[0]);
        prop_assert!((ours.centre - theirs.centre).abs() <= 1e-13 * 1e6);
        prop_assert!((ours.scale - theirs.scale).abs() <= 1e-13 * 1e6);
    }
}
