use std::ops::ControlFlow;

use steffle_attributes::noise::{NodeNoise, NoiseKind};
use steffle_privacy::{Delta, Epsilon};
use steffle_server::server::Rates;
use steffle_server::train::{Length, Mode, Settings, StepRule};

use super::published::Step;
use super::*;
use crate::Curator;
use crate::tests::{FIVE, OBJECTIVE, close, house};

fn go_on(_: u32, _: f64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn noise() -> NodeNoise {
    NodeNoise::new(NoiseKind::Simulation, 5, 1, 0).unwrap()
}

/// From (w, b) = (0.5, 0.1), with s = 1 and Adam steps of 0.3. With h = sigma(w x + b), V = |mean of
/// h over group 0 - mean over all| + the same for group 1; group 0 is above everywhere here, so
/// the gradient of V is (h (1 - h) (x, 1) averaged over group 0) - (the same over group 1). The
/// multiplier l begins with V at the start, min(V, 1/4); a round's dual step reads the point that
/// the round asked about. With r = h - y the slope is mean r (x, 1) + 1e-6 (w, b) + l grad V:
///
/// | round | l | slope | (w, b) after | V there before |
/// |---|---|---|---|---|
/// | 1 | 0.138654 | (-0.300716, 0.072005) | (0.800000, -0.200000) | 0.138654 |
/// | 2 | 0.277309 | (-0.191069, -0.006933) | (1.089405, -0.378684) | 0.196403 |
/// | 3 | 0.473711 | (-0.123361, -0.035935) | (1.363535, -0.417031) | 0.233215 |
///
/// The first Adam step is 0.3 slope / (|slope| + 1e-8); then the means are 0.9 and 0.999 of the old
/// ones plus 0.1 and 0.001 of the slope and its square, divided by 1 - 0.9^t and 1 - 0.999^t.
#[test]
fn three_rounds_with_released_signs_by_hand() {
    let settings = Settings {
        lambda: 1.0,
        mode: Mode::None,
        length: Length::Rounds(3),
        batch: None,
        server: StepRule::Given,
        rates: Rates { theta: 0.3, dual: 1.0, decay: 1.0 },
        ..Settings::of(Mode::None)
    };
    let mut house = house(&FIVE);
    let plan = settings.check(house.sizes()).unwrap();
    let mut seen = Vec::new();
    let outcome = pf_ld(&plan, OBJECTIVE, &mut house, vec![0.5, 0.1].into(), |round| {
        seen.push(round.chi_square);
        ControlFlow::Continue(())
    });
    close(&seen, &[0.138_654_321_171_97, 0.196_402_504_389_28, 0.233_214_528_810_36], 1e-12);
    let theta = outcome.unwrap().theta;
    close(&theta, &[1.363_535_137_738_21, -0.417_031_373_497_15], 1e-12);
}

/// The same people in one batch per epoch, C_p = 0.2: the lengths h (1 - h) sqrt(x^2 + 1) are 0.3235,
/// 0.2779, 0.3398, 0.2545 and 0.4595 at the start, so every gradient of h is scaled to 0.2. The
/// multiplier is 0 in the first epoch and grows by V at the end of each:
///
/// | epoch | l | slope | (w, b) after | V there |
/// |---|---|---|---|---|
/// | 1 | 0 | (-0.335207, 0.070921) | (0.800000, -0.200000) | 0.196403 |
/// | 2 | 0.196403 | (-0.218933, -0.014204) | (1.090393, -0.353239) | 0.234759 |
/// | 3 | 0.431161 | (-0.143133, -0.046930) | (1.366309, -0.348195) | 0.267103, taken as 1/4 |
#[test]
fn three_published_epochs_by_hand() {
    let mut house = house(&FIVE);
    let curator = Curator::new(&mut house).unwrap();
    let settings =
        Published { epochs: 3, batch: 5, rate: 0.3, step: 1.0, clip: 0.2, noise: None, seed: 1 };
    let mut seen = Vec::new();
    let theta = published(&curator, &settings, vec![0.5, 0.1], &mut noise(), |_, violation| {
        seen.push(violation);
        ControlFlow::Continue(())
    });
    close(&seen, &[0.196_402_504_602_23, 0.234_758_867_194_82, 0.267_103_211_768_74], 1e-12);
    close(&theta, &[1.366_308_646_330_53, -0.348_195_102_078_97], 1e-12);
}

/// The erratum: two groups of 100 at parity, but for one person whose class decides the sign. The
/// published sensitivity for a batch of 200 is 2 C_p / 20; the gradient moves by far more.
#[test]
fn one_class_moves_the_published_gradient_by_more_than_its_sensitivity() {
    let people = |last: u16| -> Vec<(f32, u16, u16)> {
        // Group 0 at 2 and -2, group 1 at 1 and -1: both have a mean h of 1/2 at w = 1, b = 0.
        let mut people: Vec<(f32, u16, u16)> = (0..200_u16)
            .map(|at| {
                let side = if (at / 2) % 2 == 0 { 1.0 } else { -1.0 };
                let group = at % 2;
                (side * if group == 0 { 2.0 } else { 1.0 }, u16::from(side > 0.0), group)
            })
            .collect();
        people.push((3.0, 1, last));
        people
    };
    let clip = 1.0;
    let gradient = |last: u16| {
        let mut house = house(&people(last));
        let curator = Curator::new(&mut house).unwrap();
        let which: Vec<u32> = (0..201).collect();
        Step::new(&curator).gradient(&curator, &[1.0, 0.0], &which, &[1.0], clip)
    };
    let (mine, theirs) = (gradient(0), gradient(1));
    let moved = mine.iter().zip(&theirs).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let sensitivity = 2.0 * clip / (0.1 * 201.0);
    assert!(moved > 1.5 * sensitivity, "{moved} against {sensitivity}");
    assert!(moved <= 4.0 * clip, "the honest bound");
}

#[test]
fn the_published_noise_claims_what_was_asked_and_gives_far_less() {
    let delta = Delta::try_from(1e-5).unwrap();
    let ask = |epsilon: f64| {
        PublishedNoise::claiming(Epsilon::try_from(epsilon).unwrap(), delta, 33_916, 512, 100)
    };
    let noise = ask(1.0).unwrap();
    // By the published account, sigma_p = 5 and sigma_d = 50 are epsilon 1.33; here the dual steps
    // have a tenth of mu^2 (mu = 0.27 at this epsilon and delta), so sigma_d is larger.
    assert!(noise.primal > 4.5 && noise.primal < 7.5, "{noise:?}");
    assert!(noise.dual > 100.0 && noise.dual < 140.0, "{noise:?}");
    assert!(ask(3.0).unwrap().primal < noise.primal);
    let honest = noise.honest_epsilon(2, 512, 100, delta);
    assert!(honest > 1000.0 && honest.is_finite(), "{honest}");
    assert!(noise.honest_epsilon(3, 512, 100, delta) > 0.0);
}

#[test]
fn noise_moves_the_published_run() {
    let mut house = house(&FIVE);
    let curator = Curator::new(&mut house).unwrap();
    let quiet =
        Published { epochs: 3, batch: 2, rate: 0.1, step: 1.0, clip: 0.2, noise: None, seed: 1 };
    let loud = Published { noise: Some(PublishedNoise { primal: 5.0, dual: 50.0 }), ..quiet };
    let run = |settings| published(&curator, settings, vec![0.5, 0.1], &mut noise(), go_on);
    assert_ne!(run(&quiet), run(&loud), "equal by chance with probability below 2^-50");
}

/// What an observer is shown ends up in a run's trace, so it is the released violation. The first
/// epoch's multipliers are 0, so theta after it is the same with and without noise, and only noise
/// can tell the two violations apart.
#[test]
fn an_observer_is_shown_the_released_violation() {
    let mut house = house(&FIVE);
    let curator = Curator::new(&mut house).unwrap();
    let quiet =
        Published { epochs: 1, batch: 5, rate: 0.3, step: 1.0, clip: 0.2, noise: None, seed: 1 };
    let loud = Published { noise: Some(PublishedNoise { primal: 5.0, dual: 50.0 }), ..quiet };
    let shown = |settings| {
        let mut seen = 0.0;
        let theta = published(&curator, settings, vec![0.5, 0.1], &mut noise(), |_, violation| {
            seen = violation;
            ControlFlow::Continue(())
        });
        (theta, seen)
    };
    let ((theta, exact), (same, released)) = (shown(&quiet), shown(&loud));
    assert_eq!(theta, same);
    assert_ne!(exact, released, "equal by chance with probability below 2^-50");
}
