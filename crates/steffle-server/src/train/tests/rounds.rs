//! The interactive method against the optimum with the true classes, and where noise is all there is.

use steffle_wire::ClassRelease;

use super::*;
use crate::server::Minimum;

const TIGHT: Tolerance = Tolerance { evaluations: 1000, gradient: 1e-7 };

fn keep_on(_: u32, _: f64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn federation(people: &Population, kind: &ModelKind, notion: Notion) -> Federation<InProcess> {
    let n = people.labels.len();
    let cuts = [(0..n / 3).collect::<Vec<usize>>(), (n / 3..n).collect()];
    people.silos(kind, notion, &cuts)
}

fn public(federation: &mut Federation<InProcess>) -> Minimum {
    let model = federation.model().clone();
    let start = model.initial(&mut stream(5, 0, Purpose::Initial, 0));
    erm(federation, start, FitRule::FewTrips, TIGHT, keep_on).unwrap()
}

fn improved(mode: Mode, lambda: f64) -> Settings {
    let (server, length) = (StepRule::Improved, Length::Rounds(25));
    Settings { lambda, length, server, ..settings(mode) }
}

/// Two to five classes, two and three labels, lambdas from 1 to 100: 25 rounds without noise end where
/// the optimum with the true classes is, by what the objective has left to gain.
#[test]
fn without_noise_rounds_end_at_the_optimum() {
    for (k, l, kind) in [
        (2, 2, ModelKind::Logistic),
        (3, 2, ModelKind::Logistic),
        (5, 2, ModelKind::Logistic),
        (2, 3, ModelKind::Softmax),
        (3, 3, ModelKind::Softmax),
    ] {
        let notion = Notion::DemographicParity;
        let people = Population::new(3000, k, l);
        let objective = people.objective(notion);
        for lambda in [1.0, 10.0, 100.0] {
            let mut own = federation(&people, &kind, notion);
            let start = public(&mut own);
            let plan = improved(Mode::None, lambda).check(own.sizes()).unwrap();
            let found = train(&plan, objective, &mut own, Start::from(&start), go_on).unwrap();
            assert!(found.evidence.is_none() && !found.unchanged);
            let mut reference = federation(&people, &kind, notion);
            reference.impute(ClassRelease::Revealed).unwrap();
            let mut path = FairPath::new(&mut reference, objective, &start, 0.0, TIGHT);
            let best = path.solve(lambda, keep_on).unwrap();
            let mut value = |theta: &[f64]| {
                let at = path.evaluate(theta).unwrap();
                at.loss + lambda * at.penalty
            };
            let (begin, end) = (value(&start.theta), value(&found.theta));
            let left = (end - best.value) / (begin - best.value);
            assert!(left < 0.02, "{k} {l} {lambda}: {begin} {end} {}", best.value);
        }
    }
}
