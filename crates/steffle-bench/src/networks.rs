//! Networks by passes of the silos, beside logistic regression and scikit-learn in the same run.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use steffle::federation::{Agreement, Federation};
use steffle::metrics::decide;
use steffle::model::{ModelKind, Point};
use steffle::node::InProcess;
use steffle::randomness::{Purpose, stream};
use steffle::record::Records;
use steffle::server::Tolerance;
use steffle::train::{FitRule, erm};
use steffle_data::{Dataset, Schema, Source, Summary, attributes, encode, partition, split};

use crate::Outcome;
use crate::clock::Clock;
use crate::problem::agreement;

/// Arguments of `networks`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A Python that has scikit-learn, pandas and pyarrow.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// How many splits.
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// The data set: adult or credit-card.
    #[arg(long, default_value = "adult")]
    data: String,
    /// Silos.
    #[arg(long, default_value_t = 3)]
    silos: usize,
    /// How different they are, in [0, 1].
    #[arg(long, default_value_t = 0.0)]
    heterogeneity: f64,
    /// Run our side only.
    #[arg(long)]
    alone: bool,
}

const MODELS: [&str; 3] = ["logistic", "mlp:16", "mlp:64,32"];

/// What a fit came to.
#[derive(Clone, Copy, Default)]
struct Fit {
    trips: f64,
    error: f64,
    loss: f64,
    cpu: f64,
}

/// Prints means over splits, a line per model.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let Arguments { seeds, data, silos, heterogeneity, .. } = arguments;
    println!("{data}, {silos} silos, h {heterogeneity}, {seeds} splits, one thread");
    println!("{:<28}{:>8}{:>12}{:>10}{:>10}", "", "trips", "test error", "log-loss", "CPU s");
    let mut ours = [Fit::default(); MODELS.len()];
    let mut theirs = [Fit::default(); MODELS.len()];
    for seed in 0..*seeds {
        let study = Study::new(arguments, seed)?;
        for (at, name) in MODELS.iter().enumerate() {
            ours[at].add(&study.fit(name, seed)?);
            if let (Some(widths), "adult", false) =
                (name.strip_prefix("mlp:"), &data[..], arguments.alone)
            {
                theirs[at].add(&peer(&arguments.python, seed, widths)?);
            }
        }
    }
    let count = (*seeds).max(1) as f64;
    for ((name, ours), theirs) in MODELS.iter().zip(ours).zip(theirs) {
        ours.print(name, count);
        if theirs.cpu > 0.0 {
            theirs.print(&format!("  scikit-learn {name}"), count);
        }
    }
    Ok(())
}

impl Fit {
    fn add(&mut self, other: &Self) {
        self.trips += other.trips;
        self.error += other.error;
        self.loss += other.loss;
        self.cpu += other.cpu;
    }

    fn print(&self, name: &str, count: f64) {
        let Self { trips, error, loss, cpu } = self;
        let (trips, error, loss) = (trips / count, 100.0 * error / count, loss / count);
        println!("{name:<28}{trips:>8.1}{error:>12.2}{loss:>10.4}{:>10.3}", cpu / count);
    }
}

/// A split, cut into silos.
struct Study {
    data: Dataset,
    schema: Schema,
    silos: Vec<Vec<u32>>,
    test: Records,
}

impl Study {
    fn new(arguments: &Arguments, seed: u64) -> Result<Self, Box<dyn std::error::Error>> {
        let source = Source::parse(&arguments.data, None)?;
        let recipe = source.recipe().ok_or("a data set of its own has no recipe here")?;
        let data = Dataset::new(source.read(&recipe)?, recipe)?;
        let rows = split(&data, 0.0, &mut stream(seed, 0, Purpose::Split, 0))?;
        let mut deal = stream(seed, 0, Purpose::Partition, 0);
        let (count, h) = (arguments.silos, arguments.heterogeneity);
        let silos = partition(&data, &rows.train, count, h, &mut deal)?;
        let schema = Schema::from_summary(data.recipe(), &Summary::of(&data, &rows.train))?;
        let test = encode(&data, &rows.test, &schema)?.records;
        Ok(Self { data, schema, silos, test })
    }

    fn fit(&self, name: &str, seed: u64) -> Result<Fit, Box<dyn std::error::Error>> {
        let Self { data, schema, silos, test } = self;
        let silo = |own: &Vec<u32>| {
            Ok((encode(data, own, schema)?.records, attributes(data, own, schema)?))
        };
        let parts = silos.iter().map(silo).collect::<Result<Vec<_>, steffle_data::Error>>()?;
        let model: ModelKind = name.parse()?;
        let agreement = Agreement { model, seed, ..agreement(schema.layout()) };
        let mut federation = Federation::join(InProcess::silos(parts), agreement)?;
        let model = federation.model().clone();
        let start = model.initial(&mut stream(seed, 0, Purpose::Initial, 0));
        let tolerance = Tolerance { evaluations: 1000, gradient: 1e-5 };
        let (before, clock) = (federation.trips(), Clock::start());
        let go_on = |_, _| ControlFlow::Continue(());
        let found = erm(&mut federation, start, FitRule::default(), tolerance, go_on)?;
        let (cpu, trips) = (clock.cpu(), (federation.trips() - before) as f64);
        let outputs = Point::new(model.as_ref(), &found.theta).probabilities(test.rows());
        let labels = model.labels();
        let decided = decide(&outputs, labels);
        let wrong = decided.iter().zip(test.labels()).filter(|(ours, label)| ours != label).count();
        let own = outputs.chunks_exact(labels).zip(test.labels());
        let loss: f64 = own.map(|(f, &label)| -f[usize::from(label)].max(1e-15).ln()).sum();
        let rows = test.len().max(1) as f64;
        Ok(Fit { trips, error: wrong as f64 / rows, loss: loss / rows, cpu })
    }
}

/// One fit of the peer.
fn peer(python: &Path, seed: u64, widths: &str) -> Result<Fit, Box<dyn std::error::Error>> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(python)
        .arg(here.join("peer/sklearn_peer.py"))
        .arg(here.join("../steffle-data/data/adult.parquet"))
        .args([&seed.to_string(), widths])
        .env("OMP_NUM_THREADS", "1")
        .env("OPENBLAS_NUM_THREADS", "1")
        .output()
        .map_err(|error| format!("{} did not start: {error}", python.display()))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        let last = reason.lines().last().unwrap_or("no message").to_owned();
        let help = "give --python one with scikit-learn, pandas and pyarrow, or say --alone";
        return Err(format!("the scikit-learn peer failed ({last}); {help}").into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [cpu, error, loss] = numbers[..] else {
        return Err(format!("the scikit-learn peer printed {text:?}").into());
    };
    Ok(Fit { trips: 0.0, error, loss, cpu })
}
