//! Columns that so few records have that a pooled Gram matrix could show them.

use steffle_model::linear::Features;
use steffle_wire::PooledSums;

use super::OneShotError;

/// Fewest records that a feature must have before its row of a Gram matrix may leave a silo.
pub(super) const FEWEST: usize = PooledSums::FEWEST;

/// The first feature that fewer than `FEWEST` records of the silo have, if one does: its row of
/// the Gram matrix could be copied from a record. A feature that nobody has shows nobody.
pub(crate) fn rare_column(features: &Features<'_>) -> Option<OneShotError> {
    let entries = features.entries();
    let column = entries.iter().position(|entries| (1..FEWEST).contains(entries))?;
    Some(OneShotError::RareColumn { column, entries: entries[column] })
}
