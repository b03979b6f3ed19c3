//! Reading a table from CSV and from Parquet against polars, interleaved, best of N, equal threads.

use std::hint::black_box;
use std::path::{Path, PathBuf};

use steffle_data::{Column, Columns, Source, read, write};

use crate::clock::{Clock, Turns};
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
    #[command(flatten)]
    turns: Turns,
}

/// Writes both files, reads them in turns, and prints a line each.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let Arguments { rows, turns: Turns { repeat, threads, .. }, .. } = arguments;
    rayon::ThreadPoolBuilder::new().num_threads(*threads).build_global()?;
    let directory = std::env::temp_dir().join(format!("steffle-reading-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    println!("{rows} rows, 15 columns, {threads} thread(s), best of {repeat}");
    println!(
        "{:>8} {:>14} {:>13} {:>6} {:>15} {:>14} {:>6}",
        "file",
        "steffle CPU s",
        "polars CPU s",
        "ratio",
        "steffle wall s",
        "polars wall s",
        "ratio"
    );
    let outcome = ["csv", "parquet"].iter().try_for_each(|kind| {
        let path = directory.join(format!("adult.{kind}"));
        written(&path, arguments.rows)?;
        line(kind, &path, arguments)
    });
    std::fs::remove_dir_all(&directory)?;
    outcome
}

fn line(kind: &str, path: &Path, arguments: &Arguments) -> Outcome {
    let (mut own, mut peer) = ([f64::INFINITY; 2], [f64::INFINITY; 2]);
    let best = |all: &mut [f64; 2], now: [f64; 2]| {
        all.iter_mut().zip(now).for_each(|(best, now)| *best = best.min(now));
    };
    let Turns { repeat, threads, alone } = arguments.turns;
    for _ in 0..repeat {
        let clock = Clock::start();
        black_box(read(path, &Columns::All { text: Vec::new() })?);
        best(&mut own, [clock.cpu(), clock.wall()]);
        if !alone {
            let file = path.display().to_string();
            let took = peer::numbers(&arguments.python, "polars_peer.py", &[&file], threads)?;
            best(&mut peer, took);
        }
    }
    let [[cpu, wall], [peer_cpu, peer_wall]] = [own, peer];
    println!(
        "{kind:>8} {cpu:>14.2} {peer_cpu:>13.2} {:>6.2} {wall:>15.2} {peer_wall:>14.2} {:>6.2}",
        cpu / peer_cpu,
        wall / peer_wall
    );
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
