use std::ops::ControlFlow;

use steffle_model::model::{Logistic, ModelKind};
use steffle_model::record::{Layout, Rows};

use super::*;
use crate::fed_avg::tests::numbers;

const ONE: Layout = Layout { numeric: 1, categorical: 0, features: 1 };

fn rate(q: f64) -> SampleRate {
    q.try_into().unwrap()
}

fn delta() -> Delta {
    1e-6.try_into().unwrap()
}

fn noise(gradient: f64, loss: f64) -> FedFdpNoise {
    FedFdpNoise { gradient: gradient.try_into().unwrap(), loss: loss.try_into().unwrap() }
}

fn close(found: &[f64], expected: &[f64]) {
    let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-14);
    assert!(near && found.len() == expected.len(), "{found:?} is not {expected:?}");
}

/// Silo A holds (x = 1, y = 1), (-2, 0) and (4, 1), silo B (0.5, 0) and (-1, 1); q = 1/2, so that the
/// expected batches are 1.5 and 1; lambda 8, C = 1, step 1, sigma 1/2, sigma_l = 2. With
/// r = sigma(w x + b) - y a gradient is (r x, r), and l its loss:
///
/// | round, silo, record | l | r | gradient's length | 1 + 8 (l - F) | C / length | c |
/// |---|---|---|---|---|---|---|
/// | 1 A 0 | 0.693147 | -0.5 | 0.707107 | 6.545177 | 1.414214 | 1.414214 |
/// | 1 A 2 | 0.693147 | -0.5 | 2.061553 | 6.545177 | 0.485071 | 0.485071 |
/// | 1 B 1 | 0.693147 | -0.5 | 0.707107 | 6.545177 | 1.414214 | 1.414214 |
/// | 2 A 0 | 0.299862 | -0.259080 | 0.366394 | -0.244131 | 2.729301 | 0 |
/// | 2 A 1 | 0.790785 | 0.546512 | 1.222037 | 3.683254 | 0.818306 | 0.818306 |
/// | 2 B 0 | 1.245942 | 0.712330 | 0.796409 | 7.324505 | 1.255636 | 1.255636 |
/// | 2 B 1 | 0.483726 | -0.383518 | 0.542376 | 1.226779 | 1.843738 | 1.226779 |
/// | 3 A 1 | 0.747945 | 0.526662 | 1.177652 | 3.964521 | 0.849148 | 0.849148 |
/// | 3 A 2 | 0.347204 | -0.293339 | 1.209467 | 0.758591 | 0.826811 | 0.758591 |
///
/// Then theta_i = theta - (sum of c r (x, 1) + draws/2) / (q n_i), and the losses there, each at
/// most the bound, with 2 bound draw of noise, over q n_i:
///
/// | round, silo | draws | theta_i | losses | bound | F_i |
/// |---|---|---|---|---|---|
/// | 1 A | 1, -1; 0.125 | 0.784833, 0.966428 | 0.160038, 0.016343 | 2.5 | 0.534254 |
/// | 1 B | -0.5, 0.5; 0 | -0.457107, 0.457107 | 0.337066 | 2.5 | 0.337066 |
/// | 2 A | 0.5, 1; -0.5 | 0.717675, 0.131224 | 0.356195, 0.240126 | 0.534254 | 0.041378 |
/// | 2 B | 0.25, -0.75; 0.5 | -0.754648, 0.713764 | 0.875450, 0.207251 | 0.337066 | 0.881383 |
/// | 3 A | -1, 0.5; 1 | 1.651762, 0.047781 | 0.037828, 0.001287 | 0.041378 | 0.081247 |
/// | 3 B | 1, 1; -2 | -0.371254, -0.135760 | none | 0.881383 | -3.525531 |
///
/// The server takes 3/5 of A and 2/5 of B, of theta and of F. B's next bound would be below 0 and is
/// the floor.
#[test]
fn three_rounds_by_hand() {
    let model = Logistic::new(ONE);
    let (a, b) = (numbers(&[(1.0, 1), (-2.0, 0), (4.0, 1)]), numbers(&[(0.5, 0), (-1.0, 1)]));
    let settings = FedFdp {
        lambda: 8.0,
        rounds: 3,
        rate: rate(0.5),
        clip: 1.0,
        step: 1.0,
        noise: noise(0.5, 2.0),
    };
    let given: [[(&[u32], [f64; 3]); 2]; 3] = [
        [(&[0, 2], [1.0, -1.0, 0.125]), (&[1], [-0.5, 0.5, 0.0])],
        [(&[0, 1], [0.5, 1.0, -0.5]), (&[0, 1], [0.25, -0.75, 0.5])],
        [(&[1, 2], [-1.0, 0.5, 1.0]), (&[], [1.0, 1.0, -2.0])],
    ];
    let expected = [
        ([0.288_057_000_058_133, 0.762_699_674_963_771], 0.455_378_765_662_838),
        ([0.128_745_752_594_861, 0.364_240_046_027_076], 0.377_380_015_870_284),
        ([0.842_555_518_655_706, -0.025_635_669_757_687], -1.361_464_257_522_755),
    ];
    let mut silos = [Silo::new(&model, &a), Silo::new(&model, &b)];
    let mut sent = Reply { theta: vec![0.0; 2], loss: 0.0 };
    for (round, (theta, loss)) in given.iter().zip(expected) {
        let replies: Vec<Reply> = silos
            .iter_mut()
            .zip(round)
            .map(|(silo, (batch, draws))| silo.answer(&model, &settings, &sent, batch, draws))
            .collect();
        sent = average(&replies, &[&a, &b]);
        close(&sent.theta, &theta);
        close(&[sent.loss], &[loss]);
    }
    close(&[silos[0].bound, silos[1].bound], &[0.081_247_186_755_963, 1e-3]);
}

