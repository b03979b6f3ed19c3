//! What is written about curves, the same words in figures, tables and tips.

use crate::comparison::{Curve, Panel, Point, Privacy, Published};
use crate::plot::short;

/// An epsilon as the value of a toggle: `none` for no privacy.
pub(crate) fn epsilon_key(epsilon: Option<f64>) -> String {
    epsilon.map_or_else(|| "none".into(), short)
}

/// The name next to a curve. It says so where the privacy is not what was asked for.
pub(crate) fn name(curve: &Curve) -> String {
    match (curve.epsilon, curve.privacy.honest_epsilon) {
        (Some(_), None) => format!("{} (no guarantee)", curve.label),
        (Some(asked), Some(honest)) if honest > 1.005 * asked => {
            let least = curve.privacy.least_honest_epsilon;
            let least = least.map(|least| format!("{} to ", rough(least))).unwrap_or_default();
            format!("{} (honest ε {least}{})", curve.label, rough(honest))
        }
        _ => curve.label.clone(),
    }
}

/// Three digits or so: enough next to a curve.
fn rough(value: f64) -> String {
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    let rounded = format!("{value:.decimals$}");
    let trimmed = if decimals > 0 { rounded.trim_end_matches('0') } else { &rounded };
    trimmed.trim_end_matches('.').to_owned()
}

/// A mean with its standard error.
pub(crate) fn spread(mean: f64, error: Option<f64>) -> String {
    match error {
        Some(error) => {
            // Two digits of the error say how many of the mean are known.
            let decimals = if error > 0.0 { 1 - error.log10().floor() as i32 } else { 2 };
            let decimals = decimals.clamp(0, 6) as usize;
            format!("{mean:.decimals$} ± {error:.decimals$}").replace('-', "\u{2212}")
        }
        None => short(mean),
    }
}

/// What a pointer that rests on a point is told.
pub(crate) fn tip(panel: &Panel, curve: &Curve, point: &Point) -> String {
    let mut lines = vec![
        name(curve),
        format!("{}: {}", panel.x_label, spread(point.x, point.x_error)),
        format!("{}: {}", panel.y_label, spread(point.y, point.y_error)),
    ];
    let seeds = if point.seeds == 1 { "1 seed".into() } else { format!("{} seeds", point.seeds) };
    lines.push(match point.lambda {
        Some(lambda) => format!("λ = {}, {seeds}", short(lambda)),
        None => seeds,
    });
    lines.push(match point.honest_epsilon {
        Some(honest) => promise(&Privacy {
            honest_epsilon: Some(honest),
            least_honest_epsilon: None,
            claimed_epsilon: None,
            ..curve.privacy.clone()
        }),
        None => promise(&curve.privacy),
    });
    lines.join("\n")
}

/// What a pointer that rests on a published point is told.
pub(crate) fn published_tip(panel: &Panel, point: &Published) -> String {
    let mut lines = vec![
        format!("{} (published)", point.label),
        format!("{}: {}", panel.x_label, short(point.x)),
        format!("{}: {}", panel.y_label, short(point.y)),
    ];
    lines.extend(point.epsilon.map(|epsilon| format!("claimed ε = {}", short(epsilon))));
    lines.push(point.source.clone());
    lines.join("\n")
}

/// The honest epsilon in a line, and the claimed one where it differs.
pub(crate) fn promise(privacy: &Privacy) -> String {
    let delta = privacy.delta.map(|delta| format!(", δ = {}", short(delta))).unwrap_or_default();
    let honest = match privacy.honest_epsilon {
        Some(_) => format!("honest ε = {}{delta}", honest(privacy)),
        None => "not private".into(),
    };
    match differing_claim(privacy) {
        Some(claimed) => format!("{honest} (claimed ε = {})", short(claimed)),
        None => honest,
    }
}

