//! Reading a table from CSV and from Parquet against polars, interleaved, best of N, one thread.

use std::hint::black_box;
use std::path::{Path, PathBuf};

use steffle_data::{Column, Columns, Source, read, write};

use crate::clock::Clock;
use crate::{Outcome, peer};

/// Arguments of `reading`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A Python that has polars.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// Rows of the file: Adult, over and over.
    #[arg(long, default_value_t = 10_000_000)]
    rows: usize,
    /// How many times each side runs; the best of each counts.
    #[arg(long, default_value_t = 3)]
    repeat: u32,
    /// Run our side only, for a profiler.
    #[arg(long)]
    alone: bool,
}

/// Writes both files, reads them in turns, and prints a line each.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let directory = std::env::temp_dir().join(format!("steffle-reading-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    println!("{} rows, 15 columns, one thread, best of {}", arguments.rows, arguments.repeat);
    println!("{:>8} {:>16} {:>16} {:>8}", "file", "steffle CPU s", "polars CPU s", "ratio");
    let outcome = ["csv", "parquet"].iter().try_for_each(|kind| {
        let path = directory.join(format!("adult.{kind}"));
        written(&path, arguments.rows)?;
        line(kind, &path, arguments)
    });
    std::fs::remove_dir_all(&directory)?;
    outcome
}

fn line(kind: &str, path: &Path, arguments: &Arguments) -> Outcome {
    let (mut own, mut peer) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..arguments.repeat {
        let clock = Clock::start();
        black_box(read(path, &Columns::All { text: Vec::new() })?);
        own = own.min(clock.cpu());
        if !arguments.alone {
            let file = path.display().to_string();
            peer = peer.min(peer::seconds(&arguments.python, "polars_peer.py", &[&file])?);
        }
    }
    println!("{kind:>8} {own:>16.2} {peer:>16.2} {:>8.2}", own / peer);
    Ok(())
}

fn written(path: &Path, rows: usize) -> Outcome {
    let source = Source::parse("adult", None)?;
    let recipe = source.recipe().ok_or("adult has a recipe")?;
    let table = source.read(&recipe)?;
    let columns: Vec<(&str, &Column)> =
        table.names().iter().map(String::as_str).zip(table.columns()).collect();
    let rows: Vec<u32> = (0..rows).map(|row| (row % table.rows()) as u32).collect();
    Ok(write(path, &columns, &rows)?)
}
