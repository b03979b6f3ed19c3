//! Derivatives against sixth-order central differences, for every model.

use proptest::prelude::*;
use rand::Rng;

use super::*;
use crate::randomness::{Purpose, stream};

fn random_rows(seed: u64, count: usize) -> Rows {
    let layout = Layout { numeric: 3, categorical: 2, features: 9 };
    let mut random = stream(seed, 0, Purpose::Split, 0);
    let uniform = |random: &mut ChaCha8Rng| random.next_u32() as f32 / u32::MAX as f32 * 4.0 - 2.0;
    let numeric = (0..count * 3).map(|_| uniform(&mut random)).collect();
    let codes = (0..count)
        .flat_map(|i| {
            let first = if i % 5 == 4 { layout.absent() } else { 3 + random.next_u32() % 3 };
            [first, 6 + random.next_u32() % 3]
        })
        .collect();
    Rows::new(layout, count, numeric, codes).unwrap()
}

fn models(labels: usize) -> Vec<Box<dyn Classifier>> {
    let layout = Layout { numeric: 3, categorical: 2, features: 9 };
    let mut kinds = vec![ModelKind::Softmax, ModelKind::Mlp(vec![5]), ModelKind::Mlp(vec![4, 3])];
    if labels == 2 {
        kinds.push(ModelKind::Logistic);
    }
    kinds.iter().map(|kind| kind.build(layout, labels).unwrap()).collect()
}

/// The derivative of `f` at 0, with an error of order `step^6`.
fn derivative(f: impl Fn(f64) -> f64) -> f64 {
    let h = 0.01;
    let pair = |k: f64| f(k * h) - f(-k * h);
    (45.0 * pair(1.0) - 9.0 * pair(2.0) + pair(3.0)) / (60.0 * h)
}

fn theta_of(model: &dyn Classifier, seed: u64) -> Vec<f64> {
    let mut random = stream(seed, 1, Purpose::Initial, 0);
    (0..model.parameters()).map(|_| f64::from(random.next_u32()) / 2.0_f64.powi(32) - 0.5).collect()
}

/// `sum_i c' F_i` (or the loss), and its gradient by the factors.
fn check_pullback(model: &dyn Classifier, seed: u64) {
    let rows = random_rows(seed, 4);
    let labels = [0_u16, 1, 1, 0];
    let theta = theta_of(model, seed);
    let combination: Vec<f64> = (0..model.labels()).map(|u| 0.7 - 0.9 * u as f64).collect();
    let score = |theta: &[f64]| {
        let mut pass = Pass::default();
        model.forward(&Point::new(model, theta), &rows, &mut pass);
        let outputs = pass.probabilities.chunks_exact(model.labels());
        let value: f64 =
            outputs.map(|f| f.iter().zip(&combination).map(|(f, c)| f * c).sum::<f64>()).sum();
        let loss: f64 = head::losses(&pass.logits, &labels, model.logits()).sum();
        let together = head::loss_sum(&pass.logits, &pass.probabilities, &labels, model.logits());
        assert!((loss - together).abs() < 1e-12 * loss.max(1.0), "{loss} {together}");
        (value, loss)
    };

    let point = Point::new(model, &theta);
    let mut pass = Pass::default();
    model.forward(&point, &rows, &mut pass);
    let gradient = |columns: usize, slopes: Vec<f64>, combination: &[f64]| {
        let mut all = vec![Vec::new(); model.blocks().len()];
        *all.last_mut().unwrap() = slopes;
        model.backward(&point, &pass, columns, &mut all);
        let factors = Factor::layers(model.blocks(), &all, &rows, &pass.hidden);
        let coefficients = |limit: Option<f64>, wanted: Option<usize>| {
            let mut coefficients = Coefficients::default();
            let slot = |record| u32::from(wanted.is_some_and(|wanted| wanted != record));
            let slots: Vec<u32> = (0..rows.len()).map(slot).collect();
            let table = [combination, &vec![0.0; columns][..]].concat();
            coefficients.fill(&factors, &slots, &table, columns, limit);
            let mut sum = Gradient::new(model);
            sum.add(&factors, &coefficients);
            sum.flatten()
        };
        let sum = coefficients(None, None);
        if columns == 1 {
            let mut plain = Gradient::new(model);
            plain.add_plain(&factors);
            assert_eq!(plain.flatten(), sum);
        }
        for record in 0..rows.len() {
            let alone = coefficients(None, Some(record));
            let norm = alone.iter().map(|g| g * g).sum::<f64>().sqrt();
            for limit in [norm * 0.5, norm * 2.0] {
                let clipped = coefficients(Some(limit), Some(record));
                let by = (limit / norm).min(1.0);
                let close = |(g, c): (&f64, &f64)| (g * by - c).abs() <= 1e-12 * (1.0 + norm);
                assert!(alone.iter().zip(&clipped).all(close));
            }
        }
        sum
    };
    let mut slopes = Vec::new();
    head::output_slopes(&pass.probabilities, model.labels(), model.logits(), &mut slopes);
    let of_score = gradient(model.labels(), slopes.clone(), &combination);
    head::loss_slopes(&pass.probabilities, &labels, model.logits(), &mut slopes);
    let of_loss = gradient(1, slopes, &[1.0]);
    for at in 0..theta.len() {
        let moved = |step: f64| {
            let mut theta = theta.clone();
            theta[at] += step;
            score(&theta)
        };
        // Sixth-order differences with step .01 are good to about 1e-10 here.
        assert!((derivative(|h| moved(h).0) - of_score[at]).abs() < 1e-8, "score, theta[{at}]");
        assert!((derivative(|h| moved(h).1) - of_loss[at]).abs() < 1e-8, "loss, theta[{at}]");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn pullbacks_and_loss_gradients_are_derivatives(seed in any::<u64>()) {
        for labels in [2, 3] {
            for model in models(labels) {
                check_pullback(model.as_ref(), seed);
            }
        }
    }
}

#[test]
fn probabilities_sum_to_one_even_for_huge_logits() {
    for model in models(3) {
        let rows = random_rows(1, 6);
        let theta: Vec<f64> = theta_of(model.as_ref(), 3).iter().map(|t| t * 1e4).collect();
        let all = Point::new(model.as_ref(), &theta).probabilities(&rows);
        for record in all.chunks_exact(3) {
            assert!((record.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{record:?}");
        }
    }
}

#[test]
fn names_are_read_and_written() {
    for name in ["logistic", "softmax", "mlp:64,32", "mlp:1"] {
        assert_eq!(name.parse::<ModelKind>().unwrap().to_string(), name);
    }
    for name in ["forest", "mlp:", "mlp:0", "mlp:a", "mlp:8,,8", "mlp:99999999"] {
        assert!(name.parse::<ModelKind>().is_err(), "{name}");
    }
    let layout = Layout { numeric: 1, categorical: 0, features: 1 };
    assert_eq!(ModelKind::Logistic.build(layout, 3).err(), Some(ModelError::Binary(3)));
    assert_eq!(ModelKind::Softmax.build(layout, 1).err(), Some(ModelError::Labels(1)));
}
