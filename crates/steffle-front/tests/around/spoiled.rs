//! Sites that break the promise, and must be caught.

use serde_json::Value;
use steffle::node::{Holding, Taken};
use steffle::protocol::{Described, Met, Refused, SchemaHash};
use steffle::record::Records;
use steffle_data::{Schema, Site};

use crate::world::{CLASSES, SENSITIVE};

/// How a site is spoiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoil {
    /// Not at all.
    No,
    /// What it refuses is worded with a value of s.
    Words,
    /// A schema that names s as a feature is taken, and s is in the records from then on.
    OpenTable,
}

/// A site that tells s.
pub(crate) struct Spoiled {
    site: Site,
    spoil: Spoil,
    cell: String,
}

impl Spoiled {
    pub(crate) fn new(site: Site, spoil: Spoil, cell: &str) -> Self {
        Self { site, spoil, cell: cell.to_owned() }
    }

    /// What a schema says, without the feature that is s; `None` where it names no such feature.
    fn without_s(schema: &[u8]) -> Option<Schema> {
        let mut said: Value = serde_json::from_slice(schema).ok()?;
        let mut found = false;
        for list in ["numeric", "categorical"] {
            let Some(Value::Array(features)) = said.get_mut(list) else { continue };
            let count = features.len();
            features.retain(|own| own["name"] != SENSITIVE);
            found |= features.len() < count;
        }
        found.then(|| serde_json::from_value(said).ok()).flatten()
    }
}

impl Holding for Spoiled {
    fn describe(&self, masked: bool) -> Described {
        self.site.describe(masked)
    }

    fn meet(&self, columns: &[u8]) -> Result<Met, Refused> {
        self.site.meet(columns)
    }

    fn digests(&self) -> Vec<u64> {
        self.site.digests()
    }

    fn take(&mut self, schema: &[u8], hash: &SchemaHash) -> Result<Taken, Refused> {
        match (self.spoil, Self::without_s(schema)) {
            (Spoil::OpenTable, Some(schema)) => {
                let bytes = serde_json::to_vec(&schema).unwrap();
                let mut taken = self.site.take(&bytes, &SchemaHash(schema.hash()))?;
                taken.records = taken.records.map(|own| with_s(&own, &self.cell));
                Ok(taken)
            }
            (Spoil::Words, _) => self.site.take(schema, hash).map_err(|refused| {
                Refused::state(format!("{refused}; the first value is {}", self.cell))
            }),
            _ => self.site.take(schema, hash),
        }
    }
}

/// The records with s in place of a label.
fn with_s(own: &Records, cell: &str) -> Records {
    let mut labels = own.labels().to_vec();
    labels[0] = u16::from(cell == CLASSES[0]);
    Records::new(own.ids().to_vec(), own.rows().clone(), labels, None, 2).unwrap()
}
