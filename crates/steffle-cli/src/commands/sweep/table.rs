//! The trade-off of every configuration of a sweep, as a table and as JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};

use super::grid::Run;
use super::trade_off::{Curve, Point, Reached};
use super::write;
use crate::failure::Failure;
use crate::ui::{Output, Rows, wrap};

/// All trade-offs of a sweep.
#[derive(Debug, Serialize)]
pub(crate) struct TradeOffs {
    curves: Vec<TradeOff>,
}

/// The trade-off of one configuration: all settings but lambda and seed.
#[derive(Debug, Serialize)]
pub(crate) struct TradeOff {
    /// What tells it from the others.
    settings: Map<String, Value>,
    /// Which gap the violation is.
    violation: String,
    seeds: usize,
    /// Lambdas that some seed has no result for; they are not part of the curve.
    incomplete: Vec<f64>,
    points: Vec<OfLambda>,
    reached: Vec<Reached>,
}

/// A point of a curve; lambda is absent for the unconstrained model.
#[derive(Debug, Serialize)]
struct OfLambda {
    lambda: Option<f64>,
    #[serde(flatten)]
    point: Point,
}

/// Excess and violation by lambda and seed.
#[derive(Default)]
struct Collected {
    settings: Map<String, Value>,
    gap: String,
    unconstrained: BTreeMap<u64, f64>,
    lambdas: Vec<(f64, BTreeMap<u64, Point>)>,
}

impl TradeOffs {
    /// From the lines of the runs, in the same order.
    pub(crate) fn new(runs: &[Run], lines: &[Value], at: &[f64], violation: Option<&str>) -> Self {
        let mut order: Vec<String> = Vec::new();
        let mut all: BTreeMap<String, Collected> = BTreeMap::new();
        for (run, line) in runs.iter().zip(lines) {
            let mut settings = run.varying.clone();
            settings.remove("lambda");
            settings.remove("seed");
            let key = Value::Object(settings.clone()).to_string();
            let notion = run.config.notion.to_string();
            let gap = violation.map_or_else(|| gap_of(&notion), str::to_owned);
            let collected = all.entry(key.clone()).or_insert_with(|| {
                order.push(key);
                Collected { settings, gap: gap.clone(), ..Collected::default() }
            });
            collected.add(run, line, &gap.replace('-', "_"));
        }
        let curves = order.iter().filter_map(|key| all.remove(key)).map(|own| own.finish(at));
        Self { curves: curves.collect() }
    }

    /// The table, as a person reads it.
    pub(crate) fn text(&self, output: Output) -> String {
        let Some(first) = self.curves.first() else { return String::new() };
        let gaps: BTreeSet<&str> = self.curves.iter().map(|curve| &curve.violation[..]).collect();
        let gaps = gaps.into_iter().collect::<Vec<_>>().join(", ");
        let header: Vec<String> =
            first.reached.iter().map(|reached| format!("+{}", reached.excess)).collect();
        let mut names = vec!["configuration", "seeds"];
        names.extend(header.iter().map(String::as_str));
        let mut rows = Rows::new(&names);
        let mut notes = String::new();
        for curve in &self.curves {
            let mut row = vec![curve.name(), curve.seeds.to_string()];
            row.extend(curve.reached.iter().map(|reached| match *reached {
                Reached { violation: None, .. } => "-".to_owned(),
                Reached { violation: Some(v), standard_error: None, .. } => format!("{v:.2}"),
                Reached { violation: Some(v), standard_error: Some(e), .. } => {
                    format!("{v:.2} ({e:.2})")
                }
            }));
            rows.push(row);
            if !curve.incomplete.is_empty() {
                notes += &format!(
                    "{}: lambda {:?} lacks some seeds and is left out\n",
                    curve.name(),
                    curve.incomplete
                );
            }
        }
        let title = output.strong("Violation at equal error");
        let explained = wrap(&format!(
            "{title} ({gaps} gap in percentage points; columns: test error above the \
             unconstrained model's, in points; lower envelope of the means over seeds, in \
             brackets the standard error over seeds)"
        ));
        explained + &rows.render() + &notes
    }

    /// Writes the JSON beside the results.
    pub(crate) fn write(&self, directory: &Path) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(self).map_err(|e| Failure::bug(e.to_string()))?;
        write(&directory.join("trade-off.json"), &(text + "\n"))
    }
}

impl TradeOff {
    fn name(&self) -> String {
        let setting = |(key, value): (&String, &Value)| match value {
            Value::String(word) if key == "method" => word.clone(),
            Value::String(word) => format!("{key} {word}"),
            value => format!("{key} {value}"),
        };
        let (method, others): (Vec<_>, Vec<_>) =
            self.settings.iter().partition(|(key, _)| *key == "method");
        let names: Vec<String> = method.into_iter().chain(others).map(setting).collect();
        if names.is_empty() { "all runs".to_owned() } else { names.join(", ") }
    }
}

impl Collected {
    fn add(&mut self, run: &Run, line: &Value, metric: &str) {
        let (seed, lambda) = (run.config.seed, run.config.lambda);
        let place = self.lambdas.iter().position(|(own, _)| *own == lambda);
        let place = place.unwrap_or_else(|| {
            self.lambdas.push((lambda, BTreeMap::new()));
            self.lambdas.len() - 1
        });
        let number = |model: &str, metric: &str| line[model][metric].as_f64();
        let numbers = [("test", "error"), ("baseline", "error"), ("test", metric)];
        let [Some(error), Some(least), Some(gap)] = numbers.map(|(m, name)| number(m, name)) else {
            return;
        };
        let Some(unconstrained) = number("baseline", metric) else { return };
        self.unconstrained.insert(seed, 100.0 * unconstrained);
        let point = Point { excess: 100.0 * (error - least), violation: 100.0 * gap };
        self.lambdas[place].1.insert(seed, point);
    }

    fn finish(self, at: &[f64]) -> TradeOff {
        let seeds: Vec<u64> = self.unconstrained.keys().copied().collect();
        let complete = |points: &BTreeMap<u64, Point>| points.len() == seeds.len();
        let mut curve = Curve::default();
        for seed in &seeds {
            let own = self.lambdas.iter().filter(|(_, points)| complete(points));
            let own = own.filter_map(|(_, points)| points.get(seed).copied());
            curve.push(self.unconstrained[seed], own);
        }
        let (whole, partial): (Vec<_>, Vec<_>) =
            self.lambdas.iter().partition(|(_, points)| complete(points));
        let names = [None].into_iter().chain(whole.iter().map(|(lambda, _)| Some(*lambda)));
        let points = names.zip(curve.means()).map(|(lambda, point)| OfLambda { lambda, point });
        TradeOff {
            settings: self.settings,
            violation: self.gap,
            seeds: curve.seeds(),
            incomplete: partial.iter().map(|(lambda, _)| *lambda).collect(),
            points: points.collect(),
            reached: at.iter().map(|&excess| curve.at(excess)).collect(),
        }
    }
}

/// The gap that a notion is about.
fn gap_of(notion: &str) -> String {
    match notion {
        "equalized-odds" | "equal-opportunity" => notion.to_owned(),
        _ => "demographic-parity".to_owned(),
    }
}
