//! `steffle sweep`: a grid of runs, and the trade-off they reach.

mod collected;
mod grid;
mod results;
mod spent;
mod table;
mod work;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

pub(crate) use self::collected::{Collected, Mean, gap_of};
use self::grid::runs;
pub(crate) use self::grid::{Run, runs_of, seeds};
use self::results::Results;
use self::table::TradeOffs;
use self::work::work;
use crate::args::SweepCommand;
use crate::failure::Failure;
use crate::interrupt;
use crate::staged::Staged;
use crate::ui::{Output, Progress};

/// Where default directories are.
const SWEEPS: &str = "sweeps";

pub(crate) fn sweep(command: &SweepCommand, output: Output) -> Result<(), Failure> {
    check(command)?;
    let threads = threads(command.threads)?;
    let runs = runs(command)?;
    if command.dry_run {
        return preview(&runs, output);
    }
    let directory = command.out.clone().unwrap_or_else(|| usual_directory(&runs));
    let print = |line: &Value| if output.json() { output.result(line, "") } else { Ok(()) };
    if let Some(note) = spent::before(&runs) {
        output.note(&note);
    }
    let lines = run_all(&runs, threads, &directory, print)?;
    if let Some(note) = spent::after(&runs, &lines) {
        output.note(&note);
    }
    let failed: Vec<&Value> = lines.iter().filter(|line| line.get("error").is_some()).collect();
    let trade_offs = TradeOffs::new(&runs, &lines, &command.at, command.violation.as_deref());
    trade_offs.write(&directory)?;
    let text = trade_offs.text(output) + &format!("Results: {}\n", directory.display());
    if output.json() {
        eprint!("{text}");
    } else {
        output.result(&Value::Null, &text)?;
    }
    match failed.first() {
        None => Ok(()),
        Some(first) => {
            let message = format!(
                "{} of {} runs failed; the first: {} ({})",
                failed.len(),
                runs.len(),
                first["error"]["message"].as_str().unwrap_or_default(),
                first["settings"]
            );
            let help = "the other runs are complete; the same command tries the failed ones again";
            Err(Failure::data("sweep::failed_runs", message).help(help))
        }
    }
}

/// Runs what has not ended well before. `show` gets one line per run in the order of the grid, each
/// as soon as those before it are there. Returns the lines of all runs in that order.
pub(crate) fn run_all(
    runs: &[Run],
    threads: usize,
    directory: &Path,
    mut show: impl FnMut(&Value) -> Result<(), Failure>,
) -> Result<Vec<Value>, Failure> {
    let mut results = Results::open(directory)?;
    let mut lines: Vec<Option<Value>> =
        runs.iter().map(|run| results.done(&run.key()).cloned()).collect();
    let wanted: BTreeSet<usize> = (0..runs.len()).filter(|&at| lines[at].is_none()).collect();
    let progress = Progress::start("Sweeping");
    progress.steps("Sweeping", wanted.len());
    let stays = |kept: usize| {
        interrupt::say(format!(
            "{kept} of {} runs are kept in {}; the same command goes on from there",
            runs.len(),
            directory.display()
        ));
    };
    let mut kept = runs.len() - wanted.len();
    stays(kept);
    let mut shown = 0;
    let mut show_ready = |lines: &[Option<Value>]| {
        while let Some(Some(line)) = lines.get(shown) {
            show(line)?;
            shown += 1;
        }
        Ok(())
    };
    show_ready(&lines)?;
    work(
        runs,
        |place| wanted.contains(&place),
        threads,
        directory,
        |ended| {
            let new: Vec<Value> = ended.iter().map(|(_, line)| line.clone()).collect();
            results.append(&new)?;
            kept += new.len();
            stays(kept);
            for (place, line) in ended {
                lines[place] = Some(line);
                progress.step();
            }
            show_ready(&lines)
        },
    )?;
    drop(progress);
    let missing = || Failure::bug("a run of the sweep did not end");
    lines.into_iter().collect::<Option<_>>().ok_or_else(missing)
}

fn check(command: &SweepCommand) -> Result<(), Failure> {
    match command.at.iter().find(|at| !at.is_finite()) {
        Some(wrong) => Err(refuse("at", &wrong.to_string(), "finite numbers")),
        None => Ok(()),
    }
}

fn refuse(key: &str, given: &str, allowed: &str) -> Failure {
    let message = format!("--{key} {given} is refused: it must be {allowed}");
    Failure::usage(&format!("config::{key}"), message)
}

/// As many as asked for, or one per core; refuses none and absurdly many.
pub(crate) fn threads(asked: Option<usize>) -> Result<usize, Failure> {
    match asked {
        Some(threads @ (0 | 1025..)) => {
            Err(refuse("threads", &threads.to_string(), "a whole number from 1 to 1024"))
        }
        Some(threads) => Ok(threads),
        None => Ok(std::thread::available_parallelism().map_or(1, NonZeroUsize::get)),
    }
}

/// The same for the same grid, so that the same command goes on where it was.
fn usual_directory(runs: &[Run]) -> PathBuf {
    // FNV-1a: stable, and nobody attacks it here.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in runs.iter().flat_map(|run| run.key().to_string().into_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let name = runs.first().map_or_else(String::new, |run| run.config.name());
    Path::new(SWEEPS).join(format!("{name}-{:08x}", hash >> 32))
}

fn preview(runs: &[Run], output: Output) -> Result<(), Failure> {
    let configs: Vec<Value> = runs.iter().map(Run::key).collect();
    let plan = json!({
        "dry_run": true,
        "runs": configs,
        "directory": usual_directory(runs),
    });
    let mut text = format!("{} runs (nothing is computed)\n", runs.len());
    for run in runs {
        text += &format!("{}\n", Value::Object(run.varying.clone()));
    }
    output.result(&plan, &text)
}

/// Puts a file in its place in one step.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    use std::io::Write as _;

    let (staged, mut file) = Staged::file(path)?;
    file.write_all(bytes).map_err(|error| Failure::at(path, &error))?;
    drop(file);
    staged.commit()
}
