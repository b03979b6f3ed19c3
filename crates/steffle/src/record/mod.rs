//! What a silo holds: encoded rows and labels on one side, sensitive classes on the other.

mod records;
mod rows;

pub use crate::division::attributes::{Attributes, AttributesError, MISSING_CLASS, Sensitive};
pub use records::{Records, RecordsError};
pub use rows::{GRID, Layout, Rows, RowsError};
