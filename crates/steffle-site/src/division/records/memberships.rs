//! What every evaluation needs of memberships: class tables, in the shape of two classes and two
//! labels as arrays, in any other as slices, and combinations for their gradients.

use steffle_wire::ImputedCell;

use super::Imputed;

/// Cells that the array shape keeps side by side.
const FEW: usize = 8;

/// Adds `shat_ir phi_iu` of a chunk to the tables of its cells, and counts.
pub(super) fn add_to_tables(
    cells: &[u16],
    memberships: &[f64],
    scores: &[f64],
    (classes, columns): (usize, usize),
    sums: &mut [ImputedCell],
) {
    if classes == 2 && columns == 2 && sums.len() <= FEW {
        let mut tables = [[0.0; 5]; FEW + 1];
        let records = memberships.as_chunks::<2>().0.iter().zip(scores.as_chunks::<2>().0);
        for (&cell, ([a, b], [f, g])) in cells.iter().zip(records) {
            let table = &mut tables[usize::from(cell).min(FEW)];
            table[0] += a * f;
            table[1] += a * g;
            table[2] += b * f;
            table[3] += b * g;
            table[4] += 1.0;
        }
        for (ImputedCell { count, table, .. }, [own @ .., records]) in sums.iter_mut().zip(&tables)
        {
            *count += records;
            table.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
        return;
    }
    let records = memberships.chunks_exact(classes).zip(scores.chunks_exact(columns));
    for (&cell, (memberships, scores)) in cells.iter().zip(records) {
        let Some(ImputedCell { count, table, .. }) = sums.get_mut(usize::from(cell)) else {
            continue;
        };
        *count += 1.0;
        for (row, membership) in table.chunks_exact_mut(columns).zip(memberships) {
            row.iter_mut().zip(scores).for_each(|(sum, score)| *sum += membership * score);
        }
    }
}

/// Combinations that choose one column of one class: `shat_ir e_u` of the records `which`,
/// `[record][column]`.
pub(super) fn choose(
    imputed: &Imputed,
    which: &[u32],
    (class, column): (usize, usize),
    columns: usize,
    combinations: &mut Vec<f64>,
) {
    combinations.clear();
    combinations.resize(which.len() * columns, 0.0);
    let chosen = combinations.iter_mut().skip(column).step_by(columns);
    for (slot, &row) in chosen.zip(which) {
        *slot = imputed.of(row as usize)[class];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::division::NO_CELL;

    /// Two classes and two labels written as three of each, the third empty: the same sums.
    #[test]
    fn both_shapes_are_the_same_sums() {
        let cells = [0, 1, NO_CELL, 1, 0, 0];
        let memberships: Vec<f64> = (0..12).map(|i| f64::from(i) * 0.3 - 1.0).collect();
        let scores: Vec<f64> = (0..12).map(|i| 0.1 + f64::from(i) * 0.05).collect();
        let wide = |narrow: &[f64]| -> Vec<f64> {
            narrow.chunks(2).flat_map(|pair| [pair[0], pair[1], 0.0]).collect()
        };
        let table = |size: usize| ImputedCell { table: vec![0.0; size], ..ImputedCell::default() };
        let (mut two, mut three) = (vec![table(4); 2], vec![table(9); 2]);
        add_to_tables(&cells, &memberships, &scores, (2, 2), &mut two);
        add_to_tables(&cells, &wide(&memberships), &wide(&scores), (3, 3), &mut three);
        assert_eq!((two[0].count, two[1].count), (3.0, 2.0));
        for (two, three) in two.iter().zip(&three) {
            assert_eq!(two.count, three.count);
            for (r, u) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                assert!((two.table[2 * r + u] - three.table[3 * r + u]).abs() < 1e-15);
            }
        }
        let imputed = Imputed::new(2, memberships.clone()).unwrap();
        let mut combinations = vec![9.0; 3];
        choose(&imputed, &[4, 1], (1, 2), 3, &mut combinations);
        assert_eq!(combinations, [0.0, 0.0, memberships[9], 0.0, 0.0, memberships[3]]);
    }
}
