//! The penalty's slopes at a table that moves while a model is trained.
//!
//! With memberships `shat_ir` in place of `s`, the penalty's gradient is `J'(2 sum_r shat_ir C_r - q)`
//! with C and q of the table. Where many steps are taken between two tables, C and q of the first
//! would pull on although fairness was reached long ago, and past it. So the table follows: what the
//! steps have changed is estimated from the batches they see.

use super::{ClassWeights, closed_form};

/// A cell's class table, `[class][column]`, and how far it has moved since it was known.
///
/// Its slopes are the penalty's where it is now.
#[derive(Debug, Clone)]
pub struct MovingTable {
    columns: usize,
    count: f64,
    known: Vec<f64>,
    /// Per record of the cell.
    moved: Vec<f64>,
    weights: ClassWeights,
}

impl MovingTable {
    /// A table of so many columns, of `count` records; class weights are at least `floor`.
    pub fn new(known: Vec<f64>, columns: usize, count: f64, floor: f64) -> Self {
        // The scores of a record sum to 1, so the rows sum to the class counts, wherever they move.
        let counts: Vec<f64> = known.chunks_exact(columns).map(|row| row.iter().sum()).collect();
        let weights = ClassWeights::from_counts(&counts, floor);
        let moved = vec![0.0; known.len()];
        Self { columns, count, known, moved, weights }
    }

    /// Takes in what a batch has moved, per record, with a gain of at most 1.
    pub fn follow(&mut self, gain: f64, seen: &[f64]) {
        for (moved, seen) in self.moved.iter_mut().zip(seen) {
            *moved += gain * (seen - *moved);
        }
    }

    /// `2 C_ru - q_u`, `[class][column]`: what a record in class r pulls its scores with.
    pub fn slopes(&self) -> Vec<f64> {
        let moved = self.known.iter().zip(&self.moved);
        let table: Vec<f64> = moved.map(|(known, moved)| known + self.count * moved).collect();
        let sum = |u: usize| table.iter().skip(u).step_by(self.columns).sum();
        let columns: Vec<f64> = (0..self.columns).map(sum).collect();
        let dual = closed_form(&table, &columns, self.count, &self.weights);
        let quadratic = dual.quadratic();
        let combinations = dual.combinations(&self.weights);
        let rows = combinations.chunks_exact(self.columns);
        rows.flat_map(|row| row.iter().zip(&quadratic).map(|(c, q)| 2.0 * c - q)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fairness::divergence;

    /// Moving a record's score in class r from column 0 to column u changes the divergence by the
    /// difference of the slopes, over the count: at the table that was known, and where it went.
    #[test]
    fn slopes_are_those_of_the_divergence_where_the_table_is() {
        let (known, moved) =
            ([30.0, 12.0, 8.0, 20.0, 20.0, 10.0], [0.05, -0.05, 0.0, 0.0, 0.05, -0.05]);
        let mut table = MovingTable::new(known.to_vec(), 3, 100.0, 0.0);
        for _ in 0..2 {
            let now: Vec<f64> = known
                .iter()
                .zip(&table.moved)
                .map(|(known, moved)| known + 100.0 * moved)
                .collect();
            let slopes = table.slopes();
            for (class, column) in [(0, 1), (0, 2), (1, 1), (1, 2)] {
                let value = |by: f64| {
                    let mut now = now.clone();
                    now[3 * class] -= by;
                    now[3 * class + column] += by;
                    divergence(&now, 3)
                };
                let found = slopes[3 * class + column] - slopes[3 * class];
                // Central differences of a smooth function: their error is of the order 1e-8.
                let exact = (value(1e-3) - value(-1e-3)) / 2e-3 * 100.0;
                assert!((found - exact).abs() < 1e-6, "{class} {column} {found} {exact}");
            }
            table.follow(1.0, &moved);
        }
    }
}
