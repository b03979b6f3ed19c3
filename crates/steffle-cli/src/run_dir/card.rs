//! The model card: what to tell people about a model, in the form model hubs read.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use steffle_data::{Schema, SmallStrata};
use steffle_front::{Fairer, Goal, Interval, NOT_FAIRER, Report};

use crate::commands::{Cells, MetricsReport, TrainReport, WITHOUT_GROUPS};

/// Markdown with a YAML header.
pub(crate) fn model_card(report: &TrainReport, schema: &Schema, config: &str) -> String {
    let goal = goal(report);
    let sensitive = schema.recipe().sensitive.join("`, `");
    let mut card = header(report, goal);
    // Writing to a string cannot fail.
    let _ = write!(
        card,
        "\n# {title} for `{label}` ({data})\n\n\
         A {model} model that predicts `{label}` from {columns} columns ({features} encoded \
         features). It was trained by method `{method}` {place}{aim}{cells} It does not need \
         `{sensitive}` to predict.\n\n\
         ## Privacy\n\n{statement}\n\n{without_noise}:\n\n{leaves}\n{gap}{fairer}\
         ## Results on {test} held-out rows\n\n{overall}\n{groups}\n\
         95 % intervals are in `metrics.json`. They say how far chance in the held-out rows could \
         move a number, not how the model does on people unlike those in the data.\n\n\
         ## Use\n\n```\nsteffle predict DIRECTORY records.csv\nsteffle evaluate DIRECTORY \
         labelled.csv\n```\n\n\
         ## Limits\n\n\
         - Small gaps here do not make a decision lawful or just; they are averages over groups.\n\
         - {guarded}\n\
         - A category that training never saw switches on no feature; `predict` counts such \
         cells.\n\n\
         ## Settings\n\n```toml\n{config}```\n",
        label = schema.recipe().label,
        data = people(report),
        model = report.model,
        columns = schema.numeric().len() + schema.categorical().len(),
        features = report.features,
        method = report.method,
        title = title(goal),
        place = if report.entry.central {
            "on all data in one place".to_owned()
        } else {
            format!("over {} silo(s)", report.silos)
        },
        aim = aim(goal, report, &sensitive),
        cells = cells(goal, report),
        without_noise = report.entry.without_noise,
        statement = report.privacy.statement,
        leaves = leaves(report),
        gap = estimated_gap(report),
        fairer = fairer(report),
        test = report.test.records,
        overall = overall(report),
        groups = if let Some(metrics) = &report.metrics {
            bought(metrics, report.favourable_label())
        } else if report.privacy.is_private() {
            format!("{WITHOUT_GROUPS}\n")
        } else {
            groups(&report.test, &report.baseline)
        },
        guarded = guarded(goal, &schema.classes().join("`, `")),
    );
    card
}

/// What this model was trained for besides accuracy.
fn goal(report: &TrainReport) -> Goal {
    match report.entry.goal {
        _ if report.lambda == 0.0 => Goal::Nothing,
        Goal::Groups if report.notion == "none" => Goal::Nothing,
        goal => goal,
    }
}

fn title(goal: Goal) -> &'static str {
    match goal {
        Goal::Groups => "Fair classifier",
        Goal::Silos => "Classifier with balanced silos",
        _ => "Classifier",
    }
}

fn aim(goal: Goal, report: &TrainReport, sensitive: &str) -> String {
    let TrainReport { notion, lambda, .. } = report;
    match goal {
        Goal::Groups => format!(
            " so that its predictions depend little on `{sensitive}` (notion: {notion}, lambda \
             {lambda})."
        ),
        Goal::Silos => format!(
            " so that its losses in the silos are nearly equal (lambda {lambda}). Nothing was done \
             about `{sensitive}`, which training never read."
        ),
        _ => format!(". Nothing was done about gaps between groups of `{sensitive}`."),
    }
}

/// Within what its predictions depend little on s, where that is within cells.
fn cells(goal: Goal, report: &TrainReport) -> String {
    let Some(Cells { column, count, small }) =
        report.cells.as_ref().filter(|_| goal == Goal::Groups)
    else {
        return String::new();
    };
    let mut text = format!(" That is within {count} cells, by `{column}`");
    if let Some(SmallStrata { values, rows, below, pooled }) = small {
        let what = if *pooled { "are one of them" } else { "are in none of them" };
        let count = values.len();
        let _ = write!(
            text,
            "; {count} value(s) that fewer than {below} training rows have, {rows} rows in all, {what}"
        );
    }
    text + "."
}

fn guarded(goal: Goal, classes: &str) -> String {
    match goal {
        Goal::Groups => format!(
            "Gaps are guarded for the groups `{classes}` only, not for other or finer groups."
        ),
        _ => format!("Gaps between the groups `{classes}` were measured, not reduced."),
    }
}

/// Whom it was trained on: a card is shown to others, whom the folders of a machine do not concern.
fn people(report: &TrainReport) -> &str {
    let name = Path::new(&report.data).file_name().and_then(OsStr::to_str);
    name.unwrap_or(&report.data)
}

