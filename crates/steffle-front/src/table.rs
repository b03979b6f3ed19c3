//! Rows, and what their columns mean.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use steffle::randomness::{Purpose, stream};
use steffle_data::{Column, Dataset, Job, Parts, Recipe, Source, hold_out, split};

use crate::Error;
use crate::study::{Cut, Split, Study};

/// Rows whose columns have no meaning yet. A file is read when [`Table::with`] says which columns
/// are sensitive, so that nothing about their cells is ever told.
#[derive(Debug)]
pub struct Table(Rows);

#[derive(Debug)]
enum Rows {
    Source(Source),
    Columns(Box<steffle_data::Table>),
}

impl Table {
    /// The rows of a file (.csv, .tsv, .parquet); refuses one that is not there.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::find(&path.as_ref().to_string_lossy(), None)
    }

    /// A named data set (`adult`, `credit-card`, `retired-adult`) or a file. `path` is the file of a
    /// named data set that is not shipped.
    pub fn find(name: &str, path: Option<&Path>) -> Result<Self, Error> {
        let source = Source::parse(name, path)?;
        if let Source::File(path) = &source {
            fs::metadata(path).map_err(|error| Error::at(path, &error))?;
        }
        Ok(Self(Rows::Source(source)))
    }

    /// Columns that are in memory, by name; `origin` is what to call them.
    pub fn from_columns(origin: &str, columns: Vec<(String, Column)>) -> Result<Self, Error> {
        Ok(Self(Rows::Columns(Box::new(steffle_data::Table::new(origin, columns)?))))
    }

    /// What is known about the columns of a named data set, with these sensitive columns or, if there
    /// are none, its own; `None` for files.
    pub fn recipe(&self, sensitive: &[String]) -> Option<Recipe> {
        match &self.0 {
            Rows::Source(source) => source.recipe_for(sensitive),
            Rows::Columns(_) => None,
        }
    }

    /// Says what the columns mean, and reads them; refuses columns that are not there.
    pub fn with(self, recipe: Recipe) -> Result<Data, Error> {
        let key = self.key(&recipe);
        let table = match self.0 {
            Rows::Source(source) => source.read(&recipe)?,
            Rows::Columns(table) => *table,
        };
        Ok(Data { rows: Arc::new(Dataset::of_table(table, recipe)?), key })
    }

    /// What tells it from other tables of one program; nothing for rows that are in memory.
    pub(crate) fn key(&self, recipe: &Recipe) -> Option<String> {
        match &self.0 {
            Rows::Source(source) => Some(format!("{source:?} {recipe:?}")),
            Rows::Columns(_) => None,
        }
    }
}

/// A table whose columns have a meaning.
///
/// The next step is to split its rows.
#[derive(Clone)]
pub struct Data {
    pub(crate) rows: Arc<Dataset>,
    pub(crate) key: Option<String>,
}

impl Data {
    /// Splits the rows 3:1 into training and test rows at random, or, with a test file, keeps all of
    /// them for training; refuses too few rows.
    pub fn split(&self, by: Split) -> Result<Parted, Error> {
        let random = &mut stream(by.seed, 0, Purpose::Split, 0);
        let rows = if by.test.is_none() {
            split(&self.rows, by.validation, random)?
        } else {
            let (train, validation) =
                hold_out(&self.rows, self.rows.rows(), by.validation, random)?;
            steffle_data::Split { train, validation, test: Vec::new() }
        };
        Ok(Parted { data: self.clone(), by, rows })
    }

    /// Trains on all usable rows: whoever calls has other rows to test on.
    pub fn whole(&self, seed: u64) -> Parted {
        let rows = steffle_data::Split {
            train: self.rows.rows().to_vec(),
            validation: Vec::new(),
            test: Vec::new(),
        };
        Parted { data: self.clone(), by: Split { seed, ..Split::default() }, rows }
    }

    /// Rows that were left out for missing values.
    pub fn dropped(&self) -> usize {
        self.rows.dropped()
    }

    /// Columns that were left out and levels that were pooled, one sentence each.
    pub fn left_out(&self) -> Vec<String> {
        [self.rows.left_out(), self.rows.pooled()].concat()
    }

    /// What the columns mean.
    pub fn recipe(&self) -> &Recipe {
        self.rows.recipe()
    }
}

/// Rows that are split.
///
/// The next step is to cut the training rows into silos.
#[derive(Clone)]
pub struct Parted {
    pub(crate) data: Data,
    pub(crate) by: Split,
    pub(crate) rows: steffle_data::Split,
}

impl Parted {
    /// Cuts the training rows into silos and writes everybody's files, with a `job.toml` that names
    /// them, into a directory. Refuses rows whose test file is another one: it stays where it is.
    pub fn write(&self, directory: &Path, parts: &Parts) -> Result<Job, Error> {
        if self.by.test.is_some() {
            let message = "the files of a job have test rows of the same table";
            return Err(Error::conflict("test", message));
        }
        let random = &mut stream(self.by.seed, 0, Purpose::Partition, 0);
        let Self { data, rows, .. } = self;
        Ok(parts.write(directory, &data.rows, &rows.train, &rows.test, random)?)
    }

    /// Training and test rows.
    pub fn sizes(&self) -> (usize, usize) {
        (self.rows.train.len(), self.rows.test.len())
    }

    /// Cuts the training rows into silos, which agree on a schema; refuses more silos than rows.
    pub fn silos(&self, cut: impl Into<Cut>) -> Result<Study, Error> {
        Study::cut(self, cut.into())
    }

    /// Puts every row of the table into the silo of its number, counted from 0; refuses another number
    /// of rows than the table has, and silos that nobody is in.
    pub fn silos_as(&self, silo_of: &[u32]) -> Result<Study, Error> {
        Study::cut_as(self, silo_of)
    }
}
