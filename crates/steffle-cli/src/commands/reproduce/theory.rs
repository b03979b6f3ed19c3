//! Theorem 3.3 beside what is measured.

use rayon::prelude::*;
use steffle_front::theory::{Instance, Slope, slope};
use steffle_report::{Curve, Fit, Kind, Panel, Point, Privacy, Table};

use super::promise::mark;
use crate::commands::sweep::Mean;
use crate::failure::Failure;
use crate::ui::Progress;

/// An axis: its name, the theorem's exponent, and the instances on it.
struct Axis {
    name: &'static str,
    label: &'static str,
    predicted: f64,
    instances: Vec<(f64, Instance)>,
}

/// Panels and the table of slopes.
pub(super) fn theory(
    seeds: &[u64],
    quick: bool,
    threads: usize,
) -> Result<(Vec<Panel>, Table), Failure> {
    let axes = axes(quick);
    let progress = Progress::start("Measuring the stationarity gap");
    let jobs: Vec<(usize, usize, u64)> = axes
        .iter()
        .enumerate()
        .flat_map(|(axis, own)| (0..own.instances.len()).map(move |at| (axis, at)))
        .flat_map(|(axis, at)| seeds.iter().map(move |&seed| (axis, at, seed)))
        .collect();
    progress.steps("Measuring the stationarity gap", jobs.len());
    let measure = |&(axis, at, seed): &(usize, usize, u64)| {
        let gap = axes[axis].instances[at].1.stationarity(seed);
        progress.step();
        gap.map_err(|error| Failure::data("reproduce::theory", error.to_string()))
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Failure::bug(error.to_string()))?;
    let measured: Vec<f64> =
        pool.install(|| jobs.par_iter().map(measure).collect::<Result<_, _>>())?;
    drop(progress);
    let mut measured = measured.chunks_exact(seeds.len().max(1)).map(<[f64]>::to_vec);
    let (mut panels, mut rows) = (Vec::new(), Vec::new());
    for axis in &axes {
        let values: Vec<Vec<f64>> = measured.by_ref().take(axis.instances.len()).collect();
        let at: Vec<f64> = axis.instances.iter().map(|(x, _)| *x).collect();
        let found = slope(&at, &values);
        let half = interval(found, seeds.len());
        panels.push(panel(axis, &values, found, half));
        rows.push(vec![
            axis.label.to_owned(),
            format!("{:.2}", axis.predicted),
            format!("{:.2}", found.slope),
            format!("{:.2} to {:.2}", found.slope - half, found.slope + half),
        ]);
    }
    let columns = ["against", "exponent of Theorem 3.3", "measured", "95 % interval"];
    let table = Table {
        title: "Theory: exponents of the stationarity gap".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
        caption: CAPTION.to_owned(),
    };
    Ok((panels, table))
}

const CAPTION: &str = "Squared gradient norm of FERMI, W maximised exactly, at the uniformly drawn \
                       iterate of Algorithm 1 with the noise of Theorem 3.2 on generated data; \
                       full batches, constant steps, T = 0.1 epsilon n sqrt(N) / sqrt(d) rounds. \
                       The theorem is an upper bound: a measured exponent may be better.";

/// At least five points each, around the middle. `quick` makes all silos smaller.
fn axes(quick: bool) -> Vec<Axis> {
    let middle = Instance::MIDDLE;
    let middle =
        if quick { Instance { records: 500, silos: 2, features: 8, ..middle } } else { middle };
    let axis = |name, label, predicted, instances| Axis { name, label, predicted, instances };
    let times = |factors: [f64; 6], of: f64| factors.map(|factor| factor * of);
    let around = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0];
    let of_epsilon = |epsilon: f64| (epsilon, Instance { epsilon, ..middle });
    let of_records = |n: f64| (n, Instance { records: n as usize, ..middle });
    let of_silos = |silos: usize| (silos as f64, Instance { silos, ..middle });
    let of_features = |d: f64| (d, Instance { features: d as usize, ..middle });
    vec![
        axis("epsilon", "epsilon", -1.0, times(around, middle.epsilon).map(of_epsilon).to_vec()),
        axis(
            "records",
            "records n of a silo",
            -1.0,
            times(around, middle.records as f64).map(of_records).to_vec(),
        ),
        axis("silos", "silos N", -0.5, [1, 2, 4, 8, 16, 32].map(of_silos).to_vec()),
        axis(
            "features",
            "features d",
            0.5,
            times(around, middle.features as f64).map(of_features).to_vec(),
        ),
    ]
}

fn panel(axis: &Axis, values: &[Vec<f64>], found: Slope, half: f64) -> Panel {
    let points = axis.instances.iter().zip(values).filter_map(|((x, _), own)| {
        let mean = Mean::of(own)?;
        Some(Point {
            x: *x,
            x_error: None,
            y: mean.value,
            y_error: mean.standard_error,
            lambda: None,
            seeds: own.len(),
            honest_epsilon: None,
        })
    });
    Panel {
        id: format!("theory-{}", axis.name),
        figure: "theory".to_owned(),
        title: format!("Stationarity gap against {}", axis.label),
        data: "generated".to_owned(),
        notion: "demographic parity".to_owned(),
        epsilon: None,
        heterogeneity: None,
        silos: None,
        kind: Kind::Line { x_log: true, y_log: true },
        x_label: axis.label.to_owned(),
        y_label: "squared gradient norm of FERMI".to_owned(),
        curves: vec![Curve {
            method: "steffle".to_owned(),
            mark: mark("steffle"),
            label: "SteFFLe, paper's noise".to_owned(),
            epsilon: None,
            privacy: Privacy {
                protects: "the noise is that of Theorem 3.2, whose claim does not hold".to_owned(),
                trusted: "this is an analysis of convergence on generated data".to_owned(),
                holds: false,
                ..Privacy::default()
            },
            points: points.collect(),
            fit: Some(Fit {
                slope: found.slope,
                low: found.slope - half,
                high: found.slope + half,
                predicted: Some(axis.predicted),
            }),
        }],
        published: Vec::new(),
        x_limit: None,
        y_limit: None,
        equal_error: Vec::new(),
        caption: CAPTION.to_owned(),
    }
}

/// Half of the 95 % interval: Student's quantile for two seeds or more, each of which is left out once
/// by the jackknife.
fn interval(found: Slope, seeds: usize) -> f64 {
    const QUANTILES: [f64; 20] = [
        12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13,
        2.12, 2.11, 2.10, 2.09, 2.09,
    ];
    let quantile = QUANTILES.get(seeds.saturating_sub(2)).copied().unwrap_or(2.09);
    quantile * found.standard_error
}
