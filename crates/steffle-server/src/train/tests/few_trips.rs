//! The fit in few trips: the same models as gradients alone give, whatever the silos are like.

use steffle_attributes::{ClassRelease, RandomisedResponse};
use steffle_wire::{FitQuestion, Metric};

use super::one_shot::Generated;
use super::*;
use crate::federation::FederationError;
use crate::server::Minimum;

const TIGHT: Tolerance = Tolerance { evaluations: 3000, gradient: 1e-8 };

fn fitted(federation: &mut Federation<InProcess>, rule: FitRule) -> (Minimum, Vec<f64>) {
    let start = vec![0.0; federation.model().parameters()];
    let mut values = Vec::new();
    let fit = erm(federation, start, rule, TIGHT, |_, value| {
        values.push(value);
        ControlFlow::Continue(())
    });
    (fit.unwrap(), values)
}

/// Cuts of 0..n: alike, of power-law sizes with an empty one, and by label.
fn cuts(people: &Population, n: usize) -> Vec<Vec<Vec<usize>>> {
    let alike = (0..3).map(|j| (0..n).filter(|i| i % 3 == j).collect()).collect();
    let sizes = [n - n / 2, n / 2 - n / 8, n / 8 - 3, 3, 0];
    let mut from = 0;
    let power = sizes.map(|size| {
        from += size;
        (from - size..from).collect()
    });
    let by_label = |label| (0..n).filter(|&i| people.labels[i] == label).collect();
    vec![alike, power.into(), (0..people.l as u16).map(by_label).collect()]
}

#[test]
fn the_optimum_is_that_of_gradients_and_the_loss_never_rises() {
    for (l, kind) in [(2, ModelKind::Logistic), (2, ModelKind::Softmax), (3, ModelKind::Softmax)] {
        let people = Population::new(1200, 2, l);
        for (at, cut) in cuts(&people, 1200).iter().enumerate() {
            let mut federation = people.silos(&kind, Notion::None, cut);
            let before = federation.trips();
            let (few, values) = fitted(&mut federation, FitRule::FewTrips);
            assert_eq!(u64::from(few.evaluations), federation.trips() - before);
            assert!(few.evaluations <= 34, "{kind:?} {at}: {}", few.evaluations);
            assert!(values.windows(2).all(|pair| pair[1] <= pair[0]), "{kind:?} {at}: {values:?}");
            let (exact, _) = fitted(&mut federation, FitRule::Gradients);
            let above = few.value / exact.value - 1.0;
            assert!((-1e-9..1e-4).contains(&above), "{kind:?} {at}: {above:e}");
        }
    }
}

#[test]
fn one_silo_is_newton_s_method() {
    let people = Population::new(900, 2, 2);
    let mut federation = people.silos(&ModelKind::Logistic, Notion::None, &[(0..900).collect()]);
    let (few, _) = fitted(&mut federation, FitRule::FewTrips);
    let (exact, _) = fitted(&mut federation, FitRule::Gradients);
    assert!(few.evaluations <= 5, "{}", few.evaluations);
    assert!(few.value - exact.value < 1e-6 * exact.value);
}

/// 600 levels are too many for factors: the diagonal alone, from gradients and Hessians' diagonals.
#[test]
fn wide_models_are_fitted_by_the_diagonal() {
    let data = Generated::new(4000, 0, 10, 60, 2, 3);
    let (mut federation, objective) = data.federation();
    let parameters = federation.model().parameters();
    assert!(parameters > steffle_wire::MOST_FACTORED);
    let (few, _) = fitted(&mut federation, FitRule::FewTrips);
    let (exact, _) = fitted(&mut federation, FitRule::Gradients);
    assert!(few.value / exact.value - 1.0 < 1e-4, "{} {}", few.value, exact.value);
    assert!(2 * few.evaluations < exact.evaluations, "{} {}", few.evaluations, exact.evaluations);
    // The fair path goes the same way.
    federation.impute(ClassRelease::Revealed).unwrap();
    let solve = |federation: &mut Federation<InProcess>, public: &Minimum| {
        let mut path = FairPath::new(federation, objective, public, 0.0, TIGHT);
        path.solve(2.0, |_, _| ControlFlow::Continue(())).unwrap()
    };
    let (few, exact) = (solve(&mut federation, &few), solve(&mut federation, &exact));
    assert!((few.value / exact.value - 1.0).abs() < 1e-4, "{} {}", few.value, exact.value);
    let asked = federation.ask_fit(&FitQuestion::Own).unwrap_err().to_string();
    assert!(asked.contains("601 parameters"), "{asked}");
}

