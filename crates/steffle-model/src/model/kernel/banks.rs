//! Sums of score vectors by slot: which cell, or which cell and class, a record belongs to.

use super::vectorised;

vectorised! {
    /// Adds the `columns` values of every record to its slot's row of `table`.
    ///
    /// An addition to a row that was just written waits for the write, and neighbouring records
    /// mostly hit the same few rows. Small tables of two columns, the usual case, are therefore kept
    /// in eight copies that are used in turn.
    pub add_by_slot(slots: &[u32], values: &[f64], columns: usize, table: &mut [f64]) {
        let first = slots.first().copied().unwrap_or(0);
        // Counted, several at a time; a search would stop early and look at each.
        let others: u32 = slots.iter().map(|&slot| u32::from(slot != first)).sum();
        if columns == 2 && others == 0 && !slots.is_empty() {
            return add_to_one(values, &mut table[2 * first as usize..][..2]);
        }
        match table.len() / columns {
            ..=4 if columns == 2 => add_in_turn::<4>(slots, values, table),
            ..=16 if columns == 2 => add_in_turn::<16>(slots, values, table),
            _ => {
                for (&slot, values) in slots.iter().zip(values.chunks_exact(columns)) {
                    let row = &mut table[slot as usize * columns..][..columns];
                    row.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                }
            }
        }
    }
}

/// For a table of at most `SIZE` rows of two.
#[inline(always)]
fn add_in_turn<const SIZE: usize>(slots: &[u32], values: &[f64], table: &mut [f64]) {
    let mut copies = [[[0.0; 2]; SIZE]; 8];
    let mut add = |copy: usize, slot: u32, values: &[f64]| {
        let row = &mut copies[copy][slot as usize % SIZE];
        row[0] += values[0];
        row[1] += values[1];
    };
    let (eights, rest) = slots.as_chunks::<8>();
    let (value_eights, value_rest) = values.as_chunks::<16>();
    for (slots, values) in eights.iter().zip(value_eights) {
        for copy in 0..8 {
            add(copy, slots[copy], &values[2 * copy..2 * copy + 2]);
        }
    }
    for (copy, (&slot, values)) in rest.iter().zip(value_rest.chunks_exact(2)).enumerate() {
        add(copy, slot, values);
    }
    for (slot, row) in table.chunks_exact_mut(2).enumerate() {
        for (column, sum) in row.iter_mut().enumerate() {
            *sum += copies.iter().map(|copy| copy[slot][column]).sum::<f64>();
        }
    }
}

/// All records to one row: four chains of additions that do not wait for each other, as above.
#[inline(always)]
fn add_to_one(values: &[f64], row: &mut [f64]) {
    let (fours, rest) = values.as_chunks::<8>();
    let mut chains = [0.0; 8];
    for four in fours {
        chains.iter_mut().zip(four).for_each(|(chain, value)| *chain += value);
    }
    for pair in rest.as_chunks::<2>().0 {
        chains.iter_mut().zip(pair).for_each(|(chain, value)| *chain += value);
    }
    let [a, b, c, d, e, f, g, h] = chains;
    row[0] += (a + c) + (e + g);
    row[1] += (b + d) + (f + h);
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
