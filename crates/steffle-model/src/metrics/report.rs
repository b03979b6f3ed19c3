//! One report of all metrics, as it is printed and stored.

use serde::Serialize;

use super::bootstrap::interval;
use super::confusion::{Confusion, Joint};
use super::{Auc, Bootstrap, Evidence, Interval, auc, chi_square, gaps};
use crate::fairness::Notion;
use crate::record::MISSING_CLASS;

/// All metrics of one model on one set of records.
///
/// Of rows whose groups may be looked at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Records judged.
    pub records: usize,
    /// Share of wrong decisions.
    pub error: f64,
    /// Share of right decisions.
    pub accuracy: f64,
    /// Largest pairwise gap in selection rates, over labels and groups.
    pub demographic_parity: Option<f64>,
    /// Largest distance of a group's selection rate from the overall rate.
    pub demographic_parity_marginal: Option<f64>,
    /// Largest pairwise gap in true or false positive rates, over labels and groups.
    pub equalized_odds: Option<f64>,
    /// Largest pairwise gap in the true positive rate of the favourable label.
    pub equal_opportunity: Option<f64>,
    /// Largest pairwise gap in the share of right decisions.
    pub accuracy_parity: Option<f64>,
    /// Chi-square divergence of the hard decisions for the notion's cells.
    pub chi_square: Option<f64>,
    /// Chi-square divergence of the soft outputs for the notion's cells.
    pub chi_square_soft: Option<f64>,
    /// Area under the ROC curve: of the favourable label's probability for two labels, else the
    /// mean over labels of one label against the rest.
    pub auc: Option<f64>,
    /// The same per group.
    pub groups: Vec<GroupReport>,
    /// Records that a rate must be of to count in a gap.
    pub min_group: usize,
    /// Groups and labels that have too few records for that, or none.
    pub left_out: Vec<LeftOut>,
    /// Records whose group is missing.
    pub without_group: usize,
    /// 95 % intervals, where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Intervals>,
}

/// Metrics of one group.
///
/// Only for rows whose groups may be looked at: its numbers are exact.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupReport {
    /// Name of the group.
    pub name: String,
    /// Records of the group.
    pub records: usize,
    /// Share of wrong decisions.
    pub error: Option<f64>,
    /// Share of right decisions.
    pub accuracy: Option<f64>,
    /// Largest gap in selection rates to another group.
    pub demographic_parity: Option<f64>,
    /// Largest gap in true or false positive rates to another group.
    pub equalized_odds: Option<f64>,
    /// Area under the ROC curve within the group.
    pub auc: Option<f64>,
    /// Rates per label.
    pub labels: Vec<LabelRates>,
    /// 95 % intervals, where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intervals: Option<GroupIntervals>,
}

/// How often a group is given a label.
///
/// Among all of the group, among those who have the label, and among those who have another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelRates {
    /// Name of the label.
    pub label: String,
    /// P(decided so).
    pub selection_rate: Option<f64>,
    /// P(decided so | it is so).
    pub true_positive_rate: Option<f64>,
    /// P(decided so | it is not so).
    pub false_positive_rate: Option<f64>,
}

/// A group, or a label within a group, that has too few records for its rates to be compared.
///
/// Gaps are taken over the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Name of the group.
    pub group: String,
    /// Name of the label; absent when the whole group is too small.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How many records there are.
    pub records: usize,
}

