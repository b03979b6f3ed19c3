//! What the owner of a store said about its columns, beside what recipes and schemas say.
//!
//! A ledger names the sensitive columns, their classes, the record ids and the units of its store.
//! A recipe, job, `silo.toml` or run directory may leave them open or say the same; anything else is
//! refused before a file is read.

use steffle_data::{Recipe, Schema};
use steffle_privacy::ledger::{StoreColumns, same_name};

use crate::Error;

const CODE: &str = "ledger::columns";

/// The recipe with what it leaves open filled in from the ledger; refuses one that contradicts it.
pub fn recipe_of_store(recipe: Recipe, columns: &StoreColumns) -> Result<Recipe, Error> {
    let mut recipe = recipe;
    if recipe.sensitive.is_empty() {
        recipe.sensitive = columns.sensitive().to_vec();
    }
    if recipe.classes.is_empty() && recipe.sensitive == columns.sensitive() {
        recipe.classes = columns.classes().to_vec();
    }
    recipe.record_id.get_or_insert_with(|| columns.record_id().to_owned());
    recipe.unit = recipe.unit.or_else(|| columns.unit().map(str::to_owned));
    agrees(&recipe, &recipe.classes, columns)?;
    recipe.check_roles()?;
    Ok(recipe)
}

/// Refuses a schema that says otherwise than the ledger, whatever role it gives the column. A schema that
/// names no column of record ids means `record_id`.
pub fn schema_of_store(schema: &Schema, columns: &StoreColumns) -> Result<(), Error> {
    let mut recipe = schema.recipe().clone();
    recipe.record_id.get_or_insert_with(|| "record_id".to_owned());
    agrees(&recipe, schema.classes(), columns)?;
    let people: Vec<String> =
        [columns.record_id()].into_iter().chain(columns.unit()).map(str::to_owned).collect();
    reads_none(schema, &people, "says who a row is about")
}

/// Refuses a schema that has other sensitive columns than the owner of the data says.
pub fn schema_of_owner(schema: &Schema, sensitive: &[String]) -> Result<(), Error> {
    let own = &schema.recipe().sensitive;
    if !same(own, sensitive) {
        return Err(otherwise("sensitive", &list(own), "<sensitive> says", &list(sensitive)));
    }
    without_sensitive(schema, sensitive)
}

/// Refuses a schema that has one of these columns as feature, label or stratum.
pub fn without_sensitive(schema: &Schema, sensitive: &[String]) -> Result<(), Error> {
    reads_none(schema, sensitive, "is sensitive")
}

fn agrees(recipe: &Recipe, classes: &[String], columns: &StoreColumns) -> Result<(), Error> {
    let one =
        |name: Option<&str>| name.map_or_else(|| "none".to_owned(), |name| format!("`{name}`"));
    let says = "the ledger says";
    if recipe.sensitive != columns.sensitive() {
        let (given, own) = (list(&recipe.sensitive), list(columns.sensitive()));
        return Err(otherwise("sensitive", &given, says, &own));
    }
    if classes != columns.classes() {
        return Err(otherwise("classes", &list(classes), says, &list(columns.classes())));
    }
    let id = recipe.record_id.as_deref();
    if id != Some(columns.record_id()) {
        return Err(otherwise("record-id", &one(id), says, &one(Some(columns.record_id()))));
    }
    if recipe.unit.as_deref() != columns.unit() {
        let (given, own) = (one(recipe.unit.as_deref()), one(columns.unit()));
        return Err(otherwise("unit", &given, says, &own));
    }
    Ok(())
}

fn reads_none(schema: &Schema, names: &[String], what: &str) -> Result<(), Error> {
    let recipe = schema.recipe();
    let numeric = schema.numeric().iter().map(|column| (&column.name, "a feature"));
    let categorical = schema.categorical().iter().map(|column| (&column.name, "a feature"));
    let stratum = recipe.stratum.iter().map(|name| (name, "the column to condition on"));
    let label = [(&recipe.label, "the label")];
    for (read, role) in numeric.chain(categorical).chain(stratum).chain(label) {
        if names.iter().any(|name| same_name(name, read)) {
            let text = format!("the run directory has column `{read}` as {role}, and it {what}");
            return Err(Error::data(CODE, text).with_help("use a run that was trained without it"));
        }
    }
    Ok(())
}

fn same(one: &[String], other: &[String]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_name(one, other))
}

fn otherwise(field: &str, given: &str, says: &str, own: &str) -> Error {
    let text = format!("{field}: {given} is given, and {says} {own}");
    let help = "a store has the columns that its owner named; leave the setting out, or use the ledger \
                of the store that has these columns";
    Error::data(CODE, text).with_help(help)
}

fn list(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
