//! What a site has, before a run makes rows of it.

use steffle_attributes::Attributes;
use steffle_model::record::Records;
use steffle_wire::{Described, Refused, Role, SchemaHash};

/// Data at a site. A run agrees on a schema; the holding makes rows and sealed attributes by it.
pub trait Holding: Send {
    /// Who the site is, and what its columns look like; nothing of it is computed from `s`.
    fn describe(&self) -> Described;

    /// What it holds under a schema; refuses a schema it cannot read, or whose hash is another.
    fn take(&mut self, schema: &[u8], hash: &SchemaHash) -> Result<Taken, Refused>;
}

/// Encoded records, sealed attributes, or both.
///
/// What a node works with once it has joined a run.
#[derive(Default)]
pub struct Taken {
    /// Features and labels.
    pub records: Option<Records>,
    /// Sensitive classes.
    pub attributes: Option<Attributes>,
}

/// Data that were encoded before, for one run.
///
/// Holdings of files read and encode when the run's schema is known.
pub struct Encoded(Option<Taken>, Described);

impl Encoded {
    /// Data of a site; a site without either has no part in a run.
    pub fn new(records: Option<Records>, attributes: Option<Attributes>) -> Self {
        let role = match (&records, &attributes) {
            (Some(_), Some(_)) => Role::Both,
            (Some(_), None) => Role::Records,
            (None, _) => Role::Attributes,
        };
        let count = records.as_ref().map_or(0, Records::len) as u64;
        let described = Described { role, records: count, summary: Vec::new() };
        Self(Some(Taken { records, attributes }), described)
    }
}

impl Holding for Encoded {
    fn describe(&self) -> Described {
        self.1.clone()
    }

    fn take(&mut self, _: &[u8], _: &SchemaHash) -> Result<Taken, Refused> {
        self.0.take().ok_or_else(|| Refused::state("data that were encoded for a run serve one"))
    }
}
