//! Why a division refuses, as it travels.

use steffle_wire::Refused;

use crate::division::SiloError;
use crate::division::records::RecordsDivisionError;
use crate::one_shot::OneShotError;

/// The code of a column that too few records have for pooling; its numbers are the column and
/// the records that have it.
pub const RARE_COLUMN: &str = "steffle::one_shot::rare_column";

impl From<RecordsDivisionError> for Refused {
    fn from(error: RecordsDivisionError) -> Self {
        Self::new("steffle::node::records", error)
    }
}

impl From<SiloError> for Refused {
    fn from(error: SiloError) -> Self {
        match error {
            SiloError::Records(error) => error.into(),
            SiloError::Attributes(error) => error.into(),
            SiloError::OneShot(error) => error.into(),
        }
    }
}

impl From<OneShotError> for Refused {
    fn from(error: OneShotError) -> Self {
        if let OneShotError::RareColumn { column, entries } = error {
            let numbers = vec![column as f64, entries as f64];
            return Self { numbers, ..Self::new(RARE_COLUMN, error) };
        }
        Self::new("steffle::one_shot::release", error)
    }
}
