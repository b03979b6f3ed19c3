//! The paper's average reductions of the violation at equal error, for our runs.

use steffle_report::Table;

use super::panels::Series;
use crate::commands::sweep::{Collected, Point, envelope, read_off};
use crate::config::Method;

/// The panels' series, by notion of fairness.
pub(super) type OfNotion<'a> = (&'a str, Vec<&'a [Series]>);

/// What the paper states, in percent.
const STATED: [(&str, Method, f64); 2] =
    [("demographic parity", Method::FedFdp, 52.93), ("equalized odds", Method::FedFdp, 95.42)];

/// Excess errors, in percentage points, at which curves are compared.
const STEPS: usize = 40;

/// A row per statement of the paper, a column per method of ours.
pub(super) fn headline(notions: &[OfNotion<'_>]) -> Table {
    let mut rows = Vec::new();
    for (notion, baseline, stated) in STATED {
        let panels: Vec<&[Series]> = notions
            .iter()
            .filter(|(own, _)| *own == notion)
            .flat_map(|(_, panels)| panels.iter().copied())
            .collect();
        let cell = |label: &str| {
            let found = panels.iter().filter_map(|series| in_panel(series, label, baseline));
            let found: Vec<f64> = found.collect();
            match found.len() {
                0 => "no common errors".to_owned(),
                n => format!("{:.1} % ({n} panels)", found.iter().sum::<f64>() / n as f64),
            }
        };
        let mut row = vec![format!("{notion} against {baseline}"), format!("{stated} %")];
        row.extend(OURS.map(cell));
        rows.push(row);
    }
    let columns = ["mean reduction of the violation at equal error", "stated in the paper"];
    Table {
        title: "Headline: average reductions".to_owned(),
        columns: columns.into_iter().chain(OURS).map(str::to_owned).collect(),
        rows,
        caption: "1 - (our violation) / (theirs) at equal test error, averaged over the errors \
                  that both methods reach with a model that is fairer than the unconstrained one, \
                  then over panels (data, epsilon, h). Lower envelopes over lambda of means over \
                  seeds. A negative number means that ours is less fair there."
            .to_owned(),
    }
}

/// The labels of our methods.
const OURS: [&str; 3] = ["one-shot", "SteFFLe, exact noise", "SteFFLe, the paper's noise"];

/// The mean reduction in one panel.
fn in_panel(series: &[Series], label: &str, baseline: Method) -> Option<f64> {
    let of = |chosen: &dyn Fn(&Series) -> bool| {
        let found = series.iter().find(|own| chosen(own))?;
        found.collected().map(|collected| envelope(&own_points(collected)))
    };
    let ours = of(&|own| own.label == label)?;
    let theirs = of(&|own| own.method == baseline)?;
    reduction(&ours, &theirs)
}

/// Means over seeds without the unconstrained model, which no method is to be credited with.
fn own_points(collected: &Collected) -> Vec<Point> {
    collected.curve().means().split_off(1)
}

/// The mean of `1 - ours / theirs` over the errors that both envelopes cover.
fn reduction(ours: &[Point], theirs: &[Point]) -> Option<f64> {
    let (from, to) = match (ours, theirs) {
        ([first, ..], [their_first, .., their_last]) => {
            (first.excess.max(their_first.excess), their_last.excess)
        }
        ([first, ..], [only]) => (first.excess.max(only.excess), only.excess),
        _ => return None,
    };
    if from > to {
        return None;
    }
    let steps = if from == to { 0 } else { STEPS };
    let gain = |step: usize| {
        let excess = from + (to - from) * step as f64 / STEPS as f64;
        let (ours, theirs) = (read_off(ours, excess)?, read_off(theirs, excess)?);
        (theirs > 0.0).then(|| 100.0 * (1.0 - ours / theirs))
    };
    let gains: Option<Vec<f64>> = (0..=steps).map(gain).collect();
    gains.map(|gains| gains.iter().sum::<f64>() / gains.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points<const N: usize>(points: [(f64, f64); N]) -> Vec<Point> {
        points.map(|(excess, violation)| Point { excess, violation }).to_vec()
    }

    #[test]
    fn reductions_worked_by_hand() {
        // Constant curves: 2 against 8 is a reduction by 75 %.
        let ours = points([(0.0, 2.0)]);
        let theirs = points([(0.5, 8.0), (1.5, 7.999_999)]);
        assert!((reduction(&ours, &theirs).unwrap() - 75.0).abs() < 1e-4);
        // A single point of theirs is compared there: ours reads 3 at 1.
        let ours = points([(0.0, 4.0), (2.0, 2.0)]);
        assert!((reduction(&ours, &points([(1.0, 6.0)])).unwrap() - 50.0).abs() < 1e-9);
        // Errors that ours does not reach are no comparison.
        assert_eq!(reduction(&points([(3.0, 1.0)]), &points([(1.0, 6.0)])), None);
        assert_eq!(reduction(&[], &points([(1.0, 6.0)])), None);
    }
}
