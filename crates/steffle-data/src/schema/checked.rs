//! A schema from elsewhere is checked before any of its names is looked up.
//!
//! Messages, jobs and run directories bring schemas. A sensitive column is in no open table, so that a
//! name could not lead to it anyway; a schema that tries is refused here, by names alone, wherever it
//! comes from.

use super::{Agreed, MISSING_NAME, MOST_CLASSES, MOST_LEVELS, Numeric, Schema, Summary};
use crate::table::same_name;
use crate::{Error, NameError};

/// The only way to a schema.
impl TryFrom<Agreed> for Schema {
    type Error = Error;

    fn try_from(agreed: Agreed) -> Result<Self, Error> {
        let damaged = |what: &str| Err(Error::Schema(what.to_owned()));
        agreed.recipe.check_roles()?;
        if agreed.labels.len() < 2 || agreed.labels.len() > MOST_CLASSES {
            return damaged("it needs 2 to 1000 labels");
        }
        if agreed.classes.len() < 2 || agreed.classes.len() > MOST_CLASSES {
            return damaged("it needs 2 to 1000 sensitive classes");
        }
        if usize::from(agreed.favourable) >= agreed.labels.len() {
            return damaged("the favourable label is not one of its labels");
        }
        if agreed.numeric.is_empty() && agreed.categorical.is_empty() {
            return damaged("it has no feature");
        }
        if agreed.categorical.iter().any(|column| column.levels.len() > MOST_LEVELS) {
            return damaged("a feature has too many levels");
        }
        let usable = |column: &Numeric| {
            column.centre.is_finite() && column.scale.is_finite() && column.scale > 0.0
        };
        if let Some(column) = agreed.numeric.iter().find(|column| !usable(column)) {
            return Err(Error::Schema(format!(
                "column `{}` has centre {} and scale {}; both must be finite, the scale positive",
                column.name, column.centre, column.scale
            )));
        }
        check_features(&agreed)?;
        Ok(Self(agreed))
    }
}

/// Refuses a feature that has another role, and one that is named twice.
fn check_features(agreed: &Agreed) -> Result<(), Error> {
    let recipe = &agreed.recipe;
    let roles = [(Some(&recipe.label), "the label"), (recipe.unit.as_ref(), "the unit")];
    let roles = roles.into_iter().chain([(recipe.record_id.as_ref(), "the record id")]);
    let clash = |column: &String, first| {
        Err(Error::TwoRoles { column: column.clone(), first, second: "a feature" })
    };
    let numeric = agreed.numeric.iter().map(|column| &column.name);
    let categorical = agreed.categorical.iter().map(|column| &column.name);
    for name in numeric.clone().chain(categorical.clone()) {
        if recipe.sensitive.iter().any(|own| same_name(own, name)) {
            return clash(name, "sensitive");
        }
        if let Some((_, role)) = roles.clone().find(|(own, _)| *own == Some(name)) {
            return clash(name, role);
        }
    }
    for mut names in [numeric.collect::<Vec<_>>(), categorical.collect()] {
        names.sort_unstable();
        let twice = names.iter().zip(names.iter().skip(1)).find(|(one, two)| one == two);
        if let Some((name, _)) = twice {
            return Err(Error::Schema(format!("column `{name}` is named twice")));
        }
    }
    Ok(())
}

impl Summary {
    /// Refuses a schema with a column that this summary does not have in the same role and kind: numbers
    /// as numbers, categories as categories, and a number's absence where it has a level of its own.
    pub(crate) fn offers(&self, schema: &Schema) -> Result<(), Error> {
        let numbers = |name: &String| self.numeric.iter().any(|(own, _)| own == name);
        let text = |name: &String| self.categorical.iter().any(|(own, _)| own == name);
        let refuse = |column: &String, role| {
            Err(NameError::NotOffered { column: column.clone(), role }.into())
        };
        if let Some(column) = schema.numeric().iter().find(|column| !numbers(&column.name)) {
            return refuse(&column.name, "a column of numbers");
        }
        for column in schema.categorical() {
            let absence =
                numbers(&column.name) && column.levels.iter().all(|own| own == MISSING_NAME);
            if !text(&column.name) && !absence {
                return refuse(&column.name, "a column of categories");
            }
        }
        Ok(())
    }
}
