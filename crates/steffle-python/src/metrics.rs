//! Group metrics of decisions, with intervals.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use steffle_model::fairness::Notion;
use steffle_model::metrics::{Bootstrap, Evidence, Names, Report};

use crate::watch::watched;

/// All metrics of decisions, as JSON: labels, decisions and groups are numbers from 0.
#[pyfunction]
#[expect(clippy::too_many_arguments)] // one call from one place
pub(crate) fn report(
    py: Python<'_>,
    labels: PyReadonlyArray1<'_, u16>,
    decisions: PyReadonlyArray1<'_, u16>,
    groups: PyReadonlyArray1<'_, u16>,
    label_names: Vec<String>,
    group_names: Vec<String>,
    favourable: u16,
    resamples: usize,
    seed: u64,
) -> PyResult<String> {
    let [labels, decisions, groups] =
        [labels, decisions, groups].map(|array| array.as_array().to_vec());
    let count = label_names.len();
    let names = Names { labels: label_names, groups: group_names, favourable };
    watched(py, None, move |_| {
        let mut sure = vec![0.0; decisions.len() * count];
        for (row, &decision) in decisions.iter().enumerate() {
            if let Some(own) = sure[row * count..][..count].get_mut(usize::from(decision)) {
                *own = 1.0;
            }
        }
        Ok(measured(&names, &labels, &groups, &sure, resamples, seed))
    })?
    .map_err(PyValueError::new_err)
}

fn measured(
    names: &Names,
    labels: &[u16],
    groups: &[u16],
    sure: &[f64],
    resamples: usize,
    seed: u64,
) -> Result<String, String> {
    let evidence = Evidence::new(names, labels, groups, sure).map_err(|error| error.to_string())?;
    let notion = Notion::DemographicParity;
    let report = if resamples == 0 {
        Report::new(&evidence, notion)
    } else {
        Report::with_intervals(&evidence, notion, Bootstrap { seed, resamples })
    };
    serde_json::to_string(&report).map_err(|error| error.to_string())
}
