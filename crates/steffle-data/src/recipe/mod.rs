//! What the columns of a data set mean.

mod bands;
mod builtin;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use steffle_attributes::PRODUCT;

use crate::parts::RECORD_ID;
use crate::schema::MOST_CLASSES;
use crate::table::{Columns, Dialect, Table, read_as, same_name};
use crate::{Error, NameError};

pub use builtin::{BUILTIN, Builtin, Source};

/// What to do with missing values.
///
/// A missing sensitive value never drops a row, whatever is chosen here: the row is kept and belongs
/// to no group. Which rows are used is public, so it must not depend on s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// Leave out every row in which the label, a feature or the stratum is missing.
    #[default]
    Drop,
    /// Keep such rows: a missing category is a category, a missing number counts as the mean of
    /// its column. Rows without label go.
    Category,
    /// The same, and a missing number also switches on a feature that says so, `age=(missing)`.
    Impute,
}

/// The meaning of the columns: which one to predict, which ones are sensitive, which to ignore.
///
/// Every other column is a feature. Column names are case-sensitive.
///
/// ```
/// use steffle_data::Recipe;
/// let recipe = Recipe { drop: vec!["name".into()], ..Recipe::new("hired", &["gender", "race"]) };
/// assert!(recipe.favourable.is_none()); // found among the labels
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The column to predict.
    pub label: String,
    /// The labels, agreed; empty: those found in the data. A row with another label is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The label that people want to get; by default the better one of a well-known pair (`good` and
    /// `bad`), else the last one, numbers sorted by value and text by its letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub favourable: Option<String>,
    /// The sensitive columns; several form their product. None of them is ever a feature.
    pub sensitive: Vec<String>,
    /// The class names of the sensitive attribute, declared; empty: those found in the data, which
    /// no run that claims privacy may use. A class of several columns is their values joined by
    /// ` x `. A value that is not declared counts as missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// Columns that are not features.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<String>,
    /// Columns of text that are features although nearly every row has another value
    /// ([`Dataset::of_table`](crate::Dataset::of_table)).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// Levels of a categorical feature that fewer usable rows than this have become one level,
    /// `(other)`; none: see [`Dataset::of_table`](crate::Dataset::of_table).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rare: Option<u32>,
    /// Columns that are categories although they look like numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categorical: Vec<String>,
    /// What to do with missing values.
    #[serde(default)]
    pub missing: Missing,
    /// The column that silos are cut by (A in Algorithm 3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_by: Option<String>,
    /// The public column that conditional parity conditions on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stratum: Option<String>,
    /// Values of that column that fewer training rows than this have are no cells of their own
    /// ([`SmallStrata`](crate::SmallStrata)); none: 100, or one row in 100 where that is fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest_stratum: Option<u32>,
    /// The column that names the person a row is about, if a person can have several rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The column of universal record ids; by default `record_id` if there is one, otherwise the
    /// row number in the file, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_id: Option<String>,
    /// If given, the label is whether the (numeric) label column is above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// How text files are written.
    #[serde(default, skip_serializing_if = "Dialect::is_usual")]
    pub dialect: Dialect,
    /// Whether this is a published data set, to be cut and encoded as publications do: rows are split
    /// at random, not by label, and no level is pooled.
    #[serde(default, skip_serializing_if = "is_false")]
    pub published: bool,
    /// New names for values, by column; equal new names merge. Such a column is categorical.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub merges: BTreeMap<String, BTreeMap<String, String>>,
}

impl Recipe {
    /// A recipe with nothing but a label and sensitive columns.
    pub fn new(label: &str, sensitive: &[&str]) -> Self {
        Self { label: label.to_owned(), sensitive: names(sensitive), ..Self::default() }
    }

    /// The same with these classes of the sensitive attribute, which a run that claims privacy needs.
    #[must_use]
    pub fn classes(self, classes: &[&str]) -> Self {
        Self { classes: names(classes), ..self }
    }

    /// The same with this label as the one that people want to get.
    #[must_use]
    pub fn favourable(self, label: &str) -> Self {
        Self { favourable: Some(label.to_owned()), ..self }
    }

    /// The same with these columns as categories although they look like numbers.
    #[must_use]
    pub fn categorical(self, columns: &[&str]) -> Self {
        Self { categorical: names(columns), ..self }
    }

    /// The same without these columns.
    #[must_use]
    pub fn without(self, columns: &[&str]) -> Self {
        Self { drop: names(columns), ..self }
    }

    /// The same with this column as the one that names the person a row is about.
    #[must_use]
    pub fn unit(self, column: &str) -> Self {
        Self { unit: Some(column.to_owned()), ..self }
    }

