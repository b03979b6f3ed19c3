//! What a site has, before a run makes rows of it.

use steffle_attributes::{Attributes, UnitList};
use steffle_model::record::Records;
use steffle_wire::{Described, Met, Refused, Role, SchemaHash};

/// Data at a site. A run agrees on a schema; the holding makes rows and sealed attributes by it.
pub trait Holding: Send {
    /// Who the site is, and what its columns look like; nothing of it is computed from `s`. Under masks
    /// it says what columns and categories there are, no number of records and none about columns.
    fn describe(&self, masked: bool) -> Described;

    /// Records, and what is added up about columns that are measured as `columns` says.
    fn meet(&self, columns: &[u8]) -> Result<Met, Refused>;

    /// A digest of every record, features and label, in ascending order: by these a site knows whether
    /// its data have changed, and by how many records. They stay with it.
    fn digests(&self) -> Vec<u64>;

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
    /// Where there are attributes and no records: everybody whom silos may ask about, the holder's own
    /// list.
    pub people: Option<UnitList>,
    /// How many labels were agreed on; `None` where records were encoded before a run.
    pub labels: Option<usize>,
}

impl Taken {
    /// Cuts features to what a site answers about under masks: none is then so large that its sums
    /// leave their range. Standardised columns seldom have one.
    pub(super) fn bound(&mut self) -> Result<(), Refused> {
        const MOST: f32 = 4096.0;
        if let Some(records) = self.records.take() {
            let bound = records.within(MOST);
            self.records =
                Some(bound.map_err(|error| Refused::new("steffle::node::records", error))?);
        }
        Ok(())
    }
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
        let (summary, hello) = (Vec::new(), Vec::new());
        let described = Described { role, records: count, summary, hello };
        Self(Some(Taken { records, attributes, ..Taken::default() }), described)
    }

    /// Attributes of a holder elsewhere, and its list of everybody whom silos may ask about.
    pub fn holder(attributes: Attributes, people: UnitList) -> Self {
        let Self(taken, described) = Self::new(None, Some(attributes));
        Self(taken.map(|taken| Taken { people: Some(people), ..taken }), described)
    }
}

impl Holding for Encoded {
    fn describe(&self, masked: bool) -> Described {
        let records = if masked { 0 } else { self.1.records };
        Described { records, ..self.1.clone() }
    }

    fn meet(&self, _: &[u8]) -> Result<Met, Refused> {
        Ok(Met { records: self.1.records, columns: Vec::new() })
    }

    fn digests(&self) -> Vec<u64> {
        let Some(Taken { records: Some(records), .. }) = &self.0 else { return Vec::new() };
        let rows = records.rows();
        let digest = |(row, label): (usize, &u16)| {
            let mut bytes: Vec<u8> = label.to_le_bytes().to_vec();
            bytes.extend(rows.numeric(row).iter().flat_map(|number| number.to_le_bytes()));
            bytes.extend(rows.codes(row).flat_map(u32::to_le_bytes));
            let hash = steffle_masks::hash(&[&bytes]);
            hash.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
        };
        let mut digests: Vec<u64> = records.labels().iter().enumerate().map(digest).collect();
        digests.sort_unstable();
        digests
    }

    fn take(&mut self, _: &[u8], _: &SchemaHash) -> Result<Taken, Refused> {
        self.0.take().ok_or_else(|| Refused::state("data that were encoded for a run serve one"))
    }
}
