//! What only a store's owner says: its columns, and the list of its people.

use super::rolls::{again, kept, named, roll, spend};
use super::*;

pub(super) fn columns() -> StoreColumns {
    StoreColumns::new(["sex"], ["f", "m"], "record_id", Some("person".into())).unwrap()
}

#[test]
fn columns_have_names_and_one_role_each() {
    let refused = |sensitive: &[&str], classes: &[&str], id: &str, unit: Option<&str>| {
        let named = StoreColumns::new(
            sensitive.iter().copied(),
            classes.iter().copied(),
            id,
            unit.map(str::to_owned),
        );
        named.unwrap_err().to_string()
    };
    let two = &["f", "m"];
    assert!(refused(&[], two, "id", None).contains("no sensitive column"));
    assert!(refused(&["sex"], &["f"], "id", None).contains("1 class(es)"));
    assert!(refused(&["sex"], &["f", "f"], "id", None).contains("class `f` is given twice"));
    for empty in [
        refused(&[" "], two, "id", None),
        refused(&["sex"], &["f", ""], "id", None),
        refused(&["sex"], two, "", None),
        refused(&["sex"], two, "id", Some("\t")),
    ] {
        assert!(empty.contains("a name is empty"), "{empty}");
    }
    for twice in [
        refused(&["sex", " Sex"], two, "id", None),
        refused(&["sex"], two, "SEX", None),
        refused(&["sex"], two, "id", Some("Id ")),
        refused(&["sex"], two, "id", Some("sex")),
    ] {
        assert!(twice.contains("two roles"), "{twice}");
    }
    // What is read is checked as well.
    let text = r#"{"sensitive":["sex"],"classes":["f","m"],"record_id":"sex"}"#;
    assert!(serde_json::from_str::<StoreColumns>(text).is_err());
    let more = r#"{"sensitive":["sex"],"classes":["f","m"],"record_id":"id","label":"y"}"#;
    assert!(serde_json::from_str::<StoreColumns>(more).is_err());
    assert!(columns().is_sensitive(" SEX ") && !columns().is_sensitive("sexes"));
}

#[test]
fn columns_are_named_once() {
    let policy = pots::policy(1.0, 1e-6, 0.0, 0.0);
    let mut keeper = Bookkeeper::new(Book::new(policy).unwrap(), rolls::Lasting::default());
    assert_eq!(keeper.columns(), None);
    let early = keeper.open(&named("early", 1.0), Accounts::One, &roll(0..3)).unwrap_err();
    assert!(early.to_string().contains("steffle ledger columns"), "{early}");
    assert!(keeper.backing().lines.is_empty());
    keeper.name_columns(&columns()).unwrap();
    let lines = keeper.backing().lines.len();
    keeper.name_columns(&columns()).unwrap();
    assert_eq!(keeper.backing().lines.len(), lines, "the same again is nothing to do");
    let other = StoreColumns::new(["sex"], ["f", "m"], "row", None).unwrap();
    assert_eq!(keeper.name_columns(&other).unwrap_err().code(), "steffle::ledger::columns");
    let after = again(&keeper, 1.0).unwrap();
    assert_eq!((after.columns(), keeper.columns()), (Some(&columns()), Some(&columns())));
}

#[test]
fn a_list_of_people_keeps_everybody_and_changes_between_runs() {
    let mut keeper = kept(5.0);
    assert_eq!(keeper.list(), None);
    keeper.accept_list([1; 32], &mut (0..10)).unwrap();
    spend(&mut keeper, "a", &roll(0..8));
    let lines = keeper.backing().lines.len();
    keeper.accept_list([1; 32], &mut (0..10)).unwrap();
    assert_eq!(keeper.backing().lines.len(), lines, "the same again is nothing to do");
    let refused = |keeper: &mut Bookkeeper<_>, ids: Vec<u64>| {
        let refused = keeper.accept_list([2; 32], &mut ids.into_iter()).unwrap_err();
        assert_eq!(refused.code(), "steffle::ledger::list");
        refused.to_string()
    };
    assert!(refused(&mut keeper, (1..20).collect()).contains("missing"));
    assert!(refused(&mut keeper, (0..9).chain([3]).collect()).contains("twice"));
    // Who was on the list and in no run may leave it.
    keeper.accept_list([2; 32], &mut (0..8)).unwrap();
    let grant = keeper.open(&named("b", 1.0), Accounts::One, &roll(0..8)).unwrap();
    assert!(refused(&mut keeper, (0..30).collect()).contains("a run is open"));
    keeper.close(grant).unwrap();
    keeper.accept_list([3; 32], &mut (0..30)).unwrap();
    let after = again(&keeper, 5.0).unwrap();
    assert_eq!((after.list(), keeper.list()), (Some(([3; 32], 30)), Some(([3; 32], 30))));
}

#[test]
fn a_refused_offer_leaves_nothing() {
    let mut keeper = kept(1.0);
    spend(&mut keeper, "a", &roll(0..4));
    let lines = keeper.backing().lines.len();
    // Two rows of one person as two people, in an offer that is refused for its price.
    let refused = keeper.open(&named("b", 5.0), Accounts::One, &roll([3, 10, 11]));
    assert!(is_budget(&refused, Pot::Gaussian));
    assert_eq!((keeper.backing().lines.len(), keeper.book().people()), (lines, (4, 4)));
    // The right list is accepted afterwards.
    let right = || Roll { ids: vec![10, 11], units: vec![0, 0], ..Roll::default() };
    keeper.admit().unwrap();
    keeper.open(&named("c", 0.5), Accounts::One, &right).unwrap();
    assert_eq!(keeper.book().people(), (5, 6));
    assert!(again(&keeper, 1.0).is_ok());
}

#[test]
fn strangers_need_the_owners_word() {
    let mut keeper = kept(5.0);
    spend(&mut keeper, "a", &roll(0..10));
    let ask = |keeper: &mut Bookkeeper<rolls::Lasting>, run: &str, ids: std::ops::Range<u64>| {
        keeper.open(&named(run, 0.5), Accounts::One, &roll(ids)).map(drop)
    };
    let lines = keeper.backing().lines.len();
    let refused = ask(&mut keeper, "b", 100..110).unwrap_err();
    assert_eq!(refused, Refusal::Strangers { known: 10, listed: 10 });
    assert!(refused.to_string().contains("steffle ledger admit BOOK"));
    assert_eq!(keeper.backing().lines.len(), lines);
    // One known record is enough; what admits strangers is used once, also across a restart.
    ask(&mut keeper, "c", 9..12).unwrap();
    keeper.admit().unwrap();
    let mut keeper = again(&keeper, 5.0).unwrap();
    ask(&mut keeper, "d", 100..110).unwrap();
    assert!(!keeper.book().admitted());
    assert!(matches!(ask(&mut keeper, "e", 200..210), Err(Refusal::Strangers { .. })));
    // A list with a known record introduces its parts.
    keeper.introduce(&(105..310).collect::<Vec<_>>()).unwrap();
    let run = keeper.book().run("d").unwrap().0;
    keeper.close(run).unwrap();
    ask(&mut keeper, "f", 300..310).unwrap();
    assert!(matches!(ask(&mut keeper, "g", 400..410), Err(Refusal::Strangers { .. })));
}
