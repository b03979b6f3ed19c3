//! Data handed out as files, one or two per silo, and read back from them.

mod agree;
mod declared;
mod error;
mod job;
mod lead;
mod names;
mod pairing;
mod people;
mod silo;
mod site;
mod site_masks;
mod testing;

use std::fs;
use std::path::{Path, PathBuf};

use rand::Rng;

use crate::Error;
use crate::dataset::Dataset;
use crate::partition::{partition, partition_at_random};
use crate::recipe::Recipe;
use crate::schema::{Schema, Summary};
use crate::table::{Column, Dialect, temporary_beside, write};

pub use declared::Declared;
pub use error::FilesError;
#[cfg(test)]
use job::load_records;
pub use job::{Absent, Job, Levels, Loaded, Member};
pub use lead::{Lead, is_name};
pub use names::{NamedColumn, Used};
pub use silo::{Holds, Silo, SitePolicy, Unmatched as UnmatchedIds};
pub use site::{Looked, Site};
pub use site_masks::SiteMasks;
pub(crate) use testing::record_id;
pub use testing::{TestFiles, Tested};

/// The column that ties the two files of a record together.
pub(crate) const RECORD_ID: &str = "record_id";

/// Who gets what: the four centralisations as files.
///
/// An organisation gets the files that are its own and no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// One file per silo with everything in it.
    Whole {
        /// How many silos.
        silos: usize,
    },
    /// Two files per silo: records without s, attributes without x and y.
    Divided {
        /// How many silos.
        silos: usize,
    },
    /// Records in some silos, attributes in others, cut independently: one attributes silo is a
    /// central holder.
    Crossed {
        /// How many records silos.
        records: usize,
        /// How many attributes silos.
        attributes: usize,
    },
}

/// The format of the files.
///
/// The parts of a job are written in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated text.
    Csv,
    /// Parquet.
    Parquet,
}

/// How to hand data out.
///
/// ```no_run
/// use rand::SeedableRng;
/// use steffle_data::{Cut, Dataset, Format, Job, Parts, Source, split};
/// let source = Source::parse("adult", None)?;
/// let recipe = source.recipe().expect("a named data set has one");
/// let data = Dataset::new(source.read(&recipe)?, recipe)?;
/// let mut rng = rand::rngs::ChaCha20Rng::seed_from_u64(1);
/// let rows = split(&data, 0.0, &mut rng)?;
/// let parts = Parts {
///     cut: Cut::Crossed { records: 3, attributes: 2 },
///     heterogeneity: 0.75,
///     format: Format::Csv,
/// };
/// parts.write("banks-and-census".as_ref(), &data, &rows.train, &rows.test, &mut rng)?;
/// let loaded = Job::read("banks-and-census/job.toml".as_ref())?.load()?;
/// assert_eq!((loaded.records.len(), loaded.attributes.len()), (3, 2));
/// # Ok::<(), steffle_data::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parts {
    /// Who gets what.
    pub cut: Cut,
    /// h of Algorithm 3, for the records; independent attributes silos are cut at random.
    pub heterogeneity: f64,
    /// The format of the files.
    pub format: Format,
}

impl Parts {
    /// Writes the files of every silo, the test rows and `job.toml` into a new directory.
    ///
    /// The directory appears only when everything in it is complete; one that exists and is not
    /// empty is refused.
    pub fn write(
        &self,
        directory: &Path,
        data: &Dataset,
        train: &[u32],
        test: &[u32],
        rng: &mut impl Rng,
    ) -> Result<Job, Error> {
        let occupied = fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some());
        if occupied || directory.is_file() {
            return Err(Error::Occupied { path: directory.to_path_buf() });
        }
        let stage = Stage::beside(directory)?;
        let schema = Schema::from_summary(data.recipe(), &Summary::of(data, train))?;
        let ids = Column::Numbers(data.table().row_numbers().map(|id| id as f64).collect());
        let (extension, sealed) = (self.format.extension(), data.kept_columns());
        let writer = Writer { stage: &stage.0, extension, data, ids: &ids, sealed };
        let mut job = Job::new(writer.recipe(&schema));
        match self.cut {
            Cut::Whole { silos } => {
                let rows = partition(data, train, silos, self.heterogeneity, rng)?;
                job.silos = writer.files("silo", &rows, Contents::Whole)?;
            }
            Cut::Divided { silos } => {
                let rows = partition(data, train, silos, self.heterogeneity, rng)?;
                job.records = writer.files("records", &rows, Contents::Records)?;
                job.attributes = writer.files("attributes", &rows, Contents::Attributes)?;
            }
            Cut::Crossed { records, attributes } => {
                let rows = partition(data, train, records, self.heterogeneity, rng)?;
                job.records = writer.files("records", &rows, Contents::Records)?;
                let rows = partition_at_random(data, train, attributes, rng)?;
                job.attributes = writer.files("attributes", &rows, Contents::Attributes)?;
            }
        }
        job.centralisation = Some(match self.cut {
            Cut::Whole { silos: 1 } | Cut::Divided { silos: 1 } => "one-silo".to_owned(),
            Cut::Whole { .. } | Cut::Divided { .. } => "silos".to_owned(),
            Cut::Crossed { attributes: 1, .. } => "central-attributes".to_owned(),
            Cut::Crossed { attributes, .. } => format!("general:{attributes}"),
        });
        job.test = writer.file("test", test, Contents::Whole)?;
        job.write(&stage.0.join("job.toml"))?;
        stage.publish(directory)?;
        Ok(job.resolved(directory))
    }
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }
}

