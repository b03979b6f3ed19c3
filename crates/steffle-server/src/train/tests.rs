//! Identities of the whole protocol, on small generated populations.

use std::ops::ControlFlow;

use rand::Rng;
use steffle_attributes::{Attributes, Sensitive};
use steffle_model::fairness::{ClassWeights, Dual, Notion, divergence, psi};
use steffle_model::model::{Classifier, ModelKind, Point};
use steffle_model::randomness::{Purpose, stream};
use steffle_model::record::{Layout, MISSING_CLASS, Records, Rows};
use steffle_privacy::ledger::NoiseKind;
use steffle_site::node::InProcess;
use steffle_wire::{RunId, SchemaHash};

use super::*;
use crate::federation::{Agreement, Federation};
use crate::game::{OutputScores, RIDGE};
use crate::server::{Output, Rates, Tolerance};

mod counts;
mod exact;
mod fair;
mod few_trips;
mod generated;
mod hostile;
mod minima;
mod one_shot;
mod passes;
mod rounds;
mod shared;

const LAYOUT: Layout = Layout { numeric: 2, categorical: 2, features: 7 };

/// A population whose class and label both depend on the features.
struct Population {
    numeric: Vec<f32>,
    codes: Vec<u32>,
    labels: Vec<u16>,
    classes: Vec<u16>,
    k: usize,
    l: usize,
}

impl Population {
    fn new(n: usize, k: usize, l: usize) -> Self {
        let mut random = stream(11, 0, Purpose::Split, 0);
        let mut unit = move || random.next_u32() as f32 / u32::MAX as f32;
        let (mut numeric, mut codes, mut labels, mut classes) = (vec![], vec![], vec![], vec![]);
        for _ in 0..n {
            let (x, z) = (4.0 * unit() - 2.0, 4.0 * unit() - 2.0);
            numeric.extend([x, z]);
            codes.extend([2 + (3.0 * unit()) as u32 % 3, 5 + (2.0 * unit()) as u32 % 2]);
            let pick = |score: f32, among: usize| {
                let place = 1.0 / (1.0 + (-score).exp());
                ((place * among as f32) as usize).min(among - 1) as u16
            };
            labels.push(pick(x + z + 2.0 * unit() - 1.0, l));
            classes.push(pick(x + 3.0 * unit() - 1.5, k));
        }
        Self { numeric, codes, labels, classes, k, l }
    }

    fn records(&self, ids: &[usize]) -> Records {
        let pick = |width: usize| ids.iter().flat_map(move |&id| id * width..(id + 1) * width);
        let numeric = pick(2).map(|at| self.numeric[at]).collect();
        let codes = pick(2).map(|at| self.codes[at]).collect();
        let rows = Rows::new(LAYOUT, ids.len(), numeric, codes).unwrap();
        let labels = ids.iter().map(|&id| self.labels[id]).collect();
        let strata = ids.iter().map(|&id| (id % 2) as u16).collect();
        let ids = ids.iter().map(|&id| id as u64).collect();
        Records::new(ids, rows, labels, Some(strata), self.l).unwrap()
    }

    fn attributes(&self, ids: &[usize]) -> Attributes {
        let classes = ids.iter().map(|&id| self.classes[id]).collect();
        let ids = ids.iter().map(|&id| id as u64).collect();
        Attributes::new(ids, Sensitive::new(classes), self.k).unwrap()
    }

    fn objective(&self, notion: Notion) -> OutputScores {
        OutputScores { notion, classes: self.k, labels: self.l, sharpness: 1.0 }
    }

    fn agreement(&self, kind: &ModelKind, notion: Notion) -> Agreement {
        Agreement {
            run: RunId([1; 16]),
            schema: SchemaHash([2; 32]),
            columns: Vec::new(),
            layout: LAYOUT,
            model: kind.clone(),
            scores: self.objective(notion).into(),
            seed: 5,
            noise: NoiseKind::Simulation,
            kind: crate::federation::RunKind::default(),
        }
    }

    fn silos(
        &self,
        kind: &ModelKind,
        notion: Notion,
        cuts: &[Vec<usize>],
    ) -> Federation<InProcess> {
        let silos = cuts.iter().map(|ids| (self.records(ids), self.attributes(ids)));
        Federation::join(InProcess::silos(silos), self.agreement(kind, notion)).unwrap()
    }

