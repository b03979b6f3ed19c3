//! Held-out rows of silos, whose sensitive classes nobody is shown.

use std::path::{Path, PathBuf};

use steffle_attributes::Attributes;
use steffle_model::record::Records;

use super::RECORD_ID;
use super::pairing::{elsewhere, once, together};
use crate::Error;
use crate::dataset::Dataset;
use crate::recipe::Recipe;
use crate::schema::{AttributesFile, Schema, attributes, encode};
use crate::table::Dialect;

/// Files of held-out rows: one per silo with everything in it; or records files and, by record id, the
/// attributes files that go with them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TestFiles {
    /// Records; with classes where there are no attributes files.
    pub records: Vec<PathBuf>,
    /// Record ids and sensitive columns. As many as records files: each lies beside its records.
    pub attributes: Vec<PathBuf>,
}

/// Held-out rows, encoded, and their sealed classes.
///
/// Private metrics are measured on them, charged to the part of the store that is for testing.
pub struct Tested {
    /// Per records silo its records.
    pub records: Vec<Records>,
    /// Per attributes silo its classes.
    pub attributes: Vec<Attributes>,
    /// Rows left out for missing values.
    pub dropped: usize,
    /// Cells with a category that the schema does not know.
    pub unseen: u64,
}

impl TestFiles {
    /// Whether classes lie beside their records.
    pub fn together(&self) -> bool {
        self.attributes.is_empty() || self.attributes.len() == self.records.len()
    }

    /// Reads and encodes them under a schema. Every row has to have a record id: a budget belongs to
    /// people, and a row's place in a file is nobody.
    pub fn load(&self, schema: &Schema, dialect: &Dialect) -> Result<Tested, Error> {
        let whole = self.attributes.is_empty();
        let load = |path: &PathBuf| Dataset::for_testing(path, schema, dialect, whole);
        let silos = self.records.iter().map(load).collect::<Result<Vec<_>, Error>>()?;
        let (mut records, mut unseen) = (Vec::new(), 0);
        for silo in &silos {
            let encoded = encode(silo, silo.rows(), schema)?;
            unseen += encoded.unmatched.unseen_total();
            records.push(encoded.records);
        }
        let ids = silos.iter().zip(&records);
        let ids = ids.map(|(silo, own)| (silo.table().origin(), own.ids().to_vec()));
        once(&ids.collect::<Vec<_>>())?;
        let attributes = if whole {
            silos
                .iter()
                .map(|silo| attributes(silo, silo.rows(), schema))
                .collect::<Result<_, _>>()?
        } else {
            // How the files are written is their owner's word.
            let dialect = schema.dialect(dialect);
            let recipe = Recipe { dialect, ..schema.testing_recipe() };
            let read = |path: &PathBuf| AttributesFile::read(path, &recipe, schema.classes());
            let files = self.attributes.iter().map(read).collect::<Result<Vec<_>, _>>()?;
            if self.together() { together(&silos, files)?.0 } else { elsewhere(&silos, files)? }
        };
        let dropped = silos.iter().map(Dataset::dropped).sum();
        Ok(Tested { records, attributes, dropped, unseen })
    }
}

/// The name of the column of record ids, where a recipe has none.
pub(crate) fn record_id(recipe: &Recipe) -> String {
    recipe.record_id.clone().unwrap_or_else(|| RECORD_ID.to_owned())
}

impl Dataset {
    /// Reads a labelled file whose rows are people with a budget: the columns of the schema, record ids
    /// and, where training had them, units; `sensitive` columns where they lie in the same file.
    pub fn for_testing(
        path: &Path,
        schema: &Schema,
        dialect: &Dialect,
        sensitive: bool,
    ) -> Result<Self, Error> {
        let recipe = schema.testing_recipe();
        let dialect = recipe.sealing(schema.dialect(dialect));
        let ids = record_id(&recipe);
        Self::of_file(path, &schema.testing_columns(sensitive), &dialect, recipe, sensitive)
            .map_err(|error| match error {
                Error::UnknownColumn { origin, column, known, .. } if column == ids => {
                    let role =
                        "the record ids: a budget belongs to people, not to places in a file";
                    Error::UnknownColumn { origin, column, role, known }
                }
                other => other,
            })
    }
}
