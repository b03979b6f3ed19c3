//! A group that is the middle of a range: the objective then has two minima, and the lower one is found.

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use steffle_wire::ClassRelease;

use super::*;
use crate::server::Minimum;

const TIGHT: Tolerance = Tolerance { evaluations: 1000, gradient: 1e-7 };

/// What a label depends on: age, what goes with being in the group, and neither.
struct Leaning {
    age: f64,
    group: f64,
    all: f64,
    /// The group are those whose age is less than this many deviations from the mean.
    middle: f64,
    /// How much of what goes with the group is chance.
    chance: f64,
}

/// Outcomes of the group and of all others are made alike by counting less what goes with the group, or
/// by counting age more, so that the old make up for the young.
fn people(n: usize, leaning: &Leaning) -> Population {
    let mut random = stream(23, 0, Purpose::Split, 0);
    let (mut numeric, mut codes, mut labels, mut classes) = (vec![], vec![], vec![], vec![]);
    for _ in 0..n {
        let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
        let (age, chance) = (normal(), normal());
        let group = age.abs() < leaning.middle;
        let sign = f64::from(u8::from(group)) - 0.5 + leaning.chance * chance;
        let score = leaning.age * age + leaning.group * sign + leaning.all;
        numeric.extend([age as f32, sign as f32]);
        codes.extend([2 + random.random_range(0..3), 5 + random.random_range(0..2)]);
        labels.push(u16::from(random.random::<f64>() < 1.0 / (1.0 + (-score).exp())));
        classes.push(u16::from(group));
    }
    Population { numeric, codes, labels, classes, k: 2, l: 2 }
}

fn keep_on(_: u32, _: f64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn federation(people: &Population) -> Federation<InProcess> {
    let cuts = [(0..900).collect::<Vec<usize>>(), (900..people.labels.len()).collect()];
    people.silos(&ModelKind::Logistic, Notion::DemographicParity, &cuts)
}

/// What a path over lambdas ends with, from what `rule` finds or from theta 0.
fn ends(people: &Population, rule: FitRule, at_zero: bool, lambdas: &[f64]) -> Fair {
    let mut federation = federation(people);
    federation.impute(ClassRelease::Revealed).unwrap();
    let zero = vec![0.0; federation.model().parameters()];
    let mut start: Minimum = erm(&mut federation, zero.clone(), rule, TIGHT, keep_on).unwrap();
    if at_zero {
        start.theta = zero;
    }
    let objective = people.objective(Notion::DemographicParity);
    let mut path = FairPath::new(&mut federation, objective, &start, 0.0, TIGHT);
    let fair = lambdas.iter().map(|&lambda| path.solve(lambda, keep_on).unwrap());
    let most = rule.most_fair_trips(1, start.theta.len(), lambdas[lambdas.len() - 1], TIGHT);
    let last = fair.last().unwrap();
    assert!(last.evaluations <= most, "{} of {most}", last.evaluations);
    last
}

/// All seeds are fixed. The lower minimum is the one near the model that tells nobody apart, the one that the path
/// from the unconstrained model leads to, or this with one lambda and that with the next.
#[test]
fn of_two_minima_the_lower_one_is_found() {
    let lambdas = [1.0, 2.0, 4.0, 8.0, 16.0, 25.0, 40.0];
    for (all, age, group, lower_at_zero) in [
        (1.0, 1.5, 4.0, [Some(true), Some(true)]),
        (0.0, 1.5, 4.0, [None, Some(false)]),
        (1.0, 2.0, 4.0, [Some(false), Some(true)]),
    ] {
        let people = people(3000, &Leaning { age, group, all, middle: 1.6, chance: 1.0 });
        for (end, at_zero) in [5, 7].into_iter().zip(lower_at_zero) {
            // Gradients follow one path each.
            let (path, last) = (&lambdas[..end], &lambdas[end - 1..end]);
            let followed = ends(&people, FitRule::Gradients, false, path).value;
            let from_zero = ends(&people, FitRule::Gradients, true, last).value;
            let lower = followed.min(from_zero);
            match at_zero {
                Some(true) => assert!(from_zero < 0.99 * followed, "{followed} {from_zero}"),
                Some(false) => assert!(followed < 0.99 * from_zero, "{followed} {from_zero}"),
                None => {}
            }
            for lambdas in [path, last] {
                let found = ends(&people, FitRule::FewTrips, false, lambdas).value;
                assert!((found / lower - 1.0).abs() < 1e-3, "{found} {followed} {from_zero}");
            }
        }
        // Back at a small lambda nothing is left of the large one.
        let alone = ends(&people, FitRule::FewTrips, false, &[4.0]);
        assert_eq!(ends(&people, FitRule::FewTrips, false, &[40.0, 4.0]), alone);
    }
}