/// Which columns a file gets.
#[derive(Clone, Copy, PartialEq)]
enum Contents {
    Whole,
    Records,
    Attributes,
}

struct Writer<'w> {
    stage: &'w Path,
    extension: &'static str,
    data: &'w Dataset,
    ids: &'w Column,
    /// The sensitive columns and where they stood, for the files of those who hold them.
    sealed: Vec<(String, usize, Column)>,
}

impl Writer<'_> {
    fn files(
        &self,
        stem: &str,
        parts: &[Vec<u32>],
        contents: Contents,
    ) -> Result<Vec<PathBuf>, Error> {
        let number = |at: usize| format!("{stem}-{}", at + 1);
        parts.iter().enumerate().map(|(at, rows)| self.file(&number(at), rows, contents)).collect()
    }

    fn file(&self, stem: &str, rows: &[u32], contents: Contents) -> Result<PathBuf, Error> {
        let name = PathBuf::from(format!("{stem}.{}", self.extension));
        let table = self.data.table();
        let mut named: Vec<(&str, &Column)> =
            table.names().iter().map(String::as_str).zip(table.columns()).collect();
        for (name, place, column) in &self.sealed {
            named.insert((*place).min(named.len()), (name, column));
        }
        let wanted = named.into_iter().filter(|(name, _)| self.belongs(name, contents));
        let columns: Vec<(&str, &Column)> = match self.data.recipe().record_id {
            Some(_) => wanted.collect(),
            None => [(RECORD_ID, self.ids)].into_iter().chain(wanted).collect(),
        };
        write(&self.stage.join(&name), &columns, rows)?;
        Ok(name)
    }

    fn belongs(&self, name: &str, contents: Contents) -> bool {
        let recipe = self.data.recipe();
        if recipe.record_id.as_deref() == Some(name) {
            return true;
        }
        let sensitive = recipe.sensitive.iter().any(|known| known == name);
        match contents {
            Contents::Attributes => sensitive,
            Contents::Records => !sensitive && self.is_used(name),
            Contents::Whole => sensitive || self.is_used(name),
        }
    }

    /// Whether training needs the column: it is not dropped, or has another role.
    fn is_used(&self, name: &str) -> bool {
        let recipe = self.data.recipe();
        let roles = [&recipe.stratum, &recipe.unit];
        !recipe.drop.iter().any(|dropped| dropped == name)
            || roles.iter().any(|role| role.as_deref() == Some(name))
    }

    /// The recipe for the files: values have their names already, and names are agreed.
    fn recipe(&self, schema: &Schema) -> Recipe {
        let mut recipe = self.data.recipe().clone();
        recipe.favourable = Some(schema.labels()[usize::from(schema.favourable())].clone());
        recipe.classes = schema.classes().to_vec();
        recipe.labels = schema.labels().to_vec();
        (recipe.published, recipe.rare) = (false, None);
        recipe.record_id.get_or_insert_with(|| RECORD_ID.to_owned());
        recipe.threshold = None;
        recipe.merges.clear();
        recipe.keep.clear();
        recipe.dialect =
            Dialect { missing_markers: recipe.dialect.missing_markers, ..Dialect::default() };
        recipe.drop.retain(|name| self.is_used(name));
        // Silos that were cut by s tell s: a private run on these files has to know and refuse.
        recipe.partition_by = recipe.partition_by.filter(|by| recipe.sensitive.contains(by));
        recipe
    }
}

/// A directory under construction; it disappears unless it is published.
struct Stage(PathBuf);

impl Stage {
    fn beside(directory: &Path) -> Result<Self, Error> {
        let stage = temporary_beside(directory);
        fs::create_dir_all(&stage).map_err(|source| Error::io(&stage, source))?;
        Ok(Self(stage))
    }

    fn publish(self, directory: &Path) -> Result<(), Error> {
        // An empty directory may be in the way; one with something in it is not removed.
        let _ = fs::remove_dir(directory);
        fs::rename(&self.0, directory).map_err(|source| Error::io(directory, source))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // After publishing there is nothing left to remove.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests;
