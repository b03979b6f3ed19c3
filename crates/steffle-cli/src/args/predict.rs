//! What was typed after `steffle predict` and `steffle export`.

use std::path::PathBuf;

use clap::ValueEnum;

use super::TextArgs;

/// Predict labels for records, without the sensitive column
///
/// Reads the records in chunks, so their number does not matter, and writes CSV: one line per
/// record with its id (the `record_id` column, or else the row number counted from 0), the
/// label and a probability per label. Of several files the first column says which one a record is
/// from. A category that training never saw switches on no feature; such cells are counted and
/// reported.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle predict runs/adult-1 applicants.csv
  steffle predict runs/adult-1 applicants.parquet --output labels.parquet --json
  steffle predict runs/adult-1 north.csv south.csv --id applicant --threshold 0.4
  zcat applicants.csv.gz | steffle predict runs/adult-1 - --on-error skip > labels.csv")]
pub(crate) struct PredictArgs {
    /// A run directory written by `train`
    pub(crate) run: PathBuf,
    /// Records to predict (.csv, .tsv, also with .gz or .zst, .parquet); - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Where to write; a name in .parquet gets Parquet, any other CSV; the file appears when it is
    /// complete [default: CSV on standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The column that names records [default: record_id, or else rows are counted]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id: Option<String>,
    /// Give the favourable one of two labels from this probability on [default: the more probable
    /// label]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub(crate) threshold: Option<f64>,
    /// Refuse a model that reads one of these columns (repeat or separate by commas)
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub(crate) sensitive: Vec<String>,
    /// What to do about a row that cannot be read: stop, or skip it, count it and list it
    #[arg(long, value_name = "WHAT", default_value = "stop")]
    pub(crate) on_error: OnError,
    #[command(flatten)]
    pub(crate) text: TextArgs,
}

/// What to do about a row that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnError {
    Stop,
    Skip,
}

/// Write a model in a format that other programs serve
///
/// onnx: one file that takes raw columns (numbers as doubles, NaN where one is missing; names as
/// strings, empty where one is missing) and returns `label` and `probabilities`, as `predict` does.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle export runs/adult-1 --format onnx
  steffle export runs/adult-1 --format onnx --output adult.onnx --json")]
pub(crate) struct ExportArgs {
    /// A run directory written by `train`
    pub(crate) run: PathBuf,
    /// The format: onnx
    #[arg(long, value_name = "FORMAT", value_parser = ["onnx"])]
    pub(crate) format: String,
    /// Where to write; the file appears when it is complete [default: model.onnx in the run directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
