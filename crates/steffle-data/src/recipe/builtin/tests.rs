use sha2::{Digest, Sha256};

use super::*;
use crate::{Dataset, Encoded, Schema, Summary, encode};

fn load(name: &str) -> Dataset {
    let source = Source::parse(name, None).unwrap();
    let recipe = source.recipe().unwrap();
    Dataset::new(source.read(&recipe).unwrap(), recipe).unwrap()
}

fn schema(data: &Dataset) -> Schema {
    Schema::from_summary(data.recipe(), &Summary::of(data, data.rows())).unwrap()
}

#[test]
fn adult_is_what_the_paper_uses() {
    let data = load("adult");
    assert_eq!((data.table().rows(), data.rows().len(), data.dropped()), (48_842, 45_222, 3_620));
    let schema = schema(&data);
    let layout = schema.layout();
    assert_eq!((layout.numeric, layout.categorical, layout.features), (6, 7, 102));
    assert_eq!(schema.labels(), ["<=50K", ">50K"]);
    assert_eq!(schema.favourable(), 1);
    assert_eq!(schema.classes(), ["Female", "Male"]);
    let Encoded { records, unmatched } = encode(&data, data.rows(), &schema).unwrap();
    assert_eq!(records.labels().iter().filter(|&&label| label == 1).count(), 11_208);
    assert_eq!((unmatched.unseen_total(), unmatched.missing_total()), (0, 0));
}

#[test]
fn credit_card_is_what_the_paper_uses() {
    let data = load("credit-card");
    assert_eq!((data.table().rows(), data.dropped()), (30_000, 0));
    let schema = schema(&data);
    let layout = schema.layout();
    assert_eq!((layout.numeric, layout.categorical, layout.features), (14, 8, 85));
    assert_eq!(schema.labels(), ["0", "1"]);
    assert_eq!(schema.favourable(), 0);
    assert_eq!(schema.classes(), ["female", "male"]);
    let records = encode(&data, data.rows(), &schema).unwrap().records;
    assert_eq!(records.labels().iter().filter(|&&label| label == 1).count(), 6_636);
    let groups = crate::evaluation_groups(&data, data.rows(), &schema).unwrap();
    assert_eq!(groups.classes.iter().filter(|&&class| class == 0).count(), 18_112);
}

/// The declared values are those of the shipped rows, in the order that was found before they were
/// declared: no row counts as missing, and class numbers mean what they meant.
#[test]
fn declared_classes_are_those_of_the_shipped_rows() {
    for builtin in BUILTIN.iter().filter(|builtin| builtin.is_shipped()) {
        let source = Source::parse(builtin.name, None).unwrap();
        let columns: Vec<String> = builtin.values.iter().map(|(name, _)| (*name).into()).collect();
        let mut chosen: Vec<&[String]> = columns.chunks(1).collect();
        chosen.extend([&columns[..2], &columns[..]]);
        for sensitive in chosen {
            let recipe = source.recipe_for(sensitive).unwrap();
            assert_eq!(recipe.sensitive, sensitive);
            recipe.check_private().unwrap();
            let found = Recipe { classes: Vec::new(), ..recipe.clone() };
            let found = Dataset::new(source.read(&found).unwrap(), found).unwrap();
            assert_eq!(recipe.classes, schema(&found).classes());
        }
        let other = source.recipe_for(&["age".to_owned()]).unwrap();
        assert!(other.classes.is_empty());
        let by_age = (builtin.recipe)().partition_by.as_deref() == Some("age");
        assert_eq!(other.partition_by.is_none(), by_age, "a sensitive column cuts no silos");
    }
    let retired = Builtin::find("retired-adult").unwrap();
    assert_eq!(retired.recipe().classes, ["Female", "Male"]);
    assert_eq!(retired.recipe_for(&["race".to_owned(), "gender".to_owned()]).classes.len(), 10);
}

