//! Who a row is about: universal record ids, and units that may have several rows.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use super::Dataset;
use crate::Error;
use crate::recipe::Recipe;
use crate::table::{Categories, Here, MISSING_LEVEL, Table, plain_number};

/// Below this every whole number is exact in a column of numbers.
const EXACT: u64 = 1 << 53;

impl Dataset {
    /// The lasting ids of rows' units, if a unit column is named: the same person has the same id in every
    /// file.
    pub(crate) fn people(&self, rows: &[u32]) -> Option<Vec<u64>> {
        let UnitColumn { of, ids } = self.units.as_ref()?;
        let id = |&row: &u32| ids.get(of[row as usize] as usize).copied().unwrap_or_default();
        Some(rows.iter().map(id).collect())
    }
}

/// Ids from the record-id column, if one is named; refuses missing, repeated and fractional ids.
pub(super) fn record_ids(
    table: &Table,
    recipe: &Recipe,
    rows: &[u32],
) -> Result<Option<Vec<u64>>, Error> {
    let Some(name) = &recipe.record_id else { return Ok(None) };
    ids_of(table, name, rows).map(Some)
}

/// The ids in a column, checked in the given rows.
pub(crate) fn ids_of(table: &Table, name: &str, rows: &[u32]) -> Result<Vec<u64>, Error> {
    let at = table.require(name, "the record id")?;
    let (origin, column) = (|| table.origin().to_owned(), || name.to_owned());
    let ids: Vec<Option<u64>> = match table.columns()[at].here() {
        Here::Numbers(numbers) => numbers.iter().map(|&number| whole_id(number)).collect(),
        Here::Text(text) => {
            let ids: Vec<u64> = text.levels.iter().map(|level| text_id(level)).collect();
            text.codes.iter().map(|&code| ids.get(code as usize).copied()).collect()
        }
    };
    let mut seen = HashSet::with_capacity(rows.len());
    let (mut repeated, mut first) = (HashSet::new(), None);
    for &row in rows {
        let id = ids[row as usize].ok_or_else(|| Error::Id {
            origin: origin(),
            row: u64::from(row) + 1,
            column: column(),
            problem: "a record id must be text or a whole number from 0 to 2^53, never missing",
        })?;
        if !seen.insert(id) {
            repeated.insert(id);
            first.get_or_insert(u64::from(row) + 1);
        }
    }
    if let Some(row) = first {
        let ids = repeated.len();
        return Err(Error::RepeatedIds { origin: origin(), column: column(), ids, row });
    }
    Ok(ids.into_iter().map(Option::unwrap_or_default).collect())
}

/// Units of a table: per row the number of its unit, and per number the unit's lasting id.
pub(crate) struct UnitColumn {
    pub(crate) of: Vec<u32>,
    pub(crate) ids: Vec<u64>,
}

/// The units of a table, where a column names them; refuses a row without one.
pub(super) fn units(
    table: &Table,
    recipe: &Recipe,
    rows: &[u32],
) -> Result<Option<UnitColumn>, Error> {
    recipe.unit.as_ref().map(|name| units_of(table, name, rows)).transpose()
}

/// The units in a column, checked in the given rows.
pub(crate) fn units_of(table: &Table, name: &str, rows: &[u32]) -> Result<UnitColumn, Error> {
    let at = table.require(name, "the unit")?;
    let Categories { codes: units, levels } = Categories::from_column(&table.columns()[at]);
    match rows.iter().find(|&&row| units[row as usize] == MISSING_LEVEL) {
        Some(&row) => Err(Error::Id {
            origin: table.origin().to_owned(),
            row: u64::from(row) + 1,
            column: name.to_owned(),
            problem: "the unit is missing; every row must say whom it is about",
        }),
        // Rows that are not used may lack a unit; they get one that nobody counts.
        None => Ok(UnitColumn {
            of: units
                .into_iter()
                .map(|unit| if unit == MISSING_LEVEL { 0 } else { unit })
                .collect(),
            ids: levels.iter().map(|level| text_id(level)).collect(),
        }),
    }
}

fn whole_id(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && (0.0..EXACT as f64).contains(&number)).then_some(number as u64)
}

/// A text id becomes 63 bits of its SHA-256 and the top bit, so that it never meets a numeric id;
/// two of a million text ids collide with probability below 1e-7, and a collision in one file is
/// refused. Text that is a whole number counts as the number, so that an id is the same person however
/// its column was read.
fn text_id(level: &str) -> u64 {
    plain_number(level).and_then(whole_id).unwrap_or_else(|| {
        let digest = Sha256::digest(level.as_bytes());
        let bytes = digest.iter().take(8);
        bytes.fold(0, |id: u64, &byte| id << 8 | u64::from(byte)) | 1 << 63
    })
}
