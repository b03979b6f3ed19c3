//! What a site has on disk, as a node of a run takes it.

use std::path::PathBuf;

use steffle_site::node::{Holding, Taken};
use steffle_wire::{Described, Refused, Role, SchemaHash};

use super::job::{Job, load_records};
use super::pairing::together;
use crate::Error;
use crate::dataset::Dataset;
use crate::recipe::Recipe;
use crate::schema::{AttributesFile, Schema, Summary, attributes, encode, load_attributes};

/// The files of one party of a [`Job`]: read when the site starts, encoded when a run has agreed on a
/// schema.
pub struct Site {
    recipe: Recipe,
    records: Option<Dataset>,
    attributes: Classes,
}

/// Where a site has sensitive classes.
enum Classes {
    Nowhere,
    /// In the same file as the records.
    Beside,
    /// In a file of their own.
    File(PathBuf),
}

impl Site {
    /// The party at a place of a job's roster, counted from 0: whole silos; or, `together`, records
    /// and attributes files of the same place; or first all records files, then all attributes
    /// files. `None` where there is no such place. Reads no sensitive column of a records file.
    pub fn of_job(job: &Job, place: usize, together: bool) -> Result<Option<Self>, Error> {
        let recipe = job.recipe.clone();
        if let Some(path) = job.silos.get(place) {
            let data = Dataset::new(recipe.read(path)?, recipe.clone())?;
            return Ok(Some(Self { recipe, records: Some(data), attributes: Classes::Beside }));
        }
        let holder = |path: Option<&PathBuf>| path.cloned().map_or(Classes::Nowhere, Classes::File);
        if let Some(path) = job.records.get(place) {
            let data = load_records(path, &recipe)?;
            let own = job.attributes.get(place).filter(|_| together);
            return Ok(Some(Self { recipe, records: Some(data), attributes: holder(own) }));
        }
        let own = job.attributes.get(place.saturating_sub(job.records.len()));
        let Some(path) = own.filter(|_| !together && job.silos.is_empty()) else { return Ok(None) };
        let attributes = Classes::File(path.clone());
        Ok(Some(Self { recipe, records: None, attributes }))
    }

    /// How many parties a job has.
    pub fn count(job: &Job, together: bool) -> usize {
        let holders = if together { 0 } else { job.attributes.len() };
        if job.silos.is_empty() { job.records.len() + holders } else { job.silos.len() }
    }

    fn sealed(&self, schema: &Schema) -> Result<Option<steffle_attributes::Attributes>, Error> {
        match (&self.attributes, &self.records) {
            (Classes::Nowhere, _) | (Classes::Beside, None) => Ok(None),
            (Classes::Beside, Some(data)) => attributes(data, data.rows(), schema).map(Some),
            (Classes::File(path), None) => {
                load_attributes(path, &self.recipe, schema.classes()).map(Some)
            }
            // Beside its records, matched by id.
            (Classes::File(path), Some(data)) => {
                let file = AttributesFile::read(path, &self.recipe, schema.classes())?;
                Ok(together(std::slice::from_ref(data), vec![file])?.0.pop())
            }
        }
    }
}

impl Holding for Site {
    fn describe(&self) -> Described {
        let role = match (&self.records, &self.attributes) {
            (Some(_), Classes::Nowhere) => Role::Records,
            (Some(_), _) => Role::Both,
            (None, _) => Role::Attributes,
        };
        let Some(data) = &self.records else {
            return Described { role, records: 0, summary: Vec::new() };
        };
        let summary = Summary::of(data, data.rows());
        // A summary is names and finite numbers: it has a text.
        let summary = serde_json::to_vec(&summary).unwrap_or_default();
        Described { role, records: data.rows().len() as u64, summary }
    }

    fn take(&mut self, schema: &[u8], hash: &SchemaHash) -> Result<Taken, Refused> {
        let unread = |why: String| Refused::new("steffle::node::schema", why);
        let schema: Schema = serde_json::from_slice(schema)
            .map_err(|error| unread(format!("the schema cannot be read: {error}")))?;
        if schema.hash() != hash.0 {
            return Err(unread("the schema is not the one that its hash names".to_owned()));
        }
        let refuse = |error: Error| Refused::new(format!("steffle::{}", error.code()), error);
        let encoded = self.records.as_ref().map(|data| encode(data, data.rows(), &schema));
        Ok(Taken {
            records: encoded.transpose().map_err(refuse)?.map(|encoded| encoded.records),
            attributes: self.sealed(&schema).map_err(refuse)?,
        })
    }
}
