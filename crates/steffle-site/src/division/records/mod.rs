//! The records division: features and labels, never `s`.

mod agreed;
mod batches;
mod division;
mod evaluate;
mod fit;
mod imputed;
mod measure;
mod memberships;
mod protection;
mod walk;
mod workspace;

pub use batches::Batches;
pub(super) use division::MergeOther;
pub use division::{RecordsDivision, RecordsDivisionError};
pub use imputed::Imputed;
pub use steffle_wire::RowCap;
