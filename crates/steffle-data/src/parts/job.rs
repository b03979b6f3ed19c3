//! The description of a run whose data lie in several files.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use steffle_site::record::{Attributes, Records};

use crate::Error;
use crate::dataset::Dataset;
use crate::recipe::Recipe;
use crate::schema::{Schema, Summary, attributes, encode, load_attributes};
use crate::table::write_atomically;

/// The version of the file format.
const VERSION: u32 = 1;

/// Which files a run is made of, and what their columns mean: the contents of `job.toml`.
///
/// Either `silos` names one file per silo, or `records` and `attributes` name the files of the
/// two kinds of division. Paths are relative to the file that names them.
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
    /// Held-out rows, with everything.
    pub test: PathBuf,
    /// What the columns mean.
    pub recipe: Recipe,
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
            test: PathBuf::new(),
            recipe,
        }
    }

    /// Reads `job.toml`; refuses unknown keys, other versions and impossible sets of files.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let refuse = |message: String| Error::Job { path: path.to_path_buf(), message };
        let text = std::fs::read_to_string(path).map_err(|source| Error::io(path, source))?;
        let job: Self = toml::from_str(&text).map_err(|error| refuse(error.to_string()))?;
        if job.version != VERSION {
            return Err(refuse(format!(
                "version {} of the job format; this program reads version {VERSION}",
                job.version
            )));
        }
        let whole = !job.silos.is_empty();
        let divided = !job.records.is_empty() && !job.attributes.is_empty();
        let any_divided = !job.records.is_empty() || !job.attributes.is_empty();
        if whole == any_divided || (any_divided && !divided) {
            return Err(refuse(
                "name either `silos`, or both `records` and `attributes`".to_owned(),
            ));
        }
        Ok(job.resolved(path.parent().unwrap_or(Path::new(""))))
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
        let paths = lists.into_iter().flatten().chain([&mut self.test]);
        for path in paths {
            *path = directory.join(&*path);
        }
        self
    }

    /// Reads every file, agrees on a schema by merging the silos' summaries, and encodes.
    ///
    /// Refuses a record id in two records files, and one that no attributes file holds.
    pub fn load(&self) -> Result<Loaded, Error> {
        let whole = !self.silos.is_empty();
        let files = if whole { &self.silos } else { &self.records };
        let silos = files
            .iter()
            .map(
                |path| if whole { self.load_whole(path) } else { load_records(path, &self.recipe) },
            )
            .collect::<Result<Vec<_>, _>>()?;
        let test = self.load_whole(&self.test)?;
        let mut summary = Summary::of(&test, &[]);
        for silo in &silos {
            summary.merge(&Summary::of(silo, silo.rows()))?;
        }
        let schema = Schema::from_summary(test.recipe(), &summary)?;
        let attributes = if whole {
            silos
                .iter()
                .map(|silo| attributes(silo, silo.rows(), &schema))
                .collect::<Result<_, _>>()?
        } else {
            self.seal(&schema)?
        };
        let records = silos
            .iter()
            .map(|silo| Ok(encode(silo, silo.rows(), &schema)?.records))
            .collect::<Result<Vec<_>, Error>>()?;
        self.check_ids(&records, &attributes)?;
        let largest = silos.iter().map(|silo| silo.largest_unit(silo.rows())).max();
        let (mut dropped, mut missing) = (0, BTreeMap::new());
        let (mut reading, mut warnings) = (Vec::new(), Vec::new());
        for data in silos.iter().chain([&test]) {
            dropped += data.dropped();
            for (name, count) in data.missing() {
                *missing.entry(name.clone()).or_default() += count;
            }
            let named = |said: String| format!("{}: {said}", data.table().origin());
            reading.extend(data.table().reading().sentences().into_iter().map(named));
            warnings.extend(data.table().reading().warnings().into_iter().map(named));
        }
        let largest_unit = largest.unwrap_or(0);
        Ok(Loaded {
            schema,
            records,
            attributes,
            test,
            largest_unit,
            dropped,
            missing,
            reading,
            warnings,
        })
    }

    /// The sealed classes of every attributes silo, read again: every run has its own.
    pub fn seal(&self, schema: &Schema) -> Result<Vec<Attributes>, Error> {
        let whole = self.silos.iter().map(|path| {
            let silo = self.load_whole(path)?;
            attributes(&silo, silo.rows(), schema)
        });
        let load = |path: &PathBuf| load_attributes(path, &self.recipe, schema.classes());
        whole.chain(self.attributes.iter().map(load)).collect()
    }

    fn load_whole(&self, path: &Path) -> Result<Dataset, Error> {
        Dataset::new(self.recipe.read(path)?, self.recipe.clone())
    }

    /// The index of record ids is universal: every id is in one records file and one attributes
    /// file. Attributes of records that nobody has are no error.
    fn check_ids(&self, records: &[Records], attributes: &[Attributes]) -> Result<(), Error> {
        let column = self.recipe.record_id.clone().unwrap_or_else(|| "record_id".to_owned());
        let refuse = |row: usize, problem| {
            Err(Error::Id { row: row as u64 + 1, column: column.clone(), problem })
        };
        let mut known = HashSet::new();
        for (row, id) in attributes.iter().flat_map(|silo| silo.ids().iter().enumerate()) {
            if !known.insert(*id) {
                return refuse(row, "two attributes files hold this record id");
            }
        }
        for (row, id) in records.iter().flat_map(|silo| silo.ids().iter().enumerate()) {
            if !known.remove(id) {
                return refuse(
                    row,
                    "no attributes file, or a second records file, holds this record id",
                );
            }
        }
        Ok(())
    }
}

/// Reads a records file: features, label and record ids, but no sensitive column.
pub fn load_records(path: &Path, recipe: &Recipe) -> Result<Dataset, Error> {
    Dataset::records_only(recipe.read(path)?, recipe.clone())
}
