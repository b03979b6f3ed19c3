//! One-shot and exact mode with untouched settings on generated data of many shapes: time, memory,
//! and what they do to the gap.

use std::ops::ControlFlow;

use rand::Rng;
use steffle::attributes::{Attributes, Sensitive};
use steffle::fairness::Notion;
use steffle::federation::{Agreement, Federation, Pooling, RunKind};
use steffle::game::OutputScores;
use steffle::metrics::decide;
use steffle::model::{ModelKind, Point};
use steffle::node::InProcess;
use steffle::noise::NoiseKind;
use steffle::protocol::{RunId, SchemaHash};
use steffle::randomness::{Purpose, stream};
use steffle::record::{Layout, Records, Rows};
use steffle::server::Tolerance;
use steffle::train::{
    Exact, FairPath, FitRule, Length, Mode, OneShotTerms, Settings, Start, StepRule, erm, train,
};

use crate::Outcome;
use crate::clock::{Clock, peak_memory};

/// Arguments of `generated`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Epsilon of the release.
    #[arg(long, default_value_t = 1.0)]
    epsilon: f64,
    /// Only shapes with at most this many rows.
    #[arg(long, default_value_t = 1_000_000)]
    rows: usize,
    /// Only shapes with at least this many rows.
    #[arg(long, default_value_t = 0)]
    rows_from: usize,
    /// Only shapes with this many classes.
    #[arg(long)]
    classes: Option<usize>,
}

/// Rows, numeric columns, categorical columns, levels of each, classes.
const SHAPES: [(usize, usize, usize, usize, usize); 10] = [
    (1000, 5, 0, 0, 2),
    (1000, 5, 0, 0, 10),
    (30_000, 6, 7, 14, 2),
    (30_000, 0, 20, 100, 2),
    (20_000, 200, 0, 0, 2),
    (100_000, 6, 6, 49, 10),
    (100_000, 5, 19, 105, 2),
    (1_000_000, 6, 7, 14, 2),
    (10_000_000, 5, 0, 0, 2),
    (10_000_000, 5, 0, 0, 10),
];

/// Gaps of some tenths are to be seen to shrink: more than the default 1.
const LAMBDA: f64 = 4.0;

/// Prints a line per shape.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    println!("CPU s and gaps at lambda {LAMBDA}, epsilon {}; peak MB so far", arguments.epsilon);
    println!(
        "{:>9} {:>8} {:>7} {:>7} {:>8} {:>8} {:>8} {:>18} {:>8} {:>8} {:>9} {:>8}",
        "rows",
        "features",
        "classes",
        "fit s",
        "gap",
        "one-shot",
        "gap",
        "estimated",
        "exact s",
        "gap",
        "signal",
        "peak MB"
    );
    for (rows, numeric, columns, levels, classes) in SHAPES {
        let wanted = (arguments.rows_from..=arguments.rows).contains(&rows);
        if !wanted || arguments.classes.is_some_and(|only| only != classes) {
            continue;
        }
        let features = numeric + columns * levels;
        let layout = Layout { numeric, categorical: columns, features };
        line(layout, levels, rows, classes, arguments.epsilon)?;
    }
    Ok(())
}

