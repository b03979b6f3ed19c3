use std::ops::ControlFlow;

use steffle_server::server::minimise;

use super::*;
use crate::tests::{FIVE, close, house, house_of};

fn go_on(_: u32, _: f64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn played(error: f64, violations: [f64; 2]) -> Played {
    Played { error, violations: violations.to_vec() }
}

/// B = 1/2, so logarithms move by 4 v. Each share is e^log over 1 + the sum of all four e^log.
///
/// | step | logs of l+ | logs of l- | l = (e^plus - e^minus) / 2 whole | answer: error, v |
/// |---|---|---|---|---|
/// | 1 | 0, 0 | 0, 0 | 0, 0 | 0.20, (0.1, -0.3) |
/// | 2 | 0.4, -1.2 | -0.4, 1.2 | 0.060552, -0.222521 | 0.25, (-0.05, 0.2) |
/// | 3 | 0.2, -0.4 | -0.2, 0.4 | 0.038702, -0.078956 | 0.22, (0.02, -0.1) |
/// | 4 | 0.28, -0.8 | -0.28, 0.8 | 0.049302, -0.154352 | |
///
/// The averages over three steps are error 0.223333, v = (0.023333, -0.066667) and l = (0.033085,
/// -0.100492), so L = 0.230805. The multipliers could reach 0.223333 + 0.066667 / 2 = 0.256667, the
/// classifiers 0.228247 (the third), hence a gain of 0.025862.
#[test]
fn three_steps_of_the_game_by_hand() {
    let mut game = Game::of(2, 0.5);
    let answers =
        [played(0.2, [0.1, -0.3]), played(0.25, [-0.05, 0.2]), played(0.22, [0.02, -0.1])];
    let expected = [
        [0.0, 0.0],
        [0.060_552_074_513_41, -0.222_520_995_564_39],
        [0.038_701_505_893_28, -0.078_956_239_108_27],
    ];
    for (answer, expected) in answers.iter().zip(expected) {
        let multipliers = game.multipliers();
        close(&multipliers, &expected, 1e-13);
        game.learn(&multipliers, answer);
    }
    close(&game.multipliers(), &[0.049_302_000_689_34, -0.154_351_652_345_01], 1e-13);
    close(&[game.gain()], &[0.025_861_866_937_44], 1e-13);
}

/// n = 5, n_0 = 2, n_1 = 3, l = (0.2, -0.1): w = 2 y - 1 - 5 (l_g / n_g - 0.1 / 5), that is 1 - 0.4
/// and -1 - 0.4 in group 0 and, with 5 (-0.1 / 3 - 0.02) = -0.266667, -0.733333 and 1.266667 in
/// group 1.
#[test]
fn costs_by_hand() {
    let mut house = house(&FIVE);
    let curator = Curator::new(&mut house).unwrap();
    let found = costs(&curator, &[0.2, -0.1]);
    let (low, high) = (-0.733_333_333_333_333, 1.266_666_666_666_667);
    close(&found, &[0.6, -1.4, low, high, low], 1e-12);
}

/// The label is merit + background / 2 > 0, with merit even in [-2, 2] and background the group: the
/// unconstrained rule errs nowhere and gives 62.5 and 37.5 % the label, 12.5 points around the mean.
/// Merit alone would err on every eighth and give both groups the same.
#[test]
fn a_larger_bound_buys_parity_with_errors() {
    let person = |at: u16| {
        let (merit, group) = (f32::from(at / 2) / 50.0 - 1.99, at % 2);
        let background = if group == 0 { 1.0 } else { -1.0 };
        ([merit, background], u16::from(merit + background / 2.0 > 0.0), group)
    };
    let people: Vec<_> = (0..400).map(person).collect();
    let mut house = house_of(&people);
    let curator = Curator::new(&mut house).unwrap();
    let tolerance = Tolerance { evaluations: 200, gradient: 1e-5 };
    let (targets, weights) = (curator.records.labels().to_vec(), vec![1.0; 400]);
    let evaluate = |theta: &[f64]| {
        Ok::<_, std::convert::Infallible>(weighted(&curator, theta, &targets, &weights))
    };
    let Ok(public) = minimise(vec![0.0; 3], tolerance, evaluate, go_on);
    let solve = |bound: f64| reductions(&curator, bound, &public, tolerance, go_on);
    let (free, bound) = (solve(0.01), solve(3.0));
    assert!(free.error < 0.02 && (free.violation - 0.125).abs() < 0.02, "{free:?}");
    // Labels without noise make best responses jump, so parity itself needs the mixture; a single
    // rule still gains over the unconstrained one by what the game is about.
    let value = |of: &Reduced| of.error + 3.0 * of.violation;
    assert!(value(&bound) < 0.8 * value(&free) && bound.violation < 0.09, "{bound:?}");
    assert!(bound.responses > 1 && bound.evaluations > bound.responses);
}
