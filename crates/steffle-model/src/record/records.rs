//! What the records division holds: everything but the sensitive attribute.

use std::sync::Arc;

use super::{Ids, Rows};

/// Why records were refused.
///
/// Ids, rows and labels have to be of one length.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordsError {
    /// Columns of different length.
    #[error("{rows} rows but {found} {what}")]
    Length {
        /// Rows given.
        rows: usize,
        /// Entries of the other column.
        found: usize,
        /// The other column.
        what: &'static str,
    },
    /// A label outside the schema.
    #[error("record {row} has label {label}; allowed are 0..{labels}")]
    Label {
        /// Which record.
        row: usize,
        /// The label given.
        label: u16,
        /// How many labels the schema knows.
        labels: usize,
    },
}

/// Records of one silo: ids, encoded rows, labels and, for conditional parity, strata.
///
/// They never change, and clones share them: all runs on a silo hold its rows once.
#[derive(Debug, Clone, PartialEq)]
pub struct Records(Arc<Held>);

#[derive(Debug, Clone, PartialEq)]
struct Held {
    ids: Ids,
    rows: Rows,
    labels: Vec<u16>,
    /// Value of the column that `conditional:COLUMN` conditions on.
    strata: Option<Vec<u16>>,
    /// Which records are one unit, where units are not records.
    units: Option<Vec<u32>>,
    /// The lasting id of every record's unit, where a column names units.
    people: Option<Vec<u64>>,
}

impl Records {
    /// Checks that all columns have one entry per row and that labels are below `labels`.
    pub fn new(
        ids: Vec<u64>,
        rows: Rows,
        labels: Vec<u16>,
        strata: Option<Vec<u16>>,
        label_count: usize,
    ) -> Result<Self, RecordsError> {
        let lengths = [
            ("ids", ids.len()),
            ("labels", labels.len()),
            ("strata", strata.as_ref().map_or(rows.len(), Vec::len)),
        ];
        if let Some(&(what, found)) = lengths.iter().find(|(_, len)| *len != rows.len()) {
            return Err(RecordsError::Length { rows: rows.len(), found, what });
        }
        if let Some(row) = labels.iter().position(|&label| usize::from(label) >= label_count) {
            return Err(RecordsError::Label { row, label: labels[row], labels: label_count });
        }
        Ok(Self(Arc::new(Held {
            ids: ids.into(),
            rows,
            labels,
            strata,
            units: None,
            people: None,
        })))
    }

    /// Names the unit (the person) of every record; refuses another number of names than records.
    /// Records of one unit have the same `s`, and privacy is that of the unit.
    pub fn with_units(self, units: &[u32]) -> Result<Self, RecordsError> {
        if units.len() != self.len() {
            let (rows, found) = (self.len(), units.len());
            return Err(RecordsError::Length { rows, found, what: "units" });
        }
        let mut numbers = std::collections::HashMap::new();
        let number = |unit: &u32| {
            let next = numbers.len() as u32;
            *numbers.entry(*unit).or_insert(next)
        };
        let numbered: Vec<u32> = units.iter().map(number).collect();
        // Units of one record each are no units.
        let units = (numbers.len() < numbered.len()).then_some(numbered);
        Ok(Self(Arc::new(Held { units, ..Arc::unwrap_or_clone(self.0) })))
    }

    /// The lasting id of every record's unit, which is the same in every run; refuses another number of
    /// ids than records.
    pub fn with_people(self, people: Vec<u64>) -> Result<Self, RecordsError> {
        if people.len() != self.len() {
            let (rows, found) = (self.len(), people.len());
            return Err(RecordsError::Length { rows, found, what: "ids of units" });
        }
        Ok(Self(Arc::new(Held { people: Some(people), ..Arc::unwrap_or_clone(self.0) })))
    }

    /// The lasting id of every record's unit, where a column names units.
    pub fn people(&self) -> Option<&[u64]> {
        self.0.people.as_deref()
    }

    /// The same with every number of a row in `-most..=most`.
    pub fn within(self, most: f32) -> Result<Self, super::RowsError> {
        let rows = &self.0.rows;
        let fits = |row: usize| rows.numeric(row).iter().all(|number| number.abs() <= most);
        if (0..rows.len()).all(fits) {
            return Ok(self);
        }
        let (mut numbers, codes) = rows.parts();
        numbers.iter_mut().for_each(|number| *number = number.clamp(-most, most));
        let rows = Rows::new(rows.layout(), rows.len(), numbers, codes)?;
        Ok(Self(Arc::new(Held { rows, ..Arc::unwrap_or_clone(self.0) })))
    }

    /// The unit of every record, numbered from 0; `None` where every record is its own.
    #[inline]
    pub fn units(&self) -> Option<&[u32]> {
        self.0.units.as_deref()
    }

    /// How many units there are.
    pub fn unit_count(&self) -> usize {
        let last = self.0.units.as_ref().and_then(|units| units.iter().max());
        last.map_or(self.len(), |&last| last as usize + 1)
    }

    /// How many records there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.rows.len()
    }

    /// Whether there is no record.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.rows.is_empty()
    }

    /// Universal record ids.
    #[inline]
    pub fn ids(&self) -> &Ids {
        &self.0.ids
    }

    /// Encoded features.
    #[inline]
    pub fn rows(&self) -> &Rows {
        &self.0.rows
    }

    /// Labels, one per record.
    #[inline]
    pub fn labels(&self) -> &[u16] {
        &self.0.labels
    }

    /// The stratum of record `row`; 0 when no column was named.
    #[inline]
    pub fn stratum(&self, row: usize) -> u16 {
        self.0.strata.as_ref().map_or(0, |strata| strata[row])
    }

    /// Bytes held by the encoded records, as if each id were written down.
    pub fn bytes(&self) -> usize {
        let Held { ids, rows, labels, strata, units, people } = &*self.0;
        let strata = strata.as_ref().map_or(0, Vec::len);
        rows.bytes()
            + ids.len() * size_of::<u64>()
            + (labels.len() + strata) * size_of::<u16>()
            + units.as_ref().map_or(0, Vec::len) * size_of::<u32>()
            + people.as_ref().map_or(0, Vec::len) * size_of::<u64>()
    }
}
