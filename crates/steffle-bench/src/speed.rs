//! The paper's setting on Adult against the NumPy peer, interleaved, best of N, one thread.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use steffle::train::{Mode, Paper, Settings, train};

use crate::clock::Clock;
use crate::problem::{Adult, OBJECTIVE};
use crate::{Outcome, peer};
use steffle::noise::NoiseKind;

/// Arguments of `speed`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A Python that has numpy, pandas and pyarrow.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// How many times each side runs; the best of each counts.
    #[arg(long, default_value_t = 7)]
    repeat: u32,
    /// Run our side only, for a profiler.
    #[arg(long)]
    alone: bool,
}

/// Prints both times of every repetition, the best of each, and their ratio.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let mut federation = Adult::load()?.federation(NoiseKind::Simulation)?;

    let records: usize = federation.sizes().iter().sum();
    let mode = Mode::Paper(Paper {
        epsilon: 3.0.try_into()?,
        delta: (1.0 / (records as f64).powi(2)).try_into()?,
        clip: 1.0,
        diameter: 4.0,
    });
    let plan = Settings::of(mode).check(federation.sizes())?;
    println!(
        "Adult, 3 silos, batch 256, {} rounds, 2 x 2 W, theorem noise, one thread",
        plan.rounds()
    );
    let line = |run: &str, own: f64, peer: Option<f64>| match peer {
        Some(peer) => println!("{run:>4} {own:>16.4} {peer:>16.4} {:>8.1}", peer / own),
        None => println!("{run:>4} {own:>16.4}"),
    };
    let others = if arguments.alone { "" } else { "      numpy CPU s    ratio" };
    println!("{:>4} {:>16}{others}", "run", "steffle CPU s");
    let (mut best, mut best_peer) = (f64::INFINITY, None);
    for repetition in 1..=arguments.repeat {
        let start = vec![0.0; federation.model().parameters()];
        let clock = Clock::start();
        train(&plan, OBJECTIVE, &mut federation, start.into(), |_| ControlFlow::Continue(()))?;
        let own = clock.cpu();
        let peer = if arguments.alone { None } else { Some(numpy(&arguments.python, repetition)?) };
        line(&repetition.to_string(), own, peer);
        best = best.min(own);
        best_peer = peer.map(|peer| best_peer.unwrap_or(f64::INFINITY).min(peer));
    }
    line("best", best, best_peer);
    Ok(())
}

/// One run of the peer, loading excluded.
fn numpy(python: &Path, seed: u32) -> Result<f64, Box<dyn std::error::Error>> {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../steffle-data/data/adult.parquet");
    peer::seconds(python, "numpy_peer.py", &[data, &seed.to_string()])
}
