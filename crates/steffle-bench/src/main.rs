//! Benchmarks. Times are not tests: they print, they do not judge.
//!
//! ```text
//! cargo run --release -p steffle-bench -- speed --python python3
//! cargo run --release -p steffle-bench -- growth
//! cargo run --release -p steffle-bench -- exact
//! cargo run --release -p steffle-bench -- cost
//! cargo run --release -p steffle-bench -- generated
//! cargo run --release -p steffle-bench -- factor --python python3
//! cargo run --release -p steffle-bench -- reading --python python3
//! cargo run --release -p steffle-bench -- ledger
//! cargo run --release -p steffle-bench -- rounds
//! cargo run --release -p steffle-bench -- masks
//! cargo run --release -p steffle-bench -- networks --python python3
//! cargo run --release -p steffle-bench -- profile -- speed --alone --repeat 40
//! cargo build --release && cargo run --release -p steffle-bench -- methods
//! cargo build --release && cargo run --release -p steffle-bench -- reproduce
//! ```

mod clock;
mod cost;
mod exact;
mod factor;
mod generated;
mod growth;
mod ledger;
mod library;
mod masks;
mod methods;
mod networks;
mod peer;
mod problem;
mod profile;
mod reading;
mod reproduce;
mod rounds;
mod speed;
mod synthetic;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Benchmarks of SteFFLe.
#[derive(Parser)]
#[command(name = "steffle-bench")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// CPU seconds of the paper's setting on Adult, beside a NumPy peer in the same run.
    Speed(speed::Arguments),
    /// Time and peak memory as records, silos and threads grow, on synthetic rows.
    Growth(growth::Arguments),
    /// CPU seconds of exact mode, beside mode `none` in the same run, on synthetic rows.
    Exact(exact::Arguments),
    /// CPU seconds of the private methods on Adult, public fit included.
    Cost(cost::Arguments),
    /// CPU seconds of Cholesky factors, beside OpenBLAS in the same run.
    Factor(factor::Arguments),
    /// CPU seconds of reading a table from CSV and Parquet, beside polars in the same run.
    Reading(reading::Arguments),
    /// One-shot and exact mode on generated data: up to ten million rows, two thousand features, ten classes.
    Generated(generated::Arguments),
    /// What the budget book on disk adds to a round: syncs, bytes and milliseconds.
    Ledger(ledger::Arguments),
    /// CPU seconds of a fit of columns in memory, for a comparison with Python.
    Library(library::Arguments),
    /// Where the time of a round goes: computing, carrying messages between processes, the ledger.
    Rounds(rounds::Arguments),
    /// What masks add to a request: one site's time, and the journal's.
    Masks(masks::Arguments),
    /// Runs per second and peak memory of every method, as `steffle sweep` reaches them on Adult.
    Methods(methods::Arguments),
    /// CPU seconds of `steffle reproduce`, beside another build where one is given.
    Reproduce(reproduce::Arguments),
    /// Where the time of another of these commands goes, by kind of work, with the profiler `perf`.
    Profile(profile::Arguments),
    /// Networks by passes of the silos, beside logistic regression and scikit-learn in the same run.
    Networks(networks::Arguments),
    /// One point of `growth`, in a process of its own so that its peak memory is its own.
    #[command(hide = true)]
    GrowthPoint(growth::Point),
    /// A site of `rounds`.
    #[command(hide = true)]
    RoundSite(rounds::Site),
}

/// What a benchmark returns: any failure ends it with its message.
type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Speed(arguments) => speed::run(&arguments),
        Task::Growth(arguments) => growth::run(&arguments),
        Task::Exact(arguments) => exact::run(&arguments),
        Task::Cost(arguments) => cost::run(&arguments),
        Task::Factor(arguments) => factor::run(&arguments),
        Task::Reading(arguments) => reading::run(&arguments),
        Task::Generated(arguments) => generated::run(&arguments),
        Task::Ledger(arguments) => ledger::run(&arguments),
        Task::Library(arguments) => library::run(&arguments),
        Task::Masks(arguments) => masks::run(&arguments),
        Task::Methods(arguments) => methods::run(&arguments),
        Task::Profile(arguments) => profile::run(&arguments),
        Task::Reproduce(arguments) => reproduce::run(&arguments),
        Task::Rounds(arguments) => rounds::run(&arguments),
        Task::RoundSite(site) => rounds::run_site(&site),
        Task::Networks(arguments) => networks::run(&arguments),
        Task::GrowthPoint(point) => growth::run_point(&point),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("steffle-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
