//! Columns as Python hands them over: arrays of numbers, or codes with the text that they stand for.

use std::path::PathBuf;

use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::PyString;
use steffle_data::{Column, Dataset, Here, Source, Table};

use crate::error::{raised, safely};
use crate::lent::lent;

/// A column.
#[derive(FromPyObject)]
enum Given<'py> {
    /// Codes and levels; a code that is none of these is a missing value.
    Text(Bound<'py, PyAny>, Vec<String>),
    /// Numbers; NaN is a missing one.
    Numbers(Bound<'py, PyAny>),
}

/// Columns with their names, from whatever hands them out one by one. Their cells stay in the arrays
/// of Python, which are read when they are wanted.
pub(crate) fn columns(given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Column)>> {
    let one = |item: PyResult<Bound<'_, PyAny>>| -> PyResult<(String, Column)> {
        let (name, given): (String, Given<'_>) = item?.extract()?;
        let (array, levels) = match given {
            Given::Text(codes, levels) => (codes, Some(levels)),
            Given::Numbers(numbers) => (numbers, None),
        };
        Ok((name, Column::Lent(lent(&array, levels)?)))
    };
    given.try_iter()?.map(one).collect()
}

/// A column on its way back.
#[derive(IntoPyObject)]
pub(crate) enum Shown<'py> {
    /// Numbers.
    Numbers(Bound<'py, PyArray1<f64>>),
    /// The text of every row; none where it is missing.
    Text(Vec<Option<Bound<'py, PyString>>>),
}

/// A data set with a name: its columns, the one to predict and the sensitive ones.
type Named<'py> = (Vec<(String, Shown<'py>)>, String, Vec<String>);

/// The usable rows of a data set that has a name.
#[pyfunction]
pub(crate) fn dataset<'py>(py: Python<'py>, name: &str) -> PyResult<Named<'py>> {
    let data = safely(py, raised, || {
        let source = Source::parse(name, None).map_err(steffle_front::Error::from)?;
        let recipe = source.recipe_for(&[]).unwrap_or_default();
        Ok(Dataset::of_table(source.read(&recipe)?, recipe)?)
    })?;
    let open = |(name, column): (&String, &Column)| (name.clone(), shown(py, column, data.rows()));
    let mut columns: Vec<_> =
        data.table().names().iter().zip(data.table().columns()).map(open).collect();
    // Published people, for whoever wants to try something on them.
    for (name, place, column) in data.kept_columns() {
        let own = shown(py, &column, data.rows());
        columns.insert(place.min(columns.len()), (name, own));
    }
    let recipe = data.recipe();
    Ok((columns, recipe.label.clone(), recipe.sensitive.clone()))
}

fn shown<'py>(py: Python<'py>, column: &Column, rows: &[u32]) -> Shown<'py> {
    match column.here() {
        Here::Numbers(numbers) => {
            let own: Vec<f64> = rows.iter().map(|&row| numbers[row as usize]).collect();
            Shown::Numbers(own.to_pyarray(py))
        }
        Here::Text(text) => {
            // A level is one text of Python's, however many rows have it.
            let levels: Vec<_> = text.levels.iter().map(|level| PyString::new(py, level)).collect();
            let level = |&row: &u32| levels.get(text.codes[row as usize] as usize).cloned();
            Shown::Text(rows.iter().map(level).collect())
        }
    }
}

/// Writes columns to a file whose name says in which format.
#[pyfunction]
pub(crate) fn write_table(py: Python<'_>, path: PathBuf, given: Bound<'_, PyAny>) -> PyResult<()> {
    let columns = columns(&given)?;
    safely(py, raised, || {
        let table = Table::new("the table", columns)?;
        let named = table.names().iter().map(String::as_str).zip(table.columns());
        let rows: Vec<u32> = (0..table.rows() as u32).collect();
        Ok(steffle_data::write(&path, &named.collect::<Vec<_>>(), &rows)?)
    })
}
