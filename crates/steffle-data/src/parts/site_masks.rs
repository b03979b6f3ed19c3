//! What a site says about its key: sums under masks, and letters.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use steffle_site::node::MaskPolicy;

use super::silo::Holds;

/// A site's key, by which it signs letters and adds up under masks, where it remembers what it masked, and
/// what it insists on.
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
    /// It answers under masks or not at all; where nothing is said, a site with both divisions does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require: Option<bool>,
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
        let Self { min_sites, colluders, questions, min_change, .. } = *self;
        MaskPolicy { require: self.requires(), min_sites, colluders, questions, min_change }
    }

    /// Whether it answers under masks or not at all. Masks are for sites with both divisions, and whoever
    /// pins the keys of others means to use them.
    pub fn requires(&self) -> bool {
        self.require.unwrap_or(true)
    }

    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        [&mut self.key, &mut self.journal].into_iter().chain(&mut self.head)
    }

    pub(super) fn check(&self, role: Holds, peers: usize) -> Result<(), String> {
        if role != Holds::Both {
            // Its key is for letters.
            return match self.require {
                Some(true) => {
                    Err("masks.require is for role both: sites with one division hand letters to \
                                   each other, which their keys sign"
                        .to_owned())
                }
                _ => Ok(()),
            };
        }
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
