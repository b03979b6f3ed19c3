//! How time and memory grow: records, silos, threads. Every point is a process of its own. Beside
//! its time is that of reading the encoded rows once.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::process::Command;

use steffle::train::{Length, Mode, Settings, train};

use crate::Outcome;
use crate::clock::{Clock, peak_memory};
use crate::problem::{OBJECTIVE, federation};
use crate::synthetic::{LAYOUT, silo};
use steffle::noise::NoiseKind;

/// Arguments of `growth`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The largest number of records.
    #[arg(long, default_value_t = 10_000_000)]
    records: usize,
}

/// One point.
#[derive(clap::Args)]
pub(crate) struct Point {
    #[arg(long)]
    records: usize,
    #[arg(long)]
    silos: usize,
    #[arg(long)]
    threads: usize,
}

const ROUNDS: u32 = 20;

/// Prints the tables.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    println!("synthetic rows in the schema of Adult, full batch, {ROUNDS} rounds, no noise");
    println!(
        "{:>10} {:>6} {:>8} {:>9} {:>9} {:>16} {:>10} {:>7} {:>11} {:>11} {:>7}",
        "records",
        "silos",
        "threads",
        "wall s",
        "CPU s",
        "ns/record-round",
        "stream ns",
        "times",
        "encoded MB",
        "peak MB",
        "ratio"
    );
    let mut records = 10_000;
    while records <= arguments.records {
        point(records, 3, 1)?;
        records *= 10;
    }
    let million = arguments.records.min(1_000_000);
    for silos in [3, 30, 300, 1000] {
        point(million, silos, 1)?;
    }
    for threads in [1, 2] {
        point(million, 3, threads)?;
    }
    Ok(())
}

fn point(records: usize, silos: usize, threads: usize) -> Outcome {
    let number = |value: usize| value.to_string();
    let status = Command::new(std::env::current_exe()?)
        .args(["growth-point", "--records", &number(records)])
        .args(["--silos", &number(silos), "--threads", &number(threads)])
        .status()?;
    if status.success() { Ok(()) } else { Err(format!("{records} records: {status}").into()) }
}

/// Generates, trains, prints one line.
pub(crate) fn run_point(point: &Point) -> Outcome {
    let Point { records, silos, threads } = *point;
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let size = records / silos;
    let parts = (0..silos as u64)
        .map(|at| silo(at, at * size as u64, size))
        .collect::<Result<Vec<_>, _>>()?;
    // Rows, ids and labels at one division; ids and classes at the other.
    let per_attribute = size_of::<u64>() + size_of::<u16>();
    let row_bytes: usize = parts.iter().map(|(own, _)| own.rows().bytes()).sum();
    let encoded: usize = parts.iter().map(|(own, _)| own.bytes() + own.len() * per_attribute).sum();
    let mut federation = federation(LAYOUT, parts, NoiseKind::Simulation)?;
    let settings = Settings {
        mode: Mode::None,
        batch: None,
        length: Length::Rounds(ROUNDS),
        ..Settings::of(Mode::None)
    };
    let plan = settings.check(federation.sizes())?;
    let clock = Clock::start();
    let start = vec![0.0; LAYOUT.weights()];
    train(&plan, OBJECTIVE, &mut federation, start.into(), |_| ControlFlow::Continue(()))?;
    let (wall, cpu) = (clock.wall(), clock.cpu());
    let each = cpu * 1e9 / (records as f64 * f64::from(ROUNDS));
    let megabytes = |bytes: f64| bytes / 1e6;
    let encoded = megabytes(encoded as f64);
    let peak = peak_memory().map_or(f64::NAN, |bytes| megabytes(bytes as f64));
    let stream = stream(row_bytes) * 1e9 / records as f64;
    println!(
        "{records:>10} {silos:>6} {threads:>8} {wall:>9.3} {cpu:>9.3} {each:>16.1} {stream:>10.2} \
         {:>7.1} {encoded:>11.1} {peak:>11.1} {:>7.2}",
        each / stream,
        peak / encoded
    );
    Ok(())
}

/// CPU seconds that it takes to read so many bytes once and do nothing else, best of seven: no pass
/// over rows of that size can be faster. Bytes that fit into a cache are read from there.
fn stream(bytes: usize) -> f64 {
    let words: Vec<u64> = (0..bytes as u64 / 8).collect();
    let once = || {
        let clock = Clock::start();
        black_box(words.iter().fold(0, |all: u64, word| all ^ word));
        clock.cpu()
    };
    (0..7).map(|_| once()).fold(f64::INFINITY, f64::min)
}
