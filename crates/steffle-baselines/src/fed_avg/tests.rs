use std::ops::ControlFlow;
use std::sync::Arc;

use steffle_attributes::noise::NoiseKind;
use steffle_attributes::{Attributes, Sensitive};
use steffle_model::fairness::Notion;
use steffle_model::model::{Logistic, ModelKind};
use steffle_model::record::{Layout, Rows};
use steffle_model::scores::OutputScores;
use steffle_server::federation::{Agreement, Federation};
use steffle_server::server::Rates;
use steffle_server::train::{Length, Settings, train};
use steffle_site::node::{Embedded, InProcess};
use steffle_wire::{RunId, SchemaHash};

use super::*;
use crate::gradients::LossGradients;

const ONE: Layout = Layout { numeric: 1, categorical: 0, features: 1 };

/// Records of one number each.
pub(crate) fn numbers(records: &[(f32, u16)]) -> Records {
    let rows = records.iter().map(|(x, _)| *x).collect();
    let rows = Rows::new(ONE, records.len(), rows, Vec::new()).unwrap();
    let ids = (0..records.len() as u64).collect();
    Records::new(ids, rows, records.iter().map(|(_, y)| *y).collect(), None, 2).unwrap()
}

fn go_on(_: &FederatedRound) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn close(found: &[f64], expected: &[f64], within: f64) {
    assert_eq!(found.len(), expected.len());
    let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= within);
    assert!(near, "{found:?} is not {expected:?}");
}

/// Silo A holds (x = 1, y = 1) and (-2, 0), silo B (0.5, 0); two full-batch steps per round of size
/// 0.5, then 0.4, then 0.32 (the quarters of three rounds begin with 1, 2 and 3). With
/// r = sigma(w x + b) - y the slopes are mean(r x) + 1e-6 w and mean(r) + 1e-6 b:
///
/// | round | silo | r of its records at the two steps | (w, b) after each step |
/// |---|---|---|---|
/// | 1 | A | -0.5, 0.5; -0.407333, 0.320821 | (0.375, 0); (0.637244, 0.021628) |
/// | 1 | B | 0.5; 0.422505 | (-0.125, -0.25); (-0.230626, -0.461252) |
/// | 2 | A | -0.448033, 0.302538; -0.389755, 0.226640 | (0.558576, -0.110233); (0.727182, -0.077610) |
/// | 2 | B | 0.508660; 0.445298 | (0.246222, -0.342796); (0.157162, -0.520915) |
/// | 3 | A | -0.422676, 0.214211; -0.381939, 0.176721 | (0.673351, -0.192024); (0.791011, -0.159189) |
/// | 3 | B | 0.510801; 0.459809 | (0.455447, -0.388835); (0.381878, -0.535973) |
///
/// and the server takes 2/3 of A and 1/3 of B.
#[test]
fn three_rounds_by_hand() {
    let (a, b) = (numbers(&[(1.0, 1), (-2.0, 0)]), numbers(&[(0.5, 0)]));
    let settings =
        FedAvg { rounds: 3, local_epochs: 2, batch: None, step: 0.5, ..FedAvg::default() };
    let expected = [
        [0.347_953_843_214_675, -0.139_332_047_598_811],
        [0.537_175_404_446_502, -0.225_378_436_379_664],
        [0.654_633_446_343_804, -0.284_783_719_917_430],
    ];
    let outcome =
        fed_avg(&Logistic::new(ONE), &[&a, &b], &settings, vec![0.0; 2], 0, go_on).unwrap();
    close(&outcome.theta, &expected[2], 1e-14);
    // The steps of the average are the distances between the rows above.
    let mut before = [0.0; 2];
    for (seen, after) in outcome.trace.iter().zip(expected) {
        let step = (after[0] - before[0]).hypot(after[1] - before[1]);
        close(&[seen.step], &[step], 1e-14);
        before = after;
    }
}

