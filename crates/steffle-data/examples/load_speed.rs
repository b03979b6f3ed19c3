//! How long a million rows take from file to encoded records, and what memory that needs.
//!
//! `cargo run --release -p steffle-data --example load_speed`

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use steffle_data::{
    Column, Dataset, Recipe, Schema, Source, Summary, attributes, encode, read, write,
};

/// Adult, this many times over: 976,840 rows.
const COPIES: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let source = Source::parse("adult", None)?;
    let recipe = source.recipe().ok_or("adult has a recipe")?;
    let directory = std::env::temp_dir().join(format!("steffle-load-speed-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    let outcome = ["adult.csv", "adult.parquet"].iter().try_for_each(|name| {
        let path = directory.join(name);
        {
            let table = source.read(&recipe)?;
            let columns: Vec<(&str, &Column)> =
                table.names().iter().map(String::as_str).zip(table.columns()).collect();
            let rows: Vec<u32> = (0..COPIES).flat_map(|_| 0..table.rows() as u32).collect();
            write(&path, &columns, &rows)?;
        }
        measure(name, &path, &recipe)
    });
    std::fs::remove_dir_all(&directory)?;
    outcome
}

fn measure(name: &str, path: &Path, recipe: &Recipe) -> Result<(), Box<dyn Error>> {
    let (read_in, table) = timed(|| read(path, &recipe.columns()))?;
    let (bound_in, data) = timed(|| Dataset::new(table, recipe.clone()))?;
    let summary = || Summary::of(&data, data.rows());
    let (agreed_in, schema) = timed(|| Schema::from_summary(data.recipe(), &summary()))?;
    let (encoded_in, encoded) = timed(|| encode(&data, data.rows(), &schema))?;
    let (sealed_in, sealed) = timed(|| attributes(&data, data.rows(), &schema))?;
    let records = encoded.records;
    println!(
        "{name}: {} rows, {} usable: read {read_in:.2?}, recipe {bound_in:.2?}, schema \
         {agreed_in:.2?}, encode {encoded_in:.2?}, seal {} classes {sealed_in:.2?}; encoded {} MB, \
         peak memory so far {}",
        data.table().rows(),
        records.len(),
        sealed.class_count(),
        records.bytes() / 1_000_000,
        peak_memory(),
    );
    Ok(())
}

fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(Duration, T), E> {
    let start = Instant::now();
    work().map(|value| (start.elapsed(), value))
}

/// As Linux counts it; elsewhere unknown.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.map_or_else(|| "unknown".to_owned(), |peak| peak.trim().to_owned())
}
