//! Networks by passes of the silos over their own records.

use steffle_attributes::ClassRelease;
use steffle_wire::{FitQuestion, PassQuestion, Pull, PullCell};

use super::*;
use crate::server::{Found, Minimum};

const TOLERANCE: Tolerance = Tolerance { evaluations: 300, gradient: 1e-4 };

fn go_on(_: u32, _: f64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Silos of 100, 500 and the other records.
fn silos(people: &Population, notion: Notion) -> Federation<InProcess> {
    let ids: Vec<usize> = (0..people.labels.len()).collect();
    let cuts = [ids[..100].to_vec(), ids[100..600].to_vec(), ids[600..].to_vec()];
    people.silos(&ModelKind::Mlp(vec![6]), notion, &cuts)
}

fn fit(federation: &mut Federation<InProcess>, rule: FitRule) -> Minimum {
    let start = federation.model().initial(&mut stream(5, 0, Purpose::Initial, 0));
    erm(federation, start, rule, TOLERANCE, go_on).unwrap()
}

/// Wrong decisions of a model about records that it was not trained on.
fn error(people: &Population, federation: &Federation<InProcess>, theta: &[f64]) -> f64 {
    let ids: Vec<usize> = (0..people.labels.len()).collect();
    let records = people.records(&ids);
    let outputs = Point::new(federation.model().as_ref(), theta).probabilities(records.rows());
    let decided = steffle_model::metrics::decide(&outputs, people.l);
    let wrong = decided.iter().zip(records.labels()).filter(|(ours, label)| ours != label).count();
    wrong as f64 / ids.len() as f64
}

/// As good as hundreds of gradients, in few trips, for three labels and unequal silos too.
#[test]
fn networks_are_found_in_few_trips() {
    for (k, l) in [(2, 2), (3, 3)] {
        let people = Population::new(2000, k, l);
        let mut federation = silos(&people, Notion::DemographicParity);
        let refused = federation.ask_fit(&FitQuestion::Own).unwrap_err().to_string();
        assert!(refused.contains("2 layer(s)"), "{refused}");
        let before = federation.trips();
        let found = fit(&mut federation, FitRule::FewTrips);
        let trips = (federation.trips() - before) as u32;
        assert_eq!((found.evaluations, &found.found), (trips, &Found::Passes));
        assert!(trips <= FitRule::FewTrips.most_trips(2, found.theta.len(), TOLERANCE), "{trips}");
        let exact = fit(&mut federation, FitRule::Gradients);
        let (ours, theirs) = (error(&people, &federation, &found.theta), exact.theta);
        let theirs = error(&people, &federation, &theirs);
        assert!(ours < theirs + 0.02, "{l} labels: {ours} by passes, {theirs} by gradients");
    }
}

/// Parameters that are pulled towards 0 are smaller, in the unconstrained model and in fair ones; who says
/// nothing has the default.
#[test]
fn networks_are_pulled_towards_zero_by_what_was_said() {
    let people = Population::new(2000, 2, 2);
    let found = |decay: Option<f64>| {
        let mut federation = silos(&people, Notion::DemographicParity);
        decay.into_iter().for_each(|decay| federation.set_decay(decay));
        let public = fit(&mut federation, FitRule::FewTrips);
        federation.impute(ClassRelease::Revealed).unwrap();
        let scores = people.objective(Notion::DemographicParity);
        let mut path = FairPath::new(&mut federation, scores, &public, 0.0, TOLERANCE);
        (public.theta, path.solve(2.0, go_on).unwrap().theta)
    };
    let length = |theta: &[f64]| theta.iter().map(|value| value * value).sum::<f64>().sqrt();
    let (none, strong) = (found(Some(0.0)), found(Some(0.1)));
    assert!(length(&strong.0) < 0.8 * length(&none.0), "{none:?} {strong:?}");
    assert!(length(&strong.1) < 0.8 * length(&none.1), "{none:?} {strong:?}");
    assert_eq!(found(None), found(Some(1e-4)));
}

/// Ten trips per lambda after one look, every notion, and ever less of the penalty.
#[test]
fn fair_networks_take_ten_trips_per_lambda() {
    for (k, l, notion) in [
        (2, 2, Notion::DemographicParity),
        (3, 3, Notion::EqualizedOdds { labels: 3 }),
        (2, 2, Notion::AccuracyParity),
        (3, 2, Notion::EqualOpportunity { favourable: 1 }),
    ] {
        let people = Population::new(2000, k, l);
        let mut federation = silos(&people, notion);
        let public = fit(&mut federation, FitRule::FewTrips);
        federation.impute(ClassRelease::Revealed).unwrap();
        let objective = people.objective(notion);
        let mut path = FairPath::new(&mut federation, objective, &public, 0.0, TOLERANCE);
        let solved = [0.0, 1.0, 16.0].map(|lambda| path.solve(lambda, go_on).unwrap());
        assert_eq!(solved.clone().map(|fair| fair.evaluations), [1, 10, 10]);
        assert_eq!(solved[0].theta, public.theta);
        let told = solved.clone().map(|fair| fair.chi_square);
        assert!(told[1] < told[0] && told[2] < 0.5 * told[0], "{notion:?}: {told:?}");
        let most = FitRule::FewTrips.most_fair_trips(2, public.theta.len(), 16.0, TOLERANCE);
        assert_eq!(most, 11);
        // Fair, and still a model: a pull that does not follow what it does ends in guessing.
        let errors = [0, 2].map(|at: usize| error(&people, &federation, &solved[at].theta));
        assert!(errors[1] < errors[0] + 0.25, "{notion:?}: {errors:?}");
    }
}

#[test]
fn threads_do_not_change_a_bit_of_a_network() {
    let people = Population::new(6000, 2, 2);
    let notion = Notion::DemographicParity;
    let train = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut federation = silos(&people, notion);
            let public = fit(&mut federation, FitRule::FewTrips);
            federation.impute(ClassRelease::Revealed).unwrap();
            let objective = people.objective(notion);
            let mut path = FairPath::new(&mut federation, objective, &public, 0.0, TOLERANCE);
            path.solve(3.0, go_on).unwrap()
        })
    };
    assert_eq!(train(1), train(4));
}

