use super::*;
use crate::{Missing, Source};

#[test]
fn credit_card_rates_are_the_published_ones() {
    let source = Source::parse("credit-card", None).unwrap();
    let recipe = source.recipe().unwrap();
    let description =
        describe("credit-card", source.read(&recipe).unwrap(), Some(&recipe)).unwrap();
    let meaning = description.meaning.unwrap();
    assert_eq!(meaning.features, 85);
    let rows: Vec<usize> = meaning.labels.iter().map(|label| label.rows).collect();
    assert_eq!(rows, [23_364, 6_636]);
    let names: Vec<&str> = meaning.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["female", "male"]);
    assert_eq!(meaning.groups[1].rows, 11_888);
    let overall: f64 = meaning.groups.iter().map(|group| group.share * group.favourable_rate).sum();
    // Rates of groups add up to the rate of all, up to rounding.
    assert!((overall - meaning.labels[0].share).abs() < 1e-12);
}

#[test]
fn missing_values_are_counted_per_column_and_per_group() {
    let columns = vec![
        ("x".to_owned(), Column::Numbers(vec![1.0, f64::NAN, 3.0, -2.0])),
        ("y".to_owned(), Column::Numbers(vec![0.0, 1.0, 1.0, 0.0])),
        ("s".to_owned(), Column::Numbers(vec![1.0, 2.0, f64::NAN, 1.0])),
    ];
    let table = Table::new("test", columns).unwrap();
    let recipe = Recipe { missing: Missing::Category, ..Recipe::new("y", &["s"]) };
    let description = describe("test", table, Some(&recipe)).unwrap();
    let missing: Vec<usize> = description.columns.iter().map(|column| column.missing).collect();
    assert_eq!(missing, [1, 0, 1]);
    assert_eq!(description.columns[0].range, Some([-2.0, 3.0]));
    let meaning = description.meaning.as_ref().unwrap();
    let groups: Vec<(&str, usize, f64)> =
        meaning.groups.iter().map(|g| (g.name.as_str(), g.rows, g.favourable_rate)).collect();
    assert_eq!(groups, [("1", 2, 0.0), ("2", 1, 1.0), ("(missing)", 1, 1.0)]);
    let json = serde_json::to_value(&description).unwrap();
    assert_eq!(json["usable_rows"], 4);
}
