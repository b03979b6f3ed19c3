//! Training on imputed classes: gradients, identities, and what randomised response does to it.

use steffle_attributes::{ClassRelease, RandomisedResponse};
use steffle_wire::{Batch, Form, ImputedQuestion, Question};

use super::*;
use crate::game::ChiSquareGame;
use crate::server::Minimum;

const TOLERANCE: Tolerance = Tolerance { evaluations: 500, gradient: 1e-6 };

fn keep_on(_: u32, _: f64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn randomised(epsilon: f64, classes: usize) -> ClassRelease {
    let response = RandomisedResponse::new(epsilon.try_into().unwrap(), classes).unwrap();
    ClassRelease::Randomised(response)
}

/// The unconstrained model of a federation.
fn public(federation: &mut Federation<InProcess>) -> Minimum {
    let model = federation.model().clone();
    let start = model.initial(&mut stream(5, 0, Purpose::Initial, 0));
    erm(federation, start, FitRule::Gradients, TOLERANCE, keep_on).unwrap()
}

fn solve(
    federation: &mut Federation<InProcess>,
    objective: OutputScores,
    release: ClassRelease,
    lambdas: &[f64],
) -> Vec<Fair> {
    federation.impute(release).unwrap();
    let public = public(federation);
    let mut path = FairPath::new(federation, objective, &public, 0.0, TOLERANCE);
    lambdas.iter().map(|&lambda| path.solve(lambda, keep_on).unwrap()).collect()
}

#[test]
fn gradients_are_those_of_the_value() {
    for (k, l, notion, kind, release, sharpness) in [
        (2, 2, Notion::DemographicParity, ModelKind::Logistic, ClassRelease::Revealed, 1.0),
        (2, 2, Notion::DemographicParity, ModelKind::Logistic, randomised(0.5, 2), 3.0),
        (
            2,
            2,
            Notion::EqualOpportunity { favourable: 1 },
            ModelKind::Logistic,
            randomised(1.0, 2),
            1.0,
        ),
        (3, 3, Notion::EqualizedOdds { labels: 3 }, ModelKind::Softmax, randomised(2.0, 3), 2.5),
        (3, 2, Notion::Conditional { strata: 2 }, ModelKind::Mlp(vec![3]), randomised(1.0, 3), 1.0),
        (2, 2, Notion::AccuracyParity, ModelKind::Logistic, ClassRelease::Revealed, 2.0),
        (3, 3, Notion::AccuracyParity, ModelKind::Mlp(vec![3]), randomised(2.0, 3), 1.0),
    ] {
        let mut people = Population::new(90, k, l);
        people.classes[4] = MISSING_CLASS;
        let ids: Vec<usize> = (0..90).collect();
        let objective = OutputScores { sharpness, ..people.objective(notion) };
        let agreement = Agreement { scores: objective.into(), ..people.agreement(&kind, notion) };
        let silos =
            [&ids[..30], &ids[30..]].map(|own| (people.records(own), people.attributes(own)));
        let mut federation = Federation::join(InProcess::silos(silos), agreement).unwrap();
        federation.impute(release).unwrap();
        let model = federation.model().clone();
        let mut random = stream(3, 0, Purpose::Initial, 0);
        let mut draw = move || f64::from(random.next_u32()) / 2.0_f64.powi(32) - 0.5;
        let theta: Vec<f64> = (0..model.parameters()).map(|_| draw()).collect();
        let start = public(&mut federation);
        let mut path = FairPath::new(&mut federation, objective, &start, 0.1, TOLERANCE);
        let at = path.evaluate(&theta).unwrap();
        for place in 0..theta.len() {
            let mut moved = |h: f64| {
                let mut theta = theta.clone();
                theta[place] += h;
                let at = path.evaluate(&theta).unwrap();
                [at.loss, at.penalty]
            };
            let (step, mut slopes) = (1e-3, [0.0; 2]);
            for (weight, far) in [(45.0, 1.0), (-9.0, 2.0), (1.0, 3.0)] {
                let (up, down) = (moved(far * step), moved(-far * step));
                (0..2).for_each(|part| slopes[part] += weight * (up[part] - down[part]));
            }
            let slopes = slopes.map(|sum| sum / (60.0 * step));
            let exact = [at.loss_gradient[place], at.penalty_gradient[place]];
            for (found, exact) in slopes.iter().zip(exact) {
                // A clamp that sets in between costs the difference its sixth order.
                assert!((found - exact).abs() < 1e-7, "{kind:?} theta[{place}] {found} {exact}");
            }
        }
    }
}

#[test]
fn revealed_classes_give_the_tables_and_the_divergence_of_the_real_ones() {
    let mut people = Population::new(200, 3, 2);
    people.classes[9] = MISSING_CLASS;
    let notion = Notion::EqualizedOdds { labels: 2 };
    let objective = people.objective(notion);
    let ids: Vec<usize> = (0..200).collect();
    let cuts = [ids[..80].to_vec(), ids[80..].to_vec()];
    let mut federation = people.silos(&ModelKind::Logistic, notion, &cuts);
    federation.impute(ClassRelease::Revealed).unwrap();
    let theta: Vec<f64> = (0..8).map(|i| 0.3 - 0.1 * f64::from(i)).collect();
    let question = ImputedQuestion { theta: theta.clone() };
    let imputed = federation.ask_imputed(&question).unwrap();
    let (cells, form) = (ChiSquareGame::census(objective), Form::Centred);
    let question = Question { theta: theta.clone(), cells, form, batch: Batch::All, loss: true };
    federation.open_plainly().unwrap();
    let real = federation.round(0, &question).unwrap();
    assert!((imputed.loss - real.loss).abs() < 1e-10);
    close(&imputed.gradient, &real.gradient, 1e-10);
    let mut expected = 0.0;
    for (imputed, real) in imputed.cells.iter().zip(&real.cells) {
        assert_eq!(imputed.count, real.count);
        close(&imputed.table, &real.table(), 1e-10);
        expected += real.count / 200.0 * divergence(&real.table(), 2);
    }
    let start = public(&mut federation);
    let mut path = FairPath::new(&mut federation, objective, &start, 0.0, TOLERANCE);
    let at = path.evaluate(&theta).unwrap();
    assert!((at.penalty - expected).abs() < 1e-12, "{} {expected}", at.penalty);
    assert!((at.chi_square - expected).abs() < 1e-12, "{} {expected}", at.chi_square);
}

#[test]
fn lambda_moves_from_the_unconstrained_model_to_fairness() {
    let people = Population::new(2000, 2, 2);
    let ids: Vec<usize> = (0..2000).collect();
    let notion = Notion::DemographicParity;
    let cuts = std::slice::from_ref(&ids);
    let mut federation = people.silos(&ModelKind::Logistic, notion, cuts);
    let unconstrained = public(&mut federation);
    let lambdas = [0.0, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];
    let path = solve(&mut federation, people.objective(notion), ClassRelease::Revealed, &lambdas);
    assert_eq!(path[0].theta, unconstrained.theta);
    for pair in path.windows(2) {
        assert!(pair[1].chi_square < 0.9 * pair[0].chi_square, "{pair:?}");
        assert!(pair[1].gradient <= TOLERANCE.gradient, "{pair:?}");
    }
    assert!(path[6].chi_square < 1e-3 * path[0].chi_square);
    // The optimum does not depend on the way to it.
    let direct = solve(&mut federation, people.objective(notion), ClassRelease::Revealed, &[10.0]);
    close(&direct[0].theta, &path[4].theta, 1e-3);
    assert!((direct[0].value - path[4].value).abs() < 1e-8);
}

#[test]
fn every_centralisation_and_model_trains_on_the_same_answers() {
    let n = 211;
    let all: Vec<usize> = (0..n).collect();
    let unequal = [all[..20].to_vec(), all[20..130].to_vec(), all[130..].to_vec()];
    let holders = [
        all.iter().copied().filter(|id| id % 3 == 0).collect(),
        vec![],
        all.iter().rev().copied().filter(|id| id % 3 != 0).collect::<Vec<_>>(),
    ];
    for (k, l, notion, kind) in [
        (2, 2, Notion::DemographicParity, ModelKind::Logistic),
        (3, 3, Notion::EqualizedOdds { labels: 3 }, ModelKind::Softmax),
        (3, 2, Notion::Conditional { strata: 2 }, ModelKind::Mlp(vec![4])),
    ] {
        let people = Population::new(n, k, l);
        let objective = people.objective(notion);
        // What the objective and its gradient are at some theta, and what the solver makes of it.
        // (It makes of a network what rounding decides among many minima.)
        let train = |mut federation: Federation<InProcess>| {
            let solved =
                solve(&mut federation, objective, ClassRelease::Revealed, &[2.0]).remove(0);
            let start = public(&mut federation);
            let theta: Vec<f64> = (0..start.theta.len()).map(|i| 0.4 * (i as f64).sin()).collect();
            let mut path = FairPath::new(&mut federation, objective, &start, 0.0, TOLERANCE);
            let at = path.evaluate(&theta).unwrap();
            let begin = path.evaluate(&start.theta).unwrap();
            assert!(solved.value < begin.loss + 2.0 * begin.penalty, "{kind:?} did not descend");
            (solved, [vec![at.loss, at.penalty], at.loss_gradient, at.penalty_gradient].concat())
        };
        let pooled = train(people.silos(&kind, notion, std::slice::from_ref(&all)));
        let silos = train(people.silos(&kind, notion, &unequal));
        let central = train(people.split(&kind, notion, &unequal, std::slice::from_ref(&all)));
        let general = train(people.split(&kind, notion, &unequal, &holders));
        for (solved, numbers) in [silos, central, general] {
            close(&numbers, &pooled.1, 1e-12);
            if !matches!(kind, ModelKind::Mlp(_)) {
                close(&solved.theta, &pooled.0.theta, 1e-4);
            }
        }
    }
}

#[test]
fn a_record_whose_class_nobody_released_is_refused() {
    let people = Population::new(40, 2, 2);
    let ids: Vec<usize> = (0..40).collect();
    let (notion, cuts) = (Notion::DemographicParity, [ids.clone()]);
    let mut federation = people.split(&ModelKind::Logistic, notion, &cuts, &[ids[..39].to_vec()]);
    let refused = federation.impute(ClassRelease::Revealed).unwrap_err().to_string();
    assert!(refused.contains("record 39"), "{refused}");
    let question = ImputedQuestion { theta: vec![0.0; 8] };
    let refused = federation.ask_imputed(&question).unwrap_err().to_string();
    assert!(refused.contains("none were imputed"), "{refused}");
}

/// One unit of forty rows has one answer, so a class counts all of its rows or none.
#[test]
fn rows_of_a_unit_get_one_answer_in_every_centralisation() {
    let people = Population::new(40, 2, 2);
    let ids: Vec<usize> = (0..40).collect();
    let (notion, kind) = (Notion::DemographicParity, ModelKind::Logistic);
    let response = RandomisedResponse::new(0.1.try_into().unwrap(), 2).unwrap();
    let (own, other) = response.memberships();
    let records = |units: &[u32]| people.records(&ids).with_units(units).unwrap();
    let counts = |mut federation: Federation<InProcess>| {
        federation.impute(ClassRelease::Randomised(response)).unwrap();
        let question = ImputedQuestion { theta: vec![0.0; 8] };
        let sums = federation.ask_imputed(&question).unwrap();
        sums.cells[0].table[..2].iter().sum::<f64>()
    };
    let silos = |units: &[u32]| {
        let silo = vec![(records(units), people.attributes(&ids))];
        Federation::join(InProcess::silos(silo), people.agreement(&kind, notion)).unwrap()
    };
    let split = |units: &[u32]| {
        let agreement = people.agreement(&kind, notion);
        let nodes = InProcess::split([records(units)], [people.attributes(&ids)]);
        Federation::join(nodes, agreement).unwrap()
    };
    let together = [0; 40];
    for count in [counts(silos(&together)), counts(split(&together))] {
        let near = |expected: f64| (count - 40.0 * expected).abs() < 1e-6;
        assert!(near(own) || near(other), "{count} {own} {other}");
    }
    // Forty coins agree by chance once in 10^11.
    let apart: Vec<u32> = (0..40).collect();
    for count in [counts(silos(&apart)), counts(split(&apart))] {
        let near = |expected: f64| (count - 40.0 * expected).abs() < 1e-6;
        assert!(!near(own) && !near(other), "{count} {own} {other}");
    }
}

#[test]
fn threads_do_not_change_a_bit_of_a_fair_model() {
    let n = 20_000;
    let people = Population::new(n, 3, 2);
    let cuts: Vec<Vec<usize>> = (0..2).map(|j| (j * n / 2..(j + 1) * n / 2).collect()).collect();
    let notion = Notion::EqualizedOdds { labels: 2 };
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut federation = people.silos(&ModelKind::Logistic, notion, &cuts);
            solve(&mut federation, people.objective(notion), randomised(1.0, 3), &[1.0]).remove(0)
        })
    };
    let one = with(1);
    assert_eq!(one, with(2));
    assert_eq!(one, with(5));
}