/// The YAML header. Every value is JSON, which is YAML too, so no name can break it.
fn header(report: &TrainReport, goal: Goal) -> String {
    let data = people(report);
    let metrics = [
        ("accuracy", "accuracy", Some(report.test.accuracy)),
        ("roc_auc", "AUC", report.test.auc),
        ("demographic_parity", "demographic-parity gap", report.test.demographic_parity),
        ("equalized_odds", "equalized-odds gap", report.test.equalized_odds),
    ];
    let metrics: Vec<_> = metrics
        .into_iter()
        .filter_map(|(kind, name, value)| {
            value.map(|value| json!({"type": kind, "name": name, "value": value}))
        })
        .collect();
    let results = json!([{
        "name": format!("steffle-{data}"),
        "results": [{
            "task": {"type": "tabular-classification"},
            "dataset": {"type": data, "name": data},
            "metrics": metrics,
        }],
    }]);
    // A simulation protects nobody, so it does not carry the tag.
    let tags = [
        ("tabular-classification", true),
        ("fairness", goal != Goal::Nothing),
        ("federated-learning", !report.entry.central),
        ("differential-privacy", report.privacy.kind == "private"),
    ];
    let tags: Vec<&str> = tags.into_iter().filter_map(|(tag, fits)| fits.then_some(tag)).collect();
    format!(
        "---\nlibrary_name: steffle\npipeline_tag: tabular-classification\ntags: {}\n\
         datasets: {}\nmodel-index: {results}\n---\n",
        json!(tags),
        json!([data])
    )
}

fn overall(report: &TrainReport) -> String {
    let TrainReport { test, baseline, privacy, .. } = report;
    let lines = [
        ("error", Some(test.error), Some(baseline.error)),
        ("demographic-parity gap", test.demographic_parity, baseline.demographic_parity),
        ("equalized-odds gap", test.equalized_odds, baseline.equalized_odds),
        ("equal-opportunity gap", test.equal_opportunity, baseline.equal_opportunity),
        ("accuracy-parity gap", test.accuracy_parity, baseline.accuracy_parity),
        ("AUC", test.auc, baseline.auc),
    ];
    let mut table = "| | this model | without fairness |\n|---|---|---|\n".to_owned();
    let by_group = |name: &str| name.ends_with("gap");
    for (name, ours, theirs) in lines {
        if privacy.is_private() && by_group(name) {
            continue;
        }
        table += &format!("| {name} | {} | {} |\n", cell(ours), cell(theirs));
    }
    table
}

fn groups(test: &Report, baseline: &Report) -> String {
    let mut table =
        "| group | rows | error | error without fairness |\n|---|---|---|---|\n".to_owned();
    for (ours, theirs) in test.groups.iter().zip(&baseline.groups) {
        let (name, rows) = (&ours.name, ours.records);
        table += &format!("| {name} | {rows} | {} | {} |\n", cell(ours.error), cell(theirs.error));
    }
    table
}

/// Metrics by group from noisy counts.
fn bought(metrics: &MetricsReport, favourable: usize) -> String {
    let report = &metrics.report;
    let interval = |value: Option<f64>, ends: Option<Interval>| match (value, ends) {
        (Some(value), Some([low, high])) => format!("{value:.4} ({low:.4} to {high:.4})"),
        _ => cell(None),
    };
    let mut table = "| gap | this model (95 % interval) |\n|---|---|\n".to_owned();
    for (name, gap) in [
        ("demographic-parity gap", report.demographic_parity),
        ("equalized-odds gap", report.equalized_odds),
        ("equal-opportunity gap", report.equal_opportunity),
        ("accuracy-parity gap", report.accuracy_parity),
    ] {
        let (value, ends) = (gap.map(|gap| gap.value), gap.map(|gap| gap.interval));
        table += &format!("| {name} | {} |\n", interval(value, ends));
    }
    table += "\n| group | rows, about | error | share selected |\n|---|---|---|---|\n";
    for group in &report.groups {
        let selected = &group.labels[favourable].selection_rate;
        table += &format!(
            "| {} | {:.0} | {} | {} |\n",
            group.name,
            group.records,
            interval(group.error.value, group.error.interval),
            interval(selected.value, selected.interval)
        );
    }
    format!("{}\n\n{table}", metrics.paid())
}

fn leaves(report: &TrainReport) -> String {
    let mut table = "| step | numbers | to send less |\n|---|---|---|\n".to_owned();
    for left in &report.leaves_in_clear {
        table += &format!("| {}: {} | {} | {} |\n", left.step, left.what, left.numbers, left.avoid);
    }
    table
}

/// What a one-shot release says about the model's gap.
fn estimated_gap(report: &TrainReport) -> String {
    report.one_shot.as_ref().map_or_else(String::new, |told| {
        format!(
            "On the training rows the release puts the gap of its decisions at {:.4} (standard \
             error {:.4}), of the unconstrained model's at {:.4} ({:.4}): a hint, not a \
             proof.\n\n",
            told.gap.estimate,
            told.gap.standard_error,
            told.unconstrained_gap.estimate,
            told.unconstrained_gap.standard_error,
        )
    })
}

/// What the run knows about whether the model is fairer.
fn fairer(report: &TrainReport) -> String {
    report.fairer.map_or_else(String::new, |Fairer { evidence, threshold, probably }| {
        let said = if probably {
            "What was released tells the groups apart".to_owned()
        } else {
            format!("**Warning:** {NOT_FAIRER}")
        };
        format!("{said} (evidence {evidence:.1}, needed {threshold:.1}).\n\n")
    })
}

fn cell(value: Option<f64>) -> String {
    value.map_or_else(|| "not enough evidence".to_owned(), |value| format!("{value:.4}"))
}
