use super::*;

fn declaring(sensitive: &[&str], classes: &[&str]) -> Recipe {
    let classes = classes.iter().map(|&name| name.to_owned()).collect();
    Recipe { classes, ..Recipe::new("y", sensitive) }
}

#[test]
fn declared_classes_must_differ_and_name_every_column() {
    let good = [declaring(&["s"], &["a", "b"]), declaring(&["s", "t"], &["a x 1", "b x 1 x 2"])];
    for recipe in good {
        recipe.check_classes().unwrap();
    }
    let bad = [
        (declaring(&["s"], &["a"]), "there are 1; allowed are 2 to 1000"),
        (declaring(&["s"], &["a", "b", "a"]), "`a` stands twice"),
        (declaring(&["s"], &["a", ""]), "`` must name a value of every column: `VALUE`"),
        (declaring(&["s", "t"], &["a x 1", "b"]), "`b` must name a value of every column"),
    ];
    for (recipe, words) in bad {
        let error = recipe.check_classes().unwrap_err();
        assert_eq!(error.code(), "data::classes");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn a_private_run_declares_its_classes_and_is_not_cut_by_s() {
    let declared = declaring(&["s", "t"], &["a x 1", "b x 1"]);
    declared.check_private().unwrap();
    let found = Recipe { classes: Vec::new(), ..declared.clone() };
    let error = found.check_private().unwrap_err();
    assert_eq!(error.code(), "data::classes");
    assert!(error.to_string().contains("`s x t`"), "{error}");
    let cut = |by: &str| Recipe { partition_by: Some(by.to_owned()), ..declared.clone() };
    cut("age").check_private().unwrap();
    assert!(matches!(
        cut("t").check_private(),
        Err(Error::TwoRoles { column, first: "sensitive", .. }) if column == "t"
    ));
}
