//! What is written beside the parameters, so that they cannot be used for what they are not.

use std::collections::BTreeMap;

use steffle::fairness::NotionName;
use steffle::model::ModelKind;

/// The version of the run directory that this program writes, and the only one it reads.
pub(super) const VERSION: &str = "1";
const FORMAT: &str = "steffle-run";

/// The metadata of a model file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Metadata {
    pub(crate) model: ModelKind,
    pub(crate) notion: NotionName,
    /// SHA-256 of the schema, in hexadecimal digits.
    pub(crate) schema: String,
    /// Facts that are only shown: method, lambda, mode, privacy, epsilon, delta, adjacency.
    pub(crate) facts: BTreeMap<String, String>,
}

impl Metadata {
    /// As names and texts.
    pub(crate) fn to_map(&self) -> BTreeMap<String, String> {
        let own = [
            ("format", FORMAT.to_owned()),
            ("version", VERSION.to_owned()),
            ("written_by", format!("steffle {}", env!("CARGO_PKG_VERSION"))),
            ("model", self.model.to_string()),
            ("notion", self.notion.to_string()),
            ("schema", self.schema.clone()),
        ];
        let own = own.map(|(name, text)| (name.to_owned(), text));
        self.facts.clone().into_iter().chain(own).collect()
    }

    /// From names and texts; says what is wrong with another format or version.
    pub(crate) fn from_map(mut map: BTreeMap<String, String>) -> Result<Self, Unusable> {
        let mut take = |name: &str| map.remove(name).ok_or_else(|| damaged(name));
        if take("format").ok().as_deref() != Some(FORMAT) {
            return Err(damaged("format"));
        }
        let version = take("version")?;
        let writer = take("written_by").unwrap_or_default();
        if version != VERSION {
            return Err(Unusable::Version { version, writer });
        }
        Ok(Self {
            model: take("model")?.parse().map_err(|e| Unusable::Damaged(format!("{e}")))?,
            notion: take("notion")?.parse().map_err(|e| Unusable::Damaged(format!("{e}")))?,
            schema: take("schema")?,
            facts: map,
        })
    }
}

/// Why metadata cannot be used.
#[derive(Debug, PartialEq)]
pub(crate) enum Unusable {
    /// Written by a program with another idea of a run directory.
    Version { version: String, writer: String },
    /// Something is missing or makes no sense.
    Damaged(String),
}

fn damaged(name: &str) -> Unusable {
    Unusable::Damaged(format!("its metadata has no usable `{name}`"))
}
