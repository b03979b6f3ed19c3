//! Columns as Python hands them over: arrays of numbers, or codes with the text that they stand for.

use std::path::PathBuf;

use numpy::{PyArray1, PyReadonlyArray1, ToPyArray};
use pyo3::prelude::*;
use steffle_data::{Categories, Column, Dataset, Source, Table};

use crate::error::{raised, safely};

/// A column.
#[derive(FromPyObject)]
pub(crate) enum Given<'py> {
    /// Numbers; NaN is a missing one.
    Numbers(PyReadonlyArray1<'py, f64>),
    /// Codes and levels; a code beyond the levels is a missing value.
    Text(PyReadonlyArray1<'py, u32>, Vec<String>),
}

impl Given<'_> {
    pub(crate) fn column(&self) -> Column {
        match self {
            Self::Numbers(numbers) => Column::Numbers(numbers.as_array().to_vec()),
            Self::Text(codes, levels) => Column::Text(Categories {
                codes: codes.as_array().to_vec(),
                levels: levels.clone(),
            }),
        }
    }
}

/// Columns with their names, from whatever hands them out one by one: each is copied and let go before
/// the next one is made.
pub(crate) fn columns(given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Column)>> {
    let one = |item: PyResult<Bound<'_, PyAny>>| -> PyResult<(String, Column)> {
        let item = item?;
        let (name, given): (String, Given<'_>) = item.extract()?;
        Ok((name, given.column()))
    };
    given.try_iter()?.map(one).collect()
}

/// A column on its way back.
#[derive(IntoPyObject)]
pub(crate) enum Shown<'py> {
    /// Numbers.
    Numbers(Bound<'py, PyArray1<f64>>),
    /// The text of every row; none where it is missing.
    Text(Vec<Option<String>>),
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
    let table = data.table();
    let shown = table
        .names()
        .iter()
        .zip(table.columns())
        .map(|(name, column)| (name.clone(), shown(py, column, data.rows())));
    let recipe = data.recipe();
    Ok((shown.collect(), recipe.label.clone(), recipe.sensitive.clone()))
}

fn shown<'py>(py: Python<'py>, column: &Column, rows: &[u32]) -> Shown<'py> {
    match column {
        Column::Numbers(numbers) => {
            let own: Vec<f64> = rows.iter().map(|&row| numbers[row as usize]).collect();
            Shown::Numbers(own.to_pyarray(py))
        }
        Column::Text(text) => {
            let own = rows.iter().map(|&row| text.level(row as usize).map(str::to_owned));
            Shown::Text(own.collect())
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
