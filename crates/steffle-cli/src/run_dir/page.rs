//! The page of a run: its result, groups, pictures and what is said about privacy.

use steffle_front::{GroupReport, Interval, Leaves, Look, NoisyGroup, Report};
use steffle_privacy::explain::Explanation;
use steffle_privacy::{Delta, Epsilon};
use steffle_report::{Curve, Kind, Mark, Measure, Panel, Point, Privacy, RunPage, Table, run_html};

use crate::commands::{TrainReport, noisy_gaps, noisy_lead};
use crate::failure::Failure;

/// `report.html`.
pub(crate) fn run_page(report: &TrainReport) -> Result<String, Failure> {
    let panels = [Some(trade_off(report)), privacy_curve(report)].into_iter().flatten();
    let page = RunPage {
        title: format!("{}, {}", report.data, report.method),
        lead: lead(report),
        facts: facts(report),
        warnings: report.warnings.clone(),
        measures: measures(report),
        share: format!("share that gets {}", report.favourable),
        groups: groups(report),
        evidence: report.evidence(),
        panels: panels.filter(|panel| !panel.curves.is_empty()).collect(),
        sent: sent(report),
        privacy: vec![report.privacy.brief(), report.privacy.statement.clone()],
    };
    run_html(&page).map_err(|error| Failure::bug(error.to_string()))
}

/// The gap that the run was to make small, its name, and its interval.
fn gap(report: &Report, notion: &str) -> (&'static str, Option<f64>, Option<Interval>) {
    let intervals = report.intervals.as_ref();
    match notion {
        "equalized-odds" => (
            "equalized-odds gap",
            report.equalized_odds,
            intervals.and_then(|own| own.equalized_odds),
        ),
        "equal-opportunity" => (
            "equal-opportunity gap",
            report.equal_opportunity,
            intervals.and_then(|own| own.equal_opportunity),
        ),
        "accuracy-parity" => (
            "accuracy-parity gap",
            report.accuracy_parity,
            intervals.and_then(|own| own.accuracy_parity),
        ),
        _ => (
            "demographic-parity gap",
            report.demographic_parity,
            intervals.and_then(|own| own.demographic_parity),
        ),
    }
}

fn lead(report: &TrainReport) -> String {
    if let Some(metrics) = &report.metrics {
        return noisy_lead(&metrics.report);
    }
    let (name, ours, _) = gap(&report.test, &report.notion);
    let (_, theirs, _) = gap(&report.baseline, &report.notion);
    let gaps = match (ours, theirs) {
        _ if report.privacy.is_private() => "The gaps between groups are not measured.".to_owned(),
        (Some(ours), Some(theirs)) => format!(
            "The {name} is {:.2} points; without fairness it would be {:.2}.",
            100.0 * ours,
            100.0 * theirs
        ),
        _ => format!("There is not enough evidence for the {name}."),
    };
    format!(
        "{gaps} The model errs in {:.2} % of {} test rows, the unconstrained one in {:.2} %.",
        100.0 * report.test.error,
        report.test.records,
        100.0 * report.baseline.error
    )
}

fn measure(
    name: &str,
    value: Option<f64>,
    interval: Option<Interval>,
    other: Option<f64>,
) -> Measure {
    let percent = |share: f64| 100.0 * share;
    Measure {
        name: name.to_owned(),
        value: value.map(percent),
        interval: interval.map(|ends| ends.map(percent)),
        baseline: other.map(percent),
    }
}

fn measures(report: &TrainReport) -> Vec<Measure> {
    let (test, other) = (&report.test, &report.baseline);
    let error = test.intervals.as_ref().and_then(|own| own.error);
    let mut measures = vec![measure("error", Some(test.error), error, Some(other.error))];
    if let Some(metrics) = &report.metrics {
        measures.extend(noisy_gaps(&metrics.report).map(|(name, gap)| {
            measure(name, gap.map(|gap| gap.value), gap.map(|gap| gap.interval), None)
        }));
        return measures;
    }
    if report.privacy.is_private() {
        return measures;
    }
    for notion in ["demographic-parity", "equalized-odds", "equal-opportunity", "accuracy-parity"] {
        let (name, value, interval) = gap(test, notion);
        measures.push(measure(name, value, interval, gap(other, notion).1));
    }
    measures
}

fn groups(report: &TrainReport) -> Vec<Measure> {
    let favourable = report.labels.iter().position(|label| *label == report.favourable);
    let rate = |group: &GroupReport| {
        favourable.and_then(|at| group.labels.get(at)).and_then(|label| label.selection_rate)
    };
    if let Some(metrics) = &report.metrics {
        let bar = |group: &NoisyGroup| {
            let own = group.labels[report.favourable_label()].selection_rate;
            let name = format!("{} (about {:.0} records)", group.name, group.records);
            measure(&name, own.value, own.interval, None)
        };
        return metrics.report.groups.iter().map(bar).collect();
    }
    let pairs = report.test.groups.iter().zip(&report.baseline.groups);
    pairs
        .map(|(ours, theirs)| {
            let interval = ours.intervals.as_ref().and_then(|own| own.selection_rate);
            let name = format!("{} ({} records)", ours.name, ours.records);
            measure(&name, rate(ours), interval, rate(theirs))
        })
        .collect()
}

