use steffle_model::decode::Rule;
use steffle_wire::{CellQuestion, Encode, Form, Question, Writer};

use super::*;

fn inside(kind: Kind, asked: &impl Encode) -> bool {
    let mut writer = Writer::default();
    asked.encode(&mut writer);
    within(kind, &writer.finish()).is_ok()
}

/// Means of products: 1, and one number off or on the diagonal.
fn gram(off: f64, on: f64) -> Symmetric {
    Symmetric::from_lower(2, |row, column| match (row, column) {
        (0, 0) => 1.0,
        (1, 1) => on,
        _ => off,
    })
}

/// Matrices that sites are sent: every number of them, in all three questions; and the lengths beside
/// them. (One that is not finite is no matrix to whoever reads it.)
#[test]
fn matrices_have_a_range_of_their_own() {
    let released = |gram: Symmetric, cap: f64| {
        let agreed = Some(Agreed { gram, cap });
        inside(Kind::Release, &Release::Features { agreed, share: None })
    };
    let most = MOST_PRODUCT;
    for (off, on, allowed) in [
        (0.0, 1.0, true),
        (most, most, true),
        (-most, most, true),
        (1.01 * most, most, false),
        (-1.01 * most, most, false),
        (0.0, 1.01 * most, false),
    ] {
        let gram = || gram(off, on);
        assert_eq!(inside(Kind::Pool, &Pool::Cap { gram: gram() }), allowed, "{off} {on}");
        let length = Pool::Length { gram: Some(gram()), quantile: 0.5 };
        assert_eq!(inside(Kind::Pool, &length), allowed, "{off} {on}");
        assert_eq!(released(gram(), 1.0), allowed, "{off} {on}");
    }
    for (length, allowed) in [
        (2_f64.powi(-40), true),
        (2_f64.powi(60), true),
        (2_f64.powi(-41), false),
        (2_f64.powi(61), false),
        (0.0, false),
        (-1.0, false),
    ] {
        assert_eq!(released(gram(0.0, 1.0), length), allowed, "{length}");
        assert_eq!(inside(Kind::TakeIn, &TakeIn::Cap { length, bits: 16 }), allowed, "{length}");
    }
}

/// Every question that has parameters or factors, at the ends of their ranges and beyond.
#[test]
fn every_question_has_a_range() {
    let big = MOST_FACTOR;
    for (number, theta_fits, factor_fits) in [
        (MOST_THETA, true, true),
        (-1.01 * MOST_THETA, false, true),
        (big, false, true),
        (-1.01 * big, false, false),
        (f64::NAN, false, false),
        (f64::NEG_INFINITY, false, false),
    ] {
        let theta = vec![0.0, number];
        let asked = [
            inside(Kind::Loss, &Loss { theta: theta.clone() }),
            inside(Kind::Imputed, &ImputedQuestion { theta: theta.clone() }),
            inside(Kind::Pass, &PassQuestion::Look { theta: theta.clone(), imputed: false }),
            inside(Kind::Gap, &Gap { thetas: vec![vec![0.0; 2], theta.clone()] }),
            inside(Kind::Fit, &FitQuestion::Curvature { theta: theta.clone() }),
            inside(Kind::Pool, &Pool::Curvature { theta: theta.clone(), without: Vec::new() }),
        ];
        assert_eq!(asked, [theta_fits; 6], "{number}");
        let rule = Rule { intercepts: vec![0.0], weights: vec![theta.clone()] };
        assert_eq!(inside(Kind::TakeIn, &TakeIn::Rule(rule)), factor_fits, "{number}");
        let round = |theta: Vec<f64>, combinations: Vec<f64>, quadratic: Vec<f64>| {
            let cells = vec![CellQuestion { combinations, quadratic }];
            let (form, batch) = (Form::Centred, steffle_wire::Batch::All);
            let question = Question { theta, cells, form, batch, loss: false };
            let question = std::borrow::Cow::Owned(question);
            inside(Kind::Round, &Round { question, noise: None, share: None })
        };
        let zero = || vec![0.0; 2];
        assert_eq!(round(theta.clone(), zero(), zero()), theta_fits, "{number}");
        assert_eq!(round(zero(), theta.clone(), zero()), factor_fits, "{number}");
        assert_eq!(round(zero(), zero(), theta), factor_fits, "{number}");
    }
    let image = |diagonal: f64| FitQuestion::Image {
        metric: Metric { theta: vec![0.0], diagonal: vec![diagonal], records: 3 },
        vectors: vec![vec![1.0]],
    };
    for (diagonal, allowed) in [(2_f64.powi(-21), false), (1.0, true), (2_f64.powi(41), false)] {
        assert_eq!(inside(Kind::Fit, &image(diagonal)), allowed, "{diagonal}");
    }
}