#[test]
fn debiased_tables_have_the_real_ones_as_their_mean() {
    let people = Population::new(500, 3, 2);
    let ids: Vec<usize> = (0..500).collect();
    let notion = Notion::DemographicParity;
    let tables = |release: ClassRelease, seed: u64| {
        let agreement = Agreement { seed, ..people.agreement(&ModelKind::Logistic, notion) };
        let silo = vec![(people.records(&ids), people.attributes(&ids))];
        let mut federation = Federation::join(InProcess::silos(silo), agreement).unwrap();
        federation.impute(release).unwrap();
        let theta = (0..8).map(|i| 0.2 * f64::from(i) - 0.5).collect();
        let question = ImputedQuestion { theta };
        federation.ask_imputed(&question).unwrap().cells[0].table.clone()
    };
    let real = tables(ClassRelease::Revealed, 0);
    let draws = 400;
    let all: Vec<Vec<f64>> = (0..draws).map(|seed| tables(randomised(1.0, 3), seed)).collect();
    for (entry, real) in real.iter().enumerate() {
        let column = all.iter().map(|table| table[entry]);
        let mean = column.clone().sum::<f64>() / draws as f64;
        let variance = column.map(|x| (x - mean).powi(2)).sum::<f64>() / (draws - 1) as f64;
        // Fixed seeds; five standard errors, which others exceed in one of 3e5 sets of six.
        let error = (variance / draws as f64).sqrt();
        assert!((mean - real).abs() < 5.0 * error, "{entry}: {mean} {real} {error}");
    }
}

