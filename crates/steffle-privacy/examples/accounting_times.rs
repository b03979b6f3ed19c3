//! How long accounting takes: `cargo run --release -p steffle-privacy --example accounting_times`.
//!
//! Prints the best and the median of several runs, and fails when a limit is passed: closed form
//! 1 ms, loss distributions at 2000 rounds 0.5 s, calibration 5 s.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use steffle_privacy::{
    Accountant, Delta, Epsilon, Event, FixedBatch, Neighbours, Result, Sampling, calibrate,
};

struct Timing {
    best: Duration,
    median: Duration,
}

fn main() -> ExitCode {
    match table() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("a limit was passed");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the table; false when a limit was passed.
fn table() -> Result<bool> {
    let (z, rounds, delta) = (2.0.try_into()?, 2000.try_into()?, Delta::try_from(1e-9)?);
    let (target, rate) = (Epsilon::try_from(1.0)?, 0.03.try_into()?);
    let event = |sampling, neighbours| Event { sampling, neighbours, noise_multiplier: z, rounds };
    let poisson = Sampling::Poisson(rate);
    let fixed = Sampling::WithoutReplacement(FixedBatch::new(300, 10_000)?);
    let cases = [
        ("full batch", event(Sampling::FullBatch, Neighbours::Replace)),
        ("poisson/replace-centred", event(poisson, Neighbours::ReplaceCentred)),
        ("poisson/replace", event(poisson, Neighbours::Replace)),
        ("poisson/add-remove", event(poisson, Neighbours::AddRemove)),
        ("without-replacement", event(fixed, Neighbours::Replace)),
    ];
    let mut within = true;
    println!(
        "{:<50} {:>12} {:>12} {:>10}",
        "T=2000 z=2 q=0.03 delta=1e-9", "best", "median", "limit"
    );
    for (name, event) in cases {
        for accountant in [Accountant::Gdp, Accountant::Rdp, Accountant::Pld] {
            let closed = accountant == Accountant::Gdp;
            let limit = Duration::from_millis(if closed { 1 } else { 500 });
            let timing =
                time(if closed { 101 } else { 7 }, || accountant.epsilon(&[event], delta))?;
            within &= line(&format!("epsilon/{}/{name}", accountant.name()), &timing, limit);
        }
    }
    for (name, event) in cases {
        let accountant = Accountant::best_for(event.sampling);
        let search = || calibrate::noise_multiplier(accountant, event, target, delta);
        let limit = Duration::from_secs(5);
        within &=
            line(&format!("calibrate/{}/{name}", accountant.name()), &time(3, search)?, limit);
    }
    Ok(within)
}

fn line(id: &str, timing: &Timing, limit: Duration) -> bool {
    println!("{id:<50} {:>12.1?} {:>12.1?} {limit:>10.0?}", timing.best, timing.median);
    timing.median <= limit
}

fn time<T>(runs: usize, work: impl Fn() -> Result<T>) -> Result<Timing> {
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let start = Instant::now();
        std::hint::black_box(work()?);
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(Timing { best: times[0], median: times[runs / 2] })
}
