//! Which columns a recipe names, and for what.

use crate::Error;
use crate::recipe::Recipe;
use crate::table::Table;

/// Every column that a recipe names must be there, and no two roles may clash.
pub(super) fn check(table: &Table, recipe: &Recipe, sensitive_here: bool) -> Result<(), Error> {
    recipe.check_roles()?;
    table.require(&recipe.label, "the label")?;
    for name in recipe.sensitive.iter().filter(|_| sensitive_here) {
        if !table.sealed().contains(name) {
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
    Ok(())
}

/// Dropped columns stay only while something else than the features needs them.
pub(super) fn is_dropped(name: &str, recipe: &Recipe) -> bool {
    let named = |role: &Option<String>| role.as_deref() == Some(name);
    let roles = [&recipe.partition_by, &recipe.stratum, &recipe.unit, &recipe.record_id];
    recipe.drop.iter().any(|dropped| dropped == name) && !roles.into_iter().any(named)
}

pub(super) fn is_feature(name: &str, recipe: &Recipe) -> bool {
    let among = |names: &[String]| names.iter().any(|known| known == name);
    let named = |role: &Option<String>| role.as_deref() == Some(name);
    name != recipe.label
        && !among(&recipe.drop)
        && !named(&recipe.unit)
        && !named(&recipe.record_id)
}
