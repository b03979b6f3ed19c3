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

#[test]
fn shipped_files_are_the_stated_ones() {
    for builtin in BUILTIN.iter().filter(|builtin| builtin.is_shipped()) {
        let bytes = Sha256::digest(builtin.bytes.unwrap());
        let digest = bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        assert_eq!(Some(digest.as_str()), builtin.sha256, "{}", builtin.name);
    }
}
