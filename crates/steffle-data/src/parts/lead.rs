//! The file that the owner of a server keeps: which test rows a job may name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::job::Job;
use crate::Error;

/// The version of the file format.
const VERSION: u32 = 1;

/// The longest name.
const LONGEST: usize = 100;

/// The contents of `lead.toml`: test rows by the names under which jobs ask for them.
///
/// A job comes from whoever may submit one, so it names no file of the server's machine, and the owner of
/// the test rows says which of their columns are sensitive. Paths are relative to `lead.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lead {
    version: u32,
    /// Test rows, by name.
    #[serde(default)]
    tests: BTreeMap<String, LeadTest>,
}

/// Test rows that jobs may name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LeadTest {
    /// The file.
    path: PathBuf,
    /// Its sensitive columns: a job that has others is refused.
    sensitive: Vec<String>,
    /// Whether whoever submits a job may see exact rates by group of these rows: for people whose class
    /// they may see. Otherwise nobody's class is read.
    #[serde(default)]
    groups: bool,
}

/// Whether a text can name something on another machine: letters, digits, `-`, `_` and `.`, no dot at its
/// beginning, at most 100 characters. No such text is a path to another folder.
pub fn is_name(text: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    !text.is_empty() && text.len() <= LONGEST && !text.starts_with('.') && text.chars().all(allowed)
}

impl Lead {
    /// Reads `lead.toml`; refuses unknown keys, other versions, and names that no job can have. Its
    /// messages go to whoever submitted a job, so they show neither the folder nor a line of the file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let called = PathBuf::from(path.file_name().unwrap_or_default());
        let refuse =
            |message: &str| Error::Job { path: called.clone(), message: message.to_owned() };
        let text = std::fs::read_to_string(path).map_err(|_| {
            refuse(
                "cannot be read: the server's owner writes it, with version = 1 and [tests.NAME]",
            )
        })?;
        let mut lead: Self = toml::from_str(&text)
            .map_err(|_| refuse("is not version = 1 and tables [tests.NAME] with path, sensitive and, if wanted, groups"))?;
        if lead.version != VERSION {
            return Err(refuse("has another version; this program reads version 1"));
        }
        if !lead.tests.keys().all(|name| is_name(name)) {
            return Err(refuse(
                "has a name under [tests] that is none: allowed are letters, digits, `-`, `_` and `.`, \
                 no dot at the beginning, at most 100 characters",
            ));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        lead.tests.values_mut().for_each(|test| test.path = folder.join(&test.path));
        Ok(lead)
    }
}

impl Job {
    /// Reads a job that somebody submitted. Refuses one that names a file, and test rows that `lead` does
    /// not offer; the message is the same whether there is such a file or not.
    pub fn read_submitted(path: &Path, lead: &Lead) -> Result<Self, Error> {
        let mut job = Self::read_as_written(path)?;
        let refuse = |message: String| {
            let called = PathBuf::from(path.file_name().unwrap_or_default());
            Err(Error::Job { path: called, message })
        };
        let Self { silos, records, attributes, sites, .. } = &job;
        for (key, named) in [
            ("silos", !silos.is_empty()),
            ("records", !records.is_empty()),
            ("attributes", !attributes.is_empty()),
            ("silo", sites.iter().any(|site| site.silo.is_some())),
        ] {
            if named {
                return refuse(format!(
                    "`{key}` names a file, and a job that is submitted names none: every site has its \
                     own silo.toml"
                ));
            }
        }
        let test = job.test.to_str().filter(|name| is_name(name));
        let Some(test) = test.and_then(|name| lead.tests.get(name)) else {
            return refuse(
                "`test` is no name under [tests] of this server's lead.toml, and a job that is submitted \
                 names no file; ask the server's owner for the names"
                    .to_owned(),
            );
        };
        if job.recipe.sensitive != test.sensitive {
            return refuse(
                "`recipe.sensitive` is not what this server's lead.toml says of the test rows; ask the \
                 server's owner for the names"
                    .to_owned(),
            );
        }
        job.test.clone_from(&test.path);
        job.blind = !test.groups;
        Ok(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_paths() {
        for name in ["test", "test.csv", "a", "2026-01_b", &"x".repeat(100)] {
            assert!(is_name(name), "{name}");
        }
        let long = "x".repeat(101);
        for other in
            ["", ".", "..", ".hidden", "a/b", "/etc/passwd", "a\\b", "C:", "a b", "ä", "a\0", &long]
        {
            assert!(!is_name(other), "{other}");
        }
    }
}