/// The honest epsilon or its range over the points of a curve.
pub(crate) fn honest(privacy: &Privacy) -> String {
    match (privacy.least_honest_epsilon, privacy.honest_epsilon) {
        (_, None) => "not private".into(),
        (None, Some(epsilon)) => short(epsilon),
        (Some(least), Some(most)) => format!("{} to {}", short(least), short(most)),
    }
}

/// The claimed epsilon, if it is not the honest one within half a percent.
pub(crate) fn differing_claim(privacy: &Privacy) -> Option<f64> {
    let differs = |claimed: &f64| {
        privacy.honest_epsilon.is_none_or(|honest| (honest - claimed).abs() > 0.005 * claimed)
    };
    privacy.claimed_epsilon.filter(differs)
}

/// The caption with what was fitted.
pub(crate) fn caption(panel: &Panel) -> String {
    let fits = panel.curves.iter().filter_map(|curve| curve.fit.map(|fit| (curve, fit)));
    let mut sentences = vec![panel.caption.clone()];
    for (curve, fit) in fits {
        let (slope, low, high) = (short(fit.slope), short(fit.low), short(fit.high));
        let predicted = fit.predicted.map(|slope| format!(", theorem {}", short(slope)));
        let predicted = predicted.unwrap_or_default();
        sentences.push(format!("{}: slope {slope} [{low}, {high}]{predicted}.", curve.label));
    }
    sentences.join(" ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_have_as_many_digits_as_their_errors_know() {
        assert_eq!(spread(15.3456, Some(0.0213)), "15.346 ± 0.021");
        assert_eq!(spread(15.3456, Some(1.9)), "15.3 ± 1.9");
        assert_eq!(spread(153.4, Some(25.0)), "153 ± 25");
        assert_eq!(spread(-0.5, Some(0.0)), "\u{2212}0.50 ± 0.00");
        assert_eq!(spread(15.3456, None), "15.35");
    }

    fn curve(asked: Option<f64>, honest: Option<f64>, claimed: Option<f64>) -> Curve {
        let privacy =
            Privacy { honest_epsilon: honest, claimed_epsilon: claimed, ..Privacy::default() };
        let (method, label) = ("m".into(), "M".into());
        Curve { method, mark: None, label, epsilon: asked, privacy, points: Vec::new(), fit: None }
    }

    #[test]
    fn a_name_says_when_privacy_is_less_than_asked_for() {
        assert_eq!(name(&curve(None, None, None)), "M");
        assert_eq!(name(&curve(Some(1.0), Some(1.0), None)), "M");
        assert_eq!(name(&curve(Some(1.0), Some(0.8), None)), "M", "more privacy than asked for");
        assert_eq!(name(&curve(Some(1.0), Some(7.31), None)), "M (honest ε 7.31)");
        assert_eq!(name(&curve(Some(1.0), Some(6.4251), None)), "M (honest ε 6.43)");
        assert_eq!(name(&curve(Some(9.0), Some(460_894.2), None)), "M (honest ε 460894)");
        assert_eq!(name(&curve(Some(3.0), Some(30.0), None)), "M (honest ε 30)");
        assert_eq!(name(&curve(Some(1.0), None, None)), "M (no guarantee)");
    }

    #[test]
    fn a_claim_is_repeated_where_it_differs() {
        let promise = |honest, claimed| promise(&curve(Some(1.0), honest, claimed).privacy);
        assert_eq!(promise(Some(1.0), Some(1.0)), "honest ε = 1");
        assert_eq!(promise(Some(7.0), Some(1.0)), "honest ε = 7 (claimed ε = 1)");
        assert_eq!(promise(None, Some(1.0)), "not private (claimed ε = 1)");
        assert_eq!(promise(None, None), "not private");
        let mut varies = curve(Some(1.0), Some(9.55), None);
        varies.privacy.least_honest_epsilon = Some(2.33);
        assert_eq!(name(&varies), "M (honest ε 2.33 to 9.55)");
        assert_eq!(honest(&varies.privacy), "2.33 to 9.55");
    }
}
