//! What was typed. What it means is decided in [`crate::config`].

mod audit;
mod data;
mod ledger;
mod node;
mod privacy;
mod reproduce;
mod sweep;
mod train;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub(crate) use audit::{
    Asking, Attacked, AuditArgs, AuditCommand, AuditWhat, AuditedNotion, TranscriptArgs,
};
pub(crate) use data::{CutArgs, DataArgs, DataCommand, DescribeArgs, PartitionArgs, TextArgs};
pub(crate) use ledger::{LedgerCommand, LedgerInitArgs, LedgerShowArgs, LedgerVerifyArgs};
pub(crate) use node::NodeArgs;
pub(crate) use privacy::{
    AccountArgs, AddArgs, Adjacency, CalibrateArgs, CompareArgs, Contributions, ExplainArgs,
    Mechanism, PaperArgs, PaperData, PrivacyCommand, RoundsArgs, SheetArgs, WhichAccountant,
};
pub(crate) use reproduce::{ReproduceCommand, What};
pub(crate) use sweep::{SweepCommand, repeats, settings};
pub(crate) use train::{TrainArgs, TrainCommand};

/// Whether some command has a flag of this name.
pub(crate) fn is_flag(name: &str) -> bool {
    fn has(command: &clap::Command, name: &str) -> bool {
        command.get_arguments().any(|argument| argument.get_long() == Some(name))
            || command.get_subcommands().any(|command| has(command, name))
    }
    has(&<Cli as clap::CommandFactory>::command(), name)
}

/// Trains one fair classifier across silos that may not share their records, and says exactly
/// what privacy everybody was given.
#[derive(Debug, Parser)]
#[command(name = "steffle", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct GlobalArgs {
    /// Print one JSON object on standard output (`sweep`: one per run); progress and messages go to
    /// standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to colour: NO_COLOR in the environment means never, unless this says always
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: clap::ColorChoice,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Train(Box<TrainCommand>),
    Sweep(Box<SweepCommand>),
    Reproduce(ReproduceCommand),
    Predict(PredictArgs),
    Evaluate(EvaluateArgs),
    /// List, describe and partition data
    #[command(subcommand)]
    Data(Box<DataCommand>),
    /// Account for privacy: what noise costs, how much a target needs, what an epsilon means
    #[command(subcommand)]
    Privacy(PrivacyCommand),
    Node(NodeArgs),
    /// Keep the privacy budget of a store for its life: begin a book, look at it, check it
    #[command(subcommand)]
    Ledger(LedgerCommand),
    Audit(Box<AuditCommand>),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  steffle completions bash > ~/.local/share/bash-completion/completions/steffle"
    )]
    Completions {
        /// The shell to complete for
        shell: clap_complete::Shell,
    },
}

/// Predict labels for records, without the sensitive column
///
/// Reads the records in chunks, so their number does not matter, and writes CSV: one line per
/// record with its id (the `record_id` column, or else the row number counted from 0), the
/// label and a probability per label. A category that training never saw switches on no
/// feature; such cells are counted and reported.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle predict runs/adult-1 applicants.csv
  steffle predict runs/adult-1 applicants.parquet --output labels.csv --json")]
pub(crate) struct PredictArgs {
    /// A run directory written by `train`
    pub(crate) run: PathBuf,
    /// Records to predict (.csv, .tsv, .parquet)
    pub(crate) file: PathBuf,
    /// Where to write; a name in .parquet gets Parquet, any other CSV; the file appears when it is
    /// complete [default: CSV on standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) text: TextArgs,
}

/// Measure a model on labelled records, overall and per group, with intervals
///
/// The file needs the label and the sensitive columns that the model was trained with. Intervals
/// are 95 % and come from resampling the records within each group; the AUC's is DeLong's.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle evaluate runs/adult-1 held-out.csv
  steffle evaluate runs/adult-1 held-out.csv --json | jq .demographic_parity")]
pub(crate) struct EvaluateArgs {
    /// A run directory written by `train`
    pub(crate) run: PathBuf,
    /// Labelled records (.csv, .tsv, .parquet)
    pub(crate) file: PathBuf,
    /// Bootstrap resamples behind the intervals
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(crate) resamples: u32,
    /// Records that a group's rate must be of to count in a gap; smaller groups are listed
    #[arg(long, value_name = "N", default_value_t = steffle_front::MIN_GROUP,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) min_group: u32,
    /// Seed of the resamples
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) text: TextArgs,
}

const AFTER_HELP: &str = "\
Examples:
  steffle train                                   Adult, 3 silos, demographic parity
  steffle train --data hiring.csv --label hired --sensitive gender --classes female,male
  steffle sweep --method fermi --lambda 0.5,1,2,4 --seeds 5
  steffle reproduce all --quick
  steffle predict runs/adult-1 applicants.csv
  steffle data describe credit-card
  steffle privacy explain --epsilon 1 --delta 1e-6
  steffle audit --method one-shot --html audit.html

Exit status:
  0    success
  1    a bug in steffle
  2    the command line is wrong
  3    data, a configuration file or a run directory is wrong
  4    a privacy budget does not allow it
  5    an audit or a threshold failed
  130  interrupted (Ctrl-C); nothing half-written is left

Errors carry a stable code such as steffle::data::not_found. With --json they are also printed
on standard output as {\"error\": {\"code\", \"message\", \"help\"}}.";
