//! What a silo holds: encoded rows and labels on one side, sensitive classes on the other.

pub use crate::division::attributes::{Attributes, AttributesError, Sensitive};
pub use steffle_model::record::{
    GRID, Layout, MISSING_CLASS, Records, RecordsError, Rows, RowsError,
};
