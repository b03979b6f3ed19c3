//! The sensitive attribute: sealed for training, open for evaluation.

use std::collections::HashMap;
use std::path::Path;

use steffle_attributes::{Attributes, PRODUCT, RevealTo, SealedColumns, SealedRows};

use super::Schema;
use crate::Error;
use crate::dataset::{Dataset, ids_of};
use crate::recipe::Recipe;
use crate::table::{Columns, read_as};

/// Sensitive classes that are meant to be seen: those of held-out rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// Per row its class, or [`MISSING_CLASS`](steffle_model::record::MISSING_CLASS).
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
    all_there(data.sealed(), &schema.recipe().sensitive)?;
    let placed: Vec<Option<u32>> = rows.iter().map(|&row| Some(row)).collect();
    let of = SealedRows { ids: data.ids(rows), rows: &placed, units: data.units() };
    Ok(data.sealed().attributes(of, schema.classes())?)
}

/// The sensitive classes of rows, open.
///
/// Only for held-out rows and evaluation files, whose group rates are going to be reported; the
/// classes of training rows go through [`attributes`]. A value outside the agreed classes counts as
/// missing.
pub fn evaluation_groups(data: &Dataset, rows: &[u32], schema: &Schema) -> Result<Groups, Error> {
    all_there(data.sealed(), &schema.recipe().sensitive)?;
    let names = schema.classes().to_vec();
    let classes = data.sealed().classes(rows, &names, RevealTo::Report);
    Ok(Groups { classes, names })
}

/// Refuses a file without the columns. Nothing that depends on a sensitive value is told.
fn all_there(sealed: &SealedColumns, names: &[String]) -> Result<(), Error> {
    if sealed.names().map(|(name, _)| name).eq(names) {
        return Ok(());
    }
    let (origin, column) = ("the file".to_owned(), names.join(PRODUCT));
    Err(Error::UnknownColumn { origin, column, role: "sensitive", known: Vec::new() })
}

/// An attributes file that was read: record ids, and a class for each that nobody is shown.
pub(crate) struct AttributesFile {
    origin: String,
    ids: Vec<u64>,
    sealed: SealedColumns,
    classes: Vec<String>,
}

impl AttributesFile {
    /// Reads record ids and sensitive columns.
    ///
    /// A missing sensitive value is kept as such, and one outside the agreed classes counts as missing,
    /// as everywhere.
    pub(crate) fn read(path: &Path, recipe: &Recipe, classes: &[String]) -> Result<Self, Error> {
        let columns = Columns::All { text: recipe.sensitive.clone() };
        let mut table = read_as(path, &columns, &recipe.sealing(recipe.dialect.clone()))?;
        let id = recipe.record_id.as_deref().unwrap_or(crate::parts::RECORD_ID);
        let rows: Vec<u32> = (0..table.rows() as u32).collect();
        let ids = ids_of(&table, id, &rows)?;
        for name in recipe.sensitive.iter().filter(|name| !table.sealed().contains(name)) {
            table.require(name, "sensitive")?;
        }
        let mut sealed = table.take_sealed().select(&recipe.sensitive);
        sealed.rename(&recipe.merges);
        let (origin, classes) = (table.origin().to_owned(), classes.to_vec());
        Ok(Self { origin, ids, sealed, classes })
    }

    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    pub(crate) fn ids(&self) -> &[u64] {
        &self.ids
    }

    /// For whoever holds the file.
    pub(crate) fn kept_classes(&self) -> Vec<u16> {
        let rows: Vec<u32> = (0..self.ids.len() as u32).collect();
        self.sealed.classes(&rows, &self.classes, RevealTo::Keeper)
    }

    /// Seals everything, in the order of the file.
    pub(crate) fn seal(self) -> Result<Attributes, Error> {
        let rows: Vec<Option<u32>> = (0..self.ids.len() as u32).map(Some).collect();
        let of = SealedRows { ids: self.ids, rows: &rows, units: None };
        Ok(self.sealed.attributes(of, &self.classes)?)
    }

    /// Seals what is about the given records, in their order; about one that is not in the file
    /// nothing is known.
    pub(crate) fn seal_for(self, ids: Vec<u64>) -> Result<Attributes, Error> {
        let known: HashMap<u64, u32> = self.ids.iter().copied().zip(0..).collect();
        let rows: Vec<Option<u32>> = ids.iter().map(|id| known.get(id).copied()).collect();
        Ok(self.sealed.attributes(SealedRows { ids, rows: &rows, units: None }, &self.classes)?)
    }
}

/// Reads an attributes file: record ids and sensitive columns, sealed at once.
pub(crate) fn load_attributes(
    path: &Path,
    recipe: &Recipe,
    classes: &[String],
) -> Result<Attributes, Error> {
    AttributesFile::read(path, recipe, classes)?.seal()
}

/// The class of each usable row among declared ones, for whoever holds the data.
pub(crate) fn kept_classes(data: &Dataset, classes: &[String]) -> Vec<u16> {
    data.sealed().classes(data.rows(), classes, RevealTo::Keeper)
}
