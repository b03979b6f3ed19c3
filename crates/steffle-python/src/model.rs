//! A trained model.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use steffle_front::Error;

use crate::columns::columns;
use crate::error::{raised, safely};
use crate::watch::watched;

/// A trained model.
#[pyclass(frozen, module = "steffle._steffle")]
pub(crate) struct Model(Arc<steffle_front::Model>);

impl Model {
    /// What the library found.
    pub(crate) fn new(found: steffle_front::Model) -> Self {
        Self(Arc::new(found))
    }
}

#[pymethods]
impl Model {
    /// The model of a directory that was saved here or by the command line.
    #[staticmethod]
    fn load(py: Python<'_>, directory: PathBuf) -> PyResult<Self> {
        let model = safely(py, raised, || steffle_front::Model::load(&directory))?;
        Ok(Self::new(model))
    }

    /// The model of files by their names.
    #[staticmethod]
    fn of_files(py: Python<'_>, files: BTreeMap<String, Vec<u8>>) -> PyResult<Self> {
        let file = |name: &str| -> Result<Vec<u8>, Error> {
            Ok(files.get(name).cloned().unwrap_or_default())
        };
        let model = safely(py, raised, || steffle_front::Model::of_files("pickled model", file))?;
        Ok(Self::new(model))
    }

    /// Writes it into a directory that must not exist.
    fn save(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        safely(py, raised, || self.0.save(&directory))
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
        given: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let columns = columns(&given)?;
        let labels = self.0.schema().labels().len();
        let model = Arc::clone(&self.0);
        let (probabilities, _) = watched(py, None, move |_| model.predict_columns(columns))?;
        let rows = probabilities.len() / labels;
        probabilities.into_pyarray(py).reshape([rows, labels])
    }

    /// Names of the labels, in the order of the probabilities.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.0.schema().labels().to_vec()
    }

    /// The model as an ONNX file.
    fn onnx<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_onnx())
    }

    /// Names of the feature columns: those of numbers, and those of names.
    #[getter]
    fn columns(&self) -> (Vec<String>, Vec<String>) {
        let schema = self.0.schema();
        let numbers: Vec<String> = schema.numeric().iter().map(|own| own.name.clone()).collect();
        let names = schema.categorical().iter().map(|own| own.name.clone());
        let names = names.filter(|name| !numbers.contains(name)).collect();
        (numbers, names)
    }

    /// The label that people want to get.
    #[getter]
    fn favourable(&self) -> String {
        let schema = self.0.schema();
        schema.labels()[usize::from(schema.favourable())].clone()
    }

    /// Theta.
    #[getter]
    fn theta<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.theta().to_pyarray(py)
    }

    /// Names of the encoded features: numbers, then `column=level`.
    #[getter]
    fn features(&self) -> Vec<String> {
        self.0.schema().feature_names()
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
