//! What was typed. What it means is decided in [`crate::config`].

mod audit;
mod choose;
mod data;
mod ledger;
mod node;
mod predict;
mod privacy;
mod reproduce;
mod silo;
mod submit;
mod sweep;
mod train;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub(crate) use audit::{
    Asking, Attacked, AuditArgs, AuditCommand, AuditWhat, AuditedNotion, TranscriptArgs,
};
pub(crate) use choose::ChooseArgs;
pub(crate) use data::{
    CutArgs, DataArgs, DataCommand, DescribeArgs, PartitionArgs, PseudonymiseArgs, TextArgs,
};
pub(crate) use ledger::{
    ColumnsArgs, LedgerCloseArgs, LedgerColumnsArgs, LedgerCommand, LedgerInitArgs,
    LedgerPeopleArgs, LedgerShowArgs, LedgerVerifyArgs,
};
pub(crate) use node::{NodeArgs, ServerArgs};
pub(crate) use predict::{ExportArgs, OnError, PredictArgs};
pub(crate) use privacy::{
    AccountArgs, AddArgs, Adjacency, CalibrateArgs, CompareArgs, Contributions, ExplainArgs,
    Mechanism, PaperArgs, PaperData, PrivacyCommand, RoundsArgs, SheetArgs, WhichAccountant,
};
pub(crate) use reproduce::{ReproduceCommand, What};
pub(crate) use silo::{SiloCleanArgs, SiloCommand, SiloRosterCommand};
pub(crate) use submit::SubmitArgs;
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
    Export(ExportArgs),
    Evaluate(EvaluateArgs),
    Choose(ChooseArgs),
    /// List, describe and partition data
    #[command(subcommand)]
    Data(Box<DataCommand>),
    /// Account for privacy: what noise costs, how much a target needs, what an epsilon means
    #[command(subcommand)]
    Privacy(PrivacyCommand),
    /// Look at what a site would take into a run
    #[command(subcommand)]
    Silo(SiloCommand),
    Node(NodeArgs),
    Server(Box<ServerArgs>),
    Submit(SubmitArgs),
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

/// Measure a model on labelled records, overall and per group, with intervals
///
/// The file needs the label and the sensitive columns that the model was trained with. Intervals
/// are 95 % and come from resampling the records within each group; the AUC's is DeLong's.
///
/// With --private nobody's group is looked at: every file is a silo, whose store of sensitive
/// attributes releases noisy counts by label, group and decision, once, for the epsilon that is named.
/// Rates and gaps are made of these; intervals include the noise. Rows need a record id, to which
/// --ledger charges the cost.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle evaluate runs/adult-1 held-out.csv
  steffle evaluate runs/adult-1 held-out.csv --json | jq .demographic_parity
  steffle evaluate runs/adult-1 north.csv south.csv --private --epsilon 0.5 --ledger books
  steffle evaluate runs/adult-1 north.csv south.csv --attributes census.csv --private --epsilon 0.5")]
pub(crate) struct EvaluateArgs {
    /// A run directory written by `train`
    pub(crate) run: PathBuf,
    /// Labelled records (.csv, .tsv, .parquet); with --private one file per silo
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Measure groups from noisy counts, at a cost that is named
    #[arg(long, help_heading = "Privacy")]
    pub(crate) private: bool,
    /// The most that the metrics may cost everybody in the files
    #[arg(
        long,
        value_name = "E",
        allow_negative_numbers = true,
        requires = "private",
        help_heading = "Privacy"
    )]
    pub(crate) epsilon: Option<f64>,
    /// The delta that goes with it [default: 1/n^2 for n records]
    #[arg(
        long,
        value_name = "D",
        allow_negative_numbers = true,
        requires = "private",
        help_heading = "Privacy"
    )]
    pub(crate) delta: Option<f64>,
    /// Pay from the budget book of the store, or from a folder of one book per store
    /// (`steffle ledger init`)
    #[arg(long, value_name = "FILE", requires = "private", help_heading = "Privacy")]
    pub(crate) ledger: Option<PathBuf>,
    /// The sensitive columns of the files (repeat or separate by commas); needed without --ledger
    #[arg(
        long,
        value_name = "COLUMN",
        value_delimiter = ',',
        requires = "private",
        help_heading = "Privacy"
    )]
    pub(crate) sensitive: Vec<String>,
    /// Files of record ids and sensitive columns, where the others have none: as many as these lie
    /// beside them, fewer or more are holders of their own
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "private", help_heading = "Privacy")]
    pub(crate) attributes: Vec<PathBuf>,
    /// secure, or simulated (from --seed: protects nobody, and says so)
    #[arg(long, value_name = "ORIGIN", default_value = "secure", value_parser = ["secure", "simulated"],
          help_heading = "Privacy")]
    pub(crate) noise: String,
    /// Write a page with the private metrics; the file appears when it is complete
    #[arg(long, value_name = "FILE", requires = "private", help_heading = "Privacy")]
    pub(crate) html: Option<PathBuf>,
    /// Bootstrap resamples behind the intervals
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(crate) resamples: u32,
    /// Records that a group's rate must be of to count in a gap; smaller groups are listed. With
    /// --private effective records, of which noise leaves fewer
    #[arg(long, value_name = "N", default_value_t = steffle_front::MIN_GROUP,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) min_group: u32,
    /// Seed of the resamples, and of simulated noise
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
  steffle export runs/adult-1 --format onnx
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
