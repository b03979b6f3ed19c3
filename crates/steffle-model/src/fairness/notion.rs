//! A notion is one function from a record to a cell or to none, and what is compared there: the
//! decision, or whether it is right.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A fairness notion as a user names it, before labels and strata are known.
///
/// It says whose decisions should be independent of `s`, and given what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum NotionName {
    /// Prediction independent of `s`.
    DemographicParity,
    /// Prediction independent of `s` given the label.
    EqualizedOdds,
    /// Prediction independent of `s` among records with the favourable label.
    EqualOpportunity,
    /// Prediction independent of `s` given a named public column.
    Conditional(String),
    /// Whether the prediction is right independent of `s`.
    AccuracyParity,
    /// No constraint.
    None,
}

/// Not a notion's name.
///
/// The message lists what is allowed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "unknown notion {0:?}; allowed are demographic-parity, equalized-odds, equal-opportunity, \
     accuracy-parity, conditional:COLUMN and none"
)]
pub struct NotionError(String);

impl NotionName {
    /// The notion for data with these many labels, this favourable one and these many strata.
    pub fn resolve(&self, labels: usize, favourable: u16, strata: usize) -> Notion {
        match self {
            Self::DemographicParity => Notion::DemographicParity,
            Self::EqualizedOdds => Notion::EqualizedOdds { labels },
            Self::EqualOpportunity => Notion::EqualOpportunity { favourable },
            Self::Conditional(_) => Notion::Conditional { strata },
            Self::AccuracyParity => Notion::AccuracyParity,
            Self::None => Notion::None,
        }
    }
}

impl FromStr for NotionName {
    type Err = NotionError;

    fn from_str(name: &str) -> Result<Self, NotionError> {
        Ok(match name {
            "demographic-parity" => Self::DemographicParity,
            "equalized-odds" => Self::EqualizedOdds,
            "equal-opportunity" => Self::EqualOpportunity,
            "accuracy-parity" => Self::AccuracyParity,
            "none" => Self::None,
            _ => match name.strip_prefix("conditional:") {
                Some(column) if !column.is_empty() => Self::Conditional(column.to_owned()),
                _ => return Err(NotionError(name.to_owned())),
            },
        })
    }
}

impl TryFrom<String> for NotionName {
    type Error = NotionError;

    fn try_from(name: String) -> Result<Self, NotionError> {
        name.parse()
    }
}

impl From<NotionName> for String {
    fn from(name: NotionName) -> Self {
        name.to_string()
    }
}

impl fmt::Display for NotionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DemographicParity => f.write_str("demographic-parity"),
            Self::EqualizedOdds => f.write_str("equalized-odds"),
            Self::EqualOpportunity => f.write_str("equal-opportunity"),
            Self::Conditional(column) => write!(f, "conditional:{column}"),
            Self::AccuracyParity => f.write_str("accuracy-parity"),
            Self::None => f.write_str("none"),
        }
    }
}

/// A fairness notion: which cell a record is in, and what is compared there.
///
/// Within a cell, decisions, or whether they are right, should not depend on `s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notion {
    /// One cell for all.
    DemographicParity,
    /// A cell per label.
    EqualizedOdds {
        /// Number of labels.
        labels: usize,
    },
    /// The records with the favourable label; the others are in no cell.
    EqualOpportunity {
        /// The favourable label.
        favourable: u16,
    },
    /// A cell per stratum.
    Conditional {
        /// Number of strata.
        strata: usize,
    },
    /// One cell for all, where it is compared whether decisions are right.
    AccuracyParity,
    /// No cell.
    None,
}

impl Notion {
    /// The cell of a record, if it is in one.
    #[inline]
    pub fn cell(self, label: u16, stratum: u16) -> Option<usize> {
        match self {
            Self::DemographicParity | Self::AccuracyParity => Some(0),
            Self::EqualizedOdds { .. } => Some(usize::from(label)),
            Self::EqualOpportunity { favourable } => (label == favourable).then_some(0),
            Self::Conditional { strata } => {
                Some(usize::from(stratum)).filter(|&stratum| stratum < strata)
            }
            Self::None => None,
        }
    }

    /// How many cells there are.
    #[inline]
    pub fn cells(self) -> usize {
        match self {
            Self::DemographicParity | Self::EqualOpportunity { .. } | Self::AccuracyParity => 1,
            Self::EqualizedOdds { labels } => labels,
            Self::Conditional { strata } => strata,
            Self::None => 0,
        }
    }

    /// What is compared of a record, by what it is decided to be: the decision itself, or 0 where it
    /// is right and 1 where it is wrong.
    #[inline]
    pub fn outcome(self, decision: u16, label: u16) -> usize {
        match self {
            Self::AccuracyParity => usize::from(decision != label),
            _ => usize::from(decision),
        }
    }

    /// How many outcomes there are, of so many labels: the columns of a class table.
    #[inline]
    pub fn outcomes(self, labels: usize) -> usize {
        match self {
            Self::AccuracyParity => 2,
            _ => labels,
        }
    }

    /// The outcomes' probabilities of a record with these outputs, one after the other.
    pub fn scores(self, outputs: &[f64], label: u16) -> impl Iterator<Item = f64> + '_ {
        let right = outputs[usize::from(label)];
        let of_label = move |outcome: usize| match self {
            Self::AccuracyParity => [right, 1.0 - right][outcome],
            _ => outputs[outcome],
        };
        (0..self.outcomes(outputs.len())).map(of_label)
    }
}