/// FedFair on the same records, one full-batch step per round, lambda 8:
///
/// | round | F_A, F_B | mean F | 1 + 8 (F_A - F), 1 + 8 (F_B - F) | (w, b) of A; of B |
/// |---|---|---|---|---|
/// | 1 | 0.693147, 0.693147 | 0.693147 | 1, 1 | (0.375, 0); (-0.125, -0.25) |
/// | 2 | 0.553338, 0.703618 | 0.603431 | 0.599253, 1.801494 | (0.355015, -0.072397); (0.026307, -0.447385) |
/// | 3 | 0.538249, 0.656509 | 0.577669 | 0.684640, 1.630720 | (0.372166, -0.180570); (0.119856, -0.448571) |
#[test]
fn three_fair_rounds_by_hand() {
    let (a, b) = (numbers(&[(1.0, 1), (-2.0, 0)]), numbers(&[(0.5, 0)]));
    let settings = FedAvg { rounds: 3, batch: None, step: 0.5, lambda: 8.0, ..FedAvg::default() };
    let outcome =
        fed_avg(&Logistic::new(ONE), &[&a, &b], &settings, vec![0.0; 2], 0, go_on).unwrap();
    close(&outcome.theta, &[0.288_063_153_475_000, -0.269_903_781_925_882], 1e-14);
    let losses: Vec<f64> = outcome.trace.iter().filter_map(|round| round.loss).collect();
    let expected = [std::f64::consts::LN_2, 0.603_431_373_071_664, 0.577_668_961_018_655];
    close(&losses, &expected, 1e-14);
}

/// One full-batch step per round is SteFFLe's own plain round without fairness and noise.
#[test]
fn one_full_step_is_steffle_without_fairness() {
    let layout = Layout { numeric: 2, categorical: 1, features: 5 };
    let silo = |from: u32, to: u32| {
        let numeric =
            (from..to).flat_map(|i| [(i % 7) as f32 - 3.0, (i % 5) as f32 * 0.5]).collect();
        let codes = (from..to).map(|i| 2 + i % 3).collect();
        let rows = Rows::new(layout, (to - from) as usize, numeric, codes).unwrap();
        let labels = (from..to).map(|i| u16::from(i % 7 + i % 3 > 4)).collect();
        let ids: Vec<u64> = (u64::from(from)..u64::from(to)).collect();
        let classes = (from..to).map(|i| (i % 2) as u16).collect();
        let attributes = Attributes::new(ids.clone(), Sensitive::new(classes), 2).unwrap();
        (Records::new(ids, rows, labels, None, 2).unwrap(), attributes)
    };
    for kind in [ModelKind::Logistic, ModelKind::Softmax, ModelKind::Mlp(vec![3])] {
        let model: Arc<dyn Classifier> = Arc::from(kind.build(layout, 2).unwrap());
        let notion = Notion::DemographicParity;
        let objective = OutputScores { notion, classes: 2, labels: 2, sharpness: 1.0 };
        let agreement = Agreement {
            run: RunId([1; 16]),
            schema: SchemaHash([2; 32]),
            columns: Vec::new(),
            layout,
            model: kind.clone(),
            scores: objective.into(),
            seed: 5,
            noise: NoiseKind::Simulation,
            kind: steffle_server::federation::RunKind::default(),
        };
        let silos = vec![silo(0, 40), silo(40, 170), silo(170, 200)];
        let mut federation = Federation::join(InProcess::silos(silos), agreement).unwrap();
        let start: Vec<f64> = (0..model.parameters()).map(|i| (i % 3) as f64 * 0.1).collect();
        let rates = Rates { theta: 0.5, dual: 0.1, decay: 0.8 };
        let plain = Settings {
            lambda: 0.0,
            batch: None,
            length: Length::Rounds(30),
            rates,
            ..Settings::of(steffle_server::train::Mode::None)
        };
        let plan = plain.check(federation.sizes()).unwrap();
        let steffle = train(&plan, objective, &mut federation, start.clone().into(), |_| {
            ControlFlow::Continue(())
        });
        let settings = FedAvg { rounds: 30, batch: None, step: 0.5, ..FedAvg::default() };
        let records = federation.transport().records();
        let ours = fed_avg(model.as_ref(), &records, &settings, start, 5, go_on).unwrap();
        let steffle = steffle.unwrap();
        close(&ours.theta, &steffle.theta, 1e-12);
        let steps = |trace: &[FederatedRound]| trace.iter().map(|round| round.step).collect();
        let (ours, theirs): (Vec<f64>, Vec<f64>) =
            (steps(&ours.trace), steffle.trace.iter().map(|round| round.step).collect());
        close(&ours, &theirs, 1e-12);
    }
}

