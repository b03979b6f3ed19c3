//! The identities of the min-max form, on random tables.

use proptest::prelude::*;

use super::*;

/// Outputs of `n` records in the simplex and a class for each; every class occurs.
fn population(k: usize, l: usize) -> impl Strategy<Value = (Vec<Vec<f64>>, Vec<usize>)> {
    let record = prop::collection::vec(0.01..1.0_f64, l).prop_map(|raw| {
        let sum: f64 = raw.iter().sum();
        raw.iter().map(|v| v / sum).collect::<Vec<f64>>()
    });
    prop::collection::vec((record, 0..k), 3 * k..24).prop_map(move |records| {
        let (outputs, mut classes): (Vec<_>, Vec<_>) = records.into_iter().unzip();
        (0..k).for_each(|class| classes[class] = class);
        (outputs, classes)
    })
}

fn table(outputs: &[Vec<f64>], classes: &[usize], k: usize) -> (Vec<f64>, Vec<f64>) {
    let l = outputs[0].len();
    let (mut table, mut columns) = (vec![0.0; k * l], vec![0.0; l]);
    for (f, &class) in outputs.iter().zip(classes) {
        for (u, &f) in f.iter().enumerate() {
            table[class * l + u] += f;
            columns[u] += f;
        }
    }
    (table, columns)
}

fn counts(classes: &[usize], k: usize) -> Vec<f64> {
    (0..k).map(|r| classes.iter().filter(|&&class| class == r).count() as f64).collect()
}

/// What is compared of a population, for both things that notions compare: decisions, and whether they
/// are right. (Labels need no draw of their own: outputs are drawn.)
fn shapes() -> impl Strategy<Value = (usize, Vec<Vec<f64>>, Vec<usize>)> {
    let notions = [Notion::DemographicParity, Notion::AccuracyParity];
    (2..4_usize, 2..4_usize, prop::sample::select(notions.to_vec())).prop_flat_map(
        |(k, l, notion)| {
            population(k, l).prop_map(move |(outputs, classes)| {
                let scores = |(record, outputs): (usize, &Vec<f64>)| {
                    notion.scores(outputs, (record % l) as u16).collect()
                };
                (k, outputs.iter().enumerate().map(scores).collect(), classes)
            })
        },
    )
}

