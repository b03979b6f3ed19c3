//! Metrics from noisy counts, as tables, sentences and a page.

use steffle_front::{Bought, NoisyGap, NoisyGroup, NoisyRate, NoisyReport};
use steffle_report::{Measure, MetricsPage, metrics_html};

use crate::ui::{Rows, percent, with_interval};

/// The error and the gaps.
pub(crate) fn gaps_table(report: &NoisyReport) -> String {
    let mut rows = Rows::new(&["test", "this model", "95 % interval"]);
    let ends = |[low, high]: [f64; 2]| format!("{:.2} to {:.2} %", 100.0 * low, 100.0 * high);
    rows.push(vec!["error".to_owned(), percent(Some(report.error)), ends(report.error_interval)]);
    for (name, gap) in gaps(report) {
        rows.push(match gap {
            Some(gap) => vec![name.to_owned(), percent(Some(gap.value)), ends(gap.interval)],
            None => vec![name.to_owned(), "-".to_owned(), "not enough evidence".to_owned()],
        });
    }
    rows.render()
}

/// Rates per group; those of the label people want to get.
pub(crate) fn groups_table(report: &NoisyReport, favourable: usize) -> String {
    let mut rows = Rows::new(&["group", "records", "error", "selected", "TPR", "FPR"]);
    for group in &report.groups {
        let [low, high] = group.records_interval;
        let label = &group.labels[favourable];
        let told = |rate: &NoisyRate| with_interval(rate.value, rate.interval);
        rows.push(vec![
            group.name.clone(),
            format!("{:.0} [{low:.0}, {high:.0}]", group.records),
            told(&group.error),
            told(&label.selection_rate),
            told(&label.true_positive_rate),
            told(&label.false_positive_rate),
        ]);
    }
    rows.render()
}

/// What is not told for want of evidence, and what the numbers mean, a sentence each.
pub(crate) fn sentences(report: &NoisyReport, favourable: usize) -> Vec<String> {
    let mut said = Vec::new();
    for group in &report.groups {
        let label = &group.labels[favourable];
        let rates = [
            ("error and share selected", &label.selection_rate),
            ("TPR", &label.true_positive_rate),
            ("FPR", &label.false_positive_rate),
        ];
        let few: Vec<String> = rates
            .iter()
            .filter(|(_, rate)| rate.value.is_none())
            .map(|(name, rate)| format!("{name} ({:.0})", rate.effective_records))
            .collect();
        if !few.is_empty() {
            said.push(format!(
                "Not enough evidence about group {}: fewer than {} effective records for {}; gaps \
                 leave it out there.",
                group.name,
                report.min_group,
                few.join(", ")
            ));
        }
    }
    said.push(format!(
        "Counts of {} store(s) have noise: a group's records with a label and a decision are known to \
         {:.1} (one standard deviation). Intervals are for this noise and for the choice of test rows \
         together. Effective records are as many as would tell as much without noise; rates of fewer \
         than {} (--min-group) are not told.",
        report.stores, report.noise_deviation, report.min_group
    ));
    said
}

/// A rate of a group, by the place of a label.
type RateOf = fn(&NoisyGroup, usize) -> NoisyRate;

/// `metrics.html`.
pub(crate) fn page(
    title: String,
    bought: &Bought,
    label: &str,
    favourable: usize,
    facts: Vec<(String, String)>,
) -> Option<String> {
    let report = bought.reports.first()?;
    let mut measures = vec![Measure {
        name: "error".to_owned(),
        value: Some(100.0 * report.error),
        interval: Some(report.error_interval.map(|end| 100.0 * end)),
        baseline: None,
    }];
    measures.extend(gaps(report).map(|(name, gap)| Measure {
        name: name.to_owned(),
        value: gap.map(|gap| 100.0 * gap.value),
        interval: gap.map(|gap| gap.interval.map(|end| 100.0 * end)),
        baseline: None,
    }));
    let rates: [(String, RateOf); 4] = [
        (format!("share that gets {label}"), |group, at| group.labels[at].selection_rate),
        (format!("share of those with {label} that get it"), |group, at| {
            group.labels[at].true_positive_rate
        }),
        (format!("share of those without {label} that get it"), |group, at| {
            group.labels[at].false_positive_rate
        }),
        ("share of wrong decisions".to_owned(), |group, _| group.error),
    ];
    let of = |rate: RateOf| {
        let bar = |group: &NoisyGroup| {
            let own = rate(group, favourable);
            Measure {
                name: format!("{} (about {:.0} records)", group.name, group.records),
                value: own.value.map(|value| 100.0 * value),
                interval: own.interval.map(|ends| ends.map(|end| 100.0 * end)),
                baseline: None,
            }
        };
        report.groups.iter().map(bar).collect()
    };
    let page = MetricsPage {
        title,
        lead: lead(report),
        measures,
        rates: rates.into_iter().map(|(name, rate)| (name, of(rate))).collect(),
        evidence: sentences(report, favourable),
        privacy: vec![bought.privacy.brief(), bought.privacy.statement.clone()],
        facts,
    };
    Some(metrics_html(&page))
}

/// The result in two sentences.
pub(crate) fn lead(report: &NoisyReport) -> String {
    let gap = report.demographic_parity.map_or_else(
        || "There is not enough evidence for the demographic-parity gap.".to_owned(),
        |NoisyGap { value, interval: [low, high], .. }| {
            format!(
                "The demographic-parity gap is {:.2} points, and with 95 % confidence between {:.2} and \
                 {:.2}.",
                100.0 * value,
                100.0 * low,
                100.0 * high
            )
        },
    );
    let (error, records) = (100.0 * report.error, report.records);
    format!("{gap} The model errs in {error:.2} % of {records} records.")
}

/// The gaps by name.
pub(crate) fn gaps(report: &NoisyReport) -> impl Iterator<Item = (&'static str, Option<NoisyGap>)> {
    [
        ("demographic-parity gap", report.demographic_parity),
        ("equalized-odds gap", report.equalized_odds),
        ("equal-opportunity gap", report.equal_opportunity),
        ("accuracy-parity gap", report.accuracy_parity),
    ]
    .into_iter()
}
