//! `steffle silo`.

use std::path::PathBuf;

use clap::Subcommand;

/// Look after what a site takes into runs.
#[derive(Debug, Subcommand)]
pub(crate) enum SiloCommand {
    Check(SiloCheckArgs),
    Clean(SiloCleanArgs),
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
