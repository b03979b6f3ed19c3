//! What was typed about data: shared by `train`, `data describe` and `data partition`.

use std::path::PathBuf;

use clap::Subcommand;
use serde::{Deserialize, Serialize};
use steffle_front::Value;

use super::super::config::{Layer, overlay};

/// Work with data.
#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// List the data sets that have a name
    #[command(after_help = "Example:\n  steffle data list --json")]
    List,
    Describe(DescribeArgs),
    Partition(PartitionArgs),
    Pseudonymise(PseudonymiseArgs),
}

/// Replace record ids by keyed pseudonyms, so that organisations match records without showing ids
///
/// Whoever has the same key gets the same pseudonym for the same id (HMAC-SHA-256, 128 bits in
/// hexadecimal digits; spaces around an id are cut off). Everything else in the file stays as it is.
/// The key is for the organisations whose records are matched, and for nobody else.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  head -c 32 /dev/urandom | base64 > ids.key
  steffle data pseudonymise patients.csv --key ids.key --output patients-p.csv")]
pub(crate) struct PseudonymiseArgs {
    /// A table with record ids (.csv, .tsv)
    pub(crate) file: PathBuf,
    /// The file of the key: at least 16 bytes, at random
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// The column of record ids
    #[arg(long, value_name = "COLUMN", default_value = "record_id")]
    pub(crate) column: String,
    /// Where to write; the file appears when it is complete
    #[arg(long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// Count rows, missing values, classes, and label rates per group
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle data describe adult
  steffle data describe hiring.csv --label hired --sensitive gender --sensitive race")]
pub(crate) struct DescribeArgs {
    /// A data set's name or a file (.csv, .tsv, also with .gz or .zst, .parquet)
    #[arg(value_name = "NAME|FILE")]
    pub(crate) data: String,
    #[command(flatten)]
    pub(crate) meaning: DataArgs,
}

/// Cut data into silos (Algorithm 3 of the paper) and write one set of files per silo
///
/// Takes a quarter of the rows as a test file and writes, per silo, one file; or with `--split` a
/// records file without the sensitive columns and an attributes file with nothing else, keyed by
/// record id. `job.toml` names the files and what their columns mean; `train --data` takes it.
/// The directory appears when it is complete.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle data partition adult --silos 3 --heterogeneity 0.75 --out silos
  steffle train --data silos/job.toml
  steffle data partition adult --split --holders 1 --out banks-and-census")]
pub(crate) struct PartitionArgs {
    /// A data set's name or a file (.csv, .tsv, also with .gz or .zst, .parquet)
    #[arg(value_name = "NAME|FILE")]
    pub(crate) data: String,
    #[command(flatten)]
    pub(crate) meaning: DataArgs,
    #[command(flatten)]
    pub(crate) cut: CutArgs,
    /// Write records and attributes apart
    #[arg(long)]
    pub(crate) split: bool,
    /// Attributes holders with a cut of their own; implies --split [default: the silos]
    #[arg(long, value_name = "N")]
    pub(crate) holders: Option<usize>,
    /// Kind of the files to write
    #[arg(long, value_name = "KIND", default_value = "csv", value_parser = ["csv", "parquet"])]
    pub(crate) format: String,
    /// The directory to create
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

/// What the columns mean.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Data")]
pub(crate) struct DataArgs {
    /// The file of a named data set that is not shipped (retired-adult, bank-marketing)
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<PathBuf>,
    /// The column to predict
    #[arg(long, value_name = "COLUMN")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    /// A sensitive column; several (repeat the flag) form their product
    #[arg(long, value_name = "COLUMN")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) sensitive: Vec<String>,
    /// The classes of the sensitive attribute, separated by commas (or repeat the flag); of several
    /// columns as `Female x White`. Runs that claim privacy need them, so that nothing public is read
    /// off sensitive values; a value that is not among them counts as missing [default: known for
    /// named data sets and jobs, else those that occur]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) classes: Vec<String>,
    /// The labels, separated by commas (or repeat the flag); a row with another one is refused
    /// [default: known for jobs, else those that occur]
    #[arg(long, value_name = "LABEL,...", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) labels: Vec<String>,
    /// The label people want to get [default: the better one of a well-known pair such as good and
    /// bad, else the last one in order, with a warning]
    #[arg(long, value_name = "LABEL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) favourable: Option<String>,
    /// Columns that are not features, separated by commas (or repeat the flag)
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) drop: Vec<String>,
    /// Columns of text that are features although nearly every row has another value, separated by
    /// commas (or repeat the flag); others like them are left out
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) keep: Vec<String>,
    /// Levels of a column of text that fewer rows than this have become one, (other); 0: none do
    /// [default: 10, or one row in 200 where that is fewer; 0 for named data sets]
    #[arg(long, value_name = "ROWS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rare: Option<u32>,
    /// With --notion conditional:COLUMN: values that fewer training rows than this have are one cell,
    /// (other), or in none where they are too few together; 0: every value is a cell [default: 100,
    /// or one row in 100 where that is fewer]
    #[arg(long, value_name = "ROWS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) smallest_stratum: Option<u32>,
    /// Columns of categories that look like numbers, separated by commas (or repeat the flag)
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) categorical: Vec<String>,
    /// Rows with a missing label or feature: leave them out (drop), make missing a category and count
    /// a missing number as the mean (category), or also give such numbers a feature that says so
    /// (impute); a missing sensitive value never drops a row [default: drop]
    #[arg(long, value_name = "HOW", value_parser = ["drop", "category", "impute"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) missing: Option<String>,
    /// The column that names the person a row is about [default: every row is a person]
    #[arg(long, value_name = "COLUMN")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unit: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) text: TextArgs,
}