fn facts(report: &TrainReport) -> Vec<(String, String)> {
    let rows = &report.rows;
    let fact = |name: &str, words: String| (name.to_owned(), words);
    let mut facts = vec![
        fact("Method", format!("{}, lambda {}", report.method, report.lambda)),
        fact("Model", format!("{}, {} parameters", report.model, report.parameters)),
        fact("Notion", format!("{}, favourable label {}", report.notion, report.favourable)),
        fact(
            "Rows",
            format!("{} training, {} test, {} left out", rows.train, rows.test, rows.dropped),
        ),
        fact("Silos", format!("{} ({})", report.silos, report.centralisation)),
        fact("Seed", report.seed.to_string()),
    ];
    facts.extend(report.mode.iter().map(|mode| fact("Mode", mode.clone())));
    facts
}

fn sent(report: &TrainReport) -> Table {
    let row = |leaves: &Leaves| {
        vec![leaves.step.to_string(), leaves.numbers.to_string(), leaves.avoid.to_string()]
    };
    let words = |words: &str| words.to_owned();
    Table {
        title: words("Leaves a silo without noise"),
        columns: vec![words("step"), words("numbers"), words("to send less")],
        rows: report.leaves_in_clear.iter().map(row).collect(),
        caption: words(
            "Numbers or names per silo; per round or evaluation where the step says so.",
        ),
    }
}

/// Three digits, and none that say nothing.
fn shown(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A panel without curves.
fn panel(id: &str, title: String, kind: Kind, axes: [&str; 2], caption: &str) -> Panel {
    Panel {
        id: id.to_owned(),
        figure: "run".to_owned(),
        title,
        data: String::new(),
        notion: String::new(),
        epsilon: None,
        heterogeneity: None,
        silos: None,
        kind,
        x_label: axes[0].to_owned(),
        y_label: axes[1].to_owned(),
        x_limit: None,
        y_limit: None,
        curves: Vec::new(),
        published: Vec::new(),
        equal_error: Vec::new(),
        caption: caption.to_owned(),
    }
}

/// The run, and what it is compared with: the unconstrained model, the coin that is tossed.
const OURS: Look = Look { colour: "blue", marker: "circle" };
const OTHER: Look = Look { colour: "grey", marker: "square" };

fn curve(look: Look, label: &str, points: impl Iterator<Item = (f64, f64)>) -> Curve {
    let point = |(x, y): (f64, f64)| Point {
        x: 100.0 * x,
        x_error: None,
        y: 100.0 * y,
        y_error: None,
        lambda: None,
        honest_epsilon: None,
        seeds: 1,
    };
    Curve {
        method: label.to_owned(),
        mark: Some(Mark { colour: look.colour.to_owned(), marker: look.marker.to_owned() }),
        label: label.to_owned(),
        epsilon: None,
        privacy: Privacy { holds: true, ..Privacy::default() },
        points: points.map(point).collect(),
        fit: None,
    }
}

/// The model beside the unconstrained one.
fn trade_off(report: &TrainReport) -> Panel {
    let (name, ours, _) = gap(&report.test, &report.notion);
    let (_, theirs, _) = gap(&report.baseline, &report.notion);
    let axes = ["test error (%)", "gap (percentage points)"];
    let title = format!("Error and {name}");
    let caption = "Lower and further left is better; one run, test rows.";
    let mut drawn = panel("trade-off", title, Kind::TradeOff, axes, caption);
    for (look, label, error, gap) in [
        (OTHER, "unconstrained", report.baseline.error, theirs),
        (OURS, "this model", report.test.error, ours),
    ] {
        if let Some(gap) = gap {
            drawn.curves.push(curve(look, label, [(error, gap)].into_iter()));
        }
    }
    drawn
}

/// What an attacker gains at most, where something is promised.
fn privacy_curve(report: &TrainReport) -> Option<Panel> {
    let privacy = &report.privacy;
    let epsilon = if privacy.holds { privacy.epsilon } else { privacy.honest_epsilon };
    let epsilon = Epsilon::try_from(epsilon?).ok()?;
    let explained = match privacy.delta? {
        0.0 => Explanation::pure(epsilon),
        delta => Explanation::of(epsilon, Delta::try_from(delta).ok()?),
    };
    // Only where every message is Gaussian is the better curve the run's.
    let gaussian = report.mode.as_deref() == Some("exact") || report.one_shot.is_some();
    let points = explained.trade_off.iter().map(|point| {
        let missed = point.missed_gaussian.filter(|_| gaussian);
        (point.false_alarm, missed.unwrap_or(point.missed))
    });
    let title = format!("What an attacker must accept at epsilon {}", shown(epsilon.value()));
    let axes = ["false alarms (%)", "missed (%)"];
    let caption = "Guessing about one person's attribute: the nearer to the straight line, the less \
                   is learnt from all that is sent.";
    let kind = Kind::Line { x_log: false, y_log: false };
    let mut drawn = panel("privacy-curve", title, kind, axes, caption);
    drawn.curves.push(curve(OTHER, "coin toss", [(0.0, 1.0), (1.0, 0.0)].into_iter()));
    drawn.curves.push(curve(OURS, "best attack", points));
    Some(drawn)
}
