//! `steffle silo`.

use std::path::PathBuf;

use clap::Subcommand;

/// Look after what a site takes into runs.
#[derive(Debug, Subcommand)]
pub(crate) enum SiloCommand {
    Check(SiloCheckArgs),
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
