//! What the user says about columns, over what is known about a data set.

use steffle_data::{Dialect, Error, Missing, Recipe};
use steffle_front::NotionName;

use super::Check;
use crate::args::{DataArgs, TextArgs};
use crate::failure::Failure;

/// Applies what was said to what is known; refuses data about which too little is.
pub(crate) fn recipe(
    known: Option<Recipe>,
    said: &DataArgs,
    partition_by: Option<&String>,
    notion: &NotionName,
    check: Check<'_>,
) -> Result<Recipe, Failure> {
    let mut recipe = known.unwrap_or_default();
    if let Some(label) = &said.label
        && *label != recipe.label
    {
        // What was known about the old label says nothing about the new one.
        (recipe.favourable, recipe.threshold) = (None, None);
        recipe.labels.clear();
        recipe.label.clone_from(label);
    }
    if !said.sensitive.is_empty() && said.sensitive != recipe.sensitive {
        recipe.classes.clear();
        recipe.sensitive.clone_from(&said.sensitive);
    }
    if recipe.label.is_empty() || recipe.sensitive.is_empty() {
        let flag = if recipe.label.is_empty() { "--label" } else { "--sensitive" };
        let message = format!("{flag} is missing: a file does not say what its columns mean");
        let help = "name the column to predict and the sensitive one: \
                    --label COLUMN --sensitive COLUMN";
        return Err(Failure::usage("usage::missing", message).help(help));
    }
    if !said.classes.is_empty() {
        // Spaces around cells are ignored, so around their names as well.
        recipe.classes = said.classes.iter().map(|name| name.trim().to_owned()).collect();
        let refuse = |error: Error| check.0.at("classes", error.code(), &error.to_string());
        recipe.check_classes().map_err(refuse)?;
    }
    if !said.labels.is_empty() {
        recipe.labels = said.labels.iter().map(|name| name.trim().to_owned()).collect();
    }
    recipe.rare = said.rare.or(recipe.rare);
    recipe.smallest_stratum = said.smallest_stratum.or(recipe.smallest_stratum);
    recipe.favourable = said.favourable.clone().or(recipe.favourable);
    recipe.unit = said.unit.clone().or(recipe.unit);
    recipe.partition_by = partition_by.cloned().or(recipe.partition_by);
    recipe.drop.extend_from_slice(&said.drop);
    recipe.keep.extend_from_slice(&said.keep);
    recipe.categorical.extend_from_slice(&said.categorical);
    if let NotionName::Conditional(column) = notion {
        recipe.stratum = Some(column.clone());
    }
    recipe.missing = missing(check, said)?.unwrap_or(recipe.missing);
    recipe.dialect = dialect(recipe.dialect, &said.text, check)?;
    Ok(recipe)
}

/// What to do with rows that lack a value.
pub(crate) fn missing(check: Check<'_>, said: &DataArgs) -> Result<Option<Missing>, Failure> {
    let Some(word) = &said.missing else { return Ok(None) };
    match word.as_str() {
        "drop" => Ok(Some(Missing::Drop)),
        "category" => Ok(Some(Missing::Category)),
        "impute" => Ok(Some(Missing::Impute)),
        _ => Err(check.0.refuse("missing", word, "one of drop, category, impute")),
    }
}

/// Applies what was said about a text file to what is known.
pub(crate) fn dialect(
    known: Dialect,
    said: &TextArgs,
    check: Check<'_>,
) -> Result<Dialect, Failure> {
    let list = |said: &Vec<String>, known: Vec<String>| {
        if said.is_empty() { known } else { said.clone() }
    };
    Ok(Dialect {
        delimiter: check.word("delimiter", said.delimiter.as_deref())?.or(known.delimiter),
        encoding: check.word("encoding", said.encoding.as_deref())?.unwrap_or(known.encoding),
        columns: list(&said.columns, known.columns.clone()),
        decimal: check.word("decimal", said.decimal.as_deref())?.or(known.decimal),
        dates: check.word("dates", said.dates.as_deref())?.or(known.dates),
        missing_markers: list(&said.missing_markers, known.missing_markers.clone()),
        ..known
    })
}
