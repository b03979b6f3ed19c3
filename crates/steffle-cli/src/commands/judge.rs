//! Tables of metrics.

use steffle_front::{GroupIntervals, Interval, LeftOut, Report};

use crate::ui::{Rows, number, with_interval};

/// The overall metrics, one per line, with intervals.
pub(crate) fn overall_table(report: &Report) -> String {
    let intervals = report.intervals.as_ref();
    let mut rows = Rows::new(&["metric", "value", "95 % interval"]);
    let mut line = |name: &str, value: Option<f64>, interval: Option<[f64; 2]>| {
        let interval =
            interval.map_or_else(|| "-".to_owned(), |[low, high]| format!("{low:.4} to {high:.4}"));
        rows.push(vec![name.to_owned(), number(value), interval]);
    };
    line("error", Some(report.error), intervals.and_then(|i| i.error));
    line(
        "demographic-parity gap",
        report.demographic_parity,
        intervals.and_then(|i| i.demographic_parity),
    );
    line(
        "  distance from the overall rate",
        report.demographic_parity_marginal,
        intervals.and_then(|i| i.demographic_parity_marginal),
    );
    line("equalized-odds gap", report.equalized_odds, intervals.and_then(|i| i.equalized_odds));
    line(
        "equal-opportunity gap",
        report.equal_opportunity,
        intervals.and_then(|i| i.equal_opportunity),
    );
    line("accuracy-parity gap", report.accuracy_parity, intervals.and_then(|i| i.accuracy_parity));
    line("chi-square, decisions", report.chi_square, intervals.and_then(|i| i.chi_square));
    line("chi-square, probabilities", report.chi_square_soft, None);
    line("AUC", report.auc, intervals.and_then(|i| i.auc));
    rows.render()
}

/// The metrics per group; rates are those of the favourable label.
pub(crate) fn group_table(report: &Report, favourable: u16) -> String {
    let mut rows = Rows::new(&["group", "records", "error", "selected", "TPR", "FPR", "AUC"]);
    for group in &report.groups {
        let rates = &group.labels[usize::from(favourable)];
        let of =
            |pick: fn(&GroupIntervals) -> Option<Interval>| group.intervals.as_ref().and_then(pick);
        rows.push(vec![
            group.name.clone(),
            group.records.to_string(),
            with_interval(group.error, of(|i| i.error)),
            with_interval(rates.selection_rate, of(|i| i.selection_rate)),
            with_interval(rates.true_positive_rate, of(|i| i.true_positive_rate)),
            with_interval(rates.false_positive_rate, of(|i| i.false_positive_rate)),
            number(group.auc),
        ]);
    }
    rows.render()
}

/// What the metrics could not be taken of, a sentence each; none when of everything.
pub(crate) fn gaps_in_evidence(report: &Report) -> Vec<String> {
    let least = report.min_group;
    let small = |LeftOut { group, label, records }: &LeftOut| {
        let label = label.as_ref().map_or_else(String::new, |label| format!(" with label {label}"));
        format!(
            "Not enough evidence: group {group} has {records} record(s){label}, fewer than {least} \
             (--min-group); gaps leave it out."
        )
    };
    let mut sentences: Vec<String> = report.left_out.iter().map(small).collect();
    if report.without_group > 0 {
        let count = report.without_group;
        sentences
            .push(format!("{count} records have no known group and count for the error only."));
    }
    sentences
}
