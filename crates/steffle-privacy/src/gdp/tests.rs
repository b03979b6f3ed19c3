use super::*;

fn mu_of(value: f64) -> Mu {
    Mu::try_from(value).unwrap()
}

fn delta_of(value: f64) -> Delta {
    Delta::try_from(value).unwrap()
}

fn epsilon_of(value: f64) -> Epsilon {
    Epsilon::try_from(value).unwrap()
}

#[test]
fn closed_form_is_accurate() {
    // z = 1, T = 1, delta = 1e-5 and z = 0.5: privacy_vectors (scipy closed form).
    assert!((epsilon(mu_of(1.0), delta_of(1e-5)) / 4.377_178_095_681_224 - 1.0).abs() < 1e-11);
    assert!((epsilon(mu_of(2.0), delta_of(1e-5)) / 9.997_256_146_434_301 - 1.0).abs() < 1e-11);
    let budget = mu(epsilon_of(1.0), delta_of(1.975_308_641_975_308_6e-9));
    assert!((budget.value() / 0.185_838_755_259_382_8 - 1.0).abs() < 1e-11);
}

#[test]
fn budget_and_reading_never_disagree_to_the_unsafe_side() {
    for exponent in 1..=15 {
        let delta_allowed = delta_of(10.0_f64.powi(-exponent));
        for e in [1e-6, 1e-3, 0.1, 1.0, 9.0, 100.0, 1e6] {
            let budget = mu(epsilon_of(e), delta_allowed);
            assert!(delta(epsilon_of(e), budget) <= delta_allowed.value(), "{e} 1e-{exponent}");
            assert!(epsilon(budget, delta_allowed) <= e, "{e} 1e-{exponent}");
        }
    }
}
