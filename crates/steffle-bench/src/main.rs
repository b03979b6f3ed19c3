//! Benchmarks (scratch).
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;
use steffle::driver::{Agreement, Federation};
use steffle::fairness::Notion;
use steffle::model::ModelKind;
use steffle::protocol::{RunId, SchemaHash};
use steffle::randomness::{Purpose, stream};
use steffle::server::Tolerance;
use steffle::steffle::SteffleObjective;
use steffle::train::{Mode, Paper, Settings, erm, train};
use steffle_data::*;

fn cpu() -> f64 {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse::<f64>()
        .unwrap()
        / 1e6
}
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let t = Instant::now();
    let source = Source::parse("adult", None)?;
    let recipe = source.recipe().unwrap();
    let data = Dataset::new(source.read(&recipe)?, recipe)?;
    let seed = 0;
    let rows = split(&data, 0.0, &mut stream(seed, 0, Purpose::Split, 0))?;
    let silos = partition(&data, &rows.train, 3, 0.0, &mut stream(seed, 0, Purpose::Partition, 0))?;
    let mut summary = Summary::of(&data, &silos[0]);
    for s in &silos[1..] {
        summary.merge(&Summary::of(&data, s))?;
    }
    let schema = Schema::from_summary(data.recipe(), &summary)?;
    println!("load {:?}", t.elapsed());
    let model: Arc<dyn steffle::model::Classifier> =
        Arc::from(ModelKind::Logistic.build(schema.layout(), 2)?);
    let objective = SteffleObjective { notion: Notion::DemographicParity, classes: 2, labels: 2 };
    let agreement = Agreement {
        run: RunId([0; 16]),
        schema: SchemaHash(schema.hash()),
        model: model.clone(),
        objective: Arc::new(objective),
        seed,
    };
    let parts = silos
        .iter()
        .map(|s| Ok((encode(&data, s, &schema)?.records, attributes(&data, s, &schema)?)))
        .collect::<Result<Vec<_>, Error>>()?;
    let mut federation = Federation::of_silos(agreement, parts)?;
    let test = encode(&data, &rows.test, &schema)?.records;
    let groups = evaluation_groups(&data, &rows.test, &schema)?;
    let report = |theta: &[f64]| {
        let p = steffle::model::Point::new(model.as_ref(), theta).probabilities(test.rows());
        let mut wrong = 0.0;
        let mut pos = [0.0; 2];
        let mut n = [0.0; 2];
        for (i, f) in p.chunks(2).enumerate() {
            let yhat = u16::from(f[1] > f[0]);
            if yhat != test.labels()[i] {
                wrong += 1.0;
            }
            let g = groups.classes[i] as usize;
            n[g] += 1.0;
            pos[g] += f64::from(yhat);
        }
        println!(
            "error {:.4} gap {:.4}",
            wrong / test.len() as f64,
            (pos[0] / n[0] - pos[1] / n[1]).abs()
        );
    };
    let zero = vec![0.0; model.parameters()];
    let t = Instant::now();
    let m = erm(
        &mut federation,
        zero.clone(),
        Tolerance { evaluations: 1000, gradient: 1e-6 },
        |_, _| ControlFlow::Continue(()),
    )?;
    println!(
        "erm {:?} value {} gradient {} evaluations {}",
        t.elapsed(),
        m.value,
        m.gradient,
        m.evaluations
    );
    report(&m.theta);
    let n: usize = federation.sizes().iter().sum();
    let mode = Mode::Paper(Paper {
        epsilon: 3.0.try_into()?,
        delta: (1.0 / (n * n) as f64).try_into()?,
        clip: 1.0,
        diameter: 3.0,
    });
    for round in 0..12 {
        for (name, mode) in [("none", Mode::None), ("paper", mode)] {
            let plan = Settings { mode, ..Settings::default() }.check(federation.sizes())?;
            let c = cpu();
            let out = train(&plan, objective, &mut federation, zero.clone(), |_| {
                ControlFlow::Continue(())
            })?;
            println!(
                "{name} {:.1} ms rounds {} chi {:.5}",
                cpu() - c,
                out.rounds,
                out.trace.last().unwrap().chi_square
            );
            if round == 0 {
                report(&out.theta);
            }
        }
    }
    Ok(())
}
