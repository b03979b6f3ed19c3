//! What was typed after `steffle submit`.

use std::path::PathBuf;

/// Train across organisations: give a job to NVIDIA FLARE, wait for it and fetch the model
///
/// The job names its sites; every site has its own kit, data and `silo.toml`, and runs `steffle
/// node` behind FLARE. Nothing of the job is code. A job that dies on the way, with FLARE's server,
/// a site or a process, is noticed, submitted again and goes on where it was. The model and its card
/// come back; what the run ends with is what the run says, not what FLARE says of it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle submit job.toml --kit lead@bank.org
  steffle submit job.toml --kit lead@bank.org --out runs/consortium --json
  steffle submit job.toml --kit lead@bank.org --resume job-18f3c2a1")]
pub(crate) struct SubmitArgs {
    /// The job: who takes part, what columns mean and how to train
    #[arg(value_name = "JOB")]
    pub(crate) job: PathBuf,
    /// The lead's FLARE kit: the folder that has `startup` in it
    #[arg(long, value_name = "DIR")]
    pub(crate) kit: PathBuf,
    /// Where to put the run directory [default: the first free runs/NAME-N]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the run directory that --out names
    #[arg(long)]
    pub(crate) force: bool,
    /// Go on with the run of this name, which an earlier `submit` of the same job began
    #[arg(long, value_name = "RUN")]
    pub(crate) resume: Option<String>,
    /// The most jobs to submit for the run
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) attempts: u32,
    /// FLARE's program
    #[arg(long, value_name = "PROGRAM", default_value = "nvflare")]
    pub(crate) nvflare: PathBuf,
}