/// 95 % intervals of the overall metrics.
///
/// By resampling the rows, they say what chance in the choice of rows can do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Intervals {
    /// What they aim to cover.
    pub level: f64,
    /// Bootstrap resamples behind all of them but `auc`, which is DeLong's.
    pub resamples: usize,
    /// Of [`Report::error`].
    pub error: Option<Interval>,
    /// Of [`Report::demographic_parity`].
    pub demographic_parity: Option<Interval>,
    /// Of [`Report::demographic_parity_marginal`].
    pub demographic_parity_marginal: Option<Interval>,
    /// Of [`Report::equalized_odds`].
    pub equalized_odds: Option<Interval>,
    /// Of [`Report::equal_opportunity`].
    pub equal_opportunity: Option<Interval>,
    /// Of [`Report::accuracy_parity`].
    pub accuracy_parity: Option<Interval>,
    /// Of [`Report::chi_square`].
    pub chi_square: Option<Interval>,
    /// Of [`Report::auc`]; absent for more than two labels.
    pub auc: Option<Interval>,
}

/// 95 % intervals of a group's metrics; rates are those of the favourable label.
///
/// They say what chance in the choice of rows can do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupIntervals {
    /// Of [`GroupReport::error`].
    pub error: Option<Interval>,
    /// Of [`LabelRates::selection_rate`].
    pub selection_rate: Option<Interval>,
    /// Of [`LabelRates::true_positive_rate`].
    pub true_positive_rate: Option<Interval>,
    /// Of [`LabelRates::false_positive_rate`].
    pub false_positive_rate: Option<Interval>,
    /// Of [`GroupReport::auc`]; absent for more than two labels.
    pub auc: Option<Interval>,
}

impl Report {
    /// Judges the records; chi-square is taken for `notion`.
    pub fn new(judged: &Evidence<'_>, notion: Notion) -> Self {
        Self::with_areas(judged, notion, &Joint::of(judged), &Areas::of(judged))
    }

    fn with_areas(judged: &Evidence<'_>, notion: Notion, joint: &Joint, areas: &Areas) -> Self {
        let confusion = joint.confusion();
        let favourable = usize::from(judged.names.favourable);
        let error = confusion.error().unwrap_or_default();
        let group = |(group, area): (usize, &Option<Auc>)| {
            group_report(judged, &confusion, group, area.map(|auc| auc.value))
        };
        Self {
            records: judged.len(),
            error,
            accuracy: 1.0 - error,
            demographic_parity: gaps::demographic_parity(&confusion),
            demographic_parity_marginal: gaps::demographic_parity_marginal(&confusion),
            equalized_odds: gaps::equalized_odds(&confusion),
            equal_opportunity: gaps::equal_opportunity(&confusion, favourable),
            accuracy_parity: gaps::accuracy_parity(&confusion),
            chi_square: chi_square::hard(joint, notion),
            chi_square_soft: chi_square::soft(judged, notion),
            auc: areas.overall.map(|auc| auc.value),
            groups: areas.groups.iter().enumerate().map(group).collect(),
            min_group: judged.least as usize,
            left_out: left_out(judged, &confusion),
            without_group: judged.groups.iter().filter(|&&g| g == MISSING_CLASS).count(),
            intervals: None,
        }
    }

    /// [`Report::new`] with 95 % intervals.
    pub fn with_intervals(judged: &Evidence<'_>, notion: Notion, bootstrap: Bootstrap) -> Self {
        let (joint, areas) = (Joint::of(judged), Areas::of(judged));
        let mut report = Self::with_areas(judged, notion, &joint, &areas);
        let favourable = usize::from(judged.names.favourable);
        let resampled = bootstrap
            .measures(&joint, |joint| (joint.confusion(), chi_square::hard(joint, notion)));
        let over = |metric: &dyn Fn(&Confusion) -> Option<f64>| {
            interval(resampled.iter().map(|(confusion, _)| metric(confusion)))
        };
        for (group, report) in report.groups.iter_mut().enumerate() {
            report.intervals = Some(GroupIntervals {
                error: over(&|c| c.group_error(group)),
                selection_rate: over(&|c| c.selection(group, favourable)),
                true_positive_rate: over(&|c| c.true_positive(group, favourable)),
                false_positive_rate: over(&|c| c.false_positive(group, favourable)),
                auc: areas.groups[group].and_then(normal),
            });
        }
        report.intervals = Some(Intervals {
            level: Bootstrap::LEVEL,
            resamples: bootstrap.resamples,
            error: over(&Confusion::error),
            demographic_parity: over(&gaps::demographic_parity),
            demographic_parity_marginal: over(&gaps::demographic_parity_marginal),
            equalized_odds: over(&gaps::equalized_odds),
            equal_opportunity: over(&|c| gaps::equal_opportunity(c, favourable)),
            accuracy_parity: over(&gaps::accuracy_parity),
            chi_square: interval(resampled.iter().map(|(_, divergence)| *divergence)),
            auc: areas.overall.and_then(normal),
        });
        report
    }
}