proptest! {
    #[test]
    fn the_closed_form_plugged_in_is_the_divergence((k, outputs, classes) in shapes()) {
        let (table, columns) = table(&outputs, &classes, k);
        let weights = ClassWeights::from_counts(&counts(&classes, k), 0.0);
        let n = outputs.len() as f64;
        // Fewer than one record in a column is a special case of closed_form, tested below.
        let scaled: Vec<f64> = columns.iter().map(|c| c * 1e3).collect();
        let masses: Vec<f64> = table.iter().map(|m| m * 1e3).collect();
        let star = closed_form(&masses, &scaled, n * 1e3, &weights);
        let mean = outputs.iter().zip(&classes)
            .map(|(f, &s)| psi::value(&star, &weights, f, s)).sum::<f64>() / n;
        prop_assert!((mean - divergence(&table, columns.len())).abs() < 1e-10);
    }

    #[test]
    fn the_closed_form_is_a_stationary_point_inside_the_box(
        (k, outputs, classes) in shapes(), skew in 0.2..5.0_f64,
    ) {
        let (table, columns) = table(&outputs, &classes, k);
        let mut counts = counts(&classes, k);
        counts[0] *= skew; // any positive weights
        let weights = ClassWeights::from_counts(&counts, 0.0);
        let masses: Vec<f64> = table.iter().map(|m| m * 1e3).collect();
        let scaled: Vec<f64> = columns.iter().map(|c| c * 1e3).collect();
        let star = closed_form(&masses, &scaled, outputs.len() as f64 * 1e3, &weights);
        let mut gradient = vec![0.0; table.len()];
        for (f, &s) in outputs.iter().zip(&classes) {
            let own = psi::dual_gradient(&star, &weights, f, s);
            gradient.iter_mut().zip(own).for_each(|(sum, g)| *sum += g);
        }
        prop_assert!(gradient.iter().all(|g| g.abs() < 1e-9));
        let mut boxed = star.clone();
        DualSet::Box.project(&mut boxed, &weights);
        prop_assert_eq!(&boxed, &star);
        let mean = outputs.iter().zip(&classes)
            .map(|(f, &s)| psi::value(&star, &weights, f, s)).sum::<f64>() / outputs.len() as f64;
        prop_assert!((mean - min_max_value(&table, columns.len(), weights.get())).abs() < 1e-10);
    }

    #[test]
    fn the_maximiser_is_never_shorter_than_the_root_of_the_labels((k, outputs, classes) in shapes()) {
        let (table, columns) = table(&outputs, &classes, k);
        let weights = ClassWeights::from_counts(&counts(&classes, k), 0.0);
        let masses: Vec<f64> = table.iter().map(|m| m * 1e3).collect();
        let scaled: Vec<f64> = columns.iter().map(|c| c * 1e3).collect();
        let star = closed_form(&masses, &scaled, outputs.len() as f64 * 1e3, &weights);
        // Cauchy-Schwarz: sum_r P(r|u)^2 / p_r >= (sum_r P(r|u))^2 / sum_r p_r = 1 per column.
        prop_assert!(star.norm() >= (columns.len() as f64).sqrt() - 1e-9);
    }

    #[test]
    fn only_the_cross_term_depends_on_the_class(
        (k, outputs, classes) in shapes(), values in prop::collection::vec(-3.0..3.0_f64, 9),
    ) {
        let l = outputs[0].len();
        let dual = Dual::from_values(l, values[..k * l].to_vec());
        let weights = ClassWeights::from_counts(&counts(&classes, k), 0.0);
        for f in &outputs {
            let rest = |s: usize| {
                psi::value(&dual, &weights, f, s) - 2.0 * psi::cross(&dual, &weights, f, s)
            };
            prop_assert!((1..k).all(|s| (rest(s) - rest(0)).abs() < 1e-12));
        }
    }

    #[test]
    fn gradients_of_psi_are_derivatives(
        (k, outputs, classes) in shapes(), values in prop::collection::vec(-3.0..3.0_f64, 9),
    ) {
        let l = outputs[0].len();
        let dual = Dual::from_values(l, values[..k * l].to_vec());
        let weights = ClassWeights::from_counts(&counts(&classes, k), 0.0);
        let (f, s) = (&outputs[0], classes[0]);
        let step = 1e-3;
        // psi is quadratic in W and linear in F: central differences are exact up to rounding.
        for (at, slope) in psi::dual_gradient(&dual, &weights, f, s).into_iter().enumerate() {
            let moved = |by: f64| {
                let mut dual = dual.clone();
                dual.values_mut()[at] += by;
                psi::value(&dual, &weights, f, s)
            };
            prop_assert!(((moved(step) - moved(-step)) / (2.0 * step) - slope).abs() < 1e-9);
        }
        for (at, slope) in psi::output_gradient(&dual, &weights, s).into_iter().enumerate() {
            let moved = |by: f64| {
                let mut f = f.clone();
                f[at] += by;
                psi::value(&dual, &weights, &f, s)
            };
            prop_assert!(((moved(step) - moved(-step)) / (2.0 * step) - slope).abs() < 1e-9);
        }
    }

    #[test]
    fn at_independence_all_is_zero(
        rows in prop::collection::vec(0.5..9.0_f64, 2..4), columns in prop::collection::vec(0.5..9.0_f64, 2..4),
    ) {
        let l = columns.len();
        let product: Vec<f64> =
            rows.iter().flat_map(|r| columns.iter().map(move |c| r * c)).collect();
        prop_assert!(divergence(&product, l).abs() < 1e-12);
        // W* at fairness has all combinations C_r equal, so nothing s-dependent is left to send.
        let total: Vec<f64> = columns.iter().map(|c| c * rows.iter().sum::<f64>()).collect();
        let weights = ClassWeights::from_counts(&rows, 0.0);
        let star = closed_form(&product, &total, total.iter().sum(), &weights);
        let c = star.combinations(&weights);
        prop_assert!(c.iter().all(|value| (value - 1.0).abs() < 1e-9), "{c:?}");
    }

    #[test]
    fn projections_are_idempotent_and_land_in_their_set(
        values in prop::collection::vec(-9.0..9.0_f64, 4), diameter in 0.1..9.0_f64,
    ) {
        let weights = ClassWeights::from_counts(&[3.0, 7.0], 0.0);
        for set in [DualSet::Ball { diameter }, DualSet::Box] {
            let mut once = Dual::from_values(2, values.clone());
            set.project(&mut once, &weights);
            let mut twice = once.clone();
            set.project(&mut twice, &weights);
            let close = once.values().iter().zip(twice.values()).all(|(a, b)| (a - b).abs() < 1e-12);
            prop_assert!(close);
            match set {
                DualSet::Ball { diameter } => prop_assert!(once.norm() <= diameter / 2.0 + 1e-12),
                DualSet::Box => {
                    let roots: Vec<f64> = weights.inverse_roots().collect();
                    let inside = once.rows().zip(roots)
                        .all(|(row, root)| row.iter().all(|w| (0.0..=root).contains(w)));
                    prop_assert!(inside);
                }
            }
        }
    }
}

