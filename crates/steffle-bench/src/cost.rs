//! CPU seconds of every private method on Adult, after loading, public fit included, one thread.

use std::ops::ControlFlow;

use steffle::attributes::{ClassRelease, RandomisedResponse};
use steffle::federation::{Federation, Pooling};
use steffle::node::InProcess;
use steffle::noise::NoiseKind;
use steffle::server::{Output, Tolerance};
use steffle::train::{
    Exact, FairPath, FitRule, Length, Mode, OneShotTerms, Settings, Start, StepRule, erm, train,
};

use crate::Outcome;
use crate::clock::Clock;
use crate::problem::{Adult, OBJECTIVE};

/// Arguments of `cost`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many times each runs; the best counts.
    #[arg(long, default_value_t = 7)]
    repeat: u32,
    /// Epsilon of the private methods.
    #[arg(long, default_value_t = 1.0)]
    epsilon: f64,
}

/// What is run after the public fit.
#[derive(Clone, Copy)]
enum Job {
    /// One run of 25 rounds.
    Exact,
    /// One release and ten lambdas.
    OneShot,
    /// One answer per record and ten lambdas.
    Response,
    /// True classes and ten lambdas.
    Fermi,
}

const JOBS: [(&str, Job, NoiseKind); 6] = [
    ("steffle, exact, 25 rounds", Job::Exact, NoiseKind::Simulation),
    ("  the same, secure noise", Job::Exact, NoiseKind::Secure),
    ("one-shot, ten lambdas", Job::OneShot, NoiseKind::Simulation),
    ("  the same, secure noise", Job::OneShot, NoiseKind::Secure),
    ("randomised-response, ten lambdas", Job::Response, NoiseKind::Simulation),
    ("fermi on 3 silos, ten lambdas", Job::Fermi, NoiseKind::Simulation),
];

const TOLERANCE: Tolerance = Tolerance { evaluations: 1000, gradient: 1e-5 };

/// Prints a line per method; the methods take turns, so that a busy moment hits all of them.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let adult = Adult::load()?;
    let delta = (adult.records() as f64).powi(-2);
    let mut best = [[f64::INFINITY; 2]; JOBS.len()];
    for _ in 0..arguments.repeat {
        for ((_, job, noise), best) in JOBS.iter().zip(&mut best) {
            let mut federation = adult.federation(*noise)?;
            let took = once(&mut federation, *job, arguments.epsilon, delta)?;
            best.iter_mut().zip(took).for_each(|(best, took)| *best = best.min(took));
        }
    }
    println!(
        "Adult, 3 silos, epsilon {}, one thread, best of {}",
        arguments.epsilon, arguments.repeat
    );
    println!("{:<34}{:>16}{:>12}", "CPU s", "public fit", "in all");
    for ((name, ..), [fit, all]) in JOBS.iter().zip(best) {
        println!("{name:<34}{fit:>16.3}{all:>12.3}");
    }
    Ok(())
}

/// CPU seconds of the public fit and of everything.
fn once(
    federation: &mut Federation<InProcess>,
    job: Job,
    epsilon: f64,
    delta: f64,
) -> Result<[f64; 2], Box<dyn std::error::Error>> {
    let clock = Clock::start();
    let start = vec![0.0; federation.model().parameters()];
    let public =
        erm(federation, start, FitRule::default(), TOLERANCE, |_, _| ControlFlow::Continue(()))?;
    let fit = clock.cpu();
    let (epsilon, delta) = (epsilon.try_into()?, delta.try_into()?);
    let mut variance = 0.0;
    match job {
        Job::Exact => {
            let exact =
                Exact { epsilon, delta, cap: None, shaped: true, by_record: true, shares: None };
            let settings = Settings {
                mode: Mode::Exact(exact),
                length: Length::Rounds(25),
                batch: None,
                server: StepRule::Improved,
                output: Output::Last,
                ..Settings::of(Mode::None)
            };
            let plan = settings.check(federation.sizes())?;
            let start = Start::from(&public);
            train(&plan, OBJECTIVE, federation, start, |_| ControlFlow::Continue(()))?;
            return Ok([fit, clock.cpu()]);
        }
        Job::OneShot => {
            let terms = OneShotTerms::new(epsilon, delta)?;
            federation.release_once(Pooling::Local, Some(&terms))?;
        }
        Job::Response => {
            let response = RandomisedResponse::new(epsilon, 2)?;
            variance = response.variance();
            federation.impute(ClassRelease::Randomised(response))?;
        }
        Job::Fermi => drop(federation.impute(ClassRelease::Revealed)?),
    }
    let mut path = FairPath::new(federation, OBJECTIVE, &public, variance, TOLERANCE);
    for step in 0..10 {
        let lambda = 0.2 * 750_f64.powf(f64::from(step) / 9.0);
        path.solve(lambda, |_, _| ControlFlow::Continue(()))?;
    }
    Ok([fit, clock.cpu()])
}