fn group_report(
    judged: &Evidence<'_>,
    confusion: &Confusion,
    group: usize,
    auc: Option<f64>,
) -> GroupReport {
    let rates = |(label, name): (usize, &String)| LabelRates {
        label: name.clone(),
        selection_rate: confusion.selection(group, label),
        true_positive_rate: confusion.true_positive(group, label),
        false_positive_rate: confusion.false_positive(group, label),
    };
    let error = confusion.group_error(group);
    GroupReport {
        name: judged.names.groups[group].clone(),
        records: confusion.records(group) as usize,
        error,
        accuracy: error.map(|error| 1.0 - error),
        demographic_parity: gaps::demographic_parity_of(confusion, group),
        equalized_odds: gaps::equalized_odds_of(confusion, group),
        auc,
        labels: judged.names.labels.iter().enumerate().map(rates).collect(),
        intervals: None,
    }
}

fn left_out(judged: &Evidence<'_>, confusion: &Confusion) -> Vec<LeftOut> {
    let mut found = Vec::new();
    for (group, name) in judged.names.groups.iter().enumerate() {
        let records = confusion.records(group);
        if records < judged.least {
            let records = records as usize;
            found.push(LeftOut { group: name.clone(), label: None, records });
            continue;
        }
        for (label, label_name) in judged.names.labels.iter().enumerate() {
            let records = confusion.records_with(group, label);
            if records < judged.least {
                let (records, label) = (records as usize, Some(label_name.clone()));
                found.push(LeftOut { group: name.clone(), label, records });
            }
        }
    }
    found
}

/// Areas under ROC curves: see [`Report::auc`] for what they mean.
struct Areas {
    overall: Option<Auc>,
    groups: Vec<Option<Auc>>,
}

impl Areas {
    fn of(judged: &Evidence<'_>) -> Self {
        let mut by_group = vec![Vec::new(); judged.names.groups.len()];
        for (row, &group) in judged.groups.iter().enumerate() {
            if let Some(rows) = by_group.get_mut(usize::from(group)) {
                rows.push(row);
            }
        }
        let all: Vec<usize> = (0..judged.len()).collect();
        let groups = by_group.iter().map(|rows| area(judged, rows)).collect();
        Self { overall: area(judged, &all), groups }
    }
}

fn area(judged: &Evidence<'_>, rows: &[usize]) -> Option<Auc> {
    let against_rest = |label: usize| {
        let truth = |row: usize| usize::from(judged.labels[row]) == label;
        auc(rows.iter().map(|&row| (judged.probability(row, label), truth(row))))
    };
    let l = judged.names.labels.len();
    if l == 2 {
        return against_rest(usize::from(judged.names.favourable));
    }
    let areas: Vec<f64> = (0..l).filter_map(against_rest).map(|auc| auc.value).collect();
    let mean = areas.iter().sum::<f64>() / areas.len() as f64;
    (!areas.is_empty()).then_some(Auc { value: mean, standard_error: None })
}

/// Normal 95 % interval, cut to [0, 1].
fn normal(auc: Auc) -> Option<Interval> {
    let half = 1.959_963_984_540_054 * auc.standard_error?;
    Some([(auc.value - half).max(0.0), (auc.value + half).min(1.0)])
}
