//! Rows that are not trained on.

use std::path::Path;

use steffle::record::Records;
use steffle_data::{Dataset, Dialect, Groups, Schema, Unmatched, encode, evaluation_groups};

use crate::Error;

/// Encoded records whose groups may be looked at, because they are not trained on.
#[derive(Clone)]
pub struct HeldOut {
    pub(crate) records: Records,
    pub(crate) groups: Groups,
    unmatched: Unmatched,
    dropped: usize,
}

impl HeldOut {
    /// The given rows, encoded.
    pub(crate) fn of(data: &Dataset, rows: &[u32], schema: &Schema) -> Result<Self, Error> {
        let encoded = encode(data, rows, schema)?;
        let groups = evaluation_groups(data, rows, schema)?;
        let (records, unmatched) = (encoded.records, encoded.unmatched);
        Ok(Self { records, groups, unmatched, dropped: data.dropped() })
    }

    /// The rows of a labelled file, with the columns of a schema.
    pub(crate) fn read(file: &Path, schema: &Schema, dialect: &Dialect) -> Result<Self, Error> {
        let data = Dataset::for_evaluation(file, schema, dialect)?;
        Self::of(&data, data.rows(), schema)
    }

    /// The same rows without anybody's class: what a run that is paid for may be measured on. A
    /// number that is computed from the classes of held-out rows would be a release of its own.
    #[must_use]
    pub fn without_groups(&self) -> Self {
        let classes = vec![steffle::record::MISSING_CLASS; self.records.len()];
        Self {
            records: self.records.clone(),
            groups: Groups { names: Vec::new(), classes },
            unmatched: self.unmatched.clone(),
            dropped: self.dropped,
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Rows of the same table that were left out because a value is missing.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Cells that do not fit the schema.
    pub fn unmatched(&self) -> &Unmatched {
        &self.unmatched
    }
}
