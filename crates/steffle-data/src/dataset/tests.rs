use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use steffle_model::record::MISSING_CLASS;

use super::*;
use crate::scratch::Scratch;
use crate::{Encoded, Schema, Summary, encode, evaluation_groups, read};

const PEOPLE: &str = "\
id,name,age,job,sex,race,hired
7,ann,30,cook,f,x,yes
8,bob,?,cook,m,y,no
9,cid,50,NA,f,y,yes
10,dan,40,smith,m,x,no
11,eve,35,smith,,x,no
12,fay,36,cook,f,x,
";

fn recipe() -> Recipe {
    Recipe {
        record_id: Some("id".to_owned()),
        drop: vec!["name".to_owned()],
        ..Recipe::new("hired", &["sex"])
    }
}

fn bind(text: &str, recipe: Recipe) -> Result<Dataset, Error> {
    let scratch = Scratch::new();
    Dataset::new(read(&scratch.file("people.csv", text), &recipe.columns())?, recipe)
}

fn schema(data: &Dataset) -> Schema {
    Schema::from_summary(data.recipe(), &Summary::of(data, data.rows())).unwrap()
}

#[test]
fn drop_leaves_complete_rows_and_their_ids() {
    let data = bind(PEOPLE, recipe()).unwrap();
    assert_eq!(data.rows(), [0, 3, 4], "the row without s stays");
    assert_eq!(data.ids(data.rows()), [7, 10, 11]);
    assert_eq!(data.dropped(), 3);
    let schema = schema(&data);
    // Levels of rows that are left out (race y) are not features.
    assert_eq!(schema.feature_names(), ["age", "job=cook", "job=smith", "race=x"]);
}

/// Another s, in any row, changes nothing that is public: rows, split, silos, summary, schema,
/// records. Missing and undeclared values are values like others.
#[test]
fn what_is_public_does_not_depend_on_s() {
    let rows: Vec<String> = (0..40)
        .map(|row| format!("{},{},{},{}", row % 7, ["p", "q"][row % 2], row % 3 % 2, row % 2))
        .collect();
    let file = |replaced: Option<(usize, &str)>| {
        let cells = rows.iter().enumerate().map(|(at, row)| match replaced {
            Some((place, s)) if place == at => format!("{row},{s}\n"),
            _ => format!("{row},{}\n", ["f", "m"][at / 2 % 2]),
        });
        "x,t,y,c,s\n".to_owned() + &cells.collect::<String>()
    };
    for missing in [Missing::Drop, Missing::Category] {
        let recipe = Recipe {
            missing,
            classes: vec!["f".to_owned(), "m".to_owned()],
            partition_by: Some("x".to_owned()),
            stratum: Some("c".to_owned()),
            ..Recipe::new("y", &["s"])
        };
        let public = |replaced: Option<(usize, &str)>| {
            let data = bind(&file(replaced), recipe.clone()).unwrap();
            let mut random = ChaCha20Rng::seed_from_u64(3);
            let split = crate::split(&data, 0.2, &mut random).unwrap();
            let silos = crate::partition(&data, &split.train, 3, 0.5, &mut random).unwrap();
            let summary = Summary::of(&data, &split.train);
            let schema = Schema::from_summary(data.recipe(), &summary).unwrap();
            let records: Vec<_> =
                silos.iter().map(|rows| encode(&data, rows, &schema).unwrap().records).collect();
            let sealed: Vec<Vec<u64>> = silos
                .iter()
                .map(|rows| crate::attributes(&data, rows, &schema).unwrap().ids().to_vec())
                .collect();
            let counts = (data.rows().to_vec(), data.dropped());
            (counts, split, silos, summary, schema, records, sealed)
        };
        let before = public(None);
        for row in 0..rows.len() {
            for s in ["", "f", "m", "never seen"] {
                assert_eq!(public(Some((row, s))), before, "{missing:?}, row {row}, {s:?}");
            }
        }
    }
}

#[test]
fn category_keeps_rows_and_counts_what_is_missing() {
    let data = bind(PEOPLE, Recipe { missing: Missing::Category, ..recipe() }).unwrap();
    assert_eq!(data.rows(), [0, 1, 2, 3, 4], "only the row without label goes");
    let schema = schema(&data);
    assert_eq!(
        schema.feature_names(),
        ["age", "job=(missing)", "job=cook", "job=smith", "race=x", "race=y"]
    );
    let Encoded { records, unmatched } = encode(&data, data.rows(), &schema).unwrap();
    assert_eq!(records.rows().numeric(1), [0.0], "a missing number is the mean");
    assert_eq!(records.rows().codes(2).next(), Some(1), "a missing job is a level");
    assert_eq!((unmatched.missing_total(), unmatched.unseen_total()), (1, 0));
    let groups = evaluation_groups(&data, data.rows(), &schema).unwrap();
    assert_eq!(groups.classes, [0, 1, 0, 1, MISSING_CLASS]);
}

