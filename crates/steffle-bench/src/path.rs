//! A lambda path on imputed classes, Adult, one thread: evaluations and CPU time.

use std::ops::ControlFlow;

use steffle::division::attributes::{ClassRelease, RandomisedResponse};
use steffle::driver::Pooling;
use steffle::noise::NoiseKind;
use steffle::randomness::{Purpose, stream};
use steffle::server::Tolerance;
use steffle::train::{FairPath, OneShotTerms, erm};
use steffle_data::{Dataset, Schema, Source, Summary, attributes, encode, partition, split};

use crate::Outcome;
use crate::clock::Clock;
use crate::problem::{OBJECTIVE, federation};

/// Arguments of `path`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many times it runs; the best counts.
    #[arg(long, default_value_t = 5)]
    repeat: u32,
    /// Epsilon of randomised response; the true classes where it is absent.
    #[arg(long)]
    epsilon: Option<f64>,
    /// Release once at this epsilon instead: method one-shot.
    #[arg(long, conflicts_with = "epsilon")]
    one_shot: Option<f64>,
    /// Noise from the operating system.
    #[arg(long)]
    secure: bool,
}

/// Prints the public fit, the release and each lambda.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let source = Source::parse("adult", None)?;
    let recipe = source.recipe().ok_or("the embedded data set has a recipe")?;
    let data = Dataset::new(source.read(&recipe)?, recipe)?;
    let rows = split(&data, 0.0, &mut stream(0, 0, Purpose::Split, 0))?;
    let mut deal = stream(0, 0, Purpose::Partition, 0);
    let silos = partition(&data, &rows.train, 3, 0.0, &mut deal)?;
    let schema = Schema::from_summary(data.recipe(), &Summary::of(&data, &rows.train))?;
    let release = match arguments.epsilon {
        None => ClassRelease::Revealed,
        Some(epsilon) => ClassRelease::Randomised(RandomisedResponse::new(epsilon.try_into()?, 2)?),
    };
    let variance = match release {
        ClassRelease::Randomised(response) => response.variance(),
        ClassRelease::Revealed => 0.0,
    };
    let noise = if arguments.secure { NoiseKind::Secure } else { NoiseKind::Simulation };
    for _ in 0..arguments.repeat {
        let parts = silos
            .iter()
            .map(|own| Ok((encode(&data, own, &schema)?.records, attributes(&data, own, &schema)?)))
            .collect::<Result<Vec<_>, steffle_data::Error>>()?;
        let mut federation = federation(schema.layout(), parts, noise)?;
        let tolerance = Tolerance { evaluations: 1000, gradient: 1e-5 };
        let go_on = |_: u32, _: f64| ControlFlow::Continue(());
        let whole = Clock::start();
        let clock = Clock::start();
        let start = vec![0.0; schema.layout().weights()];
        let public = erm(&mut federation, start, tolerance, go_on)?;
        println!("public fit {:>8.1} ms {:>4} evaluations", 1e3 * clock.cpu(), public.evaluations);
        let clock = Clock::start();
        match arguments.one_shot {
            None => drop(federation.impute(release)?),
            Some(epsilon) => {
                let rows = rows.train.len() as f64;
                let delta = rows.powi(-2).try_into()?;
                let terms = OneShotTerms::new(epsilon.try_into()?, delta)?;
                federation.set_terms(|_| terms.terms());
                federation.release_once(Pooling::Local)?;
            }
        }
        println!("release    {:>8.1} ms", 1e3 * clock.cpu());
        let mut path = FairPath::new(&mut federation, OBJECTIVE, &public, variance, tolerance);
        for step in 0..10 {
            let lambda = 0.2 * 750_f64.powf(f64::from(step) / 9.0);
            let clock = Clock::start();
            let fair = path.solve(lambda, go_on)?;
            println!(
                "lambda {lambda:>7.2} {:>6.1} ms {:>4} evaluations, D {:.5}, value {:.6}, slope {:.1e}",
                1e3 * clock.cpu(),
                fair.evaluations,
                fair.chi_square,
                fair.value,
                fair.gradient
            );
        }
        println!("in all     {:>8.1} ms\n", 1e3 * whole.cpu());
    }
    Ok(())
}
