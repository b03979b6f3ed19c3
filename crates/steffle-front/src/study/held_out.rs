//! Rows that are not trained on.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use steffle::record::Records;
use steffle_data::{Dataset, Dialect, Groups, Schema, Unmatched, encode, evaluation_groups};

use crate::Error;

/// Encoded records whose groups may be looked at, because they are not trained on.
///
/// A model is judged on them.
#[derive(Clone)]
pub struct HeldOut {
    pub(crate) records: Records,
    pub(crate) groups: Groups,
    unmatched: Unmatched,
    dropped: usize,
    pub(crate) origin: Origin,
}

/// Where held-out rows are from, so that they can be sealed.
#[derive(Clone)]
pub(crate) enum Origin {
    /// Rows of a table.
    Rows(Arc<Dataset>, Arc<[u32]>),
    /// All rows of a file.
    File(PathBuf, Dialect),
}

impl HeldOut {
    /// The given rows, encoded.
    pub(crate) fn of(data: &Arc<Dataset>, rows: &[u32], schema: &Schema) -> Result<Self, Error> {
        Self::encoded(data, rows, schema, Origin::Rows(data.clone(), rows.into()))
    }

    fn encoded(
        data: &Dataset,
        rows: &[u32],
        schema: &Schema,
        origin: Origin,
    ) -> Result<Self, Error> {
        let encoded = encode(data, rows, schema)?;
        let groups = evaluation_groups(data, rows, schema)?;
        let (records, unmatched) = (encoded.records, encoded.unmatched);
        Ok(Self { records, groups, unmatched, dropped: data.dropped(), origin })
    }

    /// The rows of a labelled file, with the columns of a schema.
    pub(crate) fn read(file: &Path, schema: &Schema, dialect: &Dialect) -> Result<Self, Error> {
        let data = Dataset::for_evaluation(file, schema, dialect)?;
        let origin = Origin::File(file.to_path_buf(), dialect.clone());
        Self::encoded(&data, data.rows(), schema, origin)
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
            origin: self.origin.clone(),
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
