use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use steffle_attributes::Capped;
use steffle_model::decode::{ClassSums, linear};
use steffle_model::linear::Features;
use steffle_model::randomness::{ChaCha8Rng, Purpose, stream};
use steffle_model::record::{Layout, Rows};

use super::decode::{decode, straight_memberships};

/// Standard normal numbers in steps of 2^-12 and one categorical column of four levels.
fn sample(n: usize, numeric: usize, random: &mut ChaCha8Rng) -> Rows {
    let layout = Layout { numeric, categorical: 1, features: numeric + 4 };
    let (mut numbers, mut codes) = (Vec::new(), Vec::new());
    for _ in 0..n {
        for _ in 0..numeric {
            let x: f64 = StandardNormal.sample(random);
            numbers.push(((x * 4096.0).round() / 4096.0) as f32);
        }
        codes.push(numeric as u32 + random.random_range(0..4));
    }
    Rows::new(layout, n, numbers, codes).unwrap()
}

/// P(s | x) for `classes` classes: softmax of scores that are linear in the row.
fn truth(rows: &Rows, classes: usize) -> Vec<f64> {
    let mut all = Vec::new();
    for record in 0..rows.len() {
        let level = f64::from(rows.codes(record).next().unwrap());
        let score = |class: usize| -> f64 {
            let number = rows.numeric(record).iter().take(3).enumerate();
            let sum: f64 =
                number.map(|(j, &x)| f64::from(x) * ((j + 2 * class) as f64).sin()).sum();
            if class == 0 { 0.0 } else { sum + 0.3 * level - 2.0 }
        };
        let weights: Vec<f64> = (0..classes).map(|class| score(class).exp()).collect();
        let sum: f64 = weights.iter().sum();
        all.extend(weights.iter().map(|weight| weight / sum));
    }
    all
}

fn draw(truth: &[f64], classes: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
    let pick = |p: &[f64]| {
        let mut rest: f64 = random.random();
        p.iter().position(|p| {
            rest -= p;
            rest < 0.0
        })
    };
    truth.chunks_exact(classes).map(pick).map(|class| class.unwrap_or(classes - 1)).collect()
}

/// The message that `s` gives, with Gaussian noise of this variance in whitened coordinates.
fn message(
    capped: &Capped<'_>,
    s: &[usize],
    classes: usize,
    variance: f64,
    random: &mut ChaCha8Rng,
) -> ClassSums {
    let first = capped.counts().iter().position(|&count| count > 0.0).unwrap();
    let unit = capped.counts()[first] / capped.scales()[first] / capped.whitening().grid();
    let deviation = variance.sqrt() * unit;
    let sent = if classes == 2 { 1..2 } else { 0..classes };
    let sum = |class: usize| {
        let own = s.iter().zip(capped.counts());
        let own: Vec<f64> = own.map(|(&s, count)| if s == class { *count } else { 0.0 }).collect();
        let mut noise: Vec<f64> = (0..capped.features().size())
            .map(|_| {
                let standard: f64 = StandardNormal.sample(random);
                deviation * standard
            })
            .collect();
        capped.whitening().unwhiten(&mut noise);
        capped.features().sum(&own).iter().zip(noise).map(|(sum, noise)| sum + noise).collect()
    };
    let sums = sent.map(sum).collect();
    capped.message(sums, deviation)
}

/// Mean distance between estimated and true memberships, over records and classes.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>() / a.len() as f64
}

#[test]
fn every_weight_is_within_the_bound_and_three_quarters_attain_it() {
    let mut random = stream(1, 0, Purpose::Initial, 0);
    let rows = sample(2000, 5, &mut random);
    let units: Vec<u32> = (0..2000).map(|i| i / 2).collect();
    for units in [None, Some(&units[..])] {
        let capped = Capped::new(Features::whole(&rows), units).unwrap();
        let lengths = capped.whitening().lengths(capped.features()).unwrap();
        let each = capped.counts().iter().zip(&lengths).map(|(count, length)| count * length);
        let weights: Vec<f64> = match units {
            None => each.collect(),
            // The weight of a unit is at most the sum of those of its records.
            Some(_) => each.collect::<Vec<_>>().chunks(2).map(|two| two[0] + two[1]).collect(),
        };
        assert!(
            capped
                .weights()
                .zip(capped.counts().iter().zip(&lengths))
                .all(|(own, (c, l))| own == c * l)
        );
        let cap = capped.cap() / capped.whitening().grid() * 65_536.0;
        let most = weights.iter().copied().fold(0.0, f64::max);
        assert!(most <= cap * (1.0 + 1e-12) && most > 0.999_99 * cap);
        let near = weights.iter().filter(|&&weight| weight > 0.999 * cap).count();
        let share = near as f64 / weights.len() as f64;
        assert!((0.74..0.78).contains(&share), "{share}");
        assert!(capped.counts().iter().all(|count| count.fract() == 0.0 && *count <= 65_536.0));
    }
}

