use super::*;

fn explained(epsilon: f64, delta: f64) -> Explanation {
    Explanation::of(epsilon.try_into().unwrap(), delta.try_into().unwrap())
}

fn gaussian(point: &Point) -> f64 {
    point.missed_gaussian.unwrap()
}

#[test]
fn curves_are_decreasing_convex_and_ordered() {
    for (epsilon, delta) in [(0.01, 1e-9), (1.0, 1e-6), (3.0, 1e-5), (9.0, 0.01), (700.0, 1e-5)] {
        let curve = explained(epsilon, delta).curve();
        let points = curve.points(400);
        for pair in points.windows(2) {
            assert!(pair[0].missed >= pair[1].missed);
            assert!(gaussian(&pair[0]) >= gaussian(&pair[1]));
        }
        for three in points.windows(3) {
            let middle = 0.5 * (gaussian(&three[0]) + gaussian(&three[2]));
            assert!(gaussian(&three[1]) <= middle + 1e-12);
        }
        for point in &points {
            // Gaussian messages within the budget are never easier to tell than the promise says,
            // and nothing is harder than impossible.
            assert!(gaussian(point) >= point.missed - 1e-12, "{epsilon} {point:?}");
            assert!(gaussian(point) <= 1.0 - point.false_alarm + 1e-12);
        }
    }
}

/// Equal priors: success is 1 - (false alarms + missed)/2 at its best.
#[test]
fn best_guesses_are_those_of_the_curves() {
    for (epsilon, delta) in [(0.1, 1e-9), (1.0, 1e-6), (4.0, 1e-3)] {
        let explanation = explained(epsilon, delta);
        let points = explanation.curve().points(20_000);
        let best = |missed: fn(&Point) -> f64| {
            points.iter().map(|p| 1.0 - 0.5 * (p.false_alarm + missed(p))).fold(0.0, f64::max)
        };
        assert!((best(|p| p.missed) - explanation.best_guess).abs() < 1e-4);
        assert!((best(gaussian) - explanation.best_guess_gaussian.unwrap()).abs() < 1e-4);
    }
}

#[test]
fn extreme_promises_stay_numbers() {
    for epsilon in [1e-12, 1e-3, 50.0, 1e4] {
        for delta in [1e-15, 0.5, 0.999_999] {
            let explanation = explained(epsilon, delta);
            assert!((0.5..=1.0).contains(&explanation.best_guess), "{explanation:?}");
            assert!((0.5..=1.0).contains(&explanation.best_guess_gaussian.unwrap()));
            assert!(explanation.beliefs.iter().all(|belief| belief.after <= 1.0));
            assert!(
                !explanation.text(&Scope::ATTRIBUTE).contains("NaN")
                    && !explanation.svg().contains("NaN")
            );
        }
    }
}

#[test]
fn text_says_what_is_and_what_is_not() {
    let text = explained(1.0, 1e-9).text(&Scope::ATTRIBUTE);
    for part in [
        "What is protected.",
        "From whom.",
        "For how long.",
        "What is not protected.",
        "Features and labels (x and y)",
        "predicted from x and y",
        "right at most 73.2 times in 100",
        "at most 53.7 times where every message is Gaussian",
        "factor of at most 2.719, except with probability one in 1,000,000,000",
        "50 % sure before is at most 73.2 % sure afterwards",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

/// Randomised response between two values: right with probability e^epsilon/(1 + e^epsilon).
#[test]
fn a_pure_promise_has_no_gaussian_part_and_no_exception() {
    let pure = Explanation::pure(1.0.try_into().unwrap());
    assert!((pure.best_guess - 1.0 / (1.0 + (-1.0_f64).exp())).abs() < 1e-15);
    assert_eq!((pure.delta, pure.mu, pure.best_guess_gaussian), (0.0, None, None));
    let text = pure.text(&Scope::ANSWERS);
    assert!(text.starts_with("epsilon 1 at delta 0\n"), "{text}");
    assert!(text.contains("(50 by guessing).") && text.contains("at most 2.719.\n"), "{text}");
    for drawn in [text, pure.picture(), pure.svg().replace(".gaussian", "")] {
        assert!(!drawn.contains("aussian") && !drawn.contains("NaN"), "{drawn}");
    }
    assert_eq!(pure.svg().matches("<path").count(), 5);
}

#[test]
fn scopes_say_who_is_trusted_and_with_what() {
    let text = |scope: Scope| explained(1.0, 1e-9).text(&scope);
    assert!(text(Scope::CURATOR).contains("From whom. Everyone but the curator"));
    assert!(text(Scope::ANSWERS).contains("Nobody is trusted"));
    let record = text(Scope::RECORD);
    assert!(record.contains("Each whole record") && !record.contains("attribute"), "{record}");
}

#[test]
fn pictures_show_all_three_curves() {
    let explanation = explained(1.0, 1e-6);
    let picture = explanation.picture();
    assert!(picture.lines().count() == 20 && picture.lines().all(|line| line.len() <= 80));
    for sign in ['.', 'o', '#'] {
        assert!(picture.matches(sign).count() > 15, "{sign}\n{picture}");
    }
    let svg = explanation.svg();
    assert_eq!(svg.matches("<path").count(), 7);
    assert!(svg.contains("prefers-color-scheme: dark") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches('<').count(), svg.matches('>').count());
}

#[test]
fn small_probabilities_read_aloud() {
    assert_eq!(one_in(1e-6), "one in 1,000,000");
    assert_eq!(one_in(0.4), "one in 2");
    assert_eq!(one_in(1e-20), "one in 1.0e20");
}
