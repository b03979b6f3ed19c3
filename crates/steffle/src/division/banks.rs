//! Sums of score vectors by slot: which cell, or which cell and class, a record belongs to.

/// Slots that fit the copies below.
const SMALL: usize = 16;

/// Adds the `columns` values of every record to its slot's row of `table`.
///
/// An addition to a row that was just written waits for the write, and neighbouring records
/// mostly hit the same few rows. Small tables of two columns, the usual case, are therefore kept
/// in four copies that are used in turn.
pub(super) fn add_by_slot(slots: &[u32], values: &[f64], columns: usize, table: &mut [f64]) {
    if columns != 2 || table.len() > 2 * SMALL {
        for (&slot, values) in slots.iter().zip(values.chunks_exact(columns)) {
            let row = &mut table[slot as usize * columns..][..columns];
            row.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        return;
    }
    let mut copies = [[[0.0; 2]; SMALL]; 4];
    let mut add = |copy: usize, slot: u32, values: &[f64]| {
        let row = &mut copies[copy][slot as usize % SMALL];
        row[0] += values[0];
        row[1] += values[1];
    };
    let (fours, rest) = slots.as_chunks::<4>();
    let (value_fours, value_rest) = values.as_chunks::<8>();
    for (slots, values) in fours.iter().zip(value_fours) {
        for copy in 0..4 {
            add(copy, slots[copy], &values[2 * copy..2 * copy + 2]);
        }
    }
    for (&slot, values) in rest.iter().zip(value_rest.chunks_exact(2)) {
        add(0, slot, values);
    }
    let [a, b, c, d] = &copies;
    for (slot, row) in table.chunks_exact_mut(2).enumerate() {
        for (column, sum) in row.iter_mut().enumerate() {
            *sum += (a[slot][column] + b[slot][column]) + (c[slot][column] + d[slot][column]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_the_same_sum() {
        for (columns, rows) in [(1, 3), (2, 3), (2, 16), (2, 17), (3, 4)] {
            for count in [0, 1, 4, 11] {
                let slots: Vec<u32> = (0..count).map(|i| (i * i) % rows).collect();
                let values: Vec<f64> =
                    (0..count * columns).map(|i| f64::from(i) * 0.5 - 1.0).collect();
                let columns = columns as usize;
                let mut table = vec![1.0; rows as usize * columns];
                add_by_slot(&slots, &values, columns, &mut table);
                let mut expected = vec![1.0; table.len()];
                for (record, &slot) in slots.iter().enumerate() {
                    for u in 0..columns {
                        expected[slot as usize * columns + u] += values[record * columns + u];
                    }
                }
                assert_eq!(table, expected, "{columns} {rows} {count}");
            }
        }
    }
}
