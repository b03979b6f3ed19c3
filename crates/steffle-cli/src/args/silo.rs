//! `steffle silo`.

use std::path::PathBuf;

use clap::Subcommand;

/// Look after what a site takes into runs.
#[derive(Debug, Subcommand)]
pub(crate) enum SiloCommand {
    Check(SiloCheckArgs),
    Clean(SiloCleanArgs),
    Key(SiloKeyArgs),
    #[command(subcommand)]
    Roster(SiloRosterCommand),
}

/// Make the key that other sites know this one by, and print its fingerprint
///
/// Sums under masks (--secure-aggregation) are between sites that know each other's keys. The file is for
/// this site alone (permissions 600); the fingerprint is read out to all others, over the telephone or on
/// paper, and they write it under [peers] of their silo.toml. A key that exists stays as it is, and its
/// fingerprint is printed again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  steffle silo key site.key")]
pub(crate) struct SiloKeyArgs {
    /// The file of the key
    pub(crate) file: PathBuf,
}

/// Whom a site adds up with under masks.
#[derive(Debug, Subcommand)]
pub(crate) enum SiloRosterCommand {
    Accept(SiloRosterAcceptArgs),
}

/// Let a site add up with the sites under [peers] from now on
///
/// A site that has answered with some sites, or without masks, refuses all others: two sums whose sites
/// differ by one show what that one added. This says that its owner accepts that, once. Runs that were
/// begun are over, and the journal of masks goes on, or begins anew where it was damaged or is an older copy.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  steffle silo roster accept silo.toml")]
pub(crate) struct SiloRosterAcceptArgs {
    /// The site's own file
    pub(crate) file: PathBuf,
}

/// Look at a silo.toml and its files before the site takes part in a run
///
/// Prints the columns as others will see them described, records per class (for local eyes only), the
/// health of the ledger, what a run would be sent and what never leaves. Nothing is sent.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  steffle silo check silo.toml")]
pub(crate) struct SiloCheckArgs {
    /// The site's own file
    pub(crate) file: PathBuf,
}

/// Remove what a site was asked and answered in runs of long ago
///
/// A site keeps every message of a run, so that the run goes on when a process dies, and so that the owner
/// can look at what was sent. They hold functions of x; at a site with attributes alone, those of other
/// sites. Records that nobody has written to for so many days are removed, and those runs cannot go on. What
/// was spent stays in the ledger.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  steffle silo clean silo.toml --days 30")]
pub(crate) struct SiloCleanArgs {
    /// The site's own file
    pub(crate) file: PathBuf,
    /// Records of runs that were written to later than so many days ago are kept
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) days: u64,
}
