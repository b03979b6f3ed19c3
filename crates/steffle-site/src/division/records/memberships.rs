//! The two sums over memberships that every evaluation needs, in the shape of two classes and two
//! labels as arrays, in any other as slices.

use steffle_wire::{CellQuestion, ImputedCell};

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
        for (ImputedCell { count, table }, [own @ .., records]) in sums.iter_mut().zip(&tables) {
            *count += records;
            table.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
        return;
    }
    let records = memberships.chunks_exact(classes).zip(scores.chunks_exact(columns));
    for (&cell, (memberships, scores)) in cells.iter().zip(records) {
        let Some(ImputedCell { count, table }) = sums.get_mut(usize::from(cell)) else { continue };
        *count += 1.0;
        for (row, membership) in table.chunks_exact_mut(columns).zip(memberships) {
            row.iter_mut().zip(scores).for_each(|(sum, score)| *sum += membership * score);
        }
    }
}

/// `2 sum_r shat_ir C_r - q` of every record of a chunk, `[record][column]`; 0 in no cell.
pub(super) fn combine(
    cells: &[u16],
    memberships: &[f64],
    questions: &[CellQuestion],
    (classes, columns): (usize, usize),
    combinations: &mut Vec<f64>,
) {
    combinations.clear();
    combinations.resize(cells.len() * columns, 0.0);
    if classes == 2 && columns == 2 && questions.len() <= FEW {
        let mut tables = [[0.0; 6]; FEW + 1];
        for (table, CellQuestion { combinations: c, quadratic: q }) in
            tables.iter_mut().zip(questions)
        {
            *table = [2.0 * c[0], 2.0 * c[1], 2.0 * c[2], 2.0 * c[3], q[0], q[1]];
        }
        let records = combinations.as_chunks_mut::<2>().0.iter_mut();
        let records = records.zip(memberships.as_chunks::<2>().0);
        for (&cell, (own, [a, b])) in cells.iter().zip(records) {
            let [c, d, e, f, q, r] = tables[usize::from(cell).min(FEW)];
            *own = [a * c + b * e - q, a * d + b * f - r];
        }
        return;
    }
    let records = combinations.chunks_exact_mut(columns).zip(memberships.chunks_exact(classes));
    for (&cell, (own, memberships)) in cells.iter().zip(records) {
        let Some(question) = questions.get(usize::from(cell)) else { continue };
        let CellQuestion { combinations: rows, quadratic } = question;
        for (row, membership) in rows.chunks_exact(columns).zip(memberships) {
            own.iter_mut().zip(row).for_each(|(own, c)| *own += 2.0 * membership * c);
        }
        own.iter_mut().zip(quadratic).for_each(|(own, q)| *own -= q);
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
        let table = |size: usize| ImputedCell { count: 0.0, table: vec![0.0; size] };
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
        let question = |at: f64| CellQuestion {
            combinations: vec![at, 0.2, 0.7, -at],
            quadratic: vec![0.4, at * at],
        };
        let narrow = [question(0.5), question(1.5)];
        let broad = narrow.clone().map(|CellQuestion { combinations, quadratic }| {
            let mut rows = wide(&combinations);
            rows.extend([0.0; 3]);
            CellQuestion { combinations: rows, quadratic: wide(&quadratic) }
        });
        let (mut two, mut three) = (Vec::new(), Vec::new());
        combine(&cells, &memberships, &narrow, (2, 2), &mut two);
        combine(&cells, &wide(&memberships), &broad, (3, 3), &mut three);
        for (a, b) in wide(&two).iter().zip(&three) {
            assert!((a - b).abs() < 1e-15, "{two:?} {three:?}");
        }
        assert_eq!(two[4..6], [0.0, 0.0], "the record in no cell");
    }
}
