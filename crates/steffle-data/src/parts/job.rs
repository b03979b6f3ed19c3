//! The description of a run whose data lie in several files.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use steffle_attributes::Attributes;
use steffle_model::record::Records;

use super::RECORD_ID;
use super::agree::agree;
use super::error::FilesError;
use super::pairing::{elsewhere, once, together};
use crate::Error;
use crate::dataset::Dataset;
use crate::recipe::Recipe;
use crate::schema::{AttributesFile, Measures, Schema, Summary, attributes, encode};
use crate::table::{read_names, write_atomically};

/// The version of the file format.
const VERSION: u32 = 1;

/// Which files a run is made of, and what their columns mean: the contents of `job.toml`.
///
/// Either `silos` names one file per silo, or `records` and `attributes` name the files of the
/// two kinds of division, or `sites` names sites that keep their files to themselves. Paths are
/// relative to the file that names them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    version: u32,
    /// Files that hold everything of a silo.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silos: Vec<PathBuf>,
    /// Files without sensitive columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<PathBuf>,
    /// Files with record ids and sensitive columns only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<PathBuf>,
    /// Who holds what: `one-silo`, `silos`, `central-attributes` or `general:Q`; see
    /// [`Job::together`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub centralisation: Option<String>,
    /// Held-out rows, with everything: a file, or, in a job that is submitted, a name of the server's
    /// `lead.toml`.
    pub test: PathBuf,
    /// Whether nobody is shown anything about the classes of the held-out rows: their owner says so, and
    /// no job.
    #[serde(skip)]
    pub blind: bool,
    /// How long the server waits for one reply; 600 where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_seconds: Option<u64>,
    /// The most bytes of a frame; 4 GiB where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_bytes: Option<u64>,
    /// What becomes of a run when a site does not reply.
    #[serde(default, skip_serializing_if = "is_default")]
    pub absent: Absent,
    /// What becomes of categories that not all sites have.
    #[serde(default, skip_serializing_if = "is_default")]
    pub levels: Levels,
    /// Sites, by the names under which they are reached, in the order of their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<Member>,
    /// What the columns mean.
    pub recipe: Recipe,
    /// Settings of the training, by the names of its flags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train: Option<toml::Table>,
}

/// A site of a roster.
///
/// What it holds, it says itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its `silo.toml`, where all sites are played on one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silo: Option<PathBuf>,
}

/// What becomes of a run when a site does not reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Absent {
    /// It ends, and can be gone on with.
    #[default]
    Stop,
    /// It goes on without the site.
    Drop,
}

/// What becomes of categories that not all sites have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Levels {
    /// All are features.
    #[default]
    Union,
    /// The run does not begin.
    Same,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A job's data, encoded and ready to train on.
///
/// Records and attributes of one silo have the same place when the files are whole or divided.
pub struct Loaded {
    /// What the files agree on.
    pub schema: Schema,
    /// Per records silo its records.
    pub records: Vec<Records>,
    /// Per attributes silo its sealed classes.
    pub attributes: Vec<Attributes>,
    /// Whether the attributes of a silo lie beside its records.
    pub together: bool,
    /// The held-out rows.
    pub test: Dataset,
    /// The largest number of training rows that one unit has in a silo.
    pub largest_unit: usize,
    /// Rows of all files left out for missing values.
    pub dropped: usize,
    /// Per column how many rows miss its value; never of a sensitive one.
    pub missing: BTreeMap<String, usize>,
    /// What was decided while the files were read, as sentences with the file in front.
    pub reading: Vec<String>,
    /// What could not be decided.
    pub warnings: Vec<String>,
}

impl Job {
    /// A job without files yet.
    pub fn new(recipe: Recipe) -> Self {
        Self {
            version: VERSION,
            silos: Vec::new(),
            records: Vec::new(),
            attributes: Vec::new(),
            centralisation: None,
            test: PathBuf::new(),
            blind: false,
            reply_seconds: None,
            frame_bytes: None,
            absent: Absent::default(),
            levels: Levels::default(),
            sites: Vec::new(),
            recipe,
            train: None,
        }
    }