/// The lengths that clipping goes by, against gradients written out record by record.
#[test]
fn weights_see_the_loss_and_the_length_of_each_gradient() {
    let layout = Layout { numeric: 2, categorical: 1, features: 5 };
    let rows =
        Rows::new(layout, 3, vec![1.0, -2.0, 0.5, 0.25, -1.0, 3.0], vec![2, 4, layout.absent()])
            .unwrap();
    let records = Records::new(vec![0, 1, 2], rows, vec![0, 2, 1], None, 3).unwrap();
    for kind in [ModelKind::Softmax, ModelKind::Mlp(vec![4, 2])] {
        let model = kind.build(layout, 3).unwrap();
        let theta: Vec<f64> = (0..model.parameters()).map(|i| (i % 5) as f64 * 0.2 - 0.3).collect();
        let point = Point::new(model.as_ref(), &theta);
        let mut gradients = LossGradients::new(model.as_ref());
        let alone: Vec<Vec<f64>> =
            (0..3).map(|record| gradients.sum(&point, &records, &[record])).collect();
        let seen = std::sync::Mutex::new(Vec::new());
        let weighted = gradients.weighted_sum(&point, &records, &[0, 1, 2], |loss, length| {
            let mut seen = seen.lock().unwrap();
            seen.push((loss, length));
            seen.len() as f64
        });
        let by_hand: Vec<f64> = (0..theta.len())
            .map(|i| (0..3).map(|record| (record + 1) as f64 * alone[record][i]).sum())
            .collect();
        close(&weighted, &by_hand, 1e-12);
        for ((loss, length), (record, own)) in
            seen.lock().unwrap().iter().zip(alone.iter().enumerate())
        {
            close(&[*length], &[own.iter().map(|g| g * g).sum::<f64>().sqrt()], 1e-12);
            let probability = point.probabilities(records.rows())
                [record * 3 + usize::from(records.labels()[record])];
            close(&[*loss], &[-probability.ln()], 1e-12);
        }
    }
}

#[test]
fn minibatches_depend_on_the_seed_alone() {
    let records: Vec<(f32, u16)> = (0..40).map(|i| (i as f32 / 8.0, (i % 2) as u16)).collect();
    let silo = numbers(&records);
    let settings = FedAvg { rounds: 3, batch: Some(7), ..FedAvg::default() };
    let run = |seed| {
        fed_avg(&Logistic::new(ONE), &[&silo], &settings, vec![0.0; 2], seed, go_on).unwrap()
    };
    assert_eq!(run(1), run(1));
    // 40 records shuffle alike with probability 1/40!.
    assert_ne!(run(1), run(2));
}

#[test]
fn what_cannot_be_averaged_is_refused() {
    let (silo, none) = (numbers(&[(1.0, 1)]), numbers(&[]));
    let model = Logistic::new(ONE);
    let run = |silos: &[&Records], settings: FedAvg| {
        fed_avg(&model, silos, &settings, vec![0.0; 2], 0, go_on).unwrap_err()
    };
    let usual = FedAvg::default();
    assert_eq!(run(&[&silo, &none], usual), FederatedError::NoRecords(1));
    assert_eq!(run(&[], usual), FederatedError::NoRecords(0));
    let words = |settings| run(&[&silo], settings).to_string();
    assert!(words(FedAvg { step: 0.0, ..usual }).contains("step size is 0"));
    assert!(words(FedAvg { lambda: -1.0, ..usual }).contains("lambda is -1"));
    assert!(words(FedAvg { rounds: 0, ..usual }).contains("rounds is 0"));
    assert!(words(FedAvg { local_epochs: u32::MAX, ..usual }).contains("local steps"));
    let wide = Logistic::new(Layout { numeric: 2, categorical: 0, features: 2 });
    let other = fed_avg(&wide, &[&silo], &usual, vec![0.0; 3], 0, go_on).unwrap_err();
    assert_eq!(other, FederatedError::Layout(0));
    let stopped = fed_avg(&model, &[&silo], &usual, vec![0.0; 2], 0, |_| ControlFlow::Break(()));
    assert_eq!(stopped.unwrap_err(), FederatedError::Interrupted(1));
    let far = fed_avg(&model, &[&silo], &usual, vec![f64::MAX; 2], 0, go_on).unwrap_err();
    assert_eq!(far, FederatedError::Diverged(1));
}
