//! A trained model.

use std::collections::BTreeMap;
use std::path::PathBuf;

use numpy::{PyArray1, PyArray2, PyArrayMethods, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use steffle_front::Error;

use crate::columns::{Given, columns};
use crate::error::{raised, safely};

/// A trained model.
#[pyclass(frozen, module = "steffle._steffle")]
pub(crate) struct Model(pub(crate) steffle_front::Model);

#[pymethods]
impl Model {
    /// The model of a directory that was saved here or by the command line.
    #[staticmethod]
    fn load(py: Python<'_>, directory: PathBuf) -> PyResult<Self> {
        safely(py, || steffle_front::Model::load(&directory)).map(Self)
    }

    /// The model of files by their names.
    #[staticmethod]
    fn of_files(py: Python<'_>, files: BTreeMap<String, Vec<u8>>) -> PyResult<Self> {
        let file = |name: &str| -> Result<Vec<u8>, Error> {
            Ok(files.get(name).cloned().unwrap_or_default())
        };
        safely(py, || steffle_front::Model::of_files("pickled model", file)).map(Self)
    }

    /// Writes it into a directory that must not exist.
    fn save(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        safely(py, || self.0.save(&directory))
    }

    /// Its files by their names.
    fn files<'py>(&self, py: Python<'py>) -> PyResult<BTreeMap<&'static str, Bound<'py, PyBytes>>> {
        let files = self.0.files(&self.0.facts()).map_err(|error| raised(py, &error))?;
        Ok(files.into_iter().map(|(name, bytes)| (name, PyBytes::new(py, &bytes))).collect())
    }

    /// The probability of every label for every row, and a sentence per kind of cell that training
    /// never saw.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        given: Vec<(String, Given<'py>)>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let columns = columns(&given);
        let labels = self.0.schema().labels().len();
        let (probabilities, _) = safely(py, || self.0.predict_columns(columns))?;
        probabilities.to_pyarray(py).reshape([probabilities.len() / labels, labels])
    }

    /// Names of the labels, in the order of the probabilities.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.0.schema().labels().to_vec()
    }

    /// Theta.
    #[getter]
    fn theta<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.theta().to_pyarray(py)
    }

    /// Names of the encoded features: numbers, then `column=level`.
    #[getter]
    fn features(&self) -> Vec<String> {
        let schema = self.0.schema();
        let numeric = schema.numeric().iter().map(|column| column.name.clone());
        let levels = schema.categorical().iter().flat_map(|column| {
            column.levels.iter().map(|level| format!("{}={level}", column.name))
        });
        numeric.chain(levels).collect()
    }

    /// Whether the model has one layer.
    #[getter]
    fn linear(&self) -> bool {
        let features = self.0.schema().layout().features + 1;
        let outputs = self.0.theta().len() / features;
        let labels = self.0.schema().labels().len();
        outputs * features == self.0.theta().len()
            && (outputs == labels || (outputs == 1 && labels == 2))
    }

    /// What is known about it, as JSON: method, privacy, what left in the clear, warnings.
    #[getter]
    fn facts(&self) -> String {
        self.0.facts().to_string()
    }

    /// Requests of the server to the nodes and their replies, where that is known.
    #[getter]
    fn trips(&self) -> Option<u64> {
        self.0.trips()
    }
}
