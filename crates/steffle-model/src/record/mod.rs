//! What a records division holds: encoded rows, labels and strata. Sensitive classes are elsewhere.

mod ids;
mod records;
mod rows;

pub use ids::Ids;
pub use records::{Records, RecordsError};
pub(crate) use rows::CodeWidth;
pub use rows::{GRID, Layout, Rows, RowsError};

/// The class of a record whose sensitive attribute is missing.
pub const MISSING_CLASS: u16 = u16::MAX;
