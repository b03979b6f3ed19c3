//! The sensitive attribute: sealed for training, open for evaluation.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use steffle_attributes::{Attributes, Sensitive};
use steffle_model::record::MISSING_CLASS;

use super::{PRODUCT, Schema};
use crate::Error;
use crate::dataset::{Dataset, ids_of};
use crate::recipe::Recipe;
use crate::table::{Categories, Column, Columns, Table, read_as};

/// Sensitive classes that are meant to be seen: those of held-out rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// Per row its class, or [`MISSING_CLASS`].
    pub classes: Vec<u16>,
    /// The classes by number.
    pub names: Vec<String>,
}

/// The sealed sensitive classes of rows, for the attributes division.
///
/// A value outside the agreed classes counts as missing, and all rows of a unit get the class of its
/// smallest record id, because the privacy of a unit is the privacy of one value. Neither is an
/// error: an error would tell something about sensitive values.
pub fn attributes(data: &Dataset, rows: &[u32], schema: &Schema) -> Result<Attributes, Error> {
    let classes = unit_classes(data, rows, schema)?;
    let count = schema.classes().len();
    Ok(Attributes::new(data.ids(rows), Sensitive::new(classes), count)?)
}

/// The sensitive classes of rows, open.
///
/// Only for held-out rows and evaluation files, whose group rates are going to be reported; the
/// classes of training rows go through [`attributes`]. A value outside the agreed classes counts as
/// missing.
pub fn evaluation_groups(data: &Dataset, rows: &[u32], schema: &Schema) -> Result<Groups, Error> {
    let classes = classes(data, rows, schema)?;
    Ok(Groups { classes, names: schema.classes().to_vec() })
}

/// An attributes file that was read: record ids, and a class for each that nobody is shown.
pub(crate) struct AttributesFile {
    origin: String,
    ids: Vec<u64>,
    classes: Vec<u16>,
    class_count: usize,
}

impl AttributesFile {
    /// Reads record ids and sensitive columns.
    ///
    /// A missing sensitive value is kept as such, and one outside the agreed classes counts as missing,
    /// as everywhere.
    pub(crate) fn read(
        path: &Path,
        recipe: &Recipe,
        class_names: &[String],
    ) -> Result<Self, Error> {
        let columns = Columns::All { text: recipe.sensitive.clone() };
        let mut table = read_as(path, &columns, &recipe.sealing(recipe.dialect.clone()))?;
        let id = recipe.record_id.as_deref().unwrap_or("record_id");
        let rows: Vec<u32> = (0..table.rows() as u32).collect();
        let ids = ids_of(&table, id, &rows)?;
        let columns = recipe
            .sensitive
            .iter()
            .map(|name| sensitive_column(&mut table, name, recipe))
            .collect::<Result<Vec<_>, _>>()?;
        let columns: Vec<Cow<'_, Categories>> = columns.iter().map(Cow::Borrowed).collect();
        let classes = classes_of(&columns, &rows, &recipe.sensitive, class_names)?;
        let origin = table.origin().to_owned();
        Ok(Self { origin, ids, classes, class_count: class_names.len() })
    }

    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    pub(crate) fn ids(&self) -> &[u64] {
        &self.ids
    }

    /// For whoever holds the file.
    pub(crate) fn classes(&self) -> &[u16] {
        &self.classes
    }

    /// Seals everything, in the order of the file.
    pub(crate) fn seal(self) -> Result<Attributes, Error> {
        Ok(Attributes::new(self.ids, Sensitive::new(self.classes), self.class_count)?)
    }

    /// Seals what is about the given records, in their order; about one that is not in the file
    /// nothing is known.
    pub(crate) fn seal_for(self, ids: Vec<u64>) -> Result<Attributes, Error> {
        let known: HashMap<u64, u16> = self.ids.iter().copied().zip(self.classes).collect();
        let class = |id: &u64| known.get(id).copied().unwrap_or(MISSING_CLASS);
        let classes = ids.iter().map(class).collect();
        Ok(Attributes::new(ids, Sensitive::new(classes), self.class_count)?)
    }
}

/// Reads an attributes file: record ids and sensitive columns, sealed at once.
pub(crate) fn load_attributes(
    path: &Path,
    recipe: &Recipe,
    class_names: &[String],
) -> Result<Attributes, Error> {
    AttributesFile::read(path, recipe, class_names)?.seal()
}

fn sensitive_column(table: &mut Table, name: &str, recipe: &Recipe) -> Result<Categories, Error> {
    let at = table.require(name, "sensitive")?;
    let mut text = Categories::from_column(&table.columns()[at]);
    table.replace(at, Column::Numbers(vec![f64::NAN; text.codes.len()]));
    if let Some(names) = recipe.merges.get(name) {
        text.rename(names);
    }
    Ok(text)
}

