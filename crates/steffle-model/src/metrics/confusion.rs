//! Counts of records by group, stratum, label and decision: all that hard metrics need.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Evidence;
use crate::record::MISSING_CLASS;

/// What records have in common that are counted together, group first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    /// One past the last group for records without one.
    pub(super) group: usize,
    pub(super) stratum: u16,
    pub(super) label: u16,
    pub(super) decision: u16,
}

/// Counts by kind, for the kinds that occur, in order: a group's lie side by side, because the
/// bootstrap redraws group by group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Joint {
    pub(super) groups: usize,
    pub(super) labels: usize,
    pub(super) kinds: Vec<Kind>,
    pub(super) counts: Vec<u64>,
    /// Which rates count in gaps: decided once, on the records themselves, also for resamples.
    enough: Arc<Enough>,
}

/// Which rates are of enough records, by what they are a share of.
#[derive(Debug, PartialEq, Eq, Default)]
struct Enough {
    /// All records of a group, `[group]`.
    group: Vec<bool>,
    /// Those that have a label, `[group][label]`.
    with: Vec<bool>,
    /// Those that have another one.
    without: Vec<bool>,
}

impl Joint {
    pub(super) fn of(judged: &Evidence<'_>) -> Self {
        let (groups, labels) = (judged.names.groups.len(), judged.names.labels.len());
        let mut counted: BTreeMap<Kind, u64> = BTreeMap::new();
        for row in 0..judged.len() {
            let group = match judged.groups[row] {
                MISSING_CLASS => groups,
                group => usize::from(group),
            };
            let (label, decision) = (judged.labels[row], judged.decisions[row]);
            let kind = Kind { group, stratum: judged.stratum(row), label, decision };
            *counted.entry(kind).or_default() += 1;
        }
        let (kinds, counts) = counted.into_iter().unzip();
        let mut joint = Self { groups, labels, kinds, counts, enough: Arc::default() };
        joint.enough = Arc::new(Enough::of(&joint.confusion(), judged.least));
        joint
    }

    /// Every kind with its count.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Kind, u64)> + '_ {
        self.kinds.iter().copied().zip(self.counts.iter().copied())
    }

    /// The confusion of each group.
    pub(super) fn confusion(&self) -> Confusion {
        let (groups, labels) = (self.groups, self.labels);
        let by_label = || vec![0; (groups + 1) * labels];
        let mut confusion = Confusion {
            groups,
            labels,
            total: vec![0; groups + 1],
            truth: by_label(),
            decided: by_label(),
            right: by_label(),
            enough: self.enough.clone(),
        };
        for (kind, count) in self.iter() {
            let at = |label: u16| kind.group * labels + usize::from(label);
            confusion.total[kind.group] += count;
            confusion.truth[at(kind.label)] += count;
            confusion.decided[at(kind.decision)] += count;
            if kind.label == kind.decision {
                confusion.right[at(kind.label)] += count;
            }
        }
        confusion
    }
}

/// Per group, and for records without one, what rates are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Confusion {
    pub(super) groups: usize,
    pub(super) labels: usize,
    /// `[group]`.
    total: Vec<u64>,
    /// Records that have the label, `[group][label]`.
    truth: Vec<u64>,
    /// Records that were given the label.
    decided: Vec<u64>,
    /// Records that have it and were given it.
    right: Vec<u64>,
    enough: Arc<Enough>,
}

impl Enough {
    fn of(confusion: &Confusion, least: u64) -> Self {
        let Confusion { total, truth, labels, .. } = confusion;
        let without = truth.iter().enumerate().map(|(at, count)| total[at / labels] - count);
        Self {
            group: total.iter().map(|&count| count >= least).collect(),
            with: truth.iter().map(|&count| count >= least).collect(),
            without: without.map(|count| count >= least).collect(),
        }
    }
}

impl Confusion {
    /// Records of any group, or of none, that were decided wrongly, as a share.
    pub(super) fn error(&self) -> Option<f64> {
        let total = self.total.iter().sum();
        share(total - self.right.iter().sum::<u64>(), total)
    }

    pub(super) fn group_error(&self, group: usize) -> Option<f64> {
        let right: u64 = self.right[group * self.labels..][..self.labels].iter().sum();
        share(self.total[group] - right, self.total[group])
    }

    /// P(decision = `label` | group): the selection rate.
    pub(super) fn selection(&self, group: usize, label: usize) -> Option<f64> {
        share(self.decided[self.at(group, label)], self.total[group])
    }

    /// P(decision = `label`) over all records that have a group.
    pub(super) fn marginal(&self, label: usize) -> Option<f64> {
        let decided = (0..self.groups).map(|group| self.decided[self.at(group, label)]).sum();
        share(decided, self.total[..self.groups].iter().sum())
    }

    /// P(decision = `label` | group, label = `label`).
    pub(super) fn true_positive(&self, group: usize, label: usize) -> Option<f64> {
        let at = self.at(group, label);
        share(self.right[at], self.truth[at])
    }

    /// P(decision = `label` | group, label other than `label`).
    pub(super) fn false_positive(&self, group: usize, label: usize) -> Option<f64> {
        let at = self.at(group, label);
        share(self.decided[at] - self.right[at], self.total[group] - self.truth[at])
    }

    /// [`Self::selection`], where it is of enough records to be compared.
    pub(super) fn compared_selection(&self, group: usize, label: usize) -> Option<f64> {
        self.selection(group, label).filter(|_| self.enough.group[group])
    }

    /// [`Self::group_error`], likewise.
    pub(super) fn compared_error(&self, group: usize) -> Option<f64> {
        self.group_error(group).filter(|_| self.enough.group[group])
    }

    /// [`Self::true_positive`], likewise.
    pub(super) fn compared_true_positive(&self, group: usize, label: usize) -> Option<f64> {
        self.true_positive(group, label).filter(|_| self.enough.with[self.at(group, label)])
    }

    /// [`Self::false_positive`], likewise.
    pub(super) fn compared_false_positive(&self, group: usize, label: usize) -> Option<f64> {
        self.false_positive(group, label).filter(|_| self.enough.without[self.at(group, label)])
    }

    /// Records of a group.
    pub(super) fn records(&self, group: usize) -> u64 {
        self.total[group]
    }

    /// Records of a group that have a label.
    pub(super) fn records_with(&self, group: usize, label: usize) -> u64 {
        self.truth[self.at(group, label)]
    }

    fn at(&self, group: usize, label: usize) -> usize {
        group * self.labels + label
    }
}

/// Absent when there is nothing to take a share of.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
