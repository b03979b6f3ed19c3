use super::*;
use crate::normal::cumulative;

/// `ln P(Z = x) / P(R = x)` by direct summation.
fn log_ratio(x: i32, sigma: f64) -> f64 {
    let density = |y: i32| (-f64::from(y).powi(2) / (2.0 * sigma * sigma)).exp();
    let reach = (45.0 * sigma) as i32;
    let normaliser: f64 = (-reach..=reach).map(density).sum();
    let (low, high) = ((f64::from(x) - 0.5) / sigma, (f64::from(x) + 0.5) / sigma);
    // The lower tail keeps its digits; the law is symmetric.
    let rounded = cumulative(-low.abs().min(high.abs())) - cumulative(-low.abs().max(high.abs()));
    let rounded = if x == 0 { 1.0 - 2.0 * cumulative(low) } else { rounded };
    (density(x) / normaliser / rounded).ln()
}

#[test]
fn the_slack_bounds_the_ratio() {
    for sigma in [16.0, 64.0, 256.0_f64] {
        let mut worst: f64 = 0.0;
        for share in 0..=30 {
            // Beyond 30 sigma the probabilities leave the range of a double; c = 30 there.
            let x = (f64::from(share) * sigma) as i32;
            worst = worst.max(log_ratio(x, sigma).abs());
        }
        let at_thirty = 30.0_f64.powi(2) / 24.0 / sigma.powi(2);
        assert!(worst <= at_thirty * 1.01, "{sigma}: {worst} above {at_thirty}");
        assert!(worst >= 0.9 * at_thirty, "{sigma}: {worst} far below {at_thirty}");
        // The constant 67 is the same bound at c = 40, so half of it would not cover c = 30.
        assert!(worst > 0.5 * slack(1, sigma) && worst < slack(1, sigma), "{sigma}: {worst}");
    }
}

fn epsilon_of(value: f64) -> Epsilon {
    Epsilon::try_from(value).unwrap()
}

fn delta_of(value: f64) -> Delta {
    Delta::try_from(value).unwrap()
}

#[test]
fn the_budget_pays_for_the_slack() {
    for (e, d) in [(1.0, 1e-9), (0.01, 1e-5), (64.0, 1e-6), (2.0, 1e-290), (3.0, 0.9)] {
        let (wanted, delta) = (epsilon_of(e), delta_of(d));
        let (left, left_delta) = reduced(wanted, delta).unwrap();
        // Claim 4 of the proof, at the largest slack, with room for its last term.
        let (left, left_delta) = (left.value(), left_delta.value());
        assert!(left + 2.0 * 66.7 / 67.0 * SLACK <= e && left + 2.1 * SLACK > e, "{left}");
        let room = d - SLACK.exp() * left_delta;
        assert!(room > 0.99 * SLACK * d && room < 1.01 * SLACK * d, "{room}");

        let mu = budget(wanted, delta).unwrap();
        let back = epsilon(mu, delta).unwrap();
        assert!(back <= e && back > e * (1.0 - 1e-9), "{e} {d}: {back}");
        let plain = gdp::epsilon(mu, delta_of(left_delta));
        assert!(plain <= left && plain > left * (1.0 - 1e-9), "{plain}");
    }
    for e in [1e-6, 2e-6] {
        let refused = budget(epsilon_of(e), delta_of(1e-9)).unwrap_err().to_string();
        assert!(refused.contains("above 2e-6"), "{refused}");
    }
}

/// Step 5: at the largest epsilon, with the most numbers, the last term is far below what
/// the smallest delta leaves for it, and no bound is loose by much.
#[test]
fn the_tail_is_paid_for() {
    let exponent = (2.0 * MOST_NUMBERS as f64).ln() + LARGEST_EPSILON + SLACK - 790.0;
    assert!(exponent < -702.0, "{exponent}");
    let least_room = 0.99 * SLACK * SMALLEST_DELTA;
    assert!(exponent < least_room.ln() - 4.0);
    // Twice the exponents would not do.
    assert!(exponent + 2.0 * LARGEST_EPSILON > least_room.ln());
    assert!(exponent + (MOST_NUMBERS as f64).ln() > least_room.ln());
    for d in [1e-291, 1e-300, 5e-324] {
        assert!(budget(epsilon_of(1.0), delta_of(d)).is_err(), "{d}");
        assert!(budget(epsilon_of(100.0), delta_of(d)).is_err(), "{d}");
        assert!(epsilon(Mu::try_from(1.0).unwrap(), delta_of(d)).is_err(), "{d}");
        assert!(reduced(epsilon_of(1.0), delta_of(d)).is_err(), "{d}");
    }
    let refused = reduced(epsilon_of(64.5), delta_of(1e-6)).unwrap_err().to_string();
    assert!(refused.contains("64.5") && refused.contains("at most 64"), "{refused}");
}

#[test]
fn concentrated_budgets_are_inverse_and_joined() {
    for d in [1e-290, 1e-100, 1e-12, 1e-6, 0.1] {
        let delta = delta_of(d);
        let log = -delta.value().ln();
        let seam = budget(epsilon_of(64.0), delta).unwrap().value();
        let (mut before, mut last) = (0.0, 0.0);
        let steps = (0..400).map(|step| 60.0 * 1.01_f64.powi(step));
        let epsilons = steps.chain([63.999_999, 64.0, 64.000_001, 1e5, 1e9, 1e100]);
        let mut epsilons: Vec<f64> = epsilons.collect();
        epsilons.sort_by(f64::total_cmp);
        for e in epsilons {
            let mu = budget(epsilon_of(e), delta).unwrap();
            assert!(mu.value() >= before, "{e} {d}");
            before = mu.value();
            let back = epsilon(mu, delta).unwrap();
            assert!(back <= e && back >= last, "{e} {d}: {back}");
            last = back;
            if mu.value() > seam * (1.0 + 1e-9) {
                assert!(back > e * (1.0 - 1e-11), "{e} {d}: {back}");
                // Written out: rho + 2 sqrt(rho ln(1/delta)) of rho = mu^2/2.
                let rho = mu.value() * mu.value() / 2.0;
                let written = rho + 2.0 * (rho * log).sqrt();
                assert!((written / e - 1.0).abs() < 1e-11, "{e} {d}: {written}");
            }
        }
        // Beyond the seam the reading jumps up to the coarser bound, never down.
        let beyond = epsilon(Mu::try_from(seam * (1.0 + 1e-9)).unwrap(), delta).unwrap();
        assert!((64.0..1.2 * 64.0).contains(&beyond), "{d}: {beyond}");
    }
    assert!(epsilon(Mu::try_from(1e200).unwrap(), delta_of(1e-6)).is_err());
    assert_eq!(epsilon(Mu::ZERO, delta_of(1e-6)), Ok(0.0));
}
