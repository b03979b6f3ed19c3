//! Whether methods did harm, whether they knew, and how far they stay behind the reference: counts
//! over all groupings of an experiment.

use std::collections::BTreeMap;

use serde_json::Value;
use steffle_report::Table;

use super::panels::Ended;
use crate::commands::sweep::{Collected, gap_of};

/// The epsilon of the reference, which has the true classes.
const NO_EPSILON: &str = "-";

/// A gap that differs by this many percentage points is another gap.
const POINT: f64 = 1.0;

/// The runs of one method on one split: one per lambda.
#[derive(Debug, Clone, Default)]
struct Path {
    /// The largest gap less the unconstrained model's, in points, and the smallest.
    worst: f64,
    best: f64,
    warned: usize,
    runs: usize,
}

/// What one method reached on one grouping, at one epsilon.
struct Grouping {
    collected: Collected,
    /// The unconstrained model's gaps, by seed.
    gaps: BTreeMap<u64, f64>,
    paths: BTreeMap<u64, Path>,
}

/// Splits that were harmed, and warnings.
#[derive(Debug, Clone, Default)]
struct Counts {
    all: usize,
    harmed: usize,
    /// Splits and warnings, by whether the model became fairer.
    told: [(usize, usize); 2],
}

/// By method and epsilon, then by data and groups.
type Groupings = BTreeMap<(String, String), BTreeMap<String, Grouping>>;

