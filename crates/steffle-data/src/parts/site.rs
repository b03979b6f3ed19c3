//! What a site has on disk, as a node of a run takes it.

use std::collections::HashSet;
use std::path::PathBuf;

use sha2::{Digest, Sha256};
use steffle_attributes::UnitList;
use steffle_model::record::MISSING_CLASS;
use steffle_site::node::{Holding, Taken};
use steffle_wire::{Described, Met, Refused, Role, SchemaHash};

use super::declared::Declared;
use super::job::{Job, load_records};
use super::names::{self, Kept, NamedColumn};
use super::pairing::together;
use super::people;
use super::silo::{Holds, Silo, Unmatched};
use crate::Error;
use crate::dataset::Dataset;
use crate::recipe::Recipe;
use crate::schema::{
    AttributesFile, Measures, Schema, Summary, attributes, encode_any, kept_classes,
    load_attributes,
};

/// The files of one party: read when the site starts, encoded when a run has agreed on a schema.
pub struct Site {
    name: Option<String>,
    recipe: Recipe,
    records: Option<Dataset>,
    attributes: Classes,
    /// Everybody whom others may ask about, where it has attributes alone.
    people: Option<UnitList>,
    unmatched: Unmatched,
    files: Vec<PathBuf>,
}

/// What a site has.
///
/// For whoever holds the data, and nobody else.
#[derive(Debug, Clone, Default)]
pub struct Looked {
    /// Usable records.
    pub rows: usize,
    /// Rows left out for missing values.
    pub dropped: usize,
    /// Every name in its files, and what it may be used for.
    pub names: Vec<NamedColumn>,
    /// Columns of numbers.
    pub numeric: Vec<String>,
    /// Columns of categories, with these.
    pub categorical: Vec<(String, Vec<String>)>,
    /// Records per class, and without one.
    pub groups: Option<Vec<(Option<String>, usize)>>,
    /// Features that predict the sensitive attribute almost alone, one sentence each.
    pub tells: Vec<String>,
    /// Records without a row of attributes.
    pub unmatched: usize,
    /// Rows of attributes without a record.
    pub unused: usize,
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
        if let Some(path) = job.silos.get(place) {
            let data = Dataset::new(job.recipe.read(path)?, job.recipe.clone())?;
            return Ok(Some(Self::new(&job.recipe, Some(data), Classes::Beside, [path])));
        }
        let holder = |path: Option<&PathBuf>| path.cloned().map_or(Classes::Nowhere, Classes::File);
        if let Some(path) = job.records.get(place) {
            let data = load_records(path, &job.recipe)?;
            let own = job.attributes.get(place).filter(|_| together);
            let files = [path].into_iter().chain(own);
            return Ok(Some(Self::new(&job.recipe, Some(data), holder(own), files)));
        }
        let own = job.attributes.get(place.saturating_sub(job.records.len()));
        let Some(path) = own.filter(|_| !together && job.silos.is_empty()) else { return Ok(None) };
        let records = job.records.iter().map(|path| load_records(path, &job.recipe));
        let people = people::of_records(&records.collect::<Result<Vec<_>, _>>()?);
        let site = Self::new(&job.recipe, None, Classes::File(path.clone()), [path]);
        Ok(Some(Self { people: Some(people), ..site }))
    }

    /// The party that a `silo.toml` describes. Reads no sensitive column of a records file.
    pub fn of_silo(silo: &Silo) -> Result<Self, Error> {
        let recipe = &silo.recipe;
        let (records, attributes) = match (silo.role, &silo.data, &silo.attributes) {
            (Holds::Both, Some(data), None) => {
                (Some(Dataset::new(recipe.read(data)?, recipe.clone())?), Classes::Beside)
            }
            (_, Some(data), own) => {
                let own = own.clone().map_or(Classes::Nowhere, Classes::File);
                (Some(load_records(data, recipe)?), own)
            }
            (_, None, Some(own)) => (None, Classes::File(own.clone())),
            (_, None, None) => (None, Classes::Nowhere),
        };
        let site = Self::new(recipe, records, attributes, silo.files());
        let people = silo.people.as_ref().map(|path| people::read(path, recipe)).transpose()?;
        Ok(Self { name: Some(silo.name.clone()), unmatched: silo.unmatched, people, ..site })
    }

    fn new<'a>(
        recipe: &Recipe,
        records: Option<Dataset>,
        attributes: Classes,
        files: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Self {
        let files = files.into_iter().cloned().collect();
        let (name, unmatched, people) = (None, Unmatched::Refuse, None);
        Self { name, recipe: recipe.clone(), records, attributes, people, unmatched, files }
    }

    /// Everybody whom others may ask about, where it has attributes alone.
    pub fn people(&self) -> Option<&UnitList> {
        self.people.as_ref()
    }

    /// How many parties a job has.
    pub fn count(job: &Job, together: bool) -> usize {
        let holders = if together { 0 } else { job.attributes.len() };
        if job.silos.is_empty() { job.records.len() + holders } else { job.silos.len() }
    }

    /// A hash of what it holds but for s: records, ids, lists and what columns mean. A record of what was
    /// said about others is not gone on with, and whoever is told so learns nothing about s, which what was
    /// released before does not depend on any more.
    pub fn fingerprint(&self) -> Result<[u8; 32], Error> {
        let mut hash = Sha256::new();
        let put = |hash: &mut Sha256, numbers: &[u64]| {
            hash.update((numbers.len() as u64).to_le_bytes());
            numbers.iter().for_each(|number| hash.update(number.to_le_bytes()));
        };
        if let Some(data) = &self.records {
            put(&mut hash, &data.ids(data.rows()));
            put(&mut hash, &data.people(data.rows()).unwrap_or_default());
            put(&mut hash, &data.digests());
        }
        if let Classes::File(path) = &self.attributes {
            let file = AttributesFile::read(path, &self.recipe, &self.recipe.classes)?;
            put(&mut hash, file.ids());
        }
        if let Some(people) = &self.people {
            hash.update(people.digest());
        }
        // What columns mean changes answers as well.
        hash.update(serde_json::to_vec(&self.recipe).unwrap_or_default());
        Ok(hash.finalize().into())
    }

    /// Its records, where it has any.
    pub fn records(&self) -> Option<&Dataset> {
        self.records.as_ref()
    }

    /// What it has, for whoever holds the data: records per class are computed from s, and are to leave
    /// nothing but their screen.
    pub fn look(&self) -> Result<Looked, Error> {
        let mut looked = Looked { names: self.names()?, ..Looked::default() };
        if let Some(data) = &self.records {
            (looked.rows, looked.dropped) = (data.rows().len(), data.dropped());
            let summary = Summary::of(data, data.rows());
            (looked.numeric, looked.categorical) = summary.columns();
        }
        let names = &self.recipe.classes;
        let counted = |classes: &[u16]| {
            let of = |class: u16| classes.iter().filter(|own| **own == class).count();
            let mut groups: Vec<_> =
                names.iter().zip(0..).map(|(name, at)| (Some(name.clone()), of(at))).collect();
            groups.push((None, of(MISSING_CLASS)));
            groups
        };
        match (&self.attributes, &self.records) {
            (Classes::Beside, Some(data)) => {
                looked.groups = Some(counted(&kept_classes(data, names)));
                looked.tells = data.reveals_sensitive().to_vec();
            }
            (Classes::File(path), records) => {
                let file = AttributesFile::read(path, &self.recipe, names)?;
                looked.groups = Some(counted(&file.kept_classes()));
                if let Some(data) = records {
                    let held: HashSet<u64> = file.ids().iter().copied().collect();
                    let ids = data.ids(data.rows());
                    looked.unmatched = ids.iter().filter(|id| !held.contains(id)).count();
                    looked.unused = held.len() + looked.unmatched - ids.len();
                } else {
                    looked.rows = file.ids().len();
                }
            }
            _ => {}
        }
        Ok(looked)
    }

    /// Every name in its files, and what it may be used for.
    fn names(&self) -> Result<Vec<NamedColumn>, Error> {
        let mut names = Vec::new();
        let mut files = self.files.iter();
        if let (Some(data), Some(path)) = (&self.records, self.files.first()) {
            names.extend(names::names(path, &self.recipe, Kept::Records(data))?);
            files.next();
        }
        for path in files {
            let kept = match &self.attributes {
                Classes::File(own) if own == path => Kept::Attributes,
                _ => Kept::People,
            };
            names.extend(names::names(path, &self.recipe, kept)?);
        }
        Ok(names)
    }

    /// What it says of itself; under masks nothing about any number but the rows of one person.
    fn declared(&self, masked: bool) -> Declared {
        let mut declared = Declared::of(self.name.clone(), &self.recipe);
        if let Some(data) = &self.records {
            // Found by its name, where the recipe has none.
            declared.record_id.clone_from(&data.recipe().record_id);
            let summary = Summary::of(data, data.rows());
            declared.summary = Some(if masked { summary.without_numbers() } else { summary });
            declared.largest_unit = data.largest_unit(data.rows());
            declared.dropped = if masked { 0 } else { data.dropped() };
        }
        declared
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
                match self.unmatched {
                    Unmatched::Refuse => {
                        Ok(together(std::slice::from_ref(data), vec![file])?.0.pop())
                    }
                    Unmatched::Ignore => file.seal_for(data.ids(data.rows())).map(Some),
                }
            }
        }
    }
}