/// Lambdas in any order and of any size, every notion, classes answered or revealed: the value is
/// that of the optimum, in far fewer trips.
#[test]
fn the_fair_path_ends_where_gradients_end() {
    let response = RandomisedResponse::new(1.0.try_into().unwrap(), 2).unwrap();
    for (k, l, notion, kind, release) in [
        (2, 2, Notion::DemographicParity, ModelKind::Logistic, ClassRelease::Revealed),
        (2, 2, Notion::EqualizedOdds { labels: 2 }, ModelKind::Logistic, ClassRelease::Revealed),
        (2, 2, Notion::DemographicParity, ModelKind::Logistic, ClassRelease::Randomised(response)),
        (3, 3, Notion::DemographicParity, ModelKind::Softmax, ClassRelease::Revealed),
    ] {
        let people = Population::new(3000, k, l);
        let cuts = &cuts(&people, 3000)[1];
        let mut federation = people.silos(&kind, notion, cuts);
        let objective = people.objective(notion);
        let parameters = federation.model().parameters();
        federation.impute(release).unwrap();
        let mut solve = |rule: FitRule| {
            let (public, _) = fitted(&mut federation, rule);
            let before = federation.trips();
            let mut path = FairPath::new(&mut federation, objective, &public, 0.1, TIGHT);
            let fair = [1.0, 30.0, 2.0].map(|lambda| {
                let fair = path.solve(lambda, |_, _| ControlFlow::Continue(())).unwrap();
                assert!(fair.evaluations <= rule.most_fair_trips(1, parameters, lambda, TIGHT));
                fair
            });
            (fair, federation.trips() - before)
        };
        let ((few, trips), (exact, _)) = (solve(FitRule::FewTrips), solve(FitRule::Gradients));
        assert!(trips < 80, "{notion:?} {kind:?}: {trips}");
        for (few, exact) in few.iter().zip(&exact) {
            let above = few.value / exact.value - 1.0;
            assert!(above.abs() < 1e-4, "{notion:?} {kind:?}: {above:e}");
            assert!((few.chi_square - exact.chi_square).abs() < 1e-3);
        }
    }
}

#[test]
fn threads_do_not_change_a_bit_of_a_fit() {
    let people = Population::new(20_000, 2, 2);
    let cuts: Vec<Vec<usize>> = (0..2).map(|j| (j * 10_000..(j + 1) * 10_000).collect()).collect();
    let notion = Notion::DemographicParity;
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut federation = people.silos(&ModelKind::Logistic, notion, &cuts);
            federation.impute(ClassRelease::Revealed).unwrap();
            let (public, _) = fitted(&mut federation, FitRule::FewTrips);
            let objective = people.objective(notion);
            let mut path = FairPath::new(&mut federation, objective, &public, 0.0, TIGHT);
            let fair = path.solve(3.0, |_, _| ControlFlow::Continue(())).unwrap();
            (public, fair)
        })
    };
    assert_eq!(with(1), with(5));
}

/// What a silo keeps between questions saves time and changes nothing.
#[test]
fn a_step_depends_on_its_question_and_the_metric_alone() {
    let people = Population::new(500, 2, 2);
    let cuts = [(0..200).collect::<Vec<usize>>(), (200..500).collect()];
    let federation = || {
        let mut fresh = people.silos(&ModelKind::Logistic, Notion::DemographicParity, &cuts);
        fresh.impute(ClassRelease::Revealed).unwrap();
        let (theta, diagonal) = (vec![0.1; 8], vec![0.2; 8]);
        let metric = Metric { theta, diagonal, records: 500 };
        fresh.ask_fit(&FitQuestion::Image { metric, vectors: Vec::new() }).unwrap();
        fresh
    };
    let step = |from: f64, imputed: bool| FitQuestion::Step {
        theta: vec![from; 8],
        direction: vec![0.05; 8],
        before: vec![vec![0.01; 8]; if imputed { 3 } else { 1 }],
        imputed,
    };
    let mut used = federation();
    for (from, imputed) in [(0.0, false), (0.05, true), (0.05, false), (0.1, true), (0.05, true)] {
        let question = step(from, imputed);
        let fresh = federation().ask_fit(&question).unwrap();
        assert_eq!(used.ask_fit(&question).unwrap(), fresh, "{from} {imputed}");
    }
}

#[test]
fn questions_of_a_fit_that_do_not_fit_are_refused() {
    let people = Population::new(50, 2, 2);
    let notion = Notion::DemographicParity;
    let mut federation = people.silos(&ModelKind::Logistic, notion, &[(0..50).collect()]);
    let mut refused = |question: FitQuestion| match federation.ask_fit(&question) {
        Err(FederationError::Refused { refused, .. }) => refused.to_string(),
        other => panic!("{other:?}"),
    };
    let ok = || vec![0.0; 8];
    let step = |before: Vec<Vec<f64>>, imputed| FitQuestion::Step {
        theta: ok(),
        direction: ok(),
        before,
        imputed,
    };
    let image = |diagonal| FitQuestion::Image {
        metric: Metric { theta: ok(), diagonal, records: 50 },
        vectors: vec![ok()],
    };
    assert!(refused(FitQuestion::Curvature { theta: vec![0.0; 7] }).contains("has 7 numbers"));
    assert!(refused(FitQuestion::Curvature { theta: vec![f64::NAN; 8] }).contains("not finite"));
    assert!(refused(image(ok())).contains("not above 0"));
    assert!(refused(image(vec![f64::INFINITY; 8])).contains("not finite"));
    assert!(refused(step(vec![ok()], false)).contains("no metric"));
    assert!(refused(step(vec![ok(), ok()], false)).contains("2 gradients at the start"));
    assert!(refused(step(Vec::new(), true)).contains("none were imputed"));
}
