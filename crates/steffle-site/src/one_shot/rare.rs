//! Columns that so few records have that a pooled Gram matrix could show them.

use steffle_model::linear::Features;

use super::OneShotError;

/// Fewest records that a feature must have before its row of a Gram matrix may leave a silo.
pub(super) const FEWEST: usize = 5;

/// The first feature that fewer than `FEWEST` records of the silo have, if one does: its row of
/// the Gram matrix could be copied from a record. A feature that nobody has shows nobody.
pub(crate) fn rare_column(features: &Features<'_>) -> Option<OneShotError> {
    let (rows, size) = (features.rows(), features.size());
    let mut counts = vec![0_usize; size + 1];
    for &record in features.members() {
        let numbers = rows.numeric(record as usize);
        for (count, &x) in counts.iter_mut().zip(numbers) {
            *count += usize::from(x != 0.0);
        }
        rows.codes(record as usize).iter().for_each(|&code| counts[code as usize] += 1);
    }
    let rare = counts[..size - 1].iter().position(|entries| (1..FEWEST).contains(entries))?;
    Some(OneShotError::RareColumn { column: rare, entries: counts[rare] })
}