/// A row per method and epsilon, and one of all its epsilons.
pub(super) fn harm(ended: &[Ended<'_>], at: &[f64]) -> Table {
    let groupings = sorted(ended);
    let reference = groupings.iter().find(|((_, epsilon), _)| epsilon == NO_EPSILON);
    let reference = reference.map(|(_, groupings)| groupings);
    let own = groupings.iter().filter(|((_, epsilon), _)| epsilon != NO_EPSILON);
    let mut rows = Vec::new();
    // All epsilons of the method that the last rows are of.
    let mut whole: Option<(&str, Counts)> = None;
    let sum = |(method, counts): (&str, Counts)| {
        let row = vec![method.to_owned(), "all".to_owned()];
        row.into_iter().chain(counts.told()).chain(["-".to_owned()]).collect::<Vec<String>>()
    };
    for ((method, epsilon), own) in own {
        if whole.as_ref().is_some_and(|(before, _)| before != method) {
            rows.extend(whole.take().map(sum));
        }
        let counts = Counts::of(own, reference);
        let (_, all) = whole.get_or_insert((method, Counts::default()));
        all.add(&counts);
        let mut row = vec![method.clone(), epsilon.clone()];
        row.extend(counts.told());
        row.push(
            reference
                .and_then(|reference| behind(own, reference, at))
                .map_or_else(|| "-".to_owned(), |mean| format!("{mean:.3}")),
        );
        rows.push(row);
    }
    rows.extend(whole.map(sum));
    let columns =
        ["method", "epsilon", "harmed", "not fairer, warned", "fairer, warned", "behind fermi"];
    Table {
        title: "Harm, warnings, and what is left to the reference".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
        caption: "Counts are of splits: all lambdas of a method on one grouping with one seed. \
                  Harmed: some lambda's gap is more than a point above the unconstrained model's, \
                  and fermi's is not with any. Not fairer: no lambda's gap is a point below it; how \
                  many of these carry the warning with at least half of the lambdas, and how many \
                  of the others do. Behind fermi: (gap - fermi's) / unconstrained model's gap at \
                  equal error, mean over groupings and excess errors."
            .to_owned(),
    }
}

impl Counts {
    /// Splits that were harmed, and warnings among those that became no fairer and among the others.
    fn of(
        own: &BTreeMap<String, Grouping>,
        reference: Option<&BTreeMap<String, Grouping>>,
    ) -> Self {
        let mut counts = Self::default();
        for (name, grouping) in own {
            for (seed, path) in &grouping.paths {
                let by_reference = reference
                    .and_then(|all| all.get(name)?.paths.get(seed))
                    .is_some_and(|path| path.worst > POINT);
                counts.all += 1;
                counts.harmed += usize::from(path.worst > POINT && !by_reference);
                let (splits, warned) = &mut counts.told[usize::from(path.best < -POINT)];
                *splits += 1;
                *warned += usize::from(2 * path.warned >= path.runs);
            }
        }
        counts
    }

    fn add(&mut self, other: &Self) {
        self.all += other.all;
        self.harmed += other.harmed;
        for (own, other) in self.told.iter_mut().zip(other.told) {
            *own = (own.0 + other.0, own.1 + other.1);
        }
    }

    /// As they are printed.
    fn told(&self) -> [String; 3] {
        let share = |(splits, warned): (usize, usize)| format!("{warned} of {splits}");
        [format!("{} of {}", self.harmed, self.all), share(self.told[0]), share(self.told[1])]
    }
}

fn sorted(ended: &[Ended<'_>]) -> Groupings {
    let mut all = Groupings::new();
    for ended in ended {
        let (config, line) = (ended.config(), ended.line());
        let notion = gap_of(&config.method.aim().notion);
        let gap = |model: &str| Some(100.0 * line[model][notion.replace('-', "_")].as_f64()?);
        let (Some(own), Some(unconstrained)) = (gap("test"), gap("baseline")) else { continue };
        let method = (config.method.entry().name.to_owned(), ended.told("epsilon"));
        let grouping = format!("{} {}", ended.told("data"), ended.told("sensitive"));
        let grouping = all.entry(method).or_default().entry(grouping).or_insert_with(|| Grouping {
            collected: Collected::new(notion),
            gaps: BTreeMap::new(),
            paths: BTreeMap::new(),
        });
        grouping.collected.add(config, line);
        grouping.gaps.insert(config.seed, unconstrained);
        let path = grouping.paths.entry(config.seed).or_default();
        path.worst = path.worst.max(own - unconstrained);
        path.best = path.best.min(own - unconstrained);
        path.runs += 1;
        path.warned += usize::from(line["fairer"]["probably"] == Value::Bool(false));
    }
    all
}

/// The mean over groupings and excess errors of what is left to the reference.
fn behind(
    own: &BTreeMap<String, Grouping>,
    reference: &BTreeMap<String, Grouping>,
    at: &[f64],
) -> Option<f64> {
    let mut found = Vec::new();
    for (name, grouping) in own {
        let Some(best) = reference.get(name) else { continue };
        let gap = grouping.gaps.values().sum::<f64>() / grouping.gaps.len() as f64;
        let (own, best) = (grouping.collected.curve(), best.collected.curve());
        let pairs =
            at.iter().map(|&excess| own.at(excess).violation.zip(best.at(excess).violation));
        found.extend(pairs.flatten().map(|(own, best)| (own - best) / gap));
    }
    (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouping(paths: &[(f64, f64, usize)]) -> Grouping {
        let path = |(seed, &(worst, best, warned)): (usize, &(f64, f64, usize))| {
            (seed as u64, Path { worst, best, warned, runs: 4 })
        };
        Grouping {
            collected: Collected::new("demographic-parity"),
            gaps: BTreeMap::new(),
            paths: paths.iter().enumerate().map(path).collect(),
        }
    }

    #[test]
    fn counts_by_hand() {
        // Harmed and warned of; harmed, as the reference is; fairer and warned of; fairer.
        let own = [(2.0, -0.5, 2), (1.5, 0.0, 1), (0.5, -3.0, 4), (0.0, -9.0, 0)];
        let best = [(0.0, -9.0, 0), (1.2, -9.0, 0), (0.0, -9.0, 0), (0.0, -9.0, 0)];
        let own = BTreeMap::from([("a".to_owned(), grouping(&own))]);
        let best = BTreeMap::from([("a".to_owned(), grouping(&best))]);
        let (mut with, without) = (Counts::of(&own, Some(&best)), Counts::of(&own, None));
        assert_eq!(with.told(), ["1 of 4", "1 of 2", "1 of 2"]);
        assert_eq!(without.told(), ["2 of 4", "1 of 2", "1 of 2"]);
        with.add(&without);
        assert_eq!(with.told(), ["3 of 8", "2 of 4", "2 of 4"]);
    }
}