#[test]
fn shipped_files_are_the_stated_ones() {
    for builtin in BUILTIN.iter().filter(|builtin| builtin.is_shipped()) {
        let bytes = Sha256::digest(builtin.bytes.unwrap());
        let digest = bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        assert_eq!(Some(digest.as_str()), builtin.sha256, "{}", builtin.name);
    }
}

/// Rows in the columns of `adult_reconstruction.csv`; the people are invented.
const RETIRED: &str = "\
hours-per-week,age,capital-gain,capital-loss,workclass,education,education-num,marital-status,\
relationship,race,gender,native-country,income,occupation
20,40,0,0,Private,HS-grad,9,Married-civ-spouse,Husband,White,Male,United-States,15000,Sales
40,51,0,1902,Private,Masters,14,Divorced,Not-in-family,Black,Female,United-States,50000,Tech-support
45,33,7688,0,Local-gov,Bachelors,13,Never-married,Not-in-family,White,Female,Canada,50001,Sales
38,29,0,0,?,Some-college,10,Never-married,Own-child,White,Male,United-States,72000,?
60,62,99999,0,Self-emp-inc,Doctorate,16,Married-civ-spouse,Husband,White,Male,?,182000,Sales
50,45,0,0,Private,Bachelors,13,Married-civ-spouse,Husband,White,Male,United-States,90000.5,Sales
";

#[test]
fn retired_adult_is_cut_at_fifty_thousand_dollars() {
    let scratch = crate::scratch::Scratch::new();
    let path = scratch.file("adult_reconstruction.csv", RETIRED);
    let source = Source::parse("retired-adult", Some(&path)).unwrap();
    let recipe = source.recipe().unwrap();
    let data = Dataset::new(source.read(&recipe).unwrap(), recipe).unwrap();
    assert_eq!(data.rows(), [0, 1, 2, 5]);
    let schema = schema(&data);
    assert_eq!(schema.labels(), ["<=50000", ">50000"]);
    assert_eq!(schema.favourable(), 1);
    assert_eq!(schema.classes(), ["Female", "Male"]);
    assert_eq!(schema.layout().numeric, 5);
    let records = encode(&data, data.rows(), &schema).unwrap().records;
    assert_eq!(records.labels(), [0, 0, 1, 1]);
    assert_eq!(data.recipe().partition_by.as_deref(), Some("age"));
}

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    let message = |name: &str| Source::parse(name, None).unwrap_err().to_string();
    let known: Vec<String> = BUILTIN.iter().map(|set| format!("`{}`", set.name)).collect();
    assert!(message("adlut").contains(&known.join(", ")));
    assert!(message("retired-adult").contains("<path>"));
    assert!(matches!(Source::parse("people.csv", None), Ok(Source::File(_))));
}

/// Bands are groups of a feature, declared, and columns only where they are asked for.
#[test]
fn bands_of_age_are_groups_and_age_stays_a_feature() {
    let source = Source::parse("adult", None).unwrap();
    let groups = |column: &str| {
        let recipe = source.recipe_for(&[column.to_owned()]).unwrap();
        recipe.check_private().unwrap();
        let data = Dataset::new(source.read(&recipe).unwrap(), recipe).unwrap();
        let schema = schema(&data);
        assert!(schema.numeric().iter().any(|numeric| numeric.name == "age"));
        let groups = crate::evaluation_groups(&data, data.rows(), &schema).unwrap();
        let count =
            |class: usize| groups.classes.iter().filter(|&&own| own == class as u16).count();
        let counts: Vec<usize> = (0..groups.names.len()).map(count).collect();
        (groups.names.join(" "), counts)
    };
    assert_eq!(groups("age-band"), ("25-59 60+ <25".to_owned(), vec![34_668, 3_246, 7_308]));
    assert_eq!(groups("middle-age"), ("25-59 others".to_owned(), vec![34_668, 10_554]));
    assert!(load("adult").table().column("age-band").is_none());
}
