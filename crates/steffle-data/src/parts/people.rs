//! A holder's own list of people: whom others may ask about, and which records are one person's.

use std::path::Path;

use steffle_attributes::UnitList;

use super::RECORD_ID;
use crate::Error;
use crate::dataset::{Dataset, UnitColumn, ids_of, units_of};
use crate::recipe::Recipe;
use crate::table::{Columns, Kind, read_as};

/// Reads a list: record ids and, where the recipe names one, units. No other column of the file is read.
pub(super) fn read(path: &Path, recipe: &Recipe) -> Result<UnitList, Error> {
    let id = recipe.record_id.as_deref().unwrap_or(RECORD_ID);
    let names = [id].into_iter().chain(recipe.unit.as_deref());
    let columns = Columns::Only(names.map(|name| (name.to_owned(), Kind::Text)).collect());
    let table = read_as(path, &columns, &recipe.sealing(recipe.dialect.clone()))?;
    let rows: Vec<u32> = (0..table.rows() as u32).collect();
    let ids = ids_of(&table, id, &rows)?;
    let Some(name) = &recipe.unit else { return Ok(UnitList::index(ids.into_iter().zip(0..))) };
    let UnitColumn { of, ids: people } = units_of(&table, name, &rows)?;
    let person = |(&id, &unit): (&u64, &u32)| (id, people[unit as usize]);
    let named: Vec<(u64, u64)> = ids.iter().zip(&of).map(person).collect();
    Ok(UnitList::of_people(named))
}

/// The list of whoever has the records of all silos.
pub(super) fn of_records(silos: &[Dataset]) -> UnitList {
    let ids = |silo: &Dataset| silo.ids(silo.rows());
    let named: Option<Vec<Vec<u64>>> = silos.iter().map(|silo| silo.people(silo.rows())).collect();
    match named {
        Some(people) => UnitList::of_people(silos.iter().flat_map(ids).zip(people.concat())),
        None => UnitList::index(silos.iter().flat_map(ids).zip(0..)),
    }
}
