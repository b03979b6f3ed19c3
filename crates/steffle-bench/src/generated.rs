//! One-shot with untouched settings on generated data of many shapes: time, and what it says.

use std::ops::ControlFlow;
use std::sync::Arc;

use rand::Rng;
use steffle::driver::{Agreement, Federation, Pooling};
use steffle::fairness::Notion;
use steffle::model::ModelKind;
use steffle::noise::NoiseKind;
use steffle::protocol::{RunId, SchemaHash};
use steffle::randomness::{Purpose, stream};
use steffle::record::{Attributes, Layout, Records, Rows, Sensitive};
use steffle::server::Tolerance;
use steffle::steffle::SteffleObjective;
use steffle::train::{FairPath, OneShotTerms, erm};

use crate::Outcome;
use crate::clock::Clock;

/// Arguments of `generated`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Epsilon of the release.
    #[arg(long, default_value_t = 1.0)]
    epsilon: f64,
    /// Only shapes with at most this many rows.
    #[arg(long, default_value_t = 1_000_000)]
    rows: usize,
}

/// Rows, numeric columns, categorical columns, levels of each, classes.
const SHAPES: [(usize, usize, usize, usize, usize); 7] = [
    (1000, 5, 0, 0, 2),
    (1000, 5, 0, 0, 10),
    (30_000, 6, 7, 14, 2),
    (30_000, 0, 20, 100, 2),
    (20_000, 200, 0, 0, 2),
    (1_000_000, 6, 7, 14, 2),
    (10_000_000, 5, 0, 0, 10),
];

/// Prints a line per shape.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    println!(
        "     rows features classes   release s   lambda 4 s   gap before    and after (+- noise)"
    );
    for (rows, numeric, columns, levels, classes) in SHAPES {
        if rows > arguments.rows {
            continue;
        }
        let features = numeric + columns * levels;
        let layout = Layout { numeric, categorical: columns, features };
        let (records, attributes) = silo(layout, levels, rows, classes)?;
        let objective = SteffleObjective {
            notion: Notion::DemographicParity,
            classes,
            labels: 2,
            sharpness: 1.0,
        };
        let agreement = Agreement {
            run: RunId([0; 16]),
            schema: SchemaHash([0; 32]),
            model: Arc::from(ModelKind::Logistic.build(layout, 2)?),
            objective: Arc::new(objective),
            seed: 0,
            noise: NoiseKind::Simulation,
        };
        let mut federation = Federation::of_silos(agreement, vec![(records, attributes)])?;
        let tolerance = Tolerance { evaluations: 300, gradient: 1e-5 };
        let go_on = |_: u32, _: f64| ControlFlow::Continue(());
        let public = erm(&mut federation, vec![0.0; layout.weights()], tolerance, go_on)?;
        let delta = (rows as f64).powi(-2).try_into()?;
        let terms = OneShotTerms::new(arguments.epsilon.try_into()?, delta)?;
        federation.set_terms(|_| terms.terms());
        let clock = Clock::start();
        let release = federation.release_once(Pooling::Local)?;
        let released = clock.cpu();
        let before = federation.estimate_gap(&release, &public.theta)?;
        let clock = Clock::start();
        let mut path = FairPath::new(&mut federation, objective, &public, 0.0, tolerance);
        let fair = path.solve(4.0, go_on)?;
        let solved = clock.cpu();
        let after = federation.estimate_gap(&release, &fair.theta)?;
        println!(
            "{rows:>9} {features:>8} {classes:>7} {released:>11.2} {solved:>12.2} {:>12.3} {:>12.3} +- {:.3}{}",
            before.gap,
            after.gap,
            after.standard_error,
            if before.within_noise() { "  noise exceeds the signal" } else { "" }
        );
    }
    Ok(())
}

/// Class and label lean on the first column, the label also on the second; the last class has
/// about 2 % of the records.
fn silo(
    layout: Layout,
    levels: usize,
    records: usize,
    classes: usize,
) -> Result<(Records, Attributes), Box<dyn std::error::Error>> {
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
    let records = Records::new(ids.clone(), rows, labels, None, 2)?;
    Ok((records, Attributes::new(ids, Sensitive::new(s), classes)?))
}