#[test]
fn an_almost_empty_column_uses_the_class_weights() {
    let weights = ClassWeights::from_counts(&[30.0, 70.0], 0.0);
    let star = closed_form(&[30.0, 0.0, 69.5, 0.5], &[99.5, 0.5], 100.0, &weights);
    let expected = [0.3_f64.sqrt(), 0.7_f64.sqrt()];
    assert!((star.values()[1] - expected[0]).abs() < 1e-12);
    assert!((star.values()[3] - expected[1]).abs() < 1e-12);
}

#[test]
fn an_absent_class_is_left_out() {
    let weights = ClassWeights::from_counts(&[5.0, 0.0, 5.0], 0.0);
    assert_eq!(weights.get(), [0.5, 0.0, 0.5]);
    let table = [3.0, 2.0, 0.0, 0.0, 1.0, 4.0];
    let star = closed_form(&table, &[4.0, 6.0], 10.0, &weights);
    assert!(star.combinations(&weights)[2..4].iter().all(|&c| c == 0.0));
    let without = [3.0, 2.0, 1.0, 4.0];
    assert!((divergence(&table, 2) - divergence(&without, 2)).abs() < 1e-12);
}

#[test]
fn notions_are_cell_functions_and_outcomes() {
    let cells = |notion: Notion| {
        let all = [(0, 0), (1, 0), (0, 1), (1, 1)];
        all.map(|(label, stratum)| notion.cell(label, stratum))
    };
    assert_eq!(cells(Notion::DemographicParity), [Some(0); 4]);
    let odds = Notion::EqualizedOdds { labels: 2 };
    assert_eq!(cells(odds), [Some(0), Some(1), Some(0), Some(1)]);
    let opportunity = Notion::EqualOpportunity { favourable: 1 };
    assert_eq!(cells(opportunity), [None, Some(0), None, Some(0)]);
    let conditional = Notion::Conditional { strata: 2 };
    assert_eq!(cells(conditional), [Some(0), Some(0), Some(1), Some(1)]);
    assert_eq!(cells(Notion::AccuracyParity), [Some(0); 4]);
    assert_eq!(cells(Notion::None), [None; 4]);
    let outcomes = |notion: Notion| {
        let all = [(0, 0), (1, 0), (0, 1), (1, 1)];
        all.map(|(decision, label)| notion.outcome(decision, label))
    };
    assert_eq!(outcomes(odds), [0, 1, 0, 1]);
    assert_eq!(outcomes(Notion::AccuracyParity), [0, 1, 1, 0]);
    assert_eq!((odds.outcomes(3), Notion::AccuracyParity.outcomes(3)), (3, 2));
    let scores: Vec<f64> = Notion::AccuracyParity.scores(&[0.5, 0.25, 0.25], 0).collect();
    assert_eq!(scores, [0.5, 0.5]);
    for name in [
        "demographic-parity",
        "equalized-odds",
        "equal-opportunity",
        "accuracy-parity",
        "conditional:a",
        "none",
    ] {
        assert_eq!(name.parse::<NotionName>().unwrap().to_string(), name);
    }
    assert!("conditional:".parse::<NotionName>().is_err());
    assert!("parity".parse::<NotionName>().is_err());
}
