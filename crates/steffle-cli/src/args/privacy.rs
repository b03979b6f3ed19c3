//! What was typed after `steffle privacy`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// Account for privacy.
#[derive(Debug, Subcommand)]
pub(crate) enum PrivacyCommand {
    Account(AccountArgs),
    Add(AddArgs),
    Calibrate(CalibrateArgs),
    Compare(CompareArgs),
    Explain(ExplainArgs),
    Paper(PaperArgs),
    Sheet(SheetArgs),
}

/// What several runs about the same people cost together, and why that is not the sum
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle privacy add runs/adult-1 runs/adult-2
  steffle privacy add runs/adult-1 runs/adult-2 --delta 1e-6 --json")]
pub(crate) struct AddArgs {
    /// Run directories written by `train`
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Where Gaussian runs are read together [default: the largest of their deltas]
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(crate) delta: Option<f64>,
}

/// A page to sign before a run: what is asked of whom, the budget, what leaves, what is not protected
///
/// Printed as Markdown. After the run, give its directory instead of the plan.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle train --epsilon 0.5 --dry-run --json > plan.json
  steffle privacy sheet plan.json --ledger books --html sheet.html
  steffle privacy sheet runs/adult-1 --ledger books")]
pub(crate) struct SheetArgs {
    /// What `train --dry-run --json` printed, or a run directory
    #[arg(value_name = "PLAN|RUN")]
    pub(crate) what: PathBuf,
    /// The budget book, or folder of books, that will pay or has paid
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    /// Also write it as a page; the file appears when it is complete
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// What noisy rounds cost: noise in, epsilon out
///
/// Accounts for T rounds that each add Gaussian noise to a sum over a batch. The noise multiplier
/// is the standard deviation of the noise divided by the full replacement distance: how far the sum
/// without noise moves when one person's attribute is replaced. Sampling only counts while batches
/// stay secret; a batch that is announced, or can be told from what is sent, is a full batch.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle privacy account --mechanism gaussian --noise-multiplier 53.8 --rounds 100 --delta 2e-9
  steffle privacy account --mechanism poisson --noise-multiplier 2 --rate 0.034 --rounds 1200 \\
      --delta 2e-9 --accountant all --json
  steffle privacy account --mechanism without-replacement --noise-multiplier 2 --batch 256 \\
      --records 7500 --rounds 1200 --delta 2e-9

Other libraries: a factor of 2 hides in the noise multiplier.
  Many divide sigma by the clipping norm C of one contribution: Opacus, and the PLD accountant of
  dp_accounting. Replacing a record moves a sum by up to 2C, so for --adjacency replace give half
  their number. For --adjacency add-remove one record moves it by C: give their number as it is.
  The RDP accountant of dp_accounting with replace-one neighbours divides by the full distance, as
  here.

Accountants:
  gdp    exact for full batches; makes no use of sampling
  pld    exact up to the error it states; the default for sampled rounds
  rdp    an upper bound from one moment, some percent above
  paper  the formula of Theorem 3.2; not a guarantee")]
pub(crate) struct AccountArgs {
    /// z: sigma over the full replacement distance
    #[arg(long, value_name = "Z", allow_negative_numbers = true)]
    pub(crate) noise_multiplier: f64,
    #[command(flatten)]
    pub(crate) rounds: RoundsArgs,
    /// Who does the sums [default: gdp for gaussian, else pld]
    #[arg(long, value_name = "NAME")]
    pub(crate) accountant: Option<WhichAccountant>,
}

/// How much noise a target needs: epsilon in, noise out
///
/// Prints the smallest noise multiplier (six digits, rounded up) that the accountant reads within
/// the target. Reading it again with `account` never gives more than the target.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle privacy calibrate --epsilon 1 --mechanism gaussian --rounds 100 --delta 2e-9
  steffle privacy calibrate --epsilon 1 --mechanism poisson --batch 256 --records 7500 \\
      --rounds 1200 --delta 2e-9 --json | jq .noise_multiplier")]
pub(crate) struct CalibrateArgs {
    /// The epsilon not to exceed
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(crate) epsilon: f64,
    #[command(flatten)]
    pub(crate) rounds: RoundsArgs,
    /// Who does the sums [default: gdp for gaussian, else pld]
    #[arg(long, value_name = "NAME")]
    pub(crate) accountant: Option<WhichAccountant>,
}

/// All accountants side by side, and why they differ
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  steffle privacy compare --mechanism poisson --noise-multiplier 1 --rate 0.034 --rounds 1200 \\
      --delta 2e-9")]
pub(crate) struct CompareArgs {
    /// z: sigma over the full replacement distance
    #[arg(long, value_name = "Z", allow_negative_numbers = true)]
    pub(crate) noise_multiplier: f64,
    #[command(flatten)]
    pub(crate) rounds: RoundsArgs,
}

/// What an epsilon means: what is protected, from whom, for how long, and what is not
///
/// Explains an epsilon and a delta, or what a run directory says about itself. A run whose claim
/// does not hold is explained by what an honest accountant gives it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle privacy explain --epsilon 1 --delta 1e-9
  steffle privacy explain --epsilon 3 --delta 1e-6 --svg trade-off.svg
  steffle privacy explain runs/adult-1")]
pub(crate) struct ExplainArgs {
    /// A run directory written by `train`, instead of --epsilon and --delta
    #[arg(conflicts_with_all = ["epsilon", "delta"])]
    pub(crate) run: Option<PathBuf>,
    /// The epsilon to explain
    #[arg(long, value_name = "E", allow_negative_numbers = true, requires = "delta")]
    pub(crate) epsilon: Option<f64>,
    /// The delta that goes with it
    #[arg(long, value_name = "D", allow_negative_numbers = true, requires = "epsilon")]
    pub(crate) delta: Option<f64>,
    /// Write the trade-off curve as SVG; the file appears when it is complete
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// What the noise of the paper's Theorem 3.2 gives, by accountants that can be trusted
///
/// Without arguments: the paper's three data sets at epsilon 1, 3 and 9, three silos, batches of
/// 256, 40 epochs, delta one over the square of all training records. For each: what one message
/// and both messages of a round cost if batches stay secret (Poisson, centred or not; fixed size)
/// and if they are revealed, as Algorithm 1 does; and which conditions hold.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle privacy paper
  steffle privacy paper --data credit-card --epsilon 3 --needed
  steffle privacy paper --records 20000 --silos 5 --batch 512 --epochs 20 --epsilon 2 --json")]
pub(crate) struct PaperArgs {
    /// One of the paper's data sets [default: all]
    #[arg(long, value_name = "NAME", conflicts_with = "records")]
    pub(crate) data: Option<PaperData>,
    /// Records of one silo, instead of --data
    #[arg(long, value_name = "N")]
    pub(crate) records: Option<usize>,
    /// Number of silos [default: 3]
    #[arg(long, value_name = "N", requires = "records")]
    pub(crate) silos: Option<usize>,
    /// Records in a batch [default: 256]
    #[arg(long, value_name = "M")]
    pub(crate) batch: Option<usize>,
    /// Passes over a silo [default: 40]
    #[arg(long, value_name = "N", conflicts_with = "rounds")]
    pub(crate) epochs: Option<u64>,
    /// Rounds, instead of --epochs
    #[arg(long, value_name = "T")]
    pub(crate) rounds: Option<u64>,
    /// What the theorem is asked for (repeat the flag for more) [default: 1, 3 and 9]
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(crate) epsilon: Vec<f64>,
    /// What the theorem is asked for [default: 1/(silos * records)^2]
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(crate) delta: Option<f64>,
    /// Share of the rarest sensitive class; scales sigma, changes no epsilon [default: 0.5]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, requires = "records")]
    pub(crate) rho: Option<f64>,
    /// Also compute how much noise would have been needed
    #[arg(long)]
    pub(crate) needed: bool,
}

/// What the rounds do, apart from their noise.
#[derive(Debug, clap::Args)]
pub(crate) struct RoundsArgs {
    /// Who takes part in a round: everybody, everybody by a secret coin, a secret fixed number
    #[arg(long, value_name = "NAME", default_value = "gaussian")]
    pub(crate) mechanism: Mechanism,
    /// Probability that a record takes part (poisson)
    #[arg(long, value_name = "Q", allow_negative_numbers = true, conflicts_with_all = ["batch", "records"])]
    pub(crate) rate: Option<f64>,
    /// Records in a batch; with --records, instead of --rate
    #[arg(long, value_name = "M", requires = "records")]
    pub(crate) batch: Option<u64>,
    /// Records the batch is drawn from
    #[arg(long, value_name = "N", requires = "batch")]
    pub(crate) records: Option<u64>,
    /// T: number of rounds
    #[arg(long, value_name = "T")]
    pub(crate) rounds: u64,
    /// Probability with which the promise may fail
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(crate) delta: f64,
    /// Neighbours: one person's attribute replaced, or one record present or absent
    #[arg(long, value_name = "NAME", default_value = "replace")]
    pub(crate) adjacency: Adjacency,
    /// How one record enters the sum (poisson, replace): as +v or -v around a public centre (two
    /// classes; a missing value is 0), or in any way
    #[arg(long, value_name = "NAME", default_value = "centred")]
    pub(crate) contributions: Contributions,
}

/// Who takes part in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mechanism {
    Gaussian,
    Poisson,
    WithoutReplacement,
}

/// Which stores are neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Adjacency {
    Replace,
    AddRemove,
}

/// How one record enters the sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Contributions {
    Centred,
    Any,
}

/// Who does the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhichAccountant {
    Gdp,
    Pld,
    Rdp,
    Paper,
    All,
}

/// A data set of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PaperData {
    Adult,
    CreditCard,
    RetiredAdult,
}
