//! Exact mode beside mode `none`: what prices and integer noise add to the round of a record.

use std::ops::ControlFlow;

use steffle::noise::NoiseKind;
use steffle::train::{Exact, Length, Mode, Settings, StepRule, train};

use crate::Outcome;
use crate::clock::{Clock, Turns, peak_memory};
use crate::problem::{OBJECTIVE, federation};
use crate::synthetic::{LAYOUT, silo};

/// Arguments of `exact`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Records, in three silos.
    #[arg(long, default_value_t = 10_000_000)]
    records: usize,
    /// Rounds of each run.
    #[arg(long, default_value_t = 25)]
    rounds: u32,
    #[command(flatten)]
    turns: Turns,
}

const SILOS: usize = 3;

/// Runs both modes in turns and prints a line each.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let Arguments { records, rounds, turns: Turns { repeat, threads, alone } } = *arguments;
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    println!(
        "synthetic rows in the schema of Adult, {records} records, {SILOS} silos, full batch, \
         {rounds} rounds, {threads} thread(s), best of {repeat}"
    );
    let delta = (records as f64).powi(-2).try_into()?;
    let exact = Exact {
        epsilon: 1.0.try_into()?,
        delta,
        cap: None,
        shaped: true,
        by_record: true,
        shares: None,
    };
    let (mut private, mut open) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..repeat {
        if !alone {
            open = open.min(seconds(Mode::None, arguments)?);
        }
        private = private.min(seconds(Mode::Exact(exact), arguments)?);
    }
    println!("{:<8} {:>9} {:>16}", "mode", "CPU s", "ns/record-round");
    let each = 1e9 / (records as f64 * f64::from(rounds));
    println!("{:<8} {open:>9.3} {:>16.1}", "none", open * each);
    println!("{:<8} {private:>9.3} {:>16.1}", "exact", private * each);
    println!("{:<8} {:>9.2}", "ratio", private / open);
    let peak = peak_memory().map_or(f64::NAN, |bytes| bytes as f64 / 1e6);
    println!("peak MB {peak:>10.0}");
    Ok(())
}

/// CPU seconds of one run, its start included, the data not.
fn seconds(mode: Mode, arguments: &Arguments) -> Result<f64, Box<dyn std::error::Error>> {
    let size = arguments.records / SILOS;
    // Other stores each time: the budget of these is spent.
    let parts = (0..SILOS as u64)
        .map(|at| silo(at, at * size as u64, size))
        .collect::<Result<Vec<_>, _>>()?;
    let mut federation = federation(LAYOUT, parts, NoiseKind::Simulation)?;
    let settings = Settings {
        mode,
        length: Length::Rounds(arguments.rounds),
        batch: None,
        server: StepRule::Improved,
        ..Settings::of(Mode::None)
    };
    let plan = settings.check(federation.sizes())?;
    let start = vec![0.0; LAYOUT.weights()];
    let clock = Clock::start();
    train(&plan, OBJECTIVE, &mut federation, start.into(), |_| ControlFlow::Continue(()))?;
    Ok(clock.cpu())
}