    fn split(
        &self,
        kind: &ModelKind,
        notion: Notion,
        records: &[Vec<usize>],
        attributes: &[Vec<usize>],
    ) -> Federation<InProcess> {
        let nodes = InProcess::split(
            records.iter().map(|ids| self.records(ids)),
            attributes.iter().map(|ids| self.attributes(ids)),
        );
        Federation::join(nodes, self.agreement(kind, notion)).unwrap()
    }
}

fn go_on(_: &RoundTrace) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn settings(mode: Mode) -> Settings {
    Settings {
        mode,
        length: Length::Rounds(30),
        batch: None,
        rates: Rates { theta: 0.5, dual: 0.5, decay: 0.8 },
        ..Settings::of(Mode::None)
    }
}

fn paper(epsilon: f64) -> Mode {
    let (epsilon, delta) = (epsilon.try_into().unwrap(), 1e-5.try_into().unwrap());
    Mode::Paper(Paper { epsilon, delta, clip: 1.0, diameter: 4.0 })
}

fn run(
    federation: &mut Federation<InProcess>,
    objective: OutputScores,
    settings: &Settings,
) -> Outcome {
    let plan = settings.clone().check(federation.sizes()).unwrap();
    let model = federation.model().clone();
    let start = model.initial(&mut stream(5, 0, Purpose::Initial, 0));
    train(&plan, objective, federation, start.into(), go_on).unwrap()
}

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    let far = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(far <= tolerance, "{far:e} apart, {tolerance:e} allowed");
}

/// Additions in another order, amplified by 30 rounds of descent: far below this.
const OTHER_CUT: f64 = 1e-10;

#[test]
fn every_centralisation_gives_the_pooled_model() {
    let n = 211;
    let all: Vec<usize> = (0..n).collect();
    let unequal = [all[..20].to_vec(), all[20..130].to_vec(), all[130..].to_vec()];
    let holders = [
        all.iter().copied().filter(|id| id % 3 == 0).collect(),
        vec![], // holds none of the announced ids
        all.iter().rev().copied().filter(|id| id % 3 != 0).collect::<Vec<_>>(),
    ];
    for (k, l, notion, kind) in [
        (2, 2, Notion::DemographicParity, ModelKind::Logistic),
        (3, 3, Notion::EqualizedOdds { labels: 3 }, ModelKind::Softmax),
        (3, 2, Notion::Conditional { strata: 2 }, ModelKind::Mlp(vec![4])),
        (2, 2, Notion::EqualOpportunity { favourable: 1 }, ModelKind::Logistic),
        (2, 2, Notion::AccuracyParity, ModelKind::Logistic),
        (3, 3, Notion::AccuracyParity, ModelKind::Softmax),
    ] {
        let mut people = Population::new(n, k, l);
        people.classes[7] = MISSING_CLASS;
        let objective = people.objective(notion);
        let settings = settings(Mode::None);
        let mut pooled = people.silos(&kind, notion, std::slice::from_ref(&all));
        let pooled = run(&mut pooled, objective, &settings);
        let mut silos = people.silos(&kind, notion, &unequal);
        close(&run(&mut silos, objective, &settings).theta, &pooled.theta, OTHER_CUT);
        let mut central = people.split(&kind, notion, &unequal, std::slice::from_ref(&all));
        close(&run(&mut central, objective, &settings).theta, &pooled.theta, OTHER_CUT);
        let mut general = people.split(&kind, notion, &unequal, &holders);
        close(&run(&mut general, objective, &settings).theta, &pooled.theta, OTHER_CUT);
    }
}

