//! What a site says about sums under masks.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use steffle_site::node::MaskPolicy;

/// A site's key for sums under masks, where it remembers what it masked, and what it insists on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteMasks {
    /// The key that `steffle silo key` made.
    pub key: PathBuf,
    /// The journal of masks.
    #[serde(default = "journal")]
    pub journal: PathBuf,
    /// A second head of the journal, on another disk, by which an older copy is noticed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<PathBuf>,
    /// It answers under masks or not at all.
    #[serde(default)]
    pub require: bool,
    /// The fewest sites of a sum; two only where it says so.
    #[serde(default = "min_sites")]
    pub min_sites: usize,
    /// At least so many sites may help the server without it learning what one other adds.
    #[serde(default)]
    pub colluders: u16,
    /// The most questions of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<u64>,
    /// The fewest records that are altered between two runs, where any are.
    #[serde(default = "min_change")]
    pub min_change: u64,
}

fn journal() -> PathBuf {
    PathBuf::from("masks.journal")
}

fn min_sites() -> usize {
    3
}

fn min_change() -> u64 {
    50
}

impl SiteMasks {
    /// What its node insists on.
    pub fn policy(&self) -> MaskPolicy {
        let Self { require, min_sites, colluders, questions, min_change, .. } = *self;
        MaskPolicy { require, min_sites, colluders, questions, min_change }
    }

    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        [&mut self.key, &mut self.journal].into_iter().chain(&mut self.head)
    }

    pub(super) fn check(&self, peers: usize) -> Result<(), String> {
        if self.min_sites < 2 {
            return Err(format!(
                "masks.min_sites is {}; a sum over one site is that site's",
                self.min_sites
            ));
        }
        if peers + 1 < self.min_sites {
            return Err(format!(
                "[peers] names {peers} site(s); with this one that is fewer than masks.min_sites, {}",
                self.min_sites
            ));
        }
        Ok(())
    }
}
