//! Which columns a recipe names, and for what.

use crate::Error;
use crate::recipe::Recipe;
use crate::table::Table;

/// Every column that a recipe names must be there, and no two roles may clash.
pub(super) fn check(table: &Table, recipe: &Recipe, sensitive_here: bool) -> Result<(), Error> {
    table.require(&recipe.label, "the label")?;
    if sensitive_here {
        for name in &recipe.sensitive {
            table.require(name, "sensitive")?;
        }
    }
    let lists = [
        (&recipe.drop, "a column to drop"),
        (&recipe.keep, "a column to keep"),
        (&recipe.categorical, "categorical"),
    ];
    for (names, role) in lists {
        for name in names.iter().filter(|name| !recipe.sensitive.contains(name)) {
            table.require(name, role)?;
        }
    }
    for name in recipe.merges.keys().filter(|name| !recipe.sensitive.contains(name)) {
        table.require(name, "a column with renamed values")?;
    }
    let optional = [
        (&recipe.partition_by, "the column to partition by"),
        (&recipe.stratum, "the column to condition on"),
        (&recipe.unit, "the unit"),
        (&recipe.record_id, "the record id"),
    ];
    for (name, role) in optional {
        if let Some(name) = name.as_ref().filter(|name| !recipe.sensitive.contains(name)) {
            table.require(name, role)?;
        }
    }
    let clash = |column: &String, first, second| {
        Err(Error::TwoRoles { column: column.clone(), first, second })
    };
    let is = |role: &Option<String>, name: &String| role.as_ref() == Some(name);
    for name in recipe.sensitive.iter().chain([&recipe.label]) {
        let first = if *name == recipe.label { "the label" } else { "sensitive" };
        if is(&recipe.unit, name) {
            return clash(name, first, "the unit");
        }
        if is(&recipe.record_id, name) {
            return clash(name, first, "the record id");
        }
    }
    if recipe.sensitive.contains(&recipe.label) {
        return clash(&recipe.label, "the label", "sensitive");
    }
    if recipe.drop.contains(&recipe.label) {
        return clash(&recipe.label, "the label", "dropped");
    }
    match recipe.stratum.as_ref().filter(|name| recipe.sensitive.contains(name)) {
        Some(name) => clash(name, "sensitive", "the (public) column to condition on"),
        None => Ok(()),
    }
}

/// Dropped columns stay only while something else than the features needs them.
pub(super) fn is_dropped(name: &str, recipe: &Recipe) -> bool {
    let named = |role: &Option<String>| role.as_deref() == Some(name);
    let roles = [&recipe.partition_by, &recipe.stratum, &recipe.unit, &recipe.record_id];
    recipe.drop.iter().any(|dropped| dropped == name)
        && !recipe.sensitive.iter().any(|sensitive| sensitive == name)
        && !roles.into_iter().any(named)
}

pub(super) fn is_feature(name: &str, recipe: &Recipe) -> bool {
    let among = |names: &[String]| names.iter().any(|known| known == name);
    let named = |role: &Option<String>| role.as_deref() == Some(name);
    name != recipe.label
        && !among(&recipe.sensitive)
        && !among(&recipe.drop)
        && !named(&recipe.unit)
        && !named(&recipe.record_id)
}
