//! A holder's own list of people: whom others may ask about, and which records are one person's.

use std::path::Path;

use steffle_attributes::UnitList;

use super::RECORD_ID;
use crate::Error;
use crate::dataset::{Dataset, ids_of};
use crate::recipe::Recipe;
use crate::table::{Categories, Columns, Kind, MISSING_LEVEL, read_as};

/// Reads a list: record ids and, where the recipe names one, units. No other column of the file is read.
pub(super) fn read(path: &Path, recipe: &Recipe) -> Result<UnitList, Error> {
    let id = recipe.record_id.as_deref().unwrap_or(RECORD_ID);
    let names = [id].into_iter().chain(recipe.unit.as_deref());
    let columns = Columns::Only(names.map(|name| (name.to_owned(), Kind::Text)).collect());
    let table = read_as(path, &columns, &recipe.sealing(recipe.dialect.clone()))?;
    let rows: Vec<u32> = (0..table.rows() as u32).collect();
    let ids = ids_of(&table, id, &rows)?;
    let Some(name) = &recipe.unit else { return Ok(UnitList::index(ids.into_iter().zip(0..))) };
    let at = table.require(name, "the unit")?;
    let units = Categories::from_column(&table.columns()[at]).codes;
    if let Some(row) = units.iter().position(|&unit| unit == MISSING_LEVEL) {
        return Err(Error::Id {
            origin: table.origin().to_owned(),
            row: row as u64 + 1,
            column: name.clone(),
            problem: "the unit is missing; every row must say whom it is about",
        });
    }
    Ok(UnitList::index(ids.into_iter().zip(units)))
}

/// The list of whoever has the records of all silos: units of two silos are two people.
pub(super) fn of_records(silos: &[Dataset]) -> UnitList {
    let (mut first, mut all) = (0_u32, Vec::new());
    for silo in silos {
        let rows = silo.rows();
        let unit = |row: u32| silo.units().map_or(row, |units| units[row as usize]);
        let units = rows.iter().map(|&row| first.saturating_add(unit(row)));
        all.extend(silo.ids(rows).into_iter().zip(units));
        let last = rows.iter().map(|&row| unit(row)).max();
        first = first.saturating_add(last.map_or(0, |last| last + 1));
    }
    UnitList::index(all)
}