/// Whatever lambda, no record moves the sum by more than C, nor the loss by more than its bound.
#[test]
fn no_record_moves_a_sum_further_than_its_bound() {
    let layout = Layout { numeric: 2, categorical: 1, features: 5 };
    let numeric: Vec<f32> = (0..60).map(|i| (i * 37 % 23) as f32 - 11.0).collect();
    let rows = Rows::new(layout, 30, numeric, (0..30).map(|i| 2 + i % 3).collect()).unwrap();
    let labels = (0..30).map(|i| (i % 3) as u16).collect();
    let records = Records::new((0..30).collect(), rows, labels, None, 3).unwrap();
    for kind in [ModelKind::Softmax, ModelKind::Mlp(vec![4])] {
        let model = kind.build(layout, 3).unwrap();
        let theta: Vec<f64> = (0..model.parameters()).map(|i| (i % 5) as f64 * 0.3 - 0.5).collect();
        for (lambda, clip) in [(0.0, 0.5), (3.0, 0.5), (50.0, 2.0)] {
            let settings = FedFdp {
                lambda,
                rounds: 1,
                rate: rate(1.0),
                clip,
                step: 30.0,
                noise: noise(1e-9, 1e-9),
            };
            let sent = Reply { theta: theta.clone(), loss: 0.8 };
            let draws = vec![0.0; theta.len() + 1];
            for record in 0..30 {
                let mut silo = Silo::new(model.as_ref(), &records);
                // The step over the expected batch of 30 is 1.
                let reply = silo.answer(model.as_ref(), &settings, &sent, &[record], &draws);
                let moved = reply.theta.iter().zip(&theta).map(|(a, b)| (a - b).powi(2));
                assert!(moved.sum::<f64>().sqrt() <= clip * (1.0 + 1e-9));
                assert!(30.0 * reply.loss <= FIRST_BOUND * (1.0 + 1e-9));
            }
        }
    }
}

/// Both releases together keep the budget, and what the published code leaves out breaks it.
#[test]
fn both_releases_are_paid_for() {
    let (q, rounds) = (rate(0.05), 200);
    for target in [0.1, 1.0, 3.0] {
        let epsilon = Epsilon::try_from(target).unwrap();
        let ours = FedFdpNoise::calibrated(q, rounds, epsilon, delta()).unwrap();
        let honest = ours.epsilon(q, rounds, delta()).unwrap();
        let claimed = ours.claimed_epsilon(q, rounds, delta()).unwrap();
        assert!(honest.upper_bound && honest.epsilon <= target, "{honest:?}");
        assert!(honest.epsilon > 0.999 * target && claimed.epsilon < honest.epsilon);
        let published = FedFdpNoise::published(q, rounds, epsilon, delta()).unwrap();
        let claimed = published.claimed_epsilon(q, rounds, delta()).unwrap();
        let honest = published.epsilon(q, rounds, delta()).unwrap();
        assert!(claimed.epsilon <= target && honest.epsilon > 1.5 * target, "{honest:?}");
    }
    // One batch for both costs more than a batch for each.
    let both = noise(1.0, 1.0);
    let twice = ACCOUNTANT.epsilon(&[event(q, 400, both.gradient).unwrap()], delta()).unwrap();
    assert!(both.epsilon(q, 200, delta()).unwrap().epsilon > twice.epsilon);
}

#[test]
fn a_run_depends_on_its_seed_alone_and_learns() {
    let records: Vec<(f32, u16)> =
        (0..400).map(|i| ((i % 21) as f32 / 5.0 - 2.0, u16::from(i % 21 > 10))).collect();
    let (a, b) = (numbers(&records[..250]), numbers(&records[250..]));
    let settings = FedFdp {
        lambda: 0.5,
        rounds: 100,
        rate: rate(0.2),
        clip: 1.0,
        step: 1.0,
        noise: noise(1.0, 3.0),
    };
    let model = Logistic::new(ONE);
    let run = |seed| {
        let go_on = |_: &FederatedRound| ControlFlow::Continue(());
        fed_fdp(&model, &[&a, &b], &settings, vec![0.0; 2], seed, go_on).unwrap()
    };
    let (first, again) = (run(3), run(3));
    assert_eq!(first, again);
    // Gaussian draws coincide with probability below 2^-100.
    assert_ne!(first.theta, run(4).theta);
    // Labels are the sign of x, so that the slope grows. The seed is fixed; over 100 rounds noise adds
    // to the slope with a standard deviation of at most 0.18.
    assert!(first.theta[0] > 1.0, "{:?}", first.theta);
    assert_eq!(first.trace.len(), 100);
}
