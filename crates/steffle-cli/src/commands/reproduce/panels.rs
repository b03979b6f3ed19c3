//! From the runs of an experiment to its panels.

use serde_json::{Map, Value, json};
use steffle_front::Entry;
use steffle_report::{Curve, EqualError, Kind, Panel, Point, Privacy, Published, Reached};

use super::experiment::{Along, Experiment, Panels};
use super::promise::{mark, promise};
use crate::commands::sweep::{Collected, Run, gap_of};
use crate::config::TrainConfig;

/// A run that has ended.
pub(super) struct Ended<'a> {
    run: &'a Run,
    line: &'a Value,
    /// The settings that its method has.
    settings: Map<String, Value>,
}

/// One method in one panel, before it is drawn.
struct Series {
    method: &'static Entry,
    label: String,
    /// Values of the setting on the axis, with what was measured there. A method that does not have
    /// the setting has one without a value, as has every method in a panel of trade-offs.
    stations: Vec<Station>,
    epsilon: Option<f64>,
    settings: Map<String, Value>,
}

/// What was measured at one value of the setting on the axis.
struct Station {
    at: Option<f64>,
    collected: Collected,
    /// Of the first run that did not fail.
    privacy: Option<Privacy>,
}

/// What does not tell one curve from another: the points of a curve, what follows from lambda (the
/// ascent's step) or from the data, and where the data is.
const NOT_A_CURVE: [&str; 5] = ["seed", "lambda", "lr-dual", "delta", "path"];

impl<'a> Ended<'a> {
    /// A run with its line.
    pub(super) fn new(run: &'a Run, line: &'a Value) -> Self {
        let mut settings = match run.key() {
            Value::Object(settings) => settings,
            _ => Map::new(),
        };
        // Where a setting has no meaning for a method, the run belongs to all of its values: a
        // curator has one silo, however many the others have.
        let method = run.config.method.entry();
        let of_silos = |key: &str| ["silos", "heterogeneity", "centralisation"].contains(&key);
        settings.retain(|key, _| method.takes(key) && !(method.central && of_silos(key)));
        Self { run, line, settings }
    }

    pub(super) fn config(&self) -> &TrainConfig {
        &self.run.config
    }

    pub(super) fn line(&self) -> &Value {
        self.line
    }

    /// A setting in words; `-` where its method has no such setting.
    pub(super) fn told(&self, key: &str) -> String {
        self.settings.get(key).map_or_else(|| "-".to_owned(), bare)
    }

    /// Whether it has this value or one of these values, or no such setting.
    fn admits(&self, key: &str, value: &Value) -> bool {
        let one = |own: &Value| match value {
            // A list is several values, or one: sensitive columns form their product.
            Value::Array(values) => own == value || values.iter().any(|value| same(own, value)),
            value => same(own, value),
        };
        self.settings.get(key).is_none_or(one)
    }
}

impl Series {
    /// The method, and apart from it its published noise.
    fn key(&self) -> String {
        let published = self.settings.get("mode").is_some_and(|mode| mode == "paper");
        format!("{}{}", self.method.name, if published { "-published" } else { "" })
    }

    /// What all of its points promise: the range of what they cost, where they differ.
    fn privacy(&self) -> Privacy {
        let own = || self.stations.iter().filter_map(|station| station.privacy.as_ref());
        let costs = || own().filter_map(|privacy| privacy.honest_epsilon);
        let (least, most) = (costs().reduce(f64::min), costs().reduce(f64::max));
        let first = own().next().cloned().unwrap_or_default();
        if least == most {
            return first;
        }
        Privacy {
            honest_epsilon: most,
            least_honest_epsilon: least,
            // Every point has a claim of its own.
            claimed_epsilon: first.claimed_epsilon.filter(|_| self.claims_once()),
            ..first
        }
    }

    /// Whether all points claim the same.
    fn claims_once(&self) -> bool {
        let own = || self.stations.iter().filter_map(|station| station.privacy.as_ref());
        let mut claims = own().map(|privacy| privacy.claimed_epsilon);
        let first = claims.next();
        claims.all(|claim| Some(claim) == first)
    }

