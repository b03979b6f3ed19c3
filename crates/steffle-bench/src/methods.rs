//! Runs per second and peak memory of every method, as `steffle sweep` reaches them on Adult; beside
//! another build of the program, where one is given.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::clock::{children_seconds, peak_memory_of};

/// Arguments of `methods`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The program; `cargo build --release` makes it beside this one.
    #[arg(long)]
    program: Option<PathBuf>,
    /// Seeds of every method.
    #[arg(long, default_value_t = 3)]
    seeds: u32,
    /// Runs at a time.
    #[arg(long, default_value_t = 2)]
    threads: u32,
    /// Another build of the program, which takes turns with the first.
    #[arg(long)]
    beside: Option<PathBuf>,
    /// How many times each runs; the best counts.
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// Only methods of these names.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

/// What a sweep took.
#[derive(Clone, Copy)]
struct Took {
    runs: usize,
    wall: f64,
    cpu: f64,
    peak: u64,
}

/// Methods with the settings that they need.
const METHODS: [(&str, &[&str]); 12] = [
    ("one-shot", &["--epsilon", "1"]),
    ("steffle", &["--epsilon", "1"]),
    ("steffle", &["--mode", "paper", "--epsilon", "1"]),
    ("steffle-nonprivate", &[]),
    ("randomised-response", &["--epsilon", "1"]),
    ("fermi", &[]),
    ("dp-fermi", &["--epsilon", "1"]),
    ("pf-ld", &["--epsilon", "1"]),
    ("fedfdp", &["--epsilon", "1"]),
    ("reductions", &[]),
    ("fedavg", &[]),
    ("erm", &[]),
];

/// A path of ten.
const LAMBDAS: &str = "0.2,0.5,1,2,4,7,14,30,80,250";

/// How often a process is asked for its peak memory.
const POLL: Duration = Duration::from_millis(5);

/// A method that takes longer than this is stopped.
const LIMIT: Duration = Duration::from_mins(10);

/// Prints a line per method.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let program = built(arguments.program.as_deref())?;
    let others = if arguments.beside.is_some() { "  beside CPU s    ratio" } else { "" };
    println!(
        "{:<44} {:>5} {:>8} {:>8} {:>8} {:>8}{others}",
        "method", "runs", "wall s", "runs/s", "CPU s", "peak MB"
    );
    let wanted =
        |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|own| own == name);
    for (method, settings) in METHODS.iter().filter(|(method, _)| wanted(method)) {
        let (mut own, mut other): (Option<Took>, Option<Took>) = (None, None);
        for _ in 0..arguments.repeat {
            own = Some(sweep(&program, method, settings, arguments)?.best(own));
            if let Some(beside) = &arguments.beside {
                other = Some(sweep(beside, method, settings, arguments)?.best(other));
            }
        }
        let Some(Took { runs, wall, cpu, peak }) = own else { continue };
        let name = [&["--method", *method], *settings].concat().join(" ");
        let (peak, speed) = (peak as f64 / 1e6, runs as f64 / wall);
        print!("{name:<44} {runs:>5} {wall:>8.2} {speed:>8.1} {cpu:>8.2} {peak:>8.0}");
        match other {
            Some(other) => println!(" {:>13.2} {:>8.2}", other.cpu, other.cpu / cpu),
            None => println!(),
        }
    }
    Ok(())
}

/// The program: this one, or that beside the benchmarks.
pub(crate) fn built(named: Option<&Path>) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let program = match named {
        Some(program) => program.to_owned(),
        None => std::env::current_exe()?.with_file_name("steffle"),
    };
    if program.exists() {
        return Ok(program);
    }
    Err(format!("{}: not there; run cargo build --release", program.display()).into())
}

impl Took {
    /// The faster of two.
    fn best(self, before: Option<Self>) -> Self {
        before.filter(|before| before.cpu < self.cpu).unwrap_or(self)
    }
}

/// A sweep of one method.
fn sweep(
    program: &Path,
    method: &str,
    settings: &[&str],
    arguments: &Arguments,
) -> Result<Took, Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("steffle-bench-{}", std::process::id()));
    let mut command = Command::new(program);
    command.args(["sweep", "--method", method]).args(settings);
    if !matches!(method, "fedavg" | "erm") {
        command.args(["--lambda", LAMBDAS]);
    }
    command
        .args(["--seeds", &arguments.seeds.to_string()])
        .args(["--threads", &arguments.threads.to_string()])
        .arg("--out")
        .arg(&directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let (begin, before) = (Instant::now(), children_seconds());
    let peak = watch(command.spawn()?, begin, LIMIT);
    let (wall, cpu) = (begin.elapsed().as_secs_f64(), children_seconds() - before);
    let lines = std::fs::read_to_string(directory.join("results.jsonl"));
    std::fs::remove_dir_all(&directory)?;
    Ok(Took { runs: lines?.lines().count(), wall, cpu, peak: peak? })
}

/// Waits for a process and returns the most memory that it ever had, in bytes.
pub(crate) fn watch(
    mut child: Child,
    begin: Instant,
    limit: Duration,
) -> Result<u64, Box<dyn std::error::Error>> {
    let mut peak = 0;
    loop {
        peak = peak.max(peak_memory_of(&child.id().to_string()).unwrap_or(0));
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(peak),
            Some(status) => return Err(format!("the program ended with {status}").into()),
            None if begin.elapsed() > limit => {
                child.kill()?;
                child.wait()?;
                return Err(format!("the program took longer than {limit:?}").into());
            }
            None => thread::sleep(POLL),
        }
    }
}
