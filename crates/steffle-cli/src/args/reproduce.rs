//! What was typed after `steffle reproduce`.

use std::path::PathBuf;

use clap::ValueEnum;

/// Run the paper's experiments again and report them beside the methods of today
///
/// Every experiment is a grid of runs (files under `crates/steffle-cli/experiments/` in the sources) on the embedded
/// data; every method has the same splits, silos and seeds, and every curve the epsilon that our
/// accountants give it. Killed and started again, it goes on where it was. The output directory
/// gets the runs (results.jsonl, results.parquet), what was made of them (study.json), a picture
/// per panel (SVG and PNG) and one page with everything (report.html) that needs no network.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle reproduce figure-3 --quick
  steffle reproduce all --seeds 15
  steffle reproduce figure-4 --retired-adult retired.csv
  steffle reproduce theory --json | jq .study.tables")]
pub(crate) struct ReproduceCommand {
    /// What to reproduce
    #[arg(value_enum, value_name = "WHAT")]
    pub(crate) what: What,
    /// Few seeds, few lambdas, few values of long axes: the shape of everything, in a minute
    #[arg(long)]
    pub(crate) quick: bool,
    /// Seeds: how many (the first N, from 0), or which ones, separated by commas
    /// [default: 15, with --quick 2]
    #[arg(long, value_name = "N|LIST")]
    pub(crate) seeds: Option<String>,
    /// The Retired Adult file, for figure 4; see `steffle data describe retired-adult --help`
    #[arg(long, value_name = "FILE")]
    pub(crate) retired_adult: Option<PathBuf>,
    /// The Bank Marketing file, for rare; see `steffle data describe bank-marketing --help`
    #[arg(long, value_name = "FILE")]
    pub(crate) path: Option<PathBuf>,
    /// Runs at a time; the results do not depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// The directory of the output [default: reproduced/WHAT, or reproduced/WHAT-quick]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// What can be reproduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// Credit Card, demographic parity
    #[value(name = "figure-1")]
    Figure1,
    /// Credit Card, heterogeneity and the number of silos
    #[value(name = "figure-2")]
    Figure2,
    /// Adult, demographic parity
    #[value(name = "figure-3")]
    Figure3,
    /// Retired Adult, demographic parity; needs --retired-adult
    #[value(name = "figure-4")]
    Figure4,
    /// Credit Card, equalized odds
    #[value(name = "figure-5")]
    Figure5,
    /// Beyond the paper: how far every method is from the non-private frontier, by epsilon
    Frontier,
    /// Beyond the paper: groups that are rare, many, or the middle of a range
    Rare,
    /// The paper's average reductions, from the runs of figures 1, 3, 4 and 5
    Headline,
    /// How the stationarity gap falls with epsilon, records, silos and features
    Theory,
    /// All of them but rare
    All,
}