/// Generates one shape, trains with both methods and prints.
fn line(layout: Layout, levels: usize, rows: usize, classes: usize, epsilon: f64) -> Outcome {
    let (records, s) = silo(layout, levels, rows, classes)?;
    let attributes = Attributes::new(records.ids().to_vec(), Sensitive::new(s.clone()), classes)?;
    let test = records.rows().clone();
    let objective =
        OutputScores { notion: Notion::DemographicParity, classes, labels: 2, sharpness: 1.0 };
    let agreement = Agreement {
        run: RunId([0; 16]),
        schema: SchemaHash([0; 32]),
        columns: Vec::new(),
        layout,
        model: ModelKind::Logistic,
        scores: objective.into(),
        seed: 0,
        noise: NoiseKind::Simulation,
        kind: RunKind::default(),
    };
    let model = agreement.model.build(layout, 2)?;
    let gap = |theta: &[f64]| {
        let outputs = Point::new(model.as_ref(), theta).probabilities(&test);
        real_gap(&decide(&outputs, 2), &s, classes)
    };
    let mut federation =
        Federation::join(InProcess::silos([(records, attributes)]), agreement.clone())?;
    let tolerance = Tolerance { evaluations: 300, gradient: 1e-5 };
    let go_on = |_: u32, _: f64| ControlFlow::Continue(());
    let clock = Clock::start();
    let public =
        erm(&mut federation, vec![0.0; layout.weights()], FitRule::default(), tolerance, go_on)?;
    let fit = clock.cpu();
    let epsilon = epsilon.try_into()?;
    let delta = (rows as f64).powi(-2).try_into()?;

    let terms = OneShotTerms::new(epsilon, delta)?;
    let clock = Clock::start();
    let release = federation.release_once(Pooling::Local, Some(&terms))?;
    let mut path = FairPath::new(&mut federation, objective, &public, 0.0, tolerance);
    let fair = path.solve(LAMBDA, go_on)?;
    let once = clock.cpu();
    let before = federation.look(&release, &public.theta)?.gap;
    let after = federation.estimate_gap_after(&release, &public.theta, &fair.theta)?;

    // Other stores: the budget of these is spent.
    drop(federation);
    let (records, s) = silo(layout, levels, rows, classes)?;
    let attributes = Attributes::new(records.ids().to_vec(), Sensitive::new(s), classes)?;
    let mut federation = Federation::join(InProcess::silos([(records, attributes)]), agreement)?;
    let exact = Exact { epsilon, delta, cap: None, shaped: true, by_record: true, shares: None };
    let settings = Settings {
        lambda: LAMBDA,
        mode: Mode::Exact(exact),
        length: Length::Rounds(25),
        batch: None,
        server: StepRule::Improved,
        ..Settings::of(Mode::None)
    };
    let plan = settings.check(federation.sizes())?;
    let clock = Clock::start();
    let start = Start::from(&public);
    let run = train(&plan, objective, &mut federation, start, |_| ControlFlow::Continue(()))?;
    let rounds = clock.cpu();
    println!(
        "{rows:>9} {:>8} {classes:>7} {fit:>7.2} {:>8.3} {once:>8.2} {:>8.3} {:>9.3} +- {:.3} {rounds:>8.2} {:>8.3} {:>9.1} {:>8.0}{}",
        layout.features,
        gap(&public.theta),
        gap(&fair.theta),
        after.gap,
        after.standard_error,
        gap(&run.theta),
        run.signal_to_noise.unwrap_or(f64::NAN),
        peak_memory().map_or(f64::NAN, |bytes| bytes as f64 / 1e6),
        if before.within_noise() { "  one-shot: noise exceeds the signal" } else { "" }
    );
    Ok(())
}

/// The largest difference between two classes in the rate of label 1.
fn real_gap(decisions: &[u16], s: &[u16], classes: usize) -> f64 {
    let (mut chosen, mut all) = (vec![0.0; classes], vec![0.0; classes]);
    for (&class, &decision) in s.iter().zip(decisions) {
        all[usize::from(class)] += 1.0;
        chosen[usize::from(class)] += f64::from(decision);
    }
    let rates: Vec<f64> = chosen.iter().zip(&all).map(|(chosen, all)| chosen / all).collect();
    let most = rates.iter().copied().fold(f64::MIN, f64::max);
    most - rates.iter().copied().fold(f64::MAX, f64::min)
}

/// Class and label lean on the first column, the label also on the second; the last class has
/// about 2 % of the records.
fn silo(
    layout: Layout,
    levels: usize,
    records: usize,
    classes: usize,
) -> Result<(Records, Vec<u16>), Box<dyn std::error::Error>> {
    let mut random = stream(1, records as u64, Purpose::Split, classes as u64);
    let mut unit = move || f64::from(random.next_u32()) / 2.0_f64.powi(32);
    let (mut numbers, mut codes, mut labels, mut s) = (vec![], vec![], vec![], vec![]);
    for _ in 0..records {
        let mut leans = [0.0; 2];
        for column in 0..layout.numeric {
            let x = (unit() - 0.5) * 12.0_f64.sqrt();
            leans
                .iter_mut()
                .skip(column)
                .take(1)
                .filter(|_| column < 2)
                .for_each(|lean| *lean += x);
            numbers.push(x as f32);
        }
        for column in 0..layout.categorical {
            let level = ((unit() * levels as f64) as usize).min(levels - 1);
            let side = if level.is_multiple_of(2) { -1.0 } else { 1.0 };
            leans
                .iter_mut()
                .skip(column)
                .take(1)
                .filter(|_| column < 2)
                .for_each(|lean| *lean += side);
            codes.push((layout.numeric + column * levels + level) as u32);
        }
        let likely = |score: f64| 1.0 / (1.0 + (-score).exp());
        labels.push(u16::from(unit() < likely(leans[0] + 1.5 * leans[1])));
        let other = likely(leans[0]);
        s.push(match unit() {
            draw if draw < 0.04 * other => (classes - 1) as u16,
            draw if classes > 2 && draw < other => 1 + (unit() * (classes - 2) as f64) as u16,
            draw if classes == 2 && draw < 0.5 * other => 1,
            _ => 0,
        });
    }
    let ids: Vec<u64> = (0..records as u64).collect();
    let rows = Rows::new(layout, records, numbers, codes)?;
    Ok((Records::new(ids, rows, labels, None, 2)?, s))
}