/// The class of each usable row among declared ones, for whoever holds the data.
pub(crate) fn classes_of_rows(data: &Dataset, known: &[String]) -> Result<Vec<u16>, Error> {
    let columns: Vec<Cow<'_, Categories>> = data.sensitive().collect();
    classes_of(&columns, data.rows(), &data.recipe().sensitive, known)
}

fn classes(data: &Dataset, rows: &[u32], schema: &Schema) -> Result<Vec<u16>, Error> {
    let columns: Vec<Cow<'_, Categories>> = data.sensitive().collect();
    classes_of(&columns, rows, &schema.recipe().sensitive, schema.classes())
}

/// The class of each row, the same in all rows of a unit.
fn unit_classes(data: &Dataset, rows: &[u32], schema: &Schema) -> Result<Vec<u16>, Error> {
    let mut classes = classes(data, rows, schema)?;
    one_per_unit(data, rows, &mut classes);
    Ok(classes)
}

/// The class of each row: the product of its levels, looked up among the agreed names. Refuses only
/// a file without the columns: nothing that depends on a sensitive value may be told.
fn classes_of(
    columns: &[Cow<'_, Categories>],
    rows: &[u32],
    names: &[String],
    known: &[String],
) -> Result<Vec<u16>, Error> {
    if columns.len() != names.len() {
        let column = names.join(PRODUCT);
        let origin = "the file".to_owned();
        return Err(Error::UnknownColumn { origin, column, role: "sensitive", known: Vec::new() });
    }
    let mut found: HashMap<Vec<u32>, u16> = HashMap::new();
    let mut key = vec![0; columns.len()];
    let class_of = |&row: &u32| {
        for (slot, column) in key.iter_mut().zip(columns) {
            *slot = column.codes[row as usize];
        }
        if let Some(&class) = found.get(&key) {
            return class;
        }
        let levels: Option<Vec<&str>> =
            columns.iter().map(|column| column.level(row as usize)).collect();
        let class = levels.map(|levels| levels.join(PRODUCT));
        let at = class.and_then(|class| known.iter().position(|name| *name == class));
        let class = at.map_or(MISSING_CLASS, |at| at as u16);
        found.insert(key.clone(), class);
        class
    };
    Ok(rows.iter().map(class_of).collect())
}

/// Gives all rows of a unit the class of its row with the smallest record id. A unit has one class;
/// that its rows differ is not told.
fn one_per_unit(data: &Dataset, rows: &[u32], classes: &mut [u16]) {
    let Some(units) = data.units() else { return };
    let ids = data.ids(rows);
    let mut first: HashMap<u32, (u64, u16)> = HashMap::new();
    for ((&row, id), &class) in rows.iter().zip(ids).zip(&*classes) {
        let kept = first.entry(units[row as usize]).or_insert((id, class));
        *kept = (*kept).min((id, class));
    }
    for (row, class) in rows.iter().zip(classes) {
        if let Some(&(_, own)) = first.get(&units[*row as usize]) {
            *class = own;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Summary;

    /// The smallest id decides, wherever it stands, also where its value is missing.
    #[test]
    fn a_unit_has_the_class_of_its_smallest_record_id() {
        let text = |values: &[&str]| {
            Column::Text(Categories::from_text(
                values.iter().map(|&v| (!v.is_empty()).then_some(v)),
            ))
        };
        let numbers = |values: &[f64]| Column::Numbers(values.to_vec());
        let columns = vec![
            ("record_id".to_owned(), numbers(&[5.0, 3.0, 4.0, 2.0, 1.0, 9.0])),
            ("who".to_owned(), text(&["ann", "bob", "ann", "bob", "cid", "cid"])),
            ("x".to_owned(), numbers(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])),
            ("y".to_owned(), numbers(&[0.0, 1.0, 0.0, 1.0, 0.0, 1.0])),
            ("s".to_owned(), text(&["f", "m", "m", "f", "", "f"])),
        ];
        let recipe = Recipe {
            unit: Some("who".to_owned()),
            classes: vec!["f".to_owned(), "m".to_owned()],
            ..Recipe::new("y", &["s"])
        };
        let data = Dataset::new(Table::new("test", columns).unwrap(), recipe).unwrap();
        let schema = Schema::from_summary(data.recipe(), &Summary::of(&data, data.rows())).unwrap();
        let of = |rows: &[u32]| unit_classes(&data, rows, &schema).unwrap();
        assert_eq!(of(data.rows()), [1, 0, 1, 0, MISSING_CLASS, MISSING_CLASS]);
        assert_eq!(of(&[5, 1, 0]), [0, 1, 0], "of the rows that are sealed together");
        assert_eq!(
            attributes(&data, data.rows(), &schema).unwrap().ids().to_vec(),
            data.ids(data.rows())
        );
    }
}
