//! Every figure and table of the paper, by the program: processor seconds of `steffle reproduce`, beside
//! another build of it where one is given.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::clock::children_seconds;
use crate::methods::{built, watch};

/// Arguments of `reproduce`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What to reproduce, by the names that the program knows.
    #[arg(default_value = "all")]
    what: Vec<String>,
    /// The program; `cargo build --release` makes it beside this one.
    #[arg(long)]
    program: Option<PathBuf>,
    /// Seeds of every run.
    #[arg(long, default_value_t = 2)]
    seeds: u32,
    /// Another build of the program, which runs after the first.
    #[arg(long)]
    beside: Option<PathBuf>,
}

/// A build that takes longer than this is stopped.
const LIMIT: Duration = Duration::from_hours(1);

/// Prints a line per name.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let program = built(arguments.program.as_deref())?;
    println!("steffle reproduce, {} seeds, one thread", arguments.seeds);
    let others = if arguments.beside.is_some() { "  beside CPU s    ratio" } else { "" };
    println!("{:<24} {:>8} {:>8}{others}", "what", "wall s", "CPU s");
    for what in &arguments.what {
        let (wall, cpu) = seconds(&program, what, arguments.seeds)?;
        print!("{what:<24} {wall:>8.1} {cpu:>8.1}");
        match &arguments.beside {
            Some(beside) => {
                let (_, other) = seconds(beside, what, arguments.seeds)?;
                println!(" {other:>13.1} {:>8.2}", other / cpu);
            }
            None => println!(),
        }
    }
    Ok(())
}

/// Seconds by the wall and of the processor.
fn seconds(
    program: &Path,
    what: &str,
    seeds: u32,
) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("steffle-bench-{}", std::process::id()));
    let mut command = Command::new(program);
    command.args(["reproduce", what, "--seeds", &seeds.to_string(), "--threads", "1", "--out"]);
    command.arg(&directory).stdout(Stdio::null()).stderr(Stdio::null());
    let (begin, before) = (Instant::now(), children_seconds());
    let ended = watch(command.spawn()?, begin, LIMIT);
    let took = (begin.elapsed().as_secs_f64(), children_seconds() - before);
    std::fs::remove_dir_all(&directory)?;
    ended.map(|_| took)
}