#[test]
fn without_lambda_and_noise_it_is_federated_sgd() {
    let people = Population::new(100, 2, 2);
    let ids: Vec<usize> = (0..100).collect();
    let cuts = [ids[..40].to_vec(), ids[40..].to_vec()];
    let notion = Notion::DemographicParity;
    let settings = Settings { lambda: 0.0, ..settings(Mode::None) };
    let mut federation = people.silos(&ModelKind::Logistic, notion, &cuts);
    let trained = run(&mut federation, people.objective(notion), &settings);
    let mut theta = vec![0.0; 8];
    for round in 0..30 {
        let (_, gradient) = federation.loss(&theta).unwrap();
        let rate = 0.5 * 0.8_f64.powi(round * 4 / 30);
        for (theta, slope) in theta.iter_mut().zip(gradient) {
            *theta -= rate * (slope + 2.0 * RIDGE * *theta);
        }
    }
    close(&trained.theta, &theta, 1e-12);
}

#[test]
fn threads_do_not_change_a_bit() {
    let n = 20_000; // several blocks per silo, several silos
    let people = Population::new(n, 3, 2);
    let cuts: Vec<Vec<usize>> = (0..2).map(|j| (j * n / 2..(j + 1) * n / 2).collect()).collect();
    let notion = Notion::EqualizedOdds { labels: 2 };
    let with = |threads: usize, batch: Option<u32>, mode: Mode| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut federation = people.silos(&ModelKind::Logistic, notion, &cuts);
            let settings = Settings { batch, length: Length::Rounds(4), ..settings(mode) };
            run(&mut federation, people.objective(notion), &settings).theta
        })
    };
    for (batch, mode) in [(None, Mode::None), (None, paper(1.0)), (Some(6000), paper(1.0))] {
        let one = with(1, batch, mode);
        assert_eq!(one, with(2, batch, mode));
        assert_eq!(one, with(5, batch, mode));
    }
}

/// `L + lambda sum_c w_c mean psi` from the definitions, record by record.
fn objective_value(
    people: &Population,
    model: &dyn Classifier,
    theta: &[f64],
    notion: Notion,
    lambda: f64,
    duals: &[(Dual, ClassWeights)],
) -> f64 {
    let ids: Vec<usize> = (0..people.labels.len()).collect();
    let records = people.records(&ids);
    let outputs = Point::new(model, theta).probabilities(records.rows());
    let (mut loss, mut fairness, mut inside) = (0.0, 0.0, 0.0);
    for (id, f) in outputs.chunks_exact(people.l).enumerate() {
        loss -= f[usize::from(people.labels[id])].ln();
        if let Some(cell) = notion.cell(people.labels[id], (id % 2) as u16) {
            let (dual, weights) = &duals[cell];
            let scores: Vec<f64> = notion.scores(f, people.labels[id]).collect();
            fairness += psi::value(dual, weights, &scores, usize::from(people.classes[id]));
            inside += 1.0;
        }
    }
    let squared: f64 = theta.iter().map(|t| t * t).sum();
    loss / ids.len() as f64 + RIDGE * squared + lambda * fairness / inside
}

