//! Metrics of a model on encoded records, and their tables.

use steffle::fairness::{Notion, NotionName};
use steffle::metrics::{Bootstrap, GroupIntervals, Interval, Judged, Names, Report};
use steffle::record::Records;
use steffle_data::{Groups, Schema};

use crate::failure::Failure;
use crate::ui::{Rows, number, with_interval};

/// All metrics of probabilities for records whose groups are known, with intervals where a
/// bootstrap is given.
pub(crate) fn judge(
    schema: &Schema,
    notion: &NotionName,
    records: &Records,
    groups: &Groups,
    probabilities: &[f64],
    bootstrap: Option<Bootstrap>,
) -> Result<Report, Failure> {
    let names = Names {
        labels: schema.labels().to_vec(),
        groups: groups.names.clone(),
        favourable: schema.favourable(),
    };
    let strata: Vec<u16> = (0..records.len()).map(|row| records.stratum(row)).collect();
    let judged = Judged::new(&names, records.labels(), &groups.classes, probabilities)
        .and_then(|judged| judged.with_strata(&strata))
        .map_err(|error| Failure::data("data::metrics", error.to_string()))?;
    let notion = measured(notion, schema);
    Ok(match bootstrap {
        Some(bootstrap) => Report::with_intervals(&judged, notion, bootstrap),
        None => Report::new(&judged, notion),
    })
}

/// The notion that chi-square is reported for: a run without one is measured by demographic
/// parity.
fn measured(notion: &NotionName, schema: &Schema) -> Notion {
    let labels = schema.labels().len();
    let notion = match notion {
        NotionName::None => &NotionName::DemographicParity,
        notion => notion,
    };
    notion.resolve(labels, schema.favourable(), schema.strata().len())
}

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

/// What the metrics could not be taken of, in words; empty when of everything.
pub(crate) fn gaps_in_evidence(report: &Report) -> String {
    let mut text = String::new();
    for left_out in &report.left_out {
        text += &match &left_out.label {
            Some(label) => format!(
                "Not enough evidence: group {} has no record with label {label}.\n",
                left_out.group
            ),
            None => format!("Not enough evidence: group {} has no record.\n", left_out.group),
        };
    }
    if report.without_group > 0 {
        let count = report.without_group;
        text += &format!("{count} records have no known group and count for the error only.\n");
    }
    text
}
