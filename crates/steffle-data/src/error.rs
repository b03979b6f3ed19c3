//! What can be wrong with data, said so that it can be put right.

mod cell;
mod code;
mod names;
mod site;
mod words;

use std::path::PathBuf;

use steffle_attributes::AttributesError;
use steffle_model::record::{RecordsError, RowsError};

pub use cell::CellError;
pub use names::NameError;
pub use site::SiteError;
pub(crate) use words::{list, meant};

/// Why data were refused. No message holds the sensitive value of a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name is neither a known data set nor a file.
    #[error(
        "no data set or file is called `{name}`; known data sets are {}, files end in .csv, .tsv \
         (or these and .gz or .zst) or .parquet",
        list(known)
    )]
    UnknownDataSet {
        /// The name given.
        name: String,
        /// Names of the data sets that exist.
        known: Vec<String>,
    },
    /// The data set is not shipped and the user gave no file.
    #[error("data set `{name}` is not shipped: give its file with <path> ({advice})")]
    PathNeeded {
        /// The data set.
        name: String,
        /// Where the file can be had.
        advice: &'static str,
    },
    /// The file does not exist.
    #[error("{}: no such file", path.display())]
    NotFound {
        /// The path given.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path concerned.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file name does not say what is in the file.
    #[error(
        "{}: unknown kind of file; names must end in .csv, .tsv (or these and .gz or .zst), \
         .parquet or .pq; a file of any other name is read if it is text",
        path.display()
    )]
    Extension {
        /// The path given.
        path: PathBuf,
    },
    /// A directory that should not exist yet does.
    #[error("{}: exists already and is not empty; choose another directory or remove it", path.display())]
    Occupied {
        /// The directory.
        path: PathBuf,
    },
    /// A CSV file without a header line.
    #[error("{origin}: line 1: the file is empty; a header line with column names is needed")]
    EmptyCsv {
        /// The file.
        origin: String,
    },
    /// A line of a CSV file with too few or too many cells.
    #[error(
        "{origin}: line {line}: {found} cells where the header has {expected}{}",
        if *expected == 1 {
            "; is line 1 a title above the header (delete it), or is the delimiter another one \
             (<delimiter>)?"
        } else {
            ""
        }
    )]
    Ragged {
        /// The file.
        origin: String,
        /// The line, counted from 1.
        line: u64,
        /// Cells in the header.
        expected: u64,
        /// Cells in the line.
        found: u64,
    },
    /// A CSV file that cannot be read for another reason.
    #[error("{origin}: line {line}: {message}")]
    Csv {
        /// The file.
        origin: String,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong.
        message: String,
    },
    /// A cell, or a column of cells, that cannot be read as what it should be.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// A file that is not Parquet, is truncated or uses something unsupported.
    #[error("{origin}: not a readable Parquet file: {message}")]
    Parquet {
        /// The file.
        origin: String,
        /// What the Parquet reader said.
        message: String,
    },
    /// A job description that cannot be read.
    #[error("{}: {message}", path.display())]
    Job {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line.
        message: String,
    },
    /// What a site says of itself, or its ids.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// A column type that has no meaning here.
    #[error(
        "{origin}: column `{column}` has type {found}; allowed are flat columns of booleans, \
         integers, floats, decimals and strings: convert the column or leave it out of the file"
    )]
    ColumnType {
        /// The file.
        origin: String,
        /// The column.
        column: String,
        /// Its type.
        found: String,
    },
    /// A column without a name.
    #[error("{origin}: column {position} has no name (pandas: write with index=False)")]
    UnnamedColumn {
        /// The file.
        origin: String,
        /// Which column, counted from 1.
        position: usize,
    },
    /// The same column name twice.
    #[error("{origin}: column name `{column}` stands twice; names must differ")]
    RepeatedColumn {
        /// The file.
        origin: String,
        /// The name.
        column: String,
    },
    /// A column that the table does not have.
    #[error(
        "{origin}: no column `{column}` (named as {role}){}; the columns are {}",
        meant(column, known),
        list(known)
    )]
    UnknownColumn {
        /// The file.
        origin: String,
        /// The name given.
        column: String,
        /// What it was named as.
        role: &'static str,
        /// The columns there are.
        known: Vec<String>,
    },
    /// One column in two roles that exclude each other.
    #[error("column `{column}` cannot be both {first} and {second}")]
    TwoRoles {
        /// The column.
        column: String,
        /// One role.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// Fewer sensitive columns than one.
    #[error("no sensitive column is named; name at least one (<sensitive COLUMN>)")]
    NoSensitive,
    /// No column is left to predict from.
    #[error(
        "no feature column is left after taking out the label, sensitive, id and dropped columns"
    )]
    NoFeatures,
    /// Every row was left out.
    #[error(
        "{origin}: no rows left: {rows} rows read, {dropped} of them incomplete (missing values: {}); \
         keep them with <missing impute>, or leave out the columns that are mostly missing (<drop>)",
        list(columns)
    )]
    NoRows {
        /// The file.
        origin: String,
        /// Rows in the file.
        rows: usize,
        /// Rows left out.
        dropped: usize,
        /// The columns with missing values and how many.
        columns: Vec<String>,
    },
    /// Too few rows to train on some and test on others.
    #[error(
        "{origin}: {rows} usable rows cannot be split into training and test rows; \
         at least 2 rows (of 2 units) are needed"
    )]
    TooFewRows {
        /// The file.
        origin: String,
        /// Usable rows.
        rows: usize,
    },
    /// A label or sensitive column with a single class.
    #[error(
        "{role} column `{column}` has only the class(es) {}; at least 2 are needed",
        list(found)
    )]
    TooFewClasses {
        /// Label or sensitive.
        role: &'static str,
        /// The column.
        column: String,
        /// The classes found.
        found: Vec<String>,
    },
    /// A column with more classes than make sense.
    #[error(
        "{role} column `{column}` has {found} different values, at most {limit} are allowed; \
         cut a number into classes, or drop a column of names or ids"
    )]
    TooManyClasses {
        /// The role of the column.
        role: &'static str,
        /// The column.
        column: String,
        /// Classes found.
        found: usize,
        /// Classes allowed.
        limit: usize,
    },
    /// Classes that a run which claims privacy would have to read off the data.
    #[error(
        "the classes of `{column}` are not declared; a run that claims privacy must not read them \
         off the data, because which values occur is a fact about the people in it"
    )]
    Undeclared {
        /// The sensitive column or columns.
        column: String,
    },
    /// Declared classes that cannot be used.
    #[error("the classes declared for `{column}`, {}, are refused: {problem}", list(declared))]
    Classes {
        /// The sensitive column or columns.
        column: String,
        /// The names given.
        declared: Vec<String>,
        /// What is wrong with them.
        problem: String,
    },
    /// The favourable label is not a label.
    #[error(
        "favourable label `{given}` is not a value of `{column}`; its values are {}",
        list(classes)
    )]
    Favourable {
        /// The label given.
        given: String,
        /// The label column.
        column: String,
        /// The labels there are.
        classes: Vec<String>,
    },
    /// A threshold on a column that holds text.
    #[error("column `{column}` must hold numbers to be cut at the threshold {threshold}")]
    Threshold {
        /// The column.
        column: String,
        /// The threshold.
        threshold: f64,
    },
    /// A public value that was not agreed on: a label or a stratum. A sensitive one never is an
    /// error, it counts as missing.
    #[error("{origin}: row {row}: the value of `{column}` is not among the agreed {}", list(known))]
    Unagreed {
        /// The file.
        origin: String,
        /// The row, counted from 1.
        row: u64,
        /// The column.
        column: String,
        /// The agreed names.
        known: Vec<String>,
    },
    /// Labels that are not among the agreed ones.
    #[error(
        "{origin}: {rows} rows have a label in `{column}` that is not among the agreed {}: {}{}; \
         correct the file, or agree on it (<labels>)",
        list(known),
        list(found),
        found.first().map(|first| meant(first, known)).unwrap_or_default()
    )]
    Labels {
        /// The file.
        origin: String,
        /// The label column.
        column: String,
        /// How many rows have such a label.
        rows: usize,
        /// The labels found that nobody agreed on.
        found: Vec<String>,
        /// The agreed ones.
        known: Vec<String>,
    },
    /// Labels that are probably meant to be one.
    #[error(
        "{origin}: the labels `{}` and `{}` of `{column}` differ in case or spaces only; make them one, \
         or insist by naming all labels (<labels>)",
        names[0],
        names[1]
    )]
    Lookalikes {
        /// The file.
        origin: String,
        /// The label column.
        column: String,
        /// Two of them.
        names: [String; 2],
    },
    /// Two silos disagree about a column.
    #[error(
        "the silos disagree about column `{column}`: {problem}; \
         make the files agree, or name it in <categorical> or <drop> for every silo"
    )]
    Disagreement {
        /// The column.
        column: String,
        /// How they differ.
        problem: &'static str,
    },
    /// A record id or unit that cannot be used.
    #[error("{origin}: row {row}, column `{column}`: {problem}")]
    Id {
        /// The file.
        origin: String,
        /// The row, counted from 1.
        row: u64,
        /// The column.
        column: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// Record ids that stand more than once in one file.
    #[error(
        "{origin}: {ids} record ids in `{column}` stand more than once, first in row {row}; an id \
         names one record"
    )]
    RepeatedIds {
        /// The file.
        origin: String,
        /// The column.
        column: String,
        /// How many different ids.
        ids: usize,
        /// The first row, counted from 1, whose id stood before.
        row: u64,
    },
    /// Files of a job that do not fit together.
    #[error(transparent)]
    Files(Box<crate::parts::FilesError>),
    /// A column in a role that it must not have.
    #[error(transparent)]
    Name(#[from] NameError),
    /// An impossible number of silos.
    #[error("{silos} silos for {rows} {what}; allowed are 1 to {rows}")]
    Silos {
        /// Silos asked for.
        silos: usize,
        /// What is to be divided.
        rows: usize,
        /// Rows or units.
        what: &'static str,
    },
    /// A heterogeneity outside [0, 1].
    #[error("heterogeneity {given} is outside [0, 1]")]
    Heterogeneity {
        /// The value given.
        given: f64,
    },
    /// Heterogeneity without a column to order by.
    #[error("heterogeneity {given} needs a column to sort by; name one (<partition-by COLUMN>)")]
    NoPartitionColumn {
        /// The value given.
        given: f64,
    },
    /// A fraction outside [0, 1).
    #[error("fraction {given} is outside [0, 1)")]
    Fraction {
        /// The value given.
        given: f64,
    },
    /// A schema that contradicts itself.
    #[error("the schema is damaged: {0}")]
    Schema(String),
    /// Encoded rows were refused.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// Records were refused.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// Attributes were refused.
    #[error(transparent)]
    Attributes(#[from] AttributesError),
}

impl Error {
    /// An operating-system error at a path; a missing file has its own variant.
    pub(crate) fn io(path: &std::path::Path, source: std::io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            std::io::ErrorKind::NotFound => Self::NotFound { path },
            _ => Self::Io { path, source },
        }
    }
}

impl From<crate::parts::FilesError> for Error {
    fn from(problem: crate::parts::FilesError) -> Self {
        Self::Files(Box::new(problem))
    }
}