impl Holding for Site {
    fn describe(&self, masked: bool) -> Described {
        let role = match (&self.records, &self.attributes) {
            (Some(_), Classes::Nowhere) => Role::Records,
            (Some(_), _) => Role::Both,
            (None, _) => Role::Attributes,
        };
        let held = self.records.as_ref().map_or(0, |data| data.rows().len()) as u64;
        let records = if masked { 0 } else { held };
        // Names and finite numbers: it has a text.
        let summary = serde_json::to_vec(&self.declared(masked)).unwrap_or_default();
        Described { role, records, summary, hello: Vec::new() }
    }

    fn meet(&self, columns: &[u8]) -> Result<Met, Refused> {
        let measures = Measures::from_bytes(columns)
            .map_err(|why| Refused::new("steffle::node::state", format!("its measures: {why}")))?;
        let Some(data) = &self.records else {
            return Err(Refused::state("this site has no records"));
        };
        Ok(measures.part(&Summary::of(data, data.rows())))
    }

    fn digests(&self) -> Vec<u64> {
        self.records.as_ref().map(Dataset::digests).unwrap_or_default()
    }

    fn take(&mut self, schema: &[u8], hash: &SchemaHash) -> Result<Taken, Refused> {
        let unread = |why: String| Refused::new("steffle::node::schema", why);
        let schema: Schema = serde_json::from_slice(schema)
            .map_err(|error| unread(format!("the schema cannot be read: {error}")))?;
        if schema.hash() != hash.0 {
            return Err(unread("the schema is not the one that its hash names".to_owned()));
        }
        let refuse = |error: Error| Refused::new(format!("steffle::{}", error.code()), error);
        self.declared(false).accepts(&schema).map_err(refuse)?;
        let encoded = self.records.as_ref().map(|data| encode_any(data, data.rows(), &schema));
        Ok(Taken {
            records: encoded.transpose().map_err(refuse)?.map(|encoded| encoded.records),
            attributes: self.sealed(&schema).map_err(refuse)?,
            people: self.people.clone(),
            labels: Some(schema.labels().len()),
        })
    }
}