#[test]
fn without_noise_the_memberships_have_the_released_sums() {
    let mut random = stream(2, 0, Purpose::Initial, 0);
    let rows = sample(3000, 4, &mut random);
    for classes in [2, 3] {
        let s = draw(&truth(&rows, classes), classes, &mut random);
        // Records of two cells, and some in none.
        let cells: Vec<u16> = (0..3000).map(|i| (i % 5) / 2).collect();
        let capped = Capped::new(Features::released(&rows, &cells, 2).unwrap(), None).unwrap();
        let message = message(&capped, &s, classes, 1e-9, &mut random);
        let decoded = decode(&capped, &capped.moments(), &message).unwrap();
        let scales = capped.scales();
        for (at, sum) in message.sums.iter().enumerate() {
            let class = if classes == 2 { 1 } else { at };
            let own = decoded.memberships.iter().skip(class).step_by(classes);
            let own: Vec<f64> = own.zip(&scales).map(|(p, scale)| p * scale).collect();
            for (expected, sum) in capped.features().sum(&own).iter().zip(sum) {
                assert!((expected - sum).abs() < 2e-3 * 3000.0_f64.sqrt(), "{expected} {sum}");
            }
        }
        for record in decoded.memberships.chunks_exact(classes) {
            assert!((record.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}

/// With 20,000 records a message at epsilon 1 (variance 30) gives memberships as good as one
/// without noise, and at epsilon 0.25 (variance 440) far better ones than the classes' shares.
/// Over 40 seeds the distances had means of at most .022/.022/.028 (linear .047/.048/.052) and
/// standard deviations of at most .001/.001/.003; the bounds are seven or more of these above, a
/// failure probability below 1e-11 per comparison if the distances are about normal.
#[test]
fn memberships_of_a_known_model_are_recovered() {
    for classes in [2, 3, 5] {
        let mut random = stream(3, classes as u64, Purpose::Initial, 0);
        let rows = sample(20_000, 6, &mut random);
        let truth = truth(&rows, classes);
        let s = draw(&truth, classes, &mut random);
        let capped = Capped::new(Features::whole(&rows), None).unwrap();
        let share: Vec<f64> = (0..classes)
            .map(|class| s.iter().filter(|&&s| s == class).count() as f64 / 20_000.0)
            .collect();
        let constant: Vec<f64> = share.iter().copied().cycle().take(truth.len()).collect();
        let alone = distance(&constant, &truth);
        for (variance, within) in [(0.0, 0.035), (30.0, 0.035), (440.0, 0.06)] {
            let message = message(&capped, &s, classes, variance, &mut random);
            let decoded = decode(&capped, &capped.moments(), &message).unwrap();
            let rule = linear(&capped.moments(), &message).unwrap();
            let straight = straight_memberships(&capped, &rule);
            assert!(alone > 0.13);
            let curved = distance(&decoded.memberships, &truth);
            assert!(curved < within, "{classes} {variance} {curved}");
            let straight = distance(&straight, &truth);
            assert!(straight < 0.025 + within, "{classes} {variance} {straight}");
        }
    }
}

#[test]
fn noise_far_above_the_signal_gives_memberships_all_the_same() {
    for seed in 0..40 {
        let mut random = stream(4, seed, Purpose::Initial, 0);
        let rows = sample(500, 16, &mut random);
        for classes in [2, 4] {
            let s = draw(&truth(&rows, classes), classes, &mut random);
            let capped = Capped::new(Features::whole(&rows), None).unwrap();
            let message = message(&capped, &s, classes, 2600.0, &mut random);
            let decoded = decode(&capped, &capped.moments(), &message).unwrap();
            assert!(decoded.memberships.iter().all(|p| (0.0..=1.0).contains(p)), "{seed}");
        }
    }
}

#[test]
fn too_many_features_are_refused_before_a_matrix_is_made() {
    let layout = Layout { numeric: 0, categorical: 1, features: 1_000_000_000 };
    let rows = Rows::new(layout, 1, vec![], vec![7]).unwrap();
    let refused = Capped::new(Features::whole(&rows), None).unwrap_err();
    assert!(refused.to_string().contains("merge rare levels"), "{refused}");
}