/// How a text file is written, where looking at it does not tell.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Text files")]
pub(crate) struct TextArgs {
    /// What stands between cells: comma, semicolon, tab, pipe, space or the mark itself; any name of
    /// a file is then read as text [default: found in the first lines]
    #[arg(long, value_name = "MARK")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delimiter: Option<String>,
    /// How characters are written: utf-8 or latin-1 [default: utf-8]
    #[arg(long, value_name = "NAME", value_parser = ["utf-8", "latin-1"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) encoding: Option<String>,
    /// The column names of a file without a header line, separated by commas
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) columns: Vec<String>,
    /// What 1,234 and 1.234 mean in columns where both readings are possible: point or comma
    /// [default: such columns are text]
    #[arg(long, value_name = "MARK", value_parser = ["point", "comma"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) decimal: Option<String>,
    /// What 3/4/2020 means in columns where both readings are possible: day-first or month-first
    /// [default: such columns are text]
    #[arg(long, value_name = "ORDER", value_parser = ["day-first", "month-first"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dates: Option<String>,
    /// The spellings of a missing value besides the empty cell, separated by commas [default:
    /// ?,NA,N/A,n/a,#N/A,NULL,null,-]
    #[arg(long, value_name = "WORD,...", value_delimiter = ',', allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) missing_markers: Vec<String>,
}

impl Layer for TextArgs {
    fn over(self, below: Self) -> Self {
        overlay!(self, below; delimiter, encoding, columns, decimal, dates, missing_markers)
    }
}

/// How rows are cut into silos.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Silos")]
pub(crate) struct CutArgs {
    /// Number of silos [default: 3; train takes a table of yours as 1]
    #[arg(long, value_name = "N")]
    pub(crate) silos: Option<usize>,
    /// From 0 (silos alike) to 1 (sorted by --partition-by) [default: 0]
    #[arg(long, value_name = "H", allow_negative_numbers = true)]
    pub(crate) heterogeneity: Option<f64>,
    /// The column that makes silos differ [default: age for the named data sets]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) partition_by: Option<String>,
    /// Seed of the split, the silos, the batches and simulated noise [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

impl DataArgs {
    /// These settings, and `below` where these say nothing.
    pub(crate) fn over(self, mut below: Self) -> Self {
        // Classes and labels are those of certain columns: other columns overrule both.
        if self.label.is_some() && self.label != below.label {
            below.labels.clear();
        }
        if !self.sensitive.is_empty() && self.sensitive != below.sensitive {
            below.classes.clear();
        }
        overlay!(
            self, below;
            path, label, labels, sensitive, classes, favourable, drop, keep, rare, smallest_stratum,
            categorical,
            missing, unit, text
        )
    }
}

impl CutArgs {
    /// What was said that some methods have no choice about.
    pub(crate) fn said(&self) -> Vec<(&'static str, Value)> {
        let silos = self.silos.map(|silos| ("silos", silos.into()));
        let heterogeneity = self.heterogeneity.map(|h| ("heterogeneity", h.into()));
        silos.into_iter().chain(heterogeneity).collect()
    }

    /// These settings, and `below` where these say nothing.
    pub(crate) fn over(self, below: Self) -> Self {
        overlay!(self, below; silos, heterogeneity, partition_by, seed)
    }
}
