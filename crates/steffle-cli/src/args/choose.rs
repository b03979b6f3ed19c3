//! What was typed after `steffle choose`.

use std::path::PathBuf;

use super::TextArgs;

/// Choose among trained models by private metrics, and pay for all of them
///
/// Every file is a silo, whose store of sensitive attributes releases noisy counts of every model's
/// decisions by label and group. The chosen model errs least of those whose gap is at most the
/// target; or has the smallest gap, where none is. All models share the epsilon that is named, in
/// equal parts: the more there are, the less is known about each. A lambda that a one-shot run takes
/// from its own release (`train --method one-shot --target-gap`) costs nothing more.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle choose runs/a runs/b runs/c --on north.csv south.csv --epsilon 1 --ledger books
  steffle choose runs/a runs/b --on held-out.csv --epsilon 1 --target-gap 0.03 --json | jq .chosen")]
pub(crate) struct ChooseArgs {
    /// Run directories written by `train`, on the same data
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Labelled records to measure on, one file per silo (.csv, .tsv, .parquet)
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    pub(crate) on: Vec<PathBuf>,
    /// Files of record ids and sensitive columns, where the others have none
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) attributes: Vec<PathBuf>,
    /// The gap that the choice is about
    #[arg(long, value_name = "GAP", default_value = "demographic-parity",
          value_parser = ["demographic-parity", "equalized-odds", "equal-opportunity", "accuracy-parity"])]
    pub(crate) gap: String,
    /// The largest gap that is fair enough
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, allow_negative_numbers = true)]
    pub(crate) target_gap: f64,
    /// The most that measuring all models may cost everybody in the files
    #[arg(long, value_name = "E", allow_negative_numbers = true, help_heading = "Privacy")]
    pub(crate) epsilon: f64,
    /// The delta that goes with it [default: 1/n^2 for n records]
    #[arg(long, value_name = "D", allow_negative_numbers = true, help_heading = "Privacy")]
    pub(crate) delta: Option<f64>,
    /// Pay from the budget book of the store, or from a folder of one book per store
    #[arg(long, value_name = "FILE", help_heading = "Privacy")]
    pub(crate) ledger: Option<PathBuf>,
    /// The sensitive columns of the files (repeat or separate by commas); needed without --ledger
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', help_heading = "Privacy")]
    pub(crate) sensitive: Vec<String>,
    /// secure, or simulated (from --seed: protects nobody, and says so)
    #[arg(long, value_name = "ORIGIN", default_value = "secure", value_parser = ["secure", "simulated"],
          help_heading = "Privacy")]
    pub(crate) noise: String,
    /// Effective records that a group's rate must be of to count in a gap
    #[arg(long, value_name = "N", default_value_t = steffle_front::MIN_GROUP,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) min_group: u32,
    /// Seed of simulated noise
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) text: TextArgs,
}