#[test]
fn a_sharp_surrogate_is_close_to_the_decisions() {
    let people = Population::new(300, 2, 2);
    let ids: Vec<usize> = (0..300).collect();
    let notion = Notion::DemographicParity;
    let objective = OutputScores { sharpness: 1e4, ..people.objective(notion) };
    let agreement =
        Agreement { scores: objective.into(), ..people.agreement(&ModelKind::Logistic, notion) };
    let silo = vec![(people.records(&ids), people.attributes(&ids))];
    let mut federation = Federation::join(InProcess::silos(silo), agreement).unwrap();
    federation.impute(ClassRelease::Revealed).unwrap();
    let theta: Vec<f64> = (0..8).map(|i| 0.31 * f64::from(i) - 0.97).collect();
    let model = federation.model().clone();
    let outputs = Point::new(model.as_ref(), &theta).probabilities(people.records(&ids).rows());
    let mut hard = vec![0.0; 4];
    for (f, &class) in outputs.chunks_exact(2).zip(&people.classes) {
        hard[usize::from(class) * 2 + usize::from(f[1] > f[0])] += 1.0;
    }
    let question = ImputedQuestion { theta };
    let sums = federation.ask_imputed(&question).unwrap();
    // A record within 1e-3 of the boundary would still count for both labels.
    close(&sums.cells[0].table, &hard, 0.5);
    // The loss is that of the model's own outputs.
    let loss: f64 = outputs
        .chunks_exact(2)
        .zip(&people.labels)
        .map(|(f, &label)| -f[usize::from(label)].ln())
        .sum();
    assert!((sums.loss - loss).abs() < 1e-9, "{} {loss}", sums.loss);
}
