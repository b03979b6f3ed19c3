//! The paper's average reductions of the violation at equal error, for our runs.

use steffle_report::{EqualError, Panel, Table};

/// What the paper states: the notion, the method that SteFFLe is compared with, percent.
const STATED: [(&str, &str, f64); 3] = [
    ("demographic parity", "pf-ld", 75.47),
    ("demographic parity", "fedfdp", 52.93),
    ("equalized odds", "fedfdp", 95.42),
];

/// Our methods, as the panels name them: the paper's SteFFLe, and what became of it.
const OURS: [(&str, &str); 3] = [
    ("steffle-published", "SteFFLe, paper's noise"),
    ("steffle", "SteFFLe, exact noise"),
    ("one-shot", "one-shot"),
];

/// A row per statement of the paper, a column per method of ours.
pub(super) fn headline(panels: &[&Panel]) -> Table {
    let mut rows = Vec::new();
    for (notion, baseline, stated) in STATED {
        let cell = |(method, _): (&str, &str)| {
            let own = panels.iter().filter(|panel| panel.notion == notion);
            let found: Vec<f64> =
                own.filter_map(|panel| in_panel(panel, method, baseline)).collect();
            match found.len() {
                0 => "-".to_owned(),
                n => format!("{:.1} % ({n} panels)", found.iter().sum::<f64>() / n as f64),
            }
        };
        let mut row = vec![format!("{notion}, against {baseline}"), format!("{stated} %")];
        row.extend(OURS.map(cell));
        rows.push(row);
    }
    let columns = ["mean reduction of the violation", "stated in the paper"];
    let columns = columns.into_iter().chain(OURS.map(|(_, label)| label));
    Table {
        title: "Headline: average reductions".to_owned(),
        columns: columns.map(str::to_owned).collect(),
        rows,
        caption: "1 - (our violation) / (theirs) at equal test error, averaged over the errors of \
                  each panel's table, then over panels (data, epsilon, h). Every method may return \
                  the unconstrained model. A negative number means that ours is less fair."
            .to_owned(),
    }
}

/// The mean reduction in one panel.
fn in_panel(panel: &Panel, method: &str, baseline: &str) -> Option<f64> {
    let row = |wanted: &str| panel.equal_error.iter().find(|row| row.method == wanted);
    reduction(row(method)?, row(baseline)?)
}

/// The mean of `1 - ours / theirs`, in percent, over the errors at which both have a violation.
fn reduction(ours: &EqualError, theirs: &EqualError) -> Option<f64> {
    let pairs = ours.at.iter().zip(&theirs.at);
    let gains: Vec<f64> = pairs
        .filter_map(|(ours, theirs)| ours.violation.zip(theirs.violation))
        .filter(|(_, theirs)| *theirs > 0.0)
        .map(|(ours, theirs)| 100.0 * (1.0 - ours / theirs))
        .collect();
    (!gains.is_empty()).then(|| gains.iter().sum::<f64>() / gains.len() as f64)
}

#[cfg(test)]
mod tests {
    use steffle_report::Reached;

    use super::*;

    fn row(violations: [Option<f64>; 3]) -> EqualError {
        let reached = |violation| Reached { excess: 1.0, violation, standard_error: None };
        EqualError {
            method: String::new(),
            label: String::new(),
            epsilon: None,
            at: violations.map(reached).to_vec(),
        }
    }

    #[test]
    fn reductions_worked_by_hand() {
        // 2 against 8 is 75 %, 3 against 2 is -50 %; the mean is 12.5 %.
        let ours = row([Some(2.0), Some(3.0), Some(1.0)]);
        let theirs = row([Some(8.0), Some(2.0), None]);
        assert!((reduction(&ours, &theirs).unwrap() - 12.5).abs() < 1e-12);
        assert_eq!(reduction(&ours, &row([None, None, Some(0.0)])), None);
    }
}
