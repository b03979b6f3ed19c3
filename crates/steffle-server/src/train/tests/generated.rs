//! Exact mode with untouched settings on generated data: it works, or says that it does not.

use super::one_shot::{Generated, public, true_gap};
use super::*;

/// The command line's defaults but for lambda and epsilon.
fn defaults(lambda: f64, epsilon: f64, n: usize) -> Settings {
    let exact = Exact {
        epsilon: epsilon.try_into().unwrap(),
        delta: (n as f64).powi(-2).try_into().unwrap(),
        cap: None,
        shaped: true,
        by_record: true,
        shares: None,
    };
    Settings {
        lambda,
        mode: Mode::Exact(exact),
        length: Length::Rounds(25),
        batch: None,
        server: StepRule::Improved,
        ..Settings::of(Mode::None)
    }
}

/// 1,000 and 30,000 rows, 5 and 300 features, 2 to 10 classes of which the last has 2 %: a run that
/// calls its signal ten times its noise, and does not return its start, has shrunk the gap, and one without
/// a signal returns it.
///
/// All seeds are fixed. Noise alone passes for evidence in at most one of 40 runs.
#[test]
fn exact_defaults_work_or_say_that_they_do_not() {
    let mut clear = 0;
    for (n, numeric, columns, levels, k) in [
        (1000, 5, 0, 0, 2),
        (1000, 5, 0, 0, 10),
        (1000, 6, 6, 49, 3),
        (30_000, 5, 0, 0, 2),
        (30_000, 5, 0, 0, 3),
        (30_000, 5, 0, 0, 10),
        (30_000, 6, 6, 49, 2),
        (30_000, 6, 6, 49, 3),
    ] {
        let data = Generated::new(n, numeric, columns, levels, k, n as u64 + k as u64);
        let (mut federation, objective) = data.federation();
        let start = public(&mut federation);
        let model = federation.model().clone();
        let gap = |theta: &[f64]| true_gap(model.as_ref(), &data.records, &data.classes, k, theta);
        let before = gap(&start.theta);
        let run = |epsilon: f64| {
            let plan = defaults(16.0, epsilon, n).check(federation.sizes()).unwrap();
            let from = Start::from(&start);
            // On another store: the budget of one is spent after a run.
            let (mut federation, _) = data.federation();
            let run = train(&plan, objective, &mut federation, from, go_on).unwrap();
            (gap(&run.theta), run.signal_to_noise.unwrap(), run.unchanged)
        };
        for epsilon in [1.0, 10.0] {
            let (after, signal, unchanged) = run(epsilon);
            if signal >= 10.0 && !unchanged {
                clear += 1;
                // Ten groups of a hundred people or fewer: what is told of some of them is noise.
                let most = if n < 100 * k + 1 { 0.9 } else { 0.8 };
                assert!(after < most * before, "{n} {k} {epsilon}: {before} {after} {signal}");
            }
        }
        let (after, signal, unchanged) = run(1e-4);
        assert!(unchanged && after == before, "{n} {k}: {signal}");
    }
    assert!(clear >= 8, "{clear}");
}
