//! The input of every metric: records with what is true of them and what the model says.

use crate::record::MISSING_CLASS;

/// What labels and groups are called, and which label is the favourable one.
///
/// Reports print them in place of codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// Names of the labels, in the order of their codes.
    pub labels: Vec<String>,
    /// Names of the sensitive classes, in the order of their codes.
    pub groups: Vec<String>,
    /// Code of the favourable label: the one equal opportunity and binary AUC speak of.
    pub favourable: u16,
}

/// Why records cannot be judged.
///
/// Labels, classes and probabilities have to be of the same records.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricsError {
    /// There is nothing to judge.
    #[error("no records: a metric needs at least one")]
    Empty,
    /// A column has another length than the labels.
    #[error("{records} records but {found} {what}")]
    Length {
        /// Records given.
        records: usize,
        /// Entries of the other column.
        found: usize,
        /// The other column.
        what: &'static str,
    },
    /// A code has no name.
    #[error("record {row} has {what} {code}; allowed are 0..{end}")]
    Code {
        /// Which record.
        row: usize,
        /// Which column.
        what: &'static str,
        /// The code given.
        code: u16,
        /// One past the last allowed code.
        end: usize,
    },
    /// A probability is not a number in [0, 1].
    #[error("record {row} has a probability that is not in [0, 1]")]
    Probability {
        /// Which record.
        row: usize,
    },
}

/// Records ready to be judged: columns of one length, every code named, probabilities in range.
#[derive(Debug, Clone)]
pub struct Evidence<'a> {
    pub(super) names: &'a Names,
    pub(super) labels: &'a [u16],
    pub(super) groups: &'a [u16],
    pub(super) strata: Option<&'a [u16]>,
    pub(super) probabilities: &'a [f64],
    pub(super) decisions: Vec<u16>,
    pub(super) least: u64,
}

impl<'a> Evidence<'a> {
    /// Takes labels, groups and row-major probabilities; refuses unequal lengths and codes or
    /// probabilities out of range.
    pub fn new(
        names: &'a Names,
        labels: &'a [u16],
        groups: &'a [u16],
        probabilities: &'a [f64],
    ) -> Result<Self, MetricsError> {
        let (records, l) = (labels.len(), names.labels.len());
        if records == 0 {
            return Err(MetricsError::Empty);
        }
        let lengths = [
            ("groups", groups.len(), records),
            ("probabilities", probabilities.len(), records * l),
        ];
        if let Some(&(what, found, _)) = lengths.iter().find(|(_, found, want)| found != want) {
            return Err(MetricsError::Length { records, found, what });
        }
        check_codes("label", labels, l, None)?;
        check_codes("label", &[names.favourable], l, None)?;
        check_codes("group", groups, names.groups.len(), Some(MISSING_CLASS))?;
        if let Some(at) = probabilities.iter().position(|p| !(0.0..=1.0).contains(p)) {
            return Err(MetricsError::Probability { row: at / l });
        }
        let decisions = decide(probabilities, l);
        Ok(Self { names, labels, groups, strata: None, probabilities, decisions, least: 1 })
    }

    /// Adds the column that conditional parity conditions on; refuses another length.
    pub fn with_strata(mut self, strata: &'a [u16]) -> Result<Self, MetricsError> {
        if strata.len() != self.len() {
            return Err(MetricsError::Length {
                records: self.len(),
                found: strata.len(),
                what: "strata",
            });
        }
        self.strata = Some(strata);
        Ok(self)
    }

    /// Leaves rates of fewer records than this out of gaps: a share of five people says little, and
    /// the largest difference of many such shares says nothing.
    #[must_use]
    pub fn with_least(mut self, records: u32) -> Self {
        self.least = u64::from(records.max(1));
        self
    }

    /// How many records there are; never zero.
    #[allow(clippy::len_without_is_empty, reason = "an empty one cannot be made")]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// The decision for every record.
    pub fn decisions(&self) -> &[u16] {
        &self.decisions
    }

    pub(super) fn stratum(&self, row: usize) -> u16 {
        self.strata.map_or(0, |strata| strata[row])
    }

    /// Probability that the model gives label `label` in record `row`.
    pub(super) fn probability(&self, row: usize, label: usize) -> f64 {
        self.probabilities[row * self.names.labels.len() + label]
    }
}

/// The most probable label of every row of `labels` probabilities; ties go to the lower label.
pub fn decide(probabilities: &[f64], labels: usize) -> Vec<u16> {
    let most_probable = |row: &[f64]| {
        let mut best = 0;
        for (label, p) in row.iter().enumerate() {
            if *p > row[best] {
                best = label;
            }
        }
        best as u16
    };
    probabilities.chunks_exact(labels.max(1)).map(most_probable).collect()
}

fn check_codes(
    what: &'static str,
    codes: &[u16],
    end: usize,
    missing: Option<u16>,
) -> Result<(), MetricsError> {
    let bad = |code: &u16| usize::from(*code) >= end && Some(*code) != missing;
    match codes.iter().position(bad) {
        Some(row) => Err(MetricsError::Code { row, what, code: codes[row], end }),
        None => Ok(()),
    }
}