    /// Reads `job.toml`; refuses unknown keys, other versions and impossible sets of files.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Ok(Self::read_as_written(path)?.resolved(path.parent().unwrap_or(Path::new(""))))
    }

    /// The same with paths and names as they stand there.
    pub fn read_as_written(path: &Path) -> Result<Self, Error> {
        let refuse = |message: String| Error::Job { path: path.to_path_buf(), message };
        let text = std::fs::read_to_string(path).map_err(|source| Error::io(path, source))?;
        let job: Self = toml::from_str(&text).map_err(|error| refuse(error.to_string()))?;
        if job.version != VERSION {
            return Err(refuse(format!(
                "version {} of the job format; this program reads version {VERSION}",
                job.version
            )));
        }
        let (records, attributes) = (!job.records.is_empty(), !job.attributes.is_empty());
        let kinds = [!job.silos.is_empty(), records || attributes, !job.sites.is_empty()];
        if kinds.into_iter().filter(|named| *named).count() != 1 || records != attributes {
            return Err(refuse(
                "name either `silos`, or both `records` and `attributes`, or `sites`".to_owned(),
            ));
        }
        job.check_sites().map_err(refuse)?;
        job.check_centralisation().map_err(refuse)?;
        Ok(job)
    }

    /// Names of sites are their addresses, and what is public is declared.
    fn check_sites(&self) -> Result<(), String> {
        let names = || self.sites.iter().map(|site| &site.name);
        if let Some((name, _)) =
            names().zip(1..).find(|(name, next)| names().skip(*next).any(|other| other == *name))
        {
            return Err(format!("site `{name}` is named twice"));
        }
        let open = [("labels", &self.recipe.labels), ("classes", &self.recipe.classes)];
        match open.into_iter().find(|(_, declared)| declared.is_empty()) {
            Some((key, _)) if !self.sites.is_empty() => {
                Err(format!("recipe.{key} is missing: sites agree on names, they do not find them"))
            }
            _ => Ok(()),
        }
    }

    /// Whether there are files for what the job says about who holds what.
    fn check_centralisation(&self) -> Result<(), String> {
        let Some(word) = self.centralisation.as_deref() else { return Ok(()) };
        if !self.sites.is_empty() {
            // Sites say themselves what they hold.
            return Ok(());
        }
        let (silos, records, holders) =
            (self.silos.len(), self.records.len(), self.attributes.len());
        let fits = match word.strip_prefix("general:").map(str::parse::<usize>) {
            Some(asked) => asked == Ok(holders) && silos == 0,
            None => match word {
                "one-silo" => silos + records == 1 && holders == records,
                "silos" => records == holders,
                "central-attributes" => holders == 1 && silos == 0,
                _ => {
                    return Err(format!(
                        "centralisation `{word}` is none of one-silo, silos, central-attributes, \
                         general:Q"
                    ));
                }
            },
        };
        if fits {
            return Ok(());
        }
        Err(format!(
            "centralisation {word} does not fit {silos} silos, {records} records and {holders} \
             attributes files"
        ))
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), Error> {
        let text = toml::to_string(self)
            .map_err(|error| Error::Job { path: path.to_path_buf(), message: error.to_string() })?;
        write_atomically(path, |file| {
            file.write_all(text.as_bytes()).map_err(|source| Error::io(path, source))
        })
    }

    pub(super) fn resolved(mut self, directory: &Path) -> Self {
        let lists = [&mut self.silos, &mut self.records, &mut self.attributes];
        let silos = self.sites.iter_mut().filter_map(|site| site.silo.as_mut());
        let paths = lists.into_iter().flatten().chain([&mut self.test]).chain(silos);
        for path in paths {
            *path = directory.join(&*path);
        }
        self
    }

    /// Whether the attributes of a silo lie beside its records: as the job says, or, where it says
    /// nothing, if there are as many attributes files as records files. What the files hold never
    /// decides it: it is about who sees what.
    pub fn together(&self) -> bool {
        match self.centralisation.as_deref() {
            _ if !self.silos.is_empty() => true,
            Some(word) => matches!(word, "one-silo" | "silos"),
            None => self.records.len() == self.attributes.len(),
        }
    }

    /// Reads every file, agrees on a schema by merging the silos' summaries, and encodes.
    ///
    /// Refuses files whose columns or labels differ, a record id in two files of a kind, and one that
    /// no attributes file holds.
    pub fn load(&self) -> Result<Loaded, Error> {
        self.check_kinds()?;
        let silos = self.load_silos()?;
        let test = self.load_test()?;
        let mut warnings = agree(silos.iter().chain([&test]))?;
        let (measures, mut summary) =
            (Measures::of(&Summary::of(&test, test.rows())), Summary::of(&test, &[]));
        let own: Vec<Summary> = silos.iter().map(|silo| Summary::of(silo, silo.rows())).collect();
        own.iter().try_for_each(|own| summary.merge(own))?;
        let measures = measures.counting(&own);
        measures.add_up(&own.iter().collect::<Vec<_>>(), &mut summary)?;
        let schema = Schema::from_summary(test.recipe(), &summary)?;
        let (attributes, mut reading) = self.load_attributes(&silos, &schema)?;
        let records = silos
            .iter()
            .map(|silo| Ok(encode(silo, silo.rows(), &schema)?.records))
            .collect::<Result<Vec<_>, Error>>()?;
        let ids = silos.iter().zip(&records);
        let ids = ids.map(|(silo, own)| (silo.table().origin(), own.ids().to_vec()));
        once(&ids.collect::<Vec<_>>())?;
        let largest = silos.iter().map(|silo| silo.largest_unit(silo.rows())).max();
        let (mut dropped, mut missing) = (0, BTreeMap::new());
        for data in silos.iter().chain([&test]) {
            dropped += data.dropped();
            for (name, count) in data.missing() {
                *missing.entry(name.clone()).or_default() += count;
            }
            let named = |said: String| format!("{}: {said}", data.table().origin());
            reading.extend(data.table().reading().sentences().into_iter().map(named));
            warnings.extend(data.table().reading().warnings().into_iter().map(named));
        }
        warnings.extend(schema.remarks());
        Ok(Loaded {
            schema,
            records,
            attributes,
            together: self.together(),
            test,
            largest_unit: largest.unwrap_or(0),
            dropped,
            missing,
            reading,
            warnings,
        })
    }

    /// The sealed classes of every attributes silo, read again: every run has its own.
    pub fn seal(&self, schema: &Schema) -> Result<Vec<Attributes>, Error> {
        Ok(self.load_attributes(&self.load_silos()?, schema)?.0)
    }

    /// Silos, with ids that name a record among all of them.
    fn load_silos(&self) -> Result<Vec<Dataset>, Error> {
        if self.silos.is_empty() {
            let mut recipe = self.recipe.clone();
            recipe.record_id.get_or_insert_with(|| RECORD_ID.to_owned());
            return self.records.iter().map(|path| load_records(path, &recipe)).collect();
        }
        let load = |path: &PathBuf| Dataset::new(self.recipe.read(path)?, self.recipe.clone());
        let mut silos = self.silos.iter().map(load).collect::<Result<Vec<Dataset>, Error>>()?;
        let has = |data: &&Dataset| data.recipe().record_id.is_some();
        let origin = |data: &Dataset| data.table().origin().to_owned();
        let with = silos.iter().find(has).map(origin);
        let without = silos.iter().find(|data| !has(data)).map(origin);
        if let (Some(with), Some(without)) = (&with, without) {
            return Err(FilesError::SomeIds { with: with.clone(), without }.into());
        }
        if with.is_none() {
            // Rows are counted on from file to file.
            let mut first = 0;
            for silo in &mut silos {
                silo.count_from(first);
                first += silo.table().rows() as u64;
            }
        }
        Ok(silos)
    }

    /// Held-out rows, which need no record id.
    pub fn load_test(&self) -> Result<Dataset, Error> {
        let table = self.recipe.read(&self.test)?;
        let mut recipe = self.recipe.clone();
        recipe.record_id = recipe.record_id.filter(|name| table.position(name).is_some());
        Dataset::new(table, recipe)
    }

    fn load_attributes(
        &self,
        silos: &[Dataset],
        schema: &Schema,
    ) -> Result<(Vec<Attributes>, Vec<String>), Error> {
        if !self.silos.is_empty() {
            let sealed = silos.iter().map(|silo| attributes(silo, silo.rows(), schema));
            return Ok((sealed.collect::<Result<_, _>>()?, Vec::new()));
        }
        let read = |path: &PathBuf| AttributesFile::read(path, &self.recipe, schema.classes());
        let files = self.attributes.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        if self.together() {
            return together(silos, files);
        }
        Ok((elsewhere(silos, files)?, Vec::new()))
    }

    /// A file that stands in the place of the other kind is told before anything else about it.
    fn check_kinds(&self) -> Result<(), Error> {
        let dialect = self.recipe.sealing(self.recipe.dialect.clone());
        let lacks = |path: &PathBuf, under, columns: &[&String]| -> Result<(), Error> {
            let names = read_names(path, &dialect)?;
            match columns.iter().find(|column| !names.contains(**column)) {
                Some(column) => Err(Error::from(FilesError::WrongKind {
                    file: path.display().to_string(),
                    under,
                    column: (**column).clone(),
                    columns: names,
                })),
                None => Ok(()),
            }
        };
        let sensitive: Vec<&String> = self.recipe.sensitive.iter().collect();
        for path in &self.records {
            lacks(path, "records", &[&self.recipe.label])?;
        }
        for path in &self.attributes {
            lacks(path, "attributes", &sensitive)?;
        }
        for path in &self.silos {
            lacks(path, "silos", &[&[&self.recipe.label], &sensitive[..]].concat())?;
        }
        Ok(())
    }
}

/// Reads a records file: features, label and record ids, but no sensitive column.
pub(super) fn load_records(path: &Path, recipe: &Recipe) -> Result<Dataset, Error> {
    Dataset::records_only(recipe.read(path)?, recipe.clone())
}