#[test]
fn several_sensitive_columns_form_their_product() {
    let recipe = Recipe { missing: Missing::Category, ..Recipe::new("hired", &["sex", "race"]) };
    let data = bind(PEOPLE, recipe).unwrap();
    let schema = schema(&data);
    assert_eq!(schema.classes(), ["f x x", "f x y", "m x x", "m x y"]);
    assert!(schema.feature_names().iter().all(|name| !name.starts_with("race")));
    let groups = evaluation_groups(&data, data.rows(), &schema).unwrap();
    assert_eq!(groups.classes, [0, 3, 1, 2, MISSING_CLASS]);
}

#[test]
fn unknown_columns_and_clashing_roles_are_refused() {
    let with = |change: &dyn Fn(&mut Recipe)| {
        let mut recipe = recipe();
        change(&mut recipe);
        bind(PEOPLE, recipe).unwrap_err()
    };
    let unknown = |error: &Error, name: &str| {
        assert!(
            matches!(error, Error::UnknownColumn { column, known, .. }
            if column == name && known.len() == 7),
            "{error}"
        );
    };
    let zzz = || Some("zzz".to_owned());
    unknown(&with(&|recipe| recipe.label = "zzz".to_owned()), "zzz");
    unknown(&with(&|recipe| recipe.sensitive.push("zzz".to_owned())), "zzz");
    unknown(&with(&|recipe| recipe.drop.push("zzz".to_owned())), "zzz");
    unknown(&with(&|recipe| recipe.categorical.push("zzz".to_owned())), "zzz");
    unknown(&with(&|recipe| recipe.partition_by = zzz()), "zzz");
    unknown(&with(&|recipe| recipe.stratum = zzz()), "zzz");
    unknown(&with(&|recipe| recipe.unit = zzz()), "zzz");
    unknown(&with(&|recipe| recipe.record_id = zzz()), "zzz");
    let clash = |error: Error| matches!(error, Error::TwoRoles { .. });
    assert!(clash(with(&|recipe| recipe.sensitive = vec!["hired".to_owned()])));
    assert!(clash(with(&|recipe| recipe.drop.push("hired".to_owned()))));
    assert!(clash(with(&|recipe| recipe.stratum = Some("sex".to_owned()))));
    assert!(clash(with(&|recipe| recipe.unit = Some("sex".to_owned()))));
    assert!(matches!(with(&|recipe| recipe.sensitive.clear()), Error::NoSensitive));
    assert!(matches!(with(&|recipe| recipe.threshold = Some(1.0)), Error::Threshold { .. }));
    let all = ["name", "age", "job", "race"].map(str::to_owned).to_vec();
    assert!(matches!(with(&|recipe| recipe.drop.clone_from(&all)), Error::NoFeatures));
}

