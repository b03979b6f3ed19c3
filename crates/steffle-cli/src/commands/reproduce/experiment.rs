//! An experiment: which runs, and which panels they make.

use std::collections::BTreeMap;

use serde::Deserialize;
use steffle_data::Builtin;
use toml::Table;

use crate::args::What;
use crate::commands::sweep::{Run, runs_of};
use crate::failure::Failure;

/// The experiments, as they stand in the sources.
const FILES: [(What, &str, &str); 7] = [
    (What::Figure1, "figure-1", include_str!("../../../experiments/figure-1.toml")),
    (What::Figure2, "figure-2", include_str!("../../../experiments/figure-2.toml")),
    (What::Figure3, "figure-3", include_str!("../../../experiments/figure-3.toml")),
    (What::Figure4, "figure-4", include_str!("../../../experiments/figure-4.toml")),
    (What::Figure5, "figure-5", include_str!("../../../experiments/figure-5.toml")),
    (What::Frontier, "frontier", include_str!("../../../experiments/frontier.toml")),
    (What::Rare, "rare", include_str!("../../../experiments/rare.toml")),
];

/// An experiment, as its file says it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Experiment {
    /// `figure-3`; the name of the file.
    #[serde(skip)]
    pub(super) name: String,
    pub(super) title: String,
    /// Excess errors of the table of violation at equal error, in percentage points.
    pub(super) at: Vec<f64>,
    /// Settings of all grids.
    common: Table,
    /// Grids of runs, as `sweep --grid` takes them.
    grids: Vec<Table>,
    pub(super) panels: Vec<Panels>,
    #[serde(default)]
    pub(super) published: Vec<PublishedCurve>,
}

/// A family of panels: one for every combination of values of the settings in `by`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Panels {
    #[serde(default)]
    pub(super) by: Vec<String>,
    /// Only runs with these settings, or that do not have the setting.
    #[serde(default)]
    pub(super) only: Table,
    /// Only these methods; all if empty.
    #[serde(default)]
    pub(super) methods: Vec<String>,
    /// The setting on the horizontal axis; without it, the panel shows trade-offs.
    pub(super) along: Option<Along>,
}

/// Violation at one excess error, along a setting.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Along {
    pub(super) setting: String,
    pub(super) at: f64,
    #[serde(default)]
    pub(super) log: bool,
}

/// Points that others printed: (test error, violation), as shares.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct PublishedCurve {
    pub(super) label: String,
    pub(super) source: String,
    pub(super) epsilon: Option<f64>,
    pub(super) points: Vec<(f64, f64)>,
}

impl Experiment {
    /// The experiments that `what` needs runs of.
    pub(super) fn of(what: What) -> Result<Vec<Self>, Failure> {
        let wanted = |(own, name, _): &&(What, &str, &str)| match what {
            What::All => *own != What::Rare,
            What::Headline => AVERAGED.contains(name),
            one => one == *own,
        };
        let read = |(_, name, text): &(What, &str, &str)| {
            let mut experiment: Self = toml::from_str(text)
                .map_err(|error| Failure::bug(format!("experiments/{name}.toml: {error}")))?;
            (*name).clone_into(&mut experiment.name);
            Ok(experiment)
        };
        FILES.iter().filter(wanted).map(read).collect()
    }

    /// Data that its runs need from the user, and do not have.
    pub(super) fn absent(&self, given: &Given) -> Vec<String> {
        let data = self.grids.iter().map(|grid| data_of(&self.settings(grid)).to_owned());
        data.filter(|data| is_absent(data, given)).collect()
    }

    /// Whether there is data for any of its runs.
    pub(super) fn can_run(&self, given: &Given) -> bool {
        self.absent(given).len() < self.grids.len()
    }

    fn settings(&self, grid: &Table) -> Table {
        let mut settings = self.common.clone();
        settings.extend(grid.clone());
        settings
    }

    /// Its runs, those without data left out. `quick` leaves out most values of long axes.
    pub(super) fn runs(
        &self,
        seeds: &str,
        quick: bool,
        given: &Given,
    ) -> Result<Vec<Run>, Failure> {
        let mut runs = Vec::new();
        for grid in &self.grids {
            let mut settings = self.settings(grid);
            if is_absent(data_of(&settings), given) {
                continue;
            }
            let path = given.get(data_of(&settings)).cloned();
            settings.extend(path.map(|path| ("path".to_owned(), path.into())));
            if quick {
                settings.iter_mut().filter_map(|(_, value)| value.as_array_mut()).for_each(thin);
            }
            let own = runs_of(&settings, seeds).map_err(|failure| {
                let message = format!("experiment {}: {}", self.name, failure.message);
                Failure { message, ..failure }
            })?;
            runs.extend(own);
        }
        Ok(runs)
    }
}

/// Files that the user named, by the data set that they are of.
pub(super) type Given = BTreeMap<&'static str, String>;

fn data_of(settings: &Table) -> &str {
    settings.get("data").and_then(toml::Value::as_str).unwrap_or_default()
}

fn is_absent(data: &str, given: &Given) -> bool {
    Builtin::find(data).is_some_and(|known| !known.is_shipped()) && !given.contains_key(data)
}

/// The paper's averages are over the figures that compare methods.
pub(super) const AVERAGED: [&str; 4] = ["figure-1", "figure-3", "figure-4", "figure-5"];

/// Keeps every fifth of many numbers, and the last.
fn thin(values: &mut Vec<toml::Value>) {
    if values.len() < 5 || values.iter().any(toml::Value::is_str) {
        return;
    }
    let last = values.len() - 1;
    let mut place = 0;
    values.retain(|_| {
        place += 1;
        (place - 1) % 5 == 1 || place - 1 == last
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_is_understood_and_has_runs_and_panels() {
        let rare = Experiment::of(What::Rare).unwrap();
        for experiment in Experiment::of(What::All).unwrap().into_iter().chain(rare) {
            let names = ["retired-adult", "bank-marketing"];
            let given = names.map(|name| (name, format!("{name}.csv"))).into();
            assert!(experiment.can_run(&given) && experiment.absent(&given).is_empty());
            let whole = experiment.runs("2", false, &given).unwrap();
            let quick = experiment.runs("1", true, &given).unwrap();
            assert!(!experiment.panels.is_empty() && !quick.is_empty(), "{}", experiment.name);
            assert!(quick.len() * 3 < whole.len(), "{}", experiment.name);
        }
    }

    #[test]
    fn quick_keeps_the_last_value_and_some_between() {
        let mut values: Vec<toml::Value> = (0..10).map(toml::Value::Integer).collect();
        thin(&mut values);
        let kept: Vec<i64> = values.iter().filter_map(toml::Value::as_integer).collect();
        assert_eq!(kept, [1, 6, 9]);
        let mut few: Vec<toml::Value> = (0..4).map(toml::Value::Integer).collect();
        thin(&mut few);
        assert_eq!(few.len(), 4);
    }
}