#[test]
fn one_step_descends_and_ascends_the_objective() {
    use crate::game::ChiSquareGame;
    use crate::server::Problem;
    use steffle_model::fairness::DualSet;
    use steffle_wire::{Batch, Form, Question};

    let people = Population::new(60, 3, 3);
    let notion = Notion::EqualizedOdds { labels: 3 };
    let objective = people.objective(notion);
    let ids: Vec<usize> = (0..60).collect();
    let kind = ModelKind::Softmax;
    let cuts = [ids[..25].to_vec(), ids[25..].to_vec()];
    let mut federation = people.silos(&kind, notion, &cuts);
    let model = federation.model().clone();
    let mut random = stream(3, 0, Purpose::Initial, 0);
    let mut draw = move || f64::from(random.next_u32()) / 2.0_f64.powi(31) - 1.0;
    let theta: Vec<f64> = (0..model.parameters()).map(|_| draw()).collect();
    let lambda = 1.7;
    // A limit that no record reaches: then the clipped form is the same gradient in one message.
    for form in [Form::Centred, Form::Clipped { limit: 1e9 }] {
        let mut problem =
            ChiSquareGame::new(objective, lambda, form, DualSet::Ball { diameter: 1e9 });
        let ask = |cells, form| Question {
            theta: theta.clone(),
            cells,
            form,
            batch: Batch::All,
            loss: false,
        };
        let census = ask(ChiSquareGame::census(objective), Form::Centred);
        federation.open_plainly().unwrap();
        problem.begin(&federation.round(0, &census).unwrap());
        let dual: Vec<f64> = (0..27).map(|_| draw()).collect();
        problem.set_dual(&dual);
        let answers = federation.round(1, &ask(problem.ask(), form)).unwrap();
        let descent = problem.theta_gradient(&theta, &answers);
        let ascent = problem.dual_gradient(&answers);

        let value = |theta: &[f64], dual: &[f64]| {
            let cell = |(at, weights): (usize, &ClassWeights)| {
                (Dual::from_values(3, dual[at * 9..(at + 1) * 9].to_vec()), weights.clone())
            };
            let duals: Vec<_> = problem.weights().iter().enumerate().map(cell).collect();
            objective_value(&people, model.as_ref(), theta, notion, lambda, &duals)
        };
        let derivative = |at: usize, in_theta: bool| {
            let moved = |h: f64| {
                let (mut theta, mut dual) = (theta.clone(), dual.clone());
                if in_theta {
                    theta[at] += h;
                } else {
                    dual[at] += h;
                }
                value(&theta, &dual)
            };
            let pair = |k: f64| moved(k * 0.01) - moved(-k * 0.01);
            (45.0 * pair(1.0) - 9.0 * pair(2.0) + pair(3.0)) / 0.6
        };
        for (at, slope) in descent.iter().enumerate() {
            assert!((derivative(at, true) - slope).abs() < 1e-8, "theta[{at}]");
        }
        for (at, slope) in ascent.iter().enumerate() {
            assert!((derivative(at, false) - slope).abs() < 1e-8, "W[{at}]");
        }
    }
}

#[test]
fn training_makes_the_outputs_fairer() {
    let people = Population::new(2000, 2, 2);
    let ids: Vec<usize> = (0..2000).collect();
    let notion = Notion::DemographicParity;
    let violation = |lambda: f64| {
        let mut federation = people.silos(&ModelKind::Logistic, notion, std::slice::from_ref(&ids));
        let rates = Rates { theta: 0.2, dual: 0.02, decay: 0.8 };
        let length = Length::Rounds(400);
        let settings = Settings { lambda, length, rates, ..settings(Mode::None) };
        let trained = run(&mut federation, people.objective(notion), &settings);
        let model = federation.model().clone();
        let outputs =
            Point::new(model.as_ref(), &trained.theta).probabilities(people.records(&ids).rows());
        let mut table = vec![0.0; 4];
        for (f, &class) in outputs.chunks_exact(2).zip(&people.classes) {
            (0..2).for_each(|u| table[usize::from(class) * 2 + u] += f[u]);
        }
        divergence(&table, 2)
    };
    let (free, fair) = (violation(0.0), violation(20.0));
    assert!(free > 0.05, "{free}");
    assert!(fair < 0.1 * free, "{fair} against {free}");
}

#[test]
fn the_papers_noise_has_the_papers_law() {
    let people = Population::new(400, 2, 2);
    let ids: Vec<usize> = (0..400).collect();
    let notion = Notion::DemographicParity;
    let rates = Rates { theta: 1.0, dual: 1.0, decay: 1.0 };
    let one = |mode: Mode, seed: u64| {
        let mut agreement = people.agreement(&ModelKind::Logistic, notion);
        agreement.seed = seed;
        let silo = vec![(people.records(&ids), people.attributes(&ids))];
        let mut federation = Federation::join(InProcess::silos(silo), agreement).unwrap();
        let settings = Settings { rates, length: Length::Rounds(1), ..settings(mode) };
        run(&mut federation, people.objective(notion), &settings)
    };
    let exact = one(paper(1e9), 0).theta;
    let sigma = one(paper(1.0), 0).theorem.unwrap().sigma_theta;
    let draws: Vec<f64> = (0..500)
        .flat_map(|seed| {
            let noisy = one(paper(1.0), seed).theta;
            noisy.iter().zip(&exact).map(|(a, b)| (a - b) / sigma).collect::<Vec<_>>()
        })
        .collect();
    let n = draws.len() as f64;
    let deviation = (draws.iter().map(|d| d * d).sum::<f64>() / n).sqrt();
    // 4,000 draws, fixed seeds; five standard errors.
    assert!((deviation - 1.0).abs() < 5.0 / (2.0 * n).sqrt(), "{deviation}");
}

