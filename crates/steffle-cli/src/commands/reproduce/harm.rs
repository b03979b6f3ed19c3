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

/// By method and epsilon, then by data and groups.
type Groupings = BTreeMap<(String, String), BTreeMap<String, Grouping>>;

/// A row per method and epsilon.
pub(super) fn harm(ended: &[Ended<'_>], at: &[f64]) -> Table {
    let groupings = sorted(ended);
    let reference = groupings.iter().find(|((_, epsilon), _)| epsilon == NO_EPSILON);
    let reference = reference.map(|(_, groupings)| groupings);
    let own = groupings.iter().filter(|((_, epsilon), _)| epsilon != NO_EPSILON);
    let row = |((method, epsilon), own): (&(String, String), &BTreeMap<String, Grouping>)| {
        let mut row = vec![method.clone(), epsilon.clone()];
        row.extend(counts(own, reference));
        row.push(
            reference
                .and_then(|reference| behind(own, reference, at))
                .map_or_else(|| "-".to_owned(), |mean| format!("{mean:.3}")),
        );
        row
    };
    let rows = own.map(row).collect();
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

/// Splits that were harmed, and warnings among those that became no fairer and among the others.
fn counts(
    own: &BTreeMap<String, Grouping>,
    reference: Option<&BTreeMap<String, Grouping>>,
) -> [String; 3] {
    let (mut all, mut harmed) = (0, 0);
    // Splits and warnings, by whether the model became fairer.
    let mut told = [(0, 0); 2];
    for (name, grouping) in own {
        for (seed, path) in &grouping.paths {
            let by_reference = reference
                .and_then(|all| all.get(name)?.paths.get(seed))
                .is_some_and(|path| path.worst > POINT);
            all += 1;
            harmed += usize::from(path.worst > POINT && !by_reference);
            let (splits, warned) = &mut told[usize::from(path.best < -POINT)];
            *splits += 1;
            *warned += usize::from(2 * path.warned >= path.runs);
        }
    }
    let share = |(splits, warned): (usize, usize)| format!("{warned} of {splits}");
    [format!("{harmed} of {all}"), share(told[0]), share(told[1])]
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
        assert_eq!(counts(&own, Some(&best)), ["1 of 4", "1 of 2", "1 of 2"]);
        assert_eq!(counts(&own, None), ["2 of 4", "1 of 2", "1 of 2"]);
    }
}