#[test]
fn a_table_without_complete_rows_says_which_columns_are_to_blame() {
    let error = bind("a,b,y,s\n1,,0,f\n,2,1,m\n", Recipe::new("y", &["s"])).unwrap_err();
    let expected = "no rows left: 2 rows read, 2 of them incomplete \
                    (missing values: `a: 1`, `b: 1`)";
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn ids_may_be_text_but_not_missing_twice_or_fractional() {
    let by = |text: &str| bind(text, Recipe::new("y", &["s"])).map(|data| data.ids(data.rows()));
    let text = by("record_id,x,y,s\nP-1,1,0,f\nP-2,2,1,m\n17,3,1,m\n").unwrap();
    assert!(text[0] != text[1] && text[0] >> 63 == 1);
    assert_eq!(text[2], 17);
    let refused =
        ["1,1,0,f\n1,2,1,m\n", "1.5,1,0,f\n2,2,1,m\n", "-1,1,0,f\n2,2,1,m\n", ",1,0,f\n2,2,1,m\n"];
    for rows in refused {
        let error = by(&format!("record_id,x,y,s\n{rows}")).unwrap_err();
        assert!(matches!(error, Error::Id { .. } | Error::RepeatedIds { .. }), "{error}");
    }
    let twice = by("record_id,x,y,s\n1,1,0,f\n2,1,1,f\n1,2,1,m\n2,2,1,m\n").unwrap_err();
    assert!(matches!(twice, Error::RepeatedIds { ids: 2, row: 3, .. }), "{twice}");
}

#[test]
fn labels_that_nobody_agreed_on_are_counted_and_refused() {
    let text = "x,y,s\n1,yes,f\n2,no,m\n3,Yes,m\n";
    let error = bind(text, Recipe::new("y", &["s"])).unwrap_err();
    assert!(matches!(error, Error::Lookalikes { .. }), "{error}");
    let labels = |names: &[&str]| {
        let labels = names.iter().map(|&name| name.to_owned()).collect();
        bind(text, Recipe { labels, ..Recipe::new("y", &["s"]) })
    };
    let error = labels(&["no", "yes"]).unwrap_err();
    assert!(matches!(&error, Error::Labels { rows: 1, .. }), "{error}");
    assert!(error.to_string().contains("did you mean `yes`?"), "{error}");
    assert_eq!(schema(&labels(&["yes", "no", "Yes"]).unwrap()).labels(), ["yes", "no", "Yes"]);
}

#[test]
fn rare_levels_are_one_and_so_is_what_training_never_saw() {
    use std::fmt::Write as _;
    let mut text = "town,y,s\n".to_owned();
    for row in 0..600 {
        // Three rows in ten thousand, in effect: `a` and `b` are everywhere, the others once.
        let town = match row {
            7 => "c".to_owned(),
            8 => "d".to_owned(),
            _ => ["a", "b"][row % 2].to_owned(),
        };
        writeln!(text, "{town},{},{}", row % 3 % 2, row % 5 % 2).unwrap();
    }
    let scratch = Scratch::new();
    let path = scratch.file("towns.csv", &text);
    let table = |recipe: &Recipe| recipe.read(&path).unwrap();
    let recipe = Recipe::new("y", &["s"]);
    let data = Dataset::of_table(table(&recipe), recipe.clone()).unwrap();
    assert!(data.pooled()[0].contains("2 levels that fewer than 3 rows"), "{:?}", data.pooled());
    let schema = schema(&data);
    assert_eq!(schema.categorical()[0].levels, ["(other)", "a", "b"]);
    let new = scratch.file("new.csv", "town\nz\na\nc\n\"\"\n");
    let new = crate::read(&new, &schema.feature_columns()).unwrap();
    let (rows, unmatched) = crate::encode_features(&new, &schema).unwrap();
    let codes: Vec<u32> = (0..4).map(|row| rows.codes(row).next().unwrap()).collect();
    assert_eq!(codes, [0, 1, 0, schema.layout().absent()]);
    assert_eq!((unmatched.unseen_total(), unmatched.missing_total()), (0, 1));
    for kept in [Recipe { rare: Some(0), ..recipe.clone() }, Recipe { published: true, ..recipe }] {
        assert!(Dataset::of_table(table(&kept), kept).unwrap().pooled().is_empty());
    }
}

#[test]
fn counters_and_empty_columns_are_no_features() {
    let rows: String = (0..60)
        .map(|i| format!("{i},{},,{},{},{}\n", 900 - 7 * i, i % 7, i % 2, i % 3))
        .collect::<Vec<_>>()
        .concat();
    let text = format!(",customer_id,remark,x,y,s\n{rows}");
    let scratch = Scratch::new();
    let path = scratch.file("t.csv", text);
    let recipe = Recipe::new("y", &["s"]);
    let data = Dataset::of_table(recipe.read(&path).unwrap(), recipe.clone()).unwrap();
    assert_eq!(schema(&data).feature_names(), ["x"]);
    let said = data.left_out().join(" ");
    for word in ["`column 1`", "numbers the rows", "`customer_id`", "`remark`", "no value"] {
        assert!(said.contains(word), "{said}");
    }
    let keep = Recipe { keep: vec!["customer_id".to_owned()], ..recipe };
    let data = Dataset::of_table(keep.read(&path).unwrap(), keep).unwrap();
    assert_eq!(schema(&data).feature_names(), ["customer_id", "x"]);
}

#[test]
fn a_column_that_tells_the_label_or_s_alone_is_told() {
    let rows: String = (0..200)
        .map(|i: u32| format!("{},{},{},{}\n", i * 37 % 101, i % 2 * 9, i % 2, i / 2 % 2))
        .collect::<Vec<_>>()
        .concat();
    let recipe = Recipe::new("y", &["s"]);
    let data = bind(&format!("x,after,y,s\n{rows}"), recipe.clone()).unwrap();
    let said = data.reveals_label();
    assert!(
        said.len() == 1 && said[0].contains("`after`") && said[0].contains("100.0 %"),
        "{said:?}"
    );
    assert!(data.reveals_sensitive().is_empty());
    let data = bind(&format!("x,proxy,s,y\n{rows}"), recipe).unwrap();
    assert!(data.reveals_sensitive()[0].contains("`proxy`"));
    assert!(data.warnings().is_empty(), "what every run is told is not computed from s");
}

#[test]
fn units_are_no_features_and_must_be_there() {
    let recipe = Recipe { unit: Some("who".to_owned()), ..Recipe::new("y", &["s"]) };
    let text = "who,x,y,s\na,1,0,f\nb,2,1,m\na,3,1,f\n";
    let data = bind(text, recipe.clone()).unwrap();
    assert_eq!(data.units(), Some(&[0, 1, 0][..]));
    assert_eq!(data.largest_unit(data.rows()), 2);
    assert_eq!(data.largest_unit(&[0, 1]), 1);
    let schema = schema(&data);
    assert_eq!(schema.feature_names(), ["x"]);
    assert!(crate::attributes(&data, data.rows(), &schema).is_ok());
    // A person with two values of s is no error: an error would tell.
    let data = bind(&text.replace("3,1,f", "3,1,m"), recipe.clone()).unwrap();
    assert!(crate::attributes(&data, data.rows(), &schema).is_ok());
    let missing = bind(&text.replace("b,2", ",2"), recipe).unwrap_err();
    assert!(matches!(missing, Error::Id { row: 2, .. }));
}

#[test]
fn evaluation_reads_only_what_the_schema_needs() {
    let recipe = Recipe { stratum: Some("race".to_owned()), ..recipe() };
    let data = bind(PEOPLE, recipe).unwrap();
    let schema = schema(&data);
    let scratch = Scratch::new();
    // Other columns, another order, numbers with a fraction, a category nobody knows.
    let path = scratch.file(
        "new.csv",
        "hired,sex,extra,job,age,race\nno,m,1,baker,33.0,x\nyes,f,2,cook,44,x\nyes,f,2,cook,,x\n",
    );
    let evaluation = Dataset::for_evaluation(&path, &schema, &Dialect::default()).unwrap();
    assert_eq!(evaluation.rows(), [0, 1]);
    let encoded = encode(&evaluation, evaluation.rows(), &schema).unwrap();
    assert_eq!(encoded.records.labels(), [0, 1]);
    assert_eq!(encoded.unmatched.unseen.get("job"), Some(&1));
    assert_eq!(encoded.records.rows().codes(0).next(), Some(schema.layout().absent()));
    let label = scratch.file("label.csv", "hired,sex,job,age,race\nmaybe,m,cook,3,x\n");
    let refused = Dataset::for_evaluation(&label, &schema, &Dialect::default()).unwrap_err();
    assert!(matches!(refused, Error::Labels { rows: 1, .. }), "{refused}");
    let group = scratch.file("group.csv", "hired,sex,job,age,race\nno,q,cook,3,x\n");
    let data = Dataset::for_evaluation(&group, &schema, &Dialect::default()).unwrap();
    let groups = evaluation_groups(&data, data.rows(), &schema).unwrap();
    assert_eq!(groups.classes, [MISSING_CLASS], "a class that was not agreed on is no class");
    let column = scratch.file("column.csv", "hired,sex,job,race\nno,m,cook,x\n");
    assert!(matches!(
        Dataset::for_evaluation(&column, &schema, &Dialect::default()),
        Err(Error::UnknownColumn { column, .. }) if column == "age"
    ));
}

/// Text with another value in nearly every row is no feature of a table, unless somebody insists.
#[test]
fn names_and_ids_are_left_out_of_tables() {
    let text = |levels: usize| {
        let codes = (0..120).map(|row| row % levels as u32).collect();
        let levels = (0..levels).map(|level| format!("level {level}")).collect();
        Column::Text(Categories { codes, levels })
    };
    let table = || {
        let columns = [("id", 120), ("half", 60), ("town", 49), ("many", 59), ("s", 120), ("y", 2)];
        let columns = columns.map(|(name, levels)| (name.to_owned(), text(levels)));
        Table::new("test", columns.into()).unwrap()
    };
    let features = |data: &Dataset| -> Vec<String> {
        data.categorical().map(|(name, _)| name.to_owned()).collect()
    };
    let recipe = Recipe::new("y", &["s"]);
    let data = Dataset::of_table(table(), recipe.clone()).unwrap();
    assert_eq!(features(&data), ["town", "many"], "the sensitive column is no matter here");
    let said = data.left_out();
    assert!(
        said.len() == 2 && said[0].contains("`id`") && said[0].contains("<keep id>"),
        "{said:?}"
    );
    let keep = Recipe { keep: vec!["id".to_owned()], ..recipe.clone() };
    assert_eq!(features(&Dataset::of_table(table(), keep).unwrap()), ["id", "town", "many"]);
    let categorical = Recipe { categorical: vec!["half".to_owned()], ..recipe.clone() };
    let data = Dataset::of_table(table(), categorical).unwrap();
    assert_eq!(features(&data), ["half", "town", "many"]);
    // Silos cannot decide this each for itself.
    assert_eq!(features(&Dataset::new(table(), recipe).unwrap()).len(), 4);
}