#[test]
fn the_unconstrained_optimum_has_no_slope() {
    let people = Population::new(300, 2, 3);
    let ids: Vec<usize> = (0..300).collect();
    let cuts = [ids[..100].to_vec(), ids[100..].to_vec()];
    let solve = |kind: &ModelKind, evaluations: u32| {
        let mut federation = people.silos(kind, Notion::None, &cuts);
        let model = federation.model().clone();
        let start = model.initial(&mut stream(5, 0, Purpose::Initial, 0));
        let tolerance = Tolerance { evaluations, gradient: 1e-6 };
        erm(&mut federation, start, FitRule::Gradients, tolerance, |_, _| ControlFlow::Continue(()))
            .unwrap()
    };
    let optimum = solve(&ModelKind::Softmax, 1000);
    assert!(optimum.gradient <= 1e-6, "{optimum:?}");
    // The MLP's loss has no unique minimum, but it has to go down.
    let deep = ModelKind::Mlp(vec![3]);
    let (start, end) = (solve(&deep, 1).value, solve(&deep, 200).value);
    assert!(end < 0.6 * start, "{start} to {end}");
}

#[test]
fn impossible_settings_are_refused() {
    let refused = |settings: Settings| settings.check(&[100, 50]).unwrap_err().to_string();
    let base = || settings(Mode::None);
    assert!(refused(Settings { lambda: -1.0, ..base() }).contains("lambda is -1"));
    assert!(refused(Settings { lambda: f64::NAN, ..base() }).contains("lambda is NaN"));
    assert!(refused(Settings { batch: Some(51), ..base() }).contains("silo 1 has 50"));
    assert!(refused(Settings { batch: Some(0), ..base() }).contains("batch of 0"));
    assert!(refused(Settings { length: Length::Rounds(0), ..base() }).contains("0 rounds"));
    let rates = Rates { theta: 0.0, dual: 0.1, decay: 1.0 };
    assert!(refused(Settings { rates, ..base() }).contains("theta step size is 0"));
    let endless = Settings { length: Length::Epochs(u32::MAX), batch: Some(1), ..base() };
    assert!(refused(endless).contains("rounds"));
    let plan = Settings { length: Length::Epochs(3), batch: Some(40), ..base() };
    assert_eq!(plan.check(&[100, 50]).unwrap().rounds(), 9);
}

#[test]
fn settings_that_cannot_work_are_warned_of() {
    let warnings = |settings: Settings| settings.check(&[100]).unwrap().warnings(2);
    assert!(warnings(settings(Mode::None)).is_empty());
    let fast = Settings { lambda: 20.0, ..settings(Mode::None) };
    assert!(warnings(fast)[0].contains("lambda times the dual step size is 10"));
    let (epsilon, delta) = (1.0.try_into().unwrap(), 1e-5.try_into().unwrap());
    let small = Mode::Paper(Paper { epsilon, delta, clip: 1.0, diameter: 2.0 });
    assert!(warnings(settings(small))[0].contains("diameter 2"));
}

#[test]
fn a_run_can_be_interrupted_and_divergence_is_told() {
    let people = Population::new(100, 2, 2);
    let notion = Notion::DemographicParity;
    let objective = people.objective(notion);
    let mut federation = people.silos(&ModelKind::Logistic, notion, &[(0..100).collect()]);
    let plan = settings(Mode::None).check(&[100]).unwrap();
    let stop = |seen: &RoundTrace| match seen.round {
        3 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let stopped = train(&plan, objective, &mut federation, vec![0.0; 8].into(), stop);
    assert!(matches!(stopped, Err(TrainError::Interrupted(3))));
    let rates = Rates { theta: 1e300, dual: 1.0, decay: 1.0 };
    let plan = Settings { rates, output: Output::Average, ..settings(paper(1.0)) };
    let plan = plan.check(&[100]).unwrap();
    let diverged = train(&plan, objective, &mut federation, vec![0.0; 8].into(), go_on);
    assert!(matches!(diverged, Err(TrainError::Diverged(_) | TrainError::Federation(_))));
}