/// Bytes of a server that is not honest: every number out of place is refused, and so are tables of
/// classes that nobody released.
#[test]
fn passes_that_do_not_fit_are_refused() {
    let people = Population::new(700, 2, 2);
    let mut federation = silos(&people, Notion::DemographicParity);
    let size = federation.model().parameters();
    let look = |theta: Vec<f64>| PassQuestion::Look { theta, imputed: false };
    let walk = |step: f64, pull: Option<Pull>| PassQuestion::Walk {
        theta: vec![0.1; size],
        trip: 0,
        step,
        decay: PassQuestion::DECAY,
        pull,
    };
    let cell = PullCell { count: 700.0, floor: 0.0, table: vec![100.0, 200.0, 150.0, 250.0] };
    let pull = |strength: f64, cells: Vec<PullCell>| Some(Pull { strength, cells });
    let imputed = PassQuestion::Look { theta: vec![0.1; size], imputed: true };
    let early = [imputed, walk(0.01, pull(1.0, vec![cell.clone()]))];
    for question in &early {
        let refused = federation.ask_pass(question).unwrap_err().to_string();
        assert!(refused.contains("none were imputed"), "{refused}");
    }
    federation.impute(ClassRelease::Revealed).unwrap();
    for question in &early {
        federation.ask_pass(question).unwrap();
    }
    let wide = PullCell { table: vec![1.0; 6], ..cell.clone() };
    let lost = PullCell { count: f64::NAN, ..cell.clone() };
    let high = PullCell { floor: 2.0, ..cell.clone() };
    let pulled = |decay: f64| PassQuestion::Walk {
        theta: vec![0.1; size],
        trip: 0,
        step: 0.01,
        decay,
        pull: None,
    };
    federation.ask_pass(&pulled(0.0)).unwrap();
    for (question, words) in [
        (pulled(-1e-9), "pull towards 0"),
        (pulled(1.1), "pull towards 0"),
        (pulled(f64::NAN), "pull towards 0"),
        (look(vec![0.1; size + 1]), "theta has"),
        (look(vec![f64::NAN; size]), "not finite"),
        (walk(0.0, None), "steps"),
        (walk(2.0, None), "steps"),
        (walk(f64::NAN, None), "steps"),
        (walk(0.01, pull(1.0, vec![])), "cells"),
        (walk(0.01, pull(1.0, vec![wide])), "cells"),
        (walk(0.01, pull(f64::INFINITY, vec![cell.clone()])), "not finite"),
        (walk(0.01, pull(-1.0, vec![cell])), "not finite"),
        (walk(0.01, pull(1.0, vec![lost])), "not finite"),
        (walk(0.01, pull(1.0, vec![high])), "not finite"),
    ] {
        let refused = federation.ask_pass(&question).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}
