//! Training on columns that are in memory.

use std::collections::BTreeMap;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use steffle_data::{Dialect, Missing};
use steffle_front::{Cut, Error, Given as Settings, METHODS, Recipe, Table, Value, method};

use crate::columns::columns;
use crate::error::raised;
use crate::model::Model;
use crate::watch::watched;

/// The names of all methods.
#[pyfunction]
pub(crate) fn methods() -> Vec<&'static str> {
    METHODS.iter().map(|entry| entry.name).collect()
}

/// The keys of the settings that a method takes.
#[pyfunction]
pub(crate) fn settings_of(py: Python<'_>, name: &str) -> PyResult<Vec<&'static str>> {
    let entry = METHODS.iter().find(|entry| entry.name == name);
    let Some(entry) = entry else {
        let unknown = method(name, &Settings::default()).map(drop);
        return unknown.map(|()| Vec::new()).map_err(|error| raised(py, &error));
    };
    Ok(entry.settings.to_vec())
}

/// What the columns mean.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Meaning {
    label: String,
    labels: Vec<String>,
    favourable: Option<String>,
    sensitive: Vec<String>,
    classes: Vec<String>,
    unit: Option<String>,
    record_id: Option<String>,
    stratum: Option<String>,
    missing: String,
    smallest_stratum: Option<u32>,
}

/// Trains a model on all rows.
#[pyfunction]
#[pyo3(signature = (given, meaning, name, settings, silos, silo_of, seed, progress))]
#[expect(clippy::too_many_arguments)] // one call from one place
pub(crate) fn fit(
    py: Python<'_>,
    given: Bound<'_, PyAny>,
    meaning: Meaning,
    name: &str,
    settings: BTreeMap<String, Bound<'_, PyAny>>,
    silos: usize,
    silo_of: Option<PyReadonlyArray1<'_, u32>>,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Model> {
    let columns = columns(&given)?;
    let mut said = Settings::default();
    for (key, value) in &settings {
        said.set(key, setting(key, value)?);
    }
    let silo_of = silo_of.map(|silo_of| silo_of.as_array().to_vec());
    let name = name.to_owned();
    let fitted = watched(py, progress.as_ref(), move |watch| -> Result<_, Error> {
        let parted = Table::from_columns("the table", columns)?.with(meaning.recipe())?.whole(seed);
        let study = match silo_of {
            Some(silo_of) => parted.silos_as(&silo_of)?,
            None => parted.silos(Cut::from(silos))?,
        };
        drop(parted);
        method(&name, &said)?.plan(&study)?.train(watch)
    })?;
    Ok(Model::new(fitted))
}

impl Meaning {
    fn recipe(&self) -> Recipe {
        let missing = match self.missing.as_str() {
            "drop" => Missing::Drop,
            "category" => Missing::Category,
            _ => Missing::Impute,
        };
        Recipe {
            label: self.label.clone(),
            labels: self.labels.clone(),
            favourable: self.favourable.clone(),
            sensitive: self.sensitive.clone(),
            classes: self.classes.clone(),
            unit: self.unit.clone(),
            record_id: self.record_id.clone(),
            stratum: self.stratum.clone(),
            smallest_stratum: self.smallest_stratum,
            missing,
            // Levels are what the table has: nothing is pooled or left out behind its back.
            rare: Some(0),
            // Text is what it is: only what is empty is missing, not `?` or `NA`.
            dialect: Dialect { missing_markers: vec![String::new()], ..Dialect::default() },
            ..Recipe::default()
        }
    }
}

fn setting(key: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Value::Flag(flag.is_true()));
    }
    if let Ok(whole) = value.cast::<PyInt>() {
        return Ok(match whole.extract::<u64>() {
            Ok(whole) => Value::Whole(whole),
            Err(_) => Value::Number(whole.extract()?),
        });
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Value::Number(number.extract()?));
    }
    if let Ok(word) = value.cast::<PyString>() {
        return Ok(Value::Word(word.extract()?));
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "{key} is a {kind}; allowed are numbers, words, True and False"
    )))
}
