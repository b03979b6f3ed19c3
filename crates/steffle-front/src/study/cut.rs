//! How rows are split, cut into silos, and who holds what.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// Who holds what (section 4 of the paper).
///
/// It decides who can read what, and how many trips a round takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Centralisation {
    /// One silo with two divisions.
    OneSilo,
    /// Silos with two divisions each.
    Silos,
    /// One attributes holder for all silos.
    CentralAttributes,
    /// Attributes holders with a cut of their own.
    General(usize),
}

impl FromStr for Centralisation {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let allowed = || "one-silo, silos, central-attributes, general:Q with Q >= 1".to_owned();
        match word {
            "one-silo" => Ok(Self::OneSilo),
            "silos" => Ok(Self::Silos),
            "central-attributes" => Ok(Self::CentralAttributes),
            _ => word
                .strip_prefix("general:")
                .and_then(|holders| holders.parse().ok())
                .filter(|&holders| holders > 0)
                .map(Self::General)
                .ok_or_else(allowed),
        }
    }
}

impl fmt::Display for Centralisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneSilo => f.write_str("one-silo"),
            Self::Silos => f.write_str("silos"),
            Self::CentralAttributes => f.write_str("central-attributes"),
            Self::General(holders) => write!(f, "general:{holders}"),
        }
    }
}

impl Serialize for Centralisation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How rows are split, and the seed of everything random in a study.
///
/// The same seed gives the same study.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Split {
    /// The share of the training rows that is held out to choose settings by.
    pub validation: f64,
    /// The seed of the split, the silos, the batches and simulated noise.
    pub seed: u64,
    /// The rows to test on; then all of the table is trained on. Otherwise a quarter of it is tested on.
    pub test: Option<PathBuf>,
}

/// How training rows are cut into silos (Algorithm 3 of the paper).
///
/// ```
/// use steffle_front::{Centralisation, Cut};
/// let cut = Cut::from(6).heterogeneity(0.75).centralisation(Centralisation::CentralAttributes);
/// assert_eq!(cut.silos, 6);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cut {
    /// How many silos there are.
    pub silos: usize,
    /// From 0 (silos alike) to 1 (sorted by the recipe's `partition_by`).
    pub heterogeneity: f64,
    /// Who holds what.
    pub centralisation: Centralisation,
}

impl Cut {
    /// All rows in one place, as a curator has them.
    pub const ONE: Self =
        Self { silos: 1, heterogeneity: 0.0, centralisation: Centralisation::OneSilo };

    /// The same with silos that differ by so much.
    #[must_use]
    pub fn heterogeneity(self, heterogeneity: f64) -> Self {
        Self { heterogeneity, ..self }
    }

    /// The same with other holders.
    #[must_use]
    pub fn centralisation(self, centralisation: Centralisation) -> Self {
        Self { centralisation, ..self }
    }
}

impl From<usize> for Cut {
    fn from(silos: usize) -> Self {
        match silos {
            1 => Self::ONE,
            _ => Self { silos, heterogeneity: 0.0, centralisation: Centralisation::Silos },
        }
    }
}

/// Rows in the order of the table: those of the only silo, whatever is drawn.
pub(super) fn in_order(rows: &[u32]) -> Vec<u32> {
    let mut rows = rows.to_vec();
    rows.sort_unstable();
    rows
}
