//! What was typed after `steffle sweep`: the flags of `train`, each with a list of values.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use super::{CutArgs, DataArgs, TrainArgs};

/// Train over a grid of settings and print the trade-off between error and fairness
///
/// Takes the flags of `train`; each may have several values, separated by commas, and every
/// combination is run. A setting that a method does not have is left out for that method, where
/// several methods are compared. Runs share what they can (tables, unconstrained models, releases
/// of classes), use all cores, one thread each, and are kept in a directory: killed and started
/// again, a sweep goes on where it was. A run that fails is kept with its reason and stops
/// nothing; the exit status is then 3.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle sweep --method fermi,randomised-response --epsilon 0.25,1 --lambda 0.5,1,2,4 --seeds 5
  steffle sweep --method steffle --epsilon 1 --lambda 1,4 --silos 3,12 --seeds 7,8,9 --json
  steffle sweep --grid grid.toml --out sweeps/mine

A grid file is TOML; its keys are the long flags, with one value or a list of them:
  method = [\"fermi\", \"randomised-response\"]
  epsilon = [0.25, 1.0]
  lambda = [0.5, 1.0, 2.0]
  seeds = 15
Flags win over the file. Where a flag is a list for one run (--sensitive, --classes, --drop), a
list in the file is one value and a list of lists is several.")]
pub(crate) struct SweepCommand {
    #[command(flatten)]
    pub(crate) lists: ListArgs,
    /// Seeds: how many (the first N, from 0), or which ones, separated by commas [default: 1]
    #[arg(long, value_name = "N|LIST", conflicts_with = "seed", help_heading = "Sweep")]
    pub(crate) seeds: Option<String>,
    /// Read the grid from a TOML file; flags win
    #[arg(long, value_name = "FILE", help_heading = "Sweep")]
    pub(crate) grid: Option<PathBuf>,
    /// Excess errors at which the violation is read off, in percentage points above the
    /// unconstrained model
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "0.5,1,1.5,2,2.5",
        help_heading = "Sweep"
    )]
    pub(crate) at: Vec<f64>,
    /// The gap that is the violation: demographic-parity, equalized-odds, equal-opportunity or accuracy-parity
    /// [default: that of the notion]
    #[arg(
        long,
        value_name = "GAP",
        value_parser = ["demographic-parity", "equalized-odds", "equal-opportunity", "accuracy-parity"],
        help_heading = "Sweep"
    )]
    pub(crate) violation: Option<String>,
    /// Runs at a time; the results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub(crate) threads: Option<usize>,
    /// The directory that keeps the results [default: sweeps/DATA-HASH, the same for the same
    /// grid]
    #[arg(long, value_name = "DIR", help_heading = "Run")]
    pub(crate) out: Option<PathBuf>,
    /// Print the runs and compute nothing
    #[arg(long, help_heading = "Run")]
    pub(crate) dry_run: bool,
}

/// The settings that were typed, by flag, as text.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListArgs(pub(crate) Vec<(String, Vec<String>)>);

/// The flags of `train` that are settings of a run.
pub(crate) fn settings() -> Vec<Arg> {
    let flags = TrainArgs::augment_args(Command::new("train"));
    let flags = CutArgs::augment_args(DataArgs::augment_args(flags));
    let own = ["threads", "out"];
    flags.get_arguments().filter(|flag| !own.contains(&flag.get_id().as_str())).cloned().collect()
}

/// Whether a flag takes several values in one run.
pub(crate) fn repeats(flag: &Arg) -> bool {
    matches!(flag.get_action(), clap::ArgAction::Append)
}

impl Args for ListArgs {
    fn augment_args(command: Command) -> Command {
        let list = |flag: Arg| flag.value_parser(NonEmptyStringValueParser::new());
        command.args(settings().into_iter().map(list))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ListArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut lists = Vec::new();
        for flag in settings() {
            let id = flag.get_id().as_str();
            if let Some(values) = matches.get_many::<String>(id) {
                let name = flag.get_long().unwrap_or(id).to_owned();
                lists.push((name, values.cloned().collect()));
            }
        }
        Ok(Self(lists))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
