//! `steffle node`.

use std::path::PathBuf;

/// Be one party of a run: answer messages until nobody asks any more
///
/// Reads the party's own files of a job and nothing else, then answers frames on standard input by
/// frames on standard output: eight bytes of length, little-endian, and a message. `steffle train
/// --data job.toml --processes` starts one for every party.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  steffle node --stdio --data parts/job.toml --place 0")]
pub(crate) struct NodeArgs {
    /// Talk over standard input and output
    #[arg(long, required = true)]
    pub(crate) stdio: bool,
    /// The job whose party this is
    #[arg(long, value_name = "JOB")]
    pub(crate) data: PathBuf,
    /// Which party, counted from 0: silos or records files first, then attributes files
    #[arg(long, value_name = "N")]
    pub(crate) place: usize,
    /// Records and attributes files of the same place are one silo
    #[arg(long)]
    pub(crate) together: bool,
    /// The most bytes of a frame
    #[arg(long, value_name = "BYTES", default_value_t = steffle_front::Party::FRAME_BYTES)]
    pub(crate) frame_bytes: u64,
}