    /// The same with this public column to condition parity on.
    #[must_use]
    pub fn stratum(self, column: &str) -> Self {
        Self { stratum: Some(column.to_owned()), ..self }
    }

    /// How to read a file for this recipe: every column, those that hold names as text.
    pub fn columns(&self) -> Columns {
        let names = self.categorical.iter().chain(self.merges.keys()).chain(&self.sensitive);
        let label = self.threshold.is_none().then_some(&self.label);
        Columns::All { text: names.chain(label).cloned().collect() }
    }

    /// Reads a whole file for this recipe. Nothing about a cell of a sensitive column is refused or
    /// told.
    pub fn read(&self, path: &Path) -> Result<Table, Error> {
        read_as(path, &self.columns(), &self.sealing(self.dialect.clone()))
    }

    /// The dialect in which files of this meaning are read: sensitive columns are sealed, ids and units
    /// are taken as they stand there.
    pub(crate) fn sealing(&self, dialect: Dialect) -> Dialect {
        let ids = [RECORD_ID.to_owned()].into_iter().chain(self.record_id.clone());
        let verbatim = ids.chain(self.unit.clone()).collect();
        Dialect { sealed: self.sensitive.clone(), verbatim, ..dialect }
    }

    /// Refuses roles that clash, whatever the table has: a sensitive column in another role, in other
    /// letters or between spaces too; ids and units that are the label; and whatever would read or
    /// name ids or units otherwise than they stand in the file.
    pub fn check_roles(&self) -> Result<(), Error> {
        if self.sensitive.is_empty() {
            return Err(Error::NoSensitive);
        }
        let ids = [(&self.unit, "the unit"), (&self.record_id, "the record id")];
        let ids = || ids.into_iter().filter_map(|(name, role)| Some((name.as_ref()?, role)));
        let stratum = self.stratum.iter().map(|name| (name, "the (public) column to condition on"));
        let others = ids().chain([(&self.label, "the label")]).chain(stratum);
        let clash = |column: &String, first, second| {
            Err(Error::TwoRoles { column: column.clone(), first, second })
        };
        for (name, role) in others {
            if let Some(column) = self.sensitive.iter().find(|own| same_name(own, name)) {
                return clash(column, "sensitive", role);
            }
        }
        for (name, role) in ids() {
            if *name == self.label {
                return clash(name, "the label", role);
            }
            let Dialect { decimal_comma, date_columns, .. } = &self.dialect;
            let touched = [
                ("a new name for its values", self.merges.contains_key(name)),
                ("a decimal comma", decimal_comma.contains(name)),
                ("reading it as dates", date_columns.contains_key(name)),
            ];
            if let Some((what, _)) = touched.into_iter().find(|(_, touched)| *touched) {
                return Err(NameError::Renamed { column: name.clone(), role, what }.into());
            }
        }
        if self.drop.contains(&self.label) {
            return clash(&self.label, "the label", "dropped");
        }
        Ok(())
    }

    /// Refuses declared classes that no rows can have or that cannot be told apart: fewer than two,
    /// more than 1000, one that repeats, one with fewer values than there are sensitive columns.
    pub fn check_classes(&self) -> Result<(), Error> {
        let refuse = |problem: String| {
            let (column, declared) = (self.sensitive.join(PRODUCT), self.classes.clone());
            Err(Error::Classes { column, declared, problem })
        };
        let names = &self.classes;
        if !(2..=MOST_CLASSES).contains(&names.len()) {
            return refuse(format!("there are {}; allowed are 2 to {MOST_CLASSES}", names.len()));
        }
        for (at, name) in names.iter().enumerate() {
            let values = name.split(PRODUCT);
            if values.clone().count() < self.sensitive.len() || name.is_empty() {
                let example = vec!["VALUE"; self.sensitive.len()].join(PRODUCT);
                return refuse(format!("`{name}` must name a value of every column: `{example}`"));
            }
            if names[..at].contains(name) {
                return refuse(format!("`{name}` stands twice; names must differ"));
            }
        }
        Ok(())
    }

    /// What a run that claims privacy needs: classes that are declared, and silos that are not cut
    /// by a sensitive column. Otherwise k, the class names or the silos, which everybody sees, would
    /// be functions of sensitive values.
    pub fn check_private(&self) -> Result<(), Error> {
        if self.classes.is_empty() {
            return Err(Error::Undeclared { column: self.sensitive.join(PRODUCT) });
        }
        self.check_classes()?;
        match self.partition_by.as_ref().filter(|by| self.sensitive.contains(by)) {
            Some(by) => Err(Error::TwoRoles {
                column: by.clone(),
                first: "sensitive",
                second: "the (public) column to partition by in a run that claims privacy",
            }),
            None => Ok(()),
        }
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants it")]
fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests;
