//! Columns that so few records have that a pooled Gram matrix could show them.

use steffle_model::linear::Features;

use super::OneShotError;

/// Fewest records that a feature must have before its row of a Gram matrix may leave a silo.
pub(super) const FEWEST: usize = 5;

/// The first feature that fewer than `FEWEST` records of the silo have, if one does: its row of
/// the Gram matrix could be copied from a record. A feature that nobody has shows nobody.
pub(crate) fn rare_column(features: &Features<'_>) -> Option<OneShotError> {
    let (rows, width) = (features.rows(), features.width());
    let mut counts = vec![vec![0_usize; width + 1]; features.cells()];
    for (cell, counts) in counts.iter_mut().enumerate() {
        for &record in features.members(cell) {
            let numbers = rows.numeric(record as usize);
            for (count, &x) in counts.iter_mut().zip(numbers) {
                *count += usize::from(x != 0.0);
            }
            rows.codes(record as usize).iter().for_each(|&code| counts[code as usize] += 1);
        }
    }
    let total = |column: usize| counts.iter().map(|counts| counts[column]).sum::<usize>();
    // Block 0 has all records, block c > 0 those of cell c.
    let of = |cell: usize, column: usize| {
        if cell == 0 { total(column) } else { counts[cell][column] }
    };
    (0..features.cells())
        .flat_map(|cell| (0..width - 1).map(move |column| (cell, column)))
        .map(|(cell, column)| (cell, column, of(cell, column)))
        .find(|&(_, _, entries)| (1..FEWEST).contains(&entries))
        .map(|(cell, column, entries)| OneShotError::RareColumn { column, cell, entries })
}
