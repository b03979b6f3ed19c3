//! The trade-off of every configuration of a sweep, as a table and as JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};
use steffle_front::trade_off::{Point, Reached};

use super::collected::{Collected, gap_of};
use super::grid::Run;
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

impl TradeOffs {
    /// From the lines of the runs, in the same order.
    pub(crate) fn new(runs: &[Run], lines: &[Value], at: &[f64], violation: Option<&str>) -> Self {
        let mut order: Vec<String> = Vec::new();
        let mut all: BTreeMap<String, (Map<String, Value>, Collected)> = BTreeMap::new();
        for (run, line) in runs.iter().zip(lines) {
            let mut settings = run.varying.clone();
            settings.remove("lambda");
            settings.remove("seed");
            let key = Value::Object(settings.clone()).to_string();
            let (_, collected) = all.entry(key.clone()).or_insert_with(|| {
                order.push(key);
                let gap = violation.unwrap_or_else(|| gap_of(&run.config.method.aim().notion));
                (settings, Collected::new(gap))
            });
            collected.add(&run.config, line);
        }
        let curves = order.iter().filter_map(|key| all.remove(key));
        let curves = curves.map(|(settings, own)| TradeOff::new(settings, &own, at));
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
                Reached { violation: Some(v), standard_error, beyond_end, .. } => {
                    let error = standard_error.map_or_else(String::new, |e| format!(" ({e:.2})"));
                    format!("{v:.2}{}{error}", if beyond_end { "*" } else { "" })
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
        if self.curves.iter().flat_map(|curve| &curve.reached).any(|reached| reached.beyond_end) {
            notes += "* beyond the curve's last point, whose violation this is\n";
        }
        explained + &rows.render() + &notes
    }

    /// Writes the JSON beside the results.
    pub(crate) fn write(&self, directory: &Path) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(self).map_err(|e| Failure::bug(e.to_string()))?;
        write(&directory.join("trade-off.json"), (text + "\n").as_bytes())
    }
}

impl TradeOff {
    fn new(settings: Map<String, Value>, collected: &Collected, at: &[f64]) -> Self {
        let curve = collected.curve();
        let lambdas = [None].into_iter().chain(collected.complete().map(Some));
        let points = lambdas.zip(curve.means()).map(|(lambda, point)| OfLambda { lambda, point });
        Self {
            settings,
            violation: collected.gap().to_owned(),
            seeds: curve.seeds(),
            incomplete: collected.incomplete().collect(),
            points: points.collect(),
            reached: at.iter().map(|&excess| curve.at(excess)).collect(),
        }
    }

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
