//! What was typed after `steffle audit`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// Try to break the promise: what do the messages that are really sent tell about one person?
///
/// Plays a method many times in two worlds that differ in the sensitive class of one person, reads
/// the bytes that leave the nodes, and has the best test say which world it was. The errors that
/// the test makes bound from below how much the messages tell. The code that answers is the code
/// that trains, noise and ledger included; the people are generated, and nothing of yours is read
/// or spent. An audit can show that a promise is broken, not that it is kept: that is what the
/// proofs are for. Ends with status 5 where more is told than claimed.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  steffle audit
  steffle audit --method one-shot --epsilon 3 --html audit.html
  steffle audit --method one-shot --silos 5 --colluders 2 --runs 20000
  steffle audit --classes 3 --notion equalized-odds --server honest --runs 20000
  steffle audit transcript run.transcript --ledger books"
)]
pub(crate) struct AuditCommand {
    #[command(subcommand)]
    pub(crate) what: Option<AuditWhat>,
    #[command(flatten)]
    pub(crate) args: AuditArgs,
}

/// What else can be audited.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditWhat {
    Transcript(TranscriptArgs),
}

/// Check what was recorded of a run (`train --journal`) against its plan and its books
///
/// Every message is read again: do all belong to one run, is every request answered once, was every
/// private reply paid for by one event and was everything that was paid for sent, do the costs stay
/// within what the plan promises, and are they those of the stores' own books? Ends with status 5
/// and names the message where anything is not as it should be.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle audit transcript run.transcript
  steffle audit transcript run.transcript --ledger books --json")]
pub(crate) struct TranscriptArgs {
    /// The recorded messages
    pub(crate) file: PathBuf,
    /// The book of the run's store, or a folder of one book per store
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
}

/// The method that is attacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Attacked {
    /// The rounds of descent-ascent
    Steffle,
    /// Sums of features, released once
    OneShot,
    /// A randomised class per record
    RandomisedResponse,
}

/// Cells within which groups are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditedNotion {
    /// One cell
    DemographicParity,
    /// A cell per label
    EqualizedOdds,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Asking {
    /// A server that makes one person the worst case in every round: measures the code
    Static,
    /// The server that trains, which can only learn less
    Honest,
}

/// Settings of an audit.
#[derive(Debug, clap::Args)]
pub(crate) struct AuditArgs {
    /// The method to attack
    #[arg(long, value_name = "NAME", default_value = "steffle")]
    pub(crate) method: Attacked,
    /// Sensitive classes, k
    #[arg(long, value_name = "K", default_value_t = 2)]
    pub(crate) classes: usize,
    /// The fairness notion
    #[arg(long, value_name = "NOTION", default_value = "demographic-parity")]
    pub(crate) notion: AuditedNotion,
    /// Who asks; only the rounds of steffle have a choice
    #[arg(long, value_name = "WHO", default_value = "static")]
    pub(crate) server: Asking,
    /// With steffle and one-shot: silos that share one noise [default: one silo with all of its own]
    #[arg(long, value_name = "N")]
    pub(crate) silos: Option<u32>,
    /// With --silos: how many of them the claim lets help the server [default: less than half]
    #[arg(long, value_name = "C", requires = "silos")]
    pub(crate) colluders: Option<u32>,
    /// With --silos: how many of them help the attacker, who subtracts what they sent; more than
    /// --colluders break the claim [default: as many]
    #[arg(long, value_name = "N", requires = "silos")]
    pub(crate) subtracted: Option<u32>,
    /// The epsilon that is claimed [default: that of --mu 1; for randomised response 1]
    #[arg(long, value_name = "E", allow_negative_numbers = true, conflicts_with = "mu")]
    pub(crate) epsilon: Option<f64>,
    /// The mu of Gaussian differential privacy that is claimed, instead of an epsilon
    #[arg(long, value_name = "MU", allow_negative_numbers = true)]
    pub(crate) mu: Option<f64>,
    /// The delta that goes with epsilon; randomised response has none
    #[arg(long, value_name = "D", allow_negative_numbers = true, default_value_t = 1e-5)]
    pub(crate) delta: f64,
    /// Runs in each of the two worlds, beside those that the test is fitted to
    /// [default: 100000; 10000 for the honest server]
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<u32>,
    /// The probability with which all bounds hold
    #[arg(long, value_name = "P", allow_negative_numbers = true, default_value_t = 0.999)]
    pub(crate) confidence: f64,
    /// Seed of all noise, to repeat an audit [default: secret noise, as private runs have it]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Threads; with a seed, the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Write a page with the trade-off curve; the file appears when it is complete
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}