    /// What a curve of trade-offs was made of.
    fn collected(&self) -> Option<&Collected> {
        self.stations.first().map(|station| &station.collected)
    }
}

/// All panels of an experiment.
pub(super) fn panels(experiment: &Experiment, ended: &[Ended<'_>]) -> Vec<Panel> {
    let mut panels = Vec::new();
    for plan in &experiment.panels {
        let own = |ended: &&Ended<'_>| {
            let named = plan.methods.is_empty()
                || plan.methods.iter().any(|name| *name == ended.run.config.method.entry().name);
            named && plan.only.iter().all(|(key, value)| ended.admits(key, &json!(value)))
        };
        let own: Vec<&Ended<'_>> = ended.iter().filter(own).collect();
        for facets in combinations(&plan.by, &own) {
            let inside =
                |ended: &&&Ended<'_>| facets.iter().all(|(key, value)| ended.admits(key, value));
            let inside: Vec<&Ended<'_>> = own.iter().filter(inside).copied().collect();
            // Not every grouping is one of every data set.
            if !inside.is_empty() {
                panels.push(panel(experiment, plan, &facets, &inside));
            }
        }
    }
    panels
}

/// Every combination of the values that the runs have for some settings.
fn combinations(keys: &[String], runs: &[&Ended<'_>]) -> Vec<Vec<(String, Value)>> {
    let mut all = vec![Vec::new()];
    for key in keys {
        let mut values: Vec<Value> = Vec::new();
        for value in runs.iter().filter_map(|ended| ended.settings.get(key)) {
            if !values.iter().any(|own| same(own, value)) {
                values.push(value.clone());
            }
        }
        let extended = all.iter().flat_map(|facets: &Vec<(String, Value)>| {
            values.iter().map(|value| {
                let mut facets = facets.clone();
                facets.push((key.clone(), value.clone()));
                facets
            })
        });
        all = extended.collect();
    }
    all
}

fn panel(
    experiment: &Experiment,
    plan: &Panels,
    facets: &[(String, Value)],
    runs: &[&Ended<'_>],
) -> Panel {
    let series = series(plan, facets, runs);
    let facet = |wanted: &str| {
        let fixed = plan.only.get(wanted).map(|value| json!(value));
        let own = facets.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.clone());
        own.or(fixed).and_then(|value| value.as_f64())
    };
    let words: Vec<String> =
        facets.iter().map(|(key, value)| format!("{} {}", short(key), bare(value))).collect();
    let mut id = experiment.name.clone();
    if let Some(Along { setting, at, .. }) = &plan.along {
        id += &format!("-along-{setting}-at-{at}");
    }
    for (key, value) in facets {
        id += &format!("-{}-{}", short(key), bare(value));
    }
    let first = runs.first().map(|ended| &ended.run.config);
    let notion = first.map(|config| config.method.aim().notion.to_string().replace('-', " "));
    let gap = first.map_or("", |config| gap_of(&config.method.aim().notion)).replace('-', " ");
    let seeds = series.iter().filter_map(Series::collected).map(Collected::seeds).max();
    let epsilon = facet("epsilon");
    let (kind, x_label, along) = match &plan.along {
        None => (Kind::TradeOff, "test error (%)".to_owned(), String::new()),
        Some(Along { setting, at, log }) => (
            Kind::Line { x_log: *log, y_log: false },
            named(setting).to_owned(),
            format!(", {at} points of error above the unconstrained model"),
        ),
    };
    let means = match seeds.unwrap_or(0) {
        0 | 1 => "One seed, so without error bars.".to_owned(),
        seeds => format!(
            "Means over {seeds} seeds, each a new split, new silos and new noise; bars are one \
             standard error over seeds."
        ),
    };
    let caption = format!(
        "{means}{}",
        match &plan.along {
            None => " One point per lambda.".to_owned(),
            Some(Along { at, .. }) => format!(
                " Read off the lower envelope over lambda at {at} points of test error above the \
                 unconstrained model."
            ),
        }
    );
    let mut axis: Vec<f64> =
        series.iter().flat_map(|own| &own.stations).filter_map(|station| station.at).collect();
    axis.sort_by(f64::total_cmp);
    axis.dedup();
    let published = if plan.along.is_some() { Vec::new() } else { published(experiment, epsilon) };
    let separator = if words.is_empty() { "" } else { ": " };
    Panel {
        id,
        figure: experiment.name.clone(),
        title: format!("{}{along}{separator}{}", experiment.title, words.join(", ")),
        data: first.and_then(|config| config.data.clone()).unwrap_or_default(),
        notion: notion.unwrap_or_default(),
        epsilon,
        heterogeneity: facet("heterogeneity"),
        silos: facet("silos").map(|silos| silos as usize),
        kind,
        x_label,
        y_label: format!("{gap} gap (percentage points)"),
        curves: series.iter().map(|own| curve(own, plan.along.as_ref(), &axis)).collect(),
        published,
        x_limit: limit(plan, experiment, &series),
        y_limit: None,
        equal_error: match plan.along {
            None => series.iter().map(|own| equal_error(own, &experiment.at)).collect(),
            Some(_) => Vec::new(),
        },
        caption,
    }
}

/// Sorts the runs of a panel into curves, in the order in which they come.
fn series(plan: &Panels, facets: &[(String, Value)], runs: &[&Ended<'_>]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for ended in runs {
        let Ended { run, line, settings } = ended;
        let mut settings = settings.clone();
        let along = plan.along.as_ref().map(|along| along.setting.as_str());
        let station = along.and_then(|key| settings.get(key)).and_then(Value::as_f64);
        settings.retain(|key, _| {
            !NOT_A_CURVE.contains(&key.as_str())
                && along != Some(key.as_str())
                && !facets.iter().any(|(facet, _)| facet == key)
        });
        let place = all.iter().position(|own| own.settings == settings);
        let place = place.unwrap_or_else(|| {
            all.push(Series {
                method: run.config.method.entry(),
                label: run.config.method.label().to_owned(),
                stations: Vec::new(),
                epsilon: ended.settings.get("epsilon").and_then(Value::as_f64),
                settings,
            });
            all.len() - 1
        });
        let stations = &mut all[place].stations;
        let at = stations.iter().position(|own| own.at == station);
        let at = at.unwrap_or_else(|| {
            let collected = Collected::new(gap_of(&run.config.method.aim().notion));
            stations.push(Station { at: station, collected, privacy: None });
            stations.len() - 1
        });
        let station = &mut stations[at];
        station.collected.add(&run.config, line);
        if let (None, Some(privacy)) = (&station.privacy, line.get("privacy")) {
            station.privacy = Some(promise(run.config.method.entry(), privacy));
        }
    }
    tell_apart(&mut all);
    all
}

/// Says what tells curves of one name from each other.
fn tell_apart(all: &mut [Series]) {
    let extras: Vec<String> = all
        .iter()
        .map(|own| {
            let twins = || all.iter().filter(|other| other.label == own.label);
            let differs = |key: &&String| {
                twins().any(|other| other.settings.get(*key) != own.settings.get(*key))
            };
            let mut told = String::new();
            for key in own.settings.keys().filter(differs) {
                told += &format!(", {} {}", short(key), bare(&own.settings[key]));
            }
            told
        })
        .collect();
    all.iter_mut().zip(extras).for_each(|(own, extra)| own.label += &extra);
}

/// `axis` has all values of the setting on the horizontal axis: a method without the setting is
/// the same at all of them.
fn curve(series: &Series, along: Option<&Along>, axis: &[f64]) -> Curve {
    let Series { label, stations, epsilon, .. } = series;
    let mut points: Vec<Point> = match along {
        None => series.collected().map_or_else(Vec::new, trade_off),
        Some(Along { at, .. }) => {
            stations.iter().flat_map(|station| station.points(*at, axis)).collect()
        }
    };
    if along.is_some() {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    let by_epsilon = along.is_some_and(|along| along.setting == "epsilon");
    let privacy = series.privacy();
    if privacy.least_honest_epsilon.is_none() {
        points.iter_mut().for_each(|point| point.honest_epsilon = None);
    }
    let broken = by_epsilon && !privacy.holds;
    let label = format!("{label}{}", if broken { " (claim does not hold)" } else { "" });
    let epsilon = epsilon.filter(|_| !by_epsilon);
    Curve {
        method: series.key(),
        mark: mark(&series.key()),
        label,
        epsilon,
        privacy,
        points,
        fit: None,
    }
}

impl Station {
    /// The violation at an excess error: a point, or one at every place of the axis for a method
    /// that does not have the setting, or none where no point of the method has so little error.
    fn points(&self, excess: f64, axis: &[f64]) -> Vec<Point> {
        let reached = self.collected.curve().at(excess);
        let Some(y) = reached.violation else { return Vec::new() };
        let point = |x: f64| Point {
            x,
            x_error: None,
            y,
            y_error: reached.standard_error,
            lambda: None,
            seeds: self.collected.seeds(),
            honest_epsilon: self.privacy.as_ref().and_then(|privacy| privacy.honest_epsilon),
        };
        self.at.map_or_else(|| axis.to_vec(), |place| vec![place]).into_iter().map(point).collect()
    }
}

/// A point per lambda, by rising lambda.
fn trade_off(collected: &Collected) -> Vec<Point> {
    let mut lambdas: Vec<f64> = collected.complete().collect();
    lambdas.sort_by(f64::total_cmp);
    let point = |&lambda: &f64| {
        let (error, violation) = collected.means(lambda)?;
        Some(Point {
            x: error.value,
            x_error: error.standard_error,
            y: violation.value,
            y_error: violation.standard_error,
            lambda: Some(lambda),
            seeds: collected.seeds(),
            honest_epsilon: None,
        })
    };
    lambdas.iter().filter_map(point).collect()
}

fn equal_error(series: &Series, at: &[f64]) -> EqualError {
    let curve = series.collected().map(Collected::curve).unwrap_or_default();
    let reached = |&excess: &f64| {
        let own = curve.at(excess);
        Reached { excess, violation: own.violation, standard_error: own.standard_error }
    };
    EqualError {
        method: series.key(),
        label: series.label.clone(),
        epsilon: series.epsilon,
        at: at.iter().map(reached).collect(),
    }
}

/// Twice as much excess error as the table goes: what lies beyond is of no use to anybody and would
/// squeeze the rest.
fn limit(plan: &Panels, experiment: &Experiment, series: &[Series]) -> Option<f64> {
    let least = series.iter().filter_map(|own| own.collected()?.unconstrained_error());
    let most = experiment.at.iter().copied().fold(0.0, f64::max);
    let least = least.reduce(f64::min).filter(|_| plan.along.is_none())?;
    Some(least + 2.0 * most)
}

/// What others printed for the epsilon of the panel, in percent.
fn published(experiment: &Experiment, epsilon: Option<f64>) -> Vec<Published> {
    let fits = |own: Option<f64>| own.is_none() || epsilon.is_none() || own == epsilon;
    let curves = experiment.published.iter().filter(|own| fits(own.epsilon));
    let points = curves.flat_map(|own| {
        own.points.iter().map(|&(error, gap)| Published {
            label: own.label.clone(),
            source: own.source.clone(),
            epsilon: own.epsilon,
            x: 100.0 * error,
            y: 100.0 * gap,
        })
    });
    points.collect()
}

/// A setting in a few letters.
fn short(key: &str) -> &str {
    if key == "heterogeneity" { "h" } else { key }
}

/// A setting on an axis.
fn named(key: &str) -> &str {
    match key {
        "heterogeneity" => "heterogeneity h",
        "silos" => "silos N",
        other => other,
    }
}

/// A value without quotes, and whole numbers without a point.
fn bare(value: &Value) -> String {
    match (value, value.as_f64()) {
        (Value::String(word), _) => word.clone(),
        (Value::Array(values), _) => values.iter().map(bare).collect::<Vec<_>>().join(" x "),
        (_, Some(number)) => number.to_string(),
        (other, None) => other.to_string(),
    }
}

/// Whether two values are the same number or the same word.
fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}
