//! `steffle node` and `steffle server`.

use std::path::PathBuf;

use super::TrainCommand;

/// Be one party of a run: answer messages until nobody asks any more
///
/// Reads the party's own files and nothing else, then answers frames on standard input by frames on
/// standard output: eight bytes of length, little-endian, four of the sender's number (0 for the
/// server, sites from 1), and a message. What it answered stays in a
/// record: started again, it goes on. `steffle train --data job.toml --processes` starts one for
/// every party.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle node --stdio --silo silo.toml
  steffle node --stdio --data parts/job.toml --place 0")]
pub(crate) struct NodeArgs {
    /// Talk over standard input and output
    #[arg(long, required = true)]
    pub(crate) stdio: bool,
    /// The site's own file: data, role, ledger and policy
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "place", "together", "record"])]
    pub(crate) silo: Option<PathBuf>,
    /// The job whose party this is, where one machine has all files
    #[arg(long, value_name = "JOB", required_unless_present = "silo", requires = "place")]
    pub(crate) data: Option<PathBuf>,
    /// Which party, counted from 0: silos or records files first, then attributes files
    #[arg(long, value_name = "N")]
    pub(crate) place: Option<usize>,
    /// Records and attributes files of the same place are one silo
    #[arg(long)]
    pub(crate) together: bool,
    /// The folder that remembers what a party of a job answered [default: nothing does]
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// The most bytes of a frame
    #[arg(long, value_name = "BYTES", default_value_t = steffle_front::Party::FRAME_BYTES)]
    pub(crate) frame_bytes: u64,
}

/// Lead a run whose sites somebody else reaches: train, with messages on standard input and output
///
/// Every exchange is one frame on standard output and one on standard input. Out: the number of
/// requests (4 bytes), and of each its node (4 bytes, from 1 in the order of the job's roster), its
/// length (8 bytes) and itself; in: the same number, and of each, in the same order, a status (1
/// byte: 0 a reply, 1 none), a length (8 bytes) and the reply, or why there is none. Numbers are
/// little-endian. The job comes from whoever may submit one: it names sites, and its test rows by a
/// name of --lead, and is refused where it names a file. Progress and results go to standard error and to the run directory. With
/// --journal a run that was interrupted goes on by the same command.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  steffle server --stdio --lead lead.toml --data job.toml --journal run.journal --out run")]
pub(crate) struct ServerArgs {
    /// Talk over standard input and output
    #[arg(long, required = true)]
    pub(crate) stdio: bool,
    /// The file of the server's owner: which test rows jobs may name
    #[arg(long, value_name = "LEAD_TOML", required = true)]
    pub(crate) lead: PathBuf,
    #[command(flatten)]
    pub(crate) train: TrainCommand,
}
