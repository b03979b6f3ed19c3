//! SteFFLe for Python: columns in, models out. Everything is computed by `steffle-front`; the package
//! `steffle` beside it turns tables into columns, and settings into keyword arguments.
// Python hands over what a function is called with.
#![allow(clippy::needless_pass_by_value)]

mod columns;
mod command;
mod error;
mod fit;
mod lent;
mod metrics;
mod model;
mod privacy;
mod watch;
mod words;

use pyo3::prelude::*;

/// What the package `steffle` is made of.
#[pymodule]
mod _steffle {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::columns::{dataset, write_table};
    #[pymodule_export]
    use crate::command::{answer, command};
    #[pymodule_export]
    use crate::error::SteffleError;
    #[pymodule_export]
    use crate::fit::{fit, methods, settings_of};
    #[pymodule_export]
    use crate::metrics::report;
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::privacy::epsilon_of;
    #[pymodule_export]
    use crate::words::{coded, coded_cells};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
