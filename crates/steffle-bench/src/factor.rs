//! Cholesky factors against OpenBLAS, interleaved, best of N, one thread.

use std::hint::black_box;
use std::path::PathBuf;

use steffle::linear::{Cholesky, Symmetric};

use crate::clock::Clock;
use crate::{Outcome, peer};

/// Arguments of `factor`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A Python that has numpy, whose wheels bring OpenBLAS.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// Rows and columns.
    #[arg(long, value_delimiter = ',', default_values_t = [103, 501, 1001, 2001])]
    columns: Vec<usize>,
    /// How many times each side runs; the best of each counts.
    #[arg(long, default_value_t = 7)]
    repeat: u32,
}

/// Prints a line per size.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    println!("Cholesky factor, one thread, best of {}", arguments.repeat);
    println!("{:>8} {:>16} {:>16} {:>8}", "columns", "steffle CPU s", "OpenBLAS CPU s", "ratio");
    for &size in &arguments.columns {
        let matrix = matrix(size);
        let (mut own, mut peer) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..arguments.repeat {
            let copy = matrix.clone();
            let clock = Clock::start();
            black_box(Cholesky::new(copy)?);
            own = own.min(clock.cpu());
            let size = size.to_string();
            peer = peer.min(peer::seconds(&arguments.python, "cholesky_peer.py", &[&size])?);
        }
        println!("{size:>8} {own:>16.5} {peer:>16.5} {:>8.2}", own / peer);
    }
    Ok(())
}

/// Positive definite, and as full as a Gram matrix.
fn matrix(size: usize) -> Symmetric {
    let entry = |i: usize, j: usize| ((i * 31 + j * 17) as f64).sin() / (size as f64);
    let mut matrix = Symmetric::from_lower(size, entry);
    matrix.add_diagonal(2.0);
    matrix
}
