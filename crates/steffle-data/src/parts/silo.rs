//! The file that a site keeps for itself: what it holds, and what may be asked of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use steffle_masks::{Fingerprint, NoFingerprint, Roster};
use steffle_site::node::Allows;

use super::site_masks::SiteMasks;
use crate::recipe::Recipe;
use crate::{Error, SiteError};

/// The version of the file format.
const VERSION: u32 = 1;

/// What a site holds.
///
/// Features and labels, the sensitive attribute, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// Features and labels.
    Records,
    /// Record ids and the sensitive attribute.
    Attributes,
    /// Both, in one file or in two.
    Both,
}

/// What is done about records whose attributes a site does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unmatched {
    /// The site does not take part.
    #[default]
    Refuse,
    /// They belong to no class, and are counted.
    Ignore,
}

/// The contents of `silo.toml`: data, what their columns mean, the ledger and the site's own policy.
///
/// Nothing of it is in a job, and no job changes it. Paths are relative to the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Silo {
    version: u32,
    /// The site's name in rosters.
    pub name: String,
    /// What it holds.
    pub role: Holds,
    /// Its records; with the sensitive columns, where it holds both and names no attributes file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<PathBuf>,
    /// Its record ids and sensitive columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<PathBuf>,
    /// Where it holds attributes alone: its own list of everybody whom others may ask about, with record
    /// ids and, where the recipe names one, the unit column. What others say is compared with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub people: Option<PathBuf>,
    /// The book that pays for what is released about its attributes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<PathBuf>,
    /// Where it keeps what it was asked and answered, one file per run.
    #[serde(default = "sent")]
    pub sent: PathBuf,
    /// How long a new process waits for one before it to let go of ledger and record.
    #[serde(default = "wait")]
    pub wait_seconds: u64,
    /// What is done about records without attributes, where a site has two files.
    #[serde(default)]
    pub unmatched: Unmatched,
    /// What it allows.
    #[serde(default)]
    pub policy: SitePolicy,
    /// Its key for letters and for sums under masks, and what it insists on there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masks: Option<SiteMasks>,
    /// The keys of all other sites, by the names that it gives them: fingerprints that were compared
    /// outside of this system.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub peers: BTreeMap<String, String>,
    /// What its columns mean, and the classes and labels that it declares.
    pub recipe: Recipe,
}

/// What a site allows, whatever a server asks for. The budget is not here: it is in the ledger's own
/// policy, for life.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SitePolicy {
    /// The most epsilon of one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// The most rounds of one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Methods that may ask; none: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<String>,
    /// Whether Gram matrices of features may leave.
    #[serde(default)]
    pub pool: bool,
    /// Whether runs with seeded noise, or without any, may read its attributes: for made-up people
    /// only.
    #[serde(default)]
    pub simulations: bool,
}

/// What a holder elsewhere has to have.
const PEOPLE: &str = "role attributes, and no other, names `people`: a file of your own with the record \
                      ids (and units) of everybody whom other sites may ask about. They are charged for \
                      what is released, and nobody else is answered about. Add the line \
                      people = \"FILE\" above the first [section]; if everybody is in your attributes \
                      file, that may be the same file. `steffle ledger people` writes the line and accepts the list";

fn sent() -> PathBuf {
    PathBuf::from("sent")
}

fn wait() -> u64 {
    60
}

impl Silo {
    /// Reads `silo.toml`; refuses unknown keys, other versions, files that do not fit the role, names
    /// of classes or labels that are not declared, and attributes that neither a ledger nor a
    /// policy for simulations speaks for.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::io(path, source))?;
        let refuse =
            |message: String| Error::from(SiteError::Silo { path: path.to_path_buf(), message });
        let mut silo: Self = toml::from_str(&text).map_err(|error| refuse(error.to_string()))?;
        silo.check().map_err(refuse)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let own = [&mut silo.data, &mut silo.attributes, &mut silo.people, &mut silo.ledger];
        let masks = silo.masks.iter_mut().flat_map(SiteMasks::paths);
        for path in own.into_iter().flatten().chain([&mut silo.sent]).chain(masks) {
            *path = folder.join(&*path);
        }
        silo.recipe.record_id.get_or_insert_with(|| super::RECORD_ID.to_owned());
        Ok(silo)
    }

    fn check(&self) -> Result<(), String> {
        if self.version != VERSION {
            let found = self.version;
            return Err(format!("version {found} of the format; this program reads {VERSION}"));
        }
        let files = (self.data.is_some(), self.attributes.is_some());
        let fits = match self.role {
            Holds::Records => files == (true, false),
            Holds::Attributes => files == (false, true),
            Holds::Both => files.0,
        };
        if !fits {
            return Err(
                "role records has `data`, role attributes has `attributes`, role both has \
                        `data` and, where s lies in a file of its own, `attributes`"
                    .to_owned(),
            );
        }
        if (self.role == Holds::Attributes) != self.people.is_some() {
            return Err(PEOPLE.to_owned());
        }
        self.recipe.check_roles().map_err(|error| error.to_string())?;
        let holds = self.role != Holds::Records;
        for (key, missing) in [
            ("name", self.name.is_empty()),
            ("recipe.labels", self.role != Holds::Attributes && self.recipe.labels.is_empty()),
            ("recipe.classes", self.recipe.classes.is_empty()),
        ] {
            if missing {
                return Err(format!("{key} is missing: what is public is declared, not found"));
            }
        }
        if holds && self.ledger.is_none() && !self.policy.simulations {
            return Err("a site with attributes names a `ledger` (steffle ledger init), or says \
                        `simulations = true` under [policy], for made-up people only"
                .to_owned());
        }
        match &self.masks {
            Some(masks) => masks.check(self.role, self.peers.len())?,
            None if self.peers.is_empty() => {}
            None => {
                return Err(
                    "[peers] pins keys, and this site has none: `steffle silo key` makes one, \
                            [masks] key names it"
                        .to_owned(),
                );
            }
        }
        self.recipe.check_classes().map_err(|error| error.to_string())
    }

    /// All sites of its federation, itself included: sums under masks are over these, letters are taken from
    /// these, and from nobody else. Refuses what is no fingerprint, and one key twice.
    pub fn mask_roster(&self, own: Fingerprint) -> Result<Roster, Error> {
        let refuse = |message: String| {
            Error::from(SiteError::Silo { path: PathBuf::from("silo.toml"), message })
        };
        let mut sites = vec![(own, self.name.clone())];
        for (name, pinned) in &self.peers {
            let pinned = pinned
                .parse()
                .map_err(|error: NoFingerprint| refuse(format!("[peers] {name}: {error}")))?;
            sites.push((pinned, name.clone()));
        }
        Roster::new(sites).map_err(|error| refuse(format!("[peers]: {error}")))
    }

    /// What its node lets be asked.
    pub fn allows(&self) -> Allows {
        let SitePolicy { epsilon, rounds, methods, pool, simulations } = self.policy.clone();
        let secret = self.role != Holds::Records && !simulations;
        let booked = self.role == Holds::Records || self.ledger.is_some();
        let (no_pool, unbooked, not_declared) = (!pool, !booked, true);
        let delta = None;
        Allows { epsilon, delta, rounds, methods, no_pool, secret, unbooked, not_declared }
    }

    /// The files that it names.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.data, &self.attributes, &self.people].into_iter().flatten()
    }
}
