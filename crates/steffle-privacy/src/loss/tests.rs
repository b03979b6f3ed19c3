use super::*;
use crate::event::FixedBatch;

fn pair(sampling: Sampling, neighbours: Neighbours, z: f64) -> Pair {
    Pair::of(&Event {
        sampling,
        neighbours,
        noise_multiplier: z.try_into().unwrap(),
        rounds: 1.try_into().unwrap(),
    })
}

fn pairs() -> Vec<Pair> {
    let mut pairs = Vec::new();
    for z in [1e-3, 0.2, 1.0, 30.0, 1e4] {
        for q in [1e-6, 0.03, 0.7, 1.0] {
            let poisson = Sampling::Poisson(q.try_into().unwrap());
            for neighbours in
                [Neighbours::ReplaceCentred, Neighbours::Replace, Neighbours::AddRemove]
            {
                pairs.push(pair(poisson, neighbours, z));
            }
        }
        let fixed = FixedBatch::new(3, 100).unwrap();
        pairs.push(pair(Sampling::WithoutReplacement(fixed), Neighbours::Replace, z));
    }
    pairs
}

#[test]
fn points_and_losses_invert_each_other() {
    for pair in pairs() {
        for (from, to) in pair.stretches(6.0) {
            for i in 1..=20 {
                let y = from + (to - from) * f64::from(i) / 20.0;
                let loss = pair.at(y).1;
                // Where the loss is flat, points cannot come back; their losses must.
                let back = pair.at(pair.point_of(loss)).1;
                assert!((back - loss).abs() <= 1e-9 * loss.abs() + 1e-18, "{pair:?} {y} {loss}");
            }
        }
    }
}

/// A symmetric pair's stored half, its mirror image and the atom are all there is; the remove pair
/// is a density: P and Q both add up to 1. Fails when rate or shift are not the pair's own.
#[test]
fn both_laws_add_up_to_one() {
    for pair in pairs() {
        let (mut p, mut q) = (0.0, 0.0);
        for (from, to) in pair.stretches(9.0) {
            let cells = 20_000;
            let width = (to - from) / f64::from(cells);
            for i in 0..cells {
                let (log_density, loss) = pair.at(from + (f64::from(i) + 0.5) * width);
                p += width * log_density.exp();
                q += width * (log_density - loss).exp();
            }
        }
        if pair.symmetric() {
            let atom = 1.0 - p - q;
            assert!(atom > -1e-6, "{pair:?} {atom}");
            assert!(pair.kind == Kind::Largest || atom < 1e-6, "{pair:?} {atom}");
        } else {
            assert!((p - 1.0).abs() < 1e-6, "{pair:?} {p}");
            // Under Q the second stretch has no mass; the first carries all of it.
            assert!((q - 1.0).abs() < 1e-6 || pair.rate >= 1.0, "{pair:?} {q}");
        }
    }
}

/// One round of pair B is `q` times the Gaussian curve at ln(1 + (e^epsilon - 1)/q), and of the
/// remove pair the same: the amplification formula.
#[test]
fn one_round_is_the_amplification_formula() {
    let (q, z, epsilon) = (0.04, 1.3, 0.7_f64);
    let stretched = (epsilon.exp_m1() / q).ln_1p();
    let gaussian = crate::gdp::delta(
        stretched.try_into().unwrap(),
        crate::quantity::Mu::try_from(1.0 / z).unwrap(),
    );
    for neighbours in [Neighbours::Replace, Neighbours::AddRemove] {
        let pair = pair(Sampling::Poisson(q.try_into().unwrap()), neighbours, z);
        let (from, cells) = (pair.point_of(epsilon), 200_000);
        let width = (from + 14.0 - from) / f64::from(cells);
        let delta: f64 = (0..cells)
            .map(|i| {
                let (log_density, loss) = pair.at(from + (f64::from(i) + 0.5) * width);
                width * log_density.exp() * -(epsilon - loss).exp_m1()
            })
            .sum();
        assert!((delta / (q * gaussian) - 1.0).abs() < 1e-6, "{delta} {}", q * gaussian);
    }
}
