//! What each class adds to the theta messages, from the question.

use crate::model::kernel;
use crate::protocol::{Form, Question};

/// Per theta message, a table of the combinations that are pulled back, one row per slot.
///
/// A slot is a cell and a class; each cell has one more for a missing class, and one last slot
/// is for records that contribute nothing.
#[derive(Debug, Clone)]
pub struct Combinations {
    columns: usize,
    classes: usize,
    cells: usize,
    /// `[message][slot][column]`.
    messages: Vec<Vec<f64>>,
    limit: Option<f64>,
}

impl Combinations {
    /// From a question whose shape was checked.
    ///
    /// Centred: a message per cell with `C_r - mean C`, 0 for a missing class. Clipped: one
    /// message with `2 C_r - q`, and the mean of these for a missing class, which counts `1/k`
    /// in every class.
    pub fn new(question: &Question, classes: usize, columns: usize) -> Self {
        let cells = question.cells.len();
        let (messages, limit) = match question.form {
            Form::Centred => (cells, None),
            Form::Clipped { limit } => (cells.min(1), Some(limit)),
        };
        let slots = cells * (classes + 1) + 1;
        let mut tables = vec![kernel::zeros(slots * columns); messages];
        for (at, cell) in question.cells.iter().enumerate() {
            let table = &mut tables[at.min(messages - 1)][at * (classes + 1) * columns..];
            let mean = mean_row(&cell.combinations, classes, columns);
            let rows = cell.combinations.chunks_exact(columns).chain([&mean[..]]);
            for (slot, row) in table.chunks_exact_mut(columns).zip(rows) {
                for (u, (slot, c)) in slot.iter_mut().zip(row).enumerate() {
                    *slot = match question.form {
                        Form::Centred => c - mean[u],
                        Form::Clipped { .. } => 2.0 * c - cell.quadratic[u],
                    };
                }
            }
        }
        Self { columns, classes, cells, messages: tables, limit }
    }

    /// The slot of a class in a cell; any class that is not one of the k counts as missing, and
    /// any cell that is not one of the question's has no slot. Without a branch.
    #[inline]
    pub fn slot(&self, cell: u16, class: u16) -> u32 {
        let classes = self.classes as u32;
        let slot = u32::from(cell) * (classes + 1) + u32::from(class).min(classes);
        slot.min(self.no_slot())
    }

    /// [`slot`](Self::slot) of every record.
    pub fn slots(&self, cells: &[u16], classes: &[u16], slots: &mut Vec<u32>) {
        kernel::fill_slots(cells, classes, self.classes as u32 + 1, self.no_slot(), slots);
    }

    /// The slot of a record that contributes nothing.
    pub fn no_slot(&self) -> u32 {
        (self.cells * (self.classes + 1)) as u32
    }

    /// How many columns a combination has.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The table of a message, `[slot][column]`.
    pub fn message(&self, message: usize) -> &[f64] {
        &self.messages[message]
    }

    /// The per-record clipping limit, in the clipped form.
    pub fn limit(&self) -> Option<f64> {
        self.limit
    }

    /// Whether every combination is zero, so that there is no theta message at all.
    pub fn silent(&self) -> bool {
        self.messages.iter().flatten().all(|&value| value == 0.0)
    }

    /// Turns sums by slot into `k` times centred class tables, `k M_r - sum_r M_r`: a missing class
    /// adds nothing.
    pub fn fold_tables(&self, sums: &[f64], tables: &mut [Vec<f64>]) {
        let rows = self.classes * self.columns;
        let classes = self.classes as f64;
        for (cell, table) in sums.chunks(rows + self.columns).zip(tables) {
            for u in 0..self.columns {
                let all: f64 = cell[..rows].iter().skip(u).step_by(self.columns).sum();
                let column = table.iter_mut().zip(&cell[..rows]).skip(u).step_by(self.columns);
                column.for_each(|(sum, own)| *sum += classes * own - all);
            }
        }
    }
}

/// `mean_r C_r`.
fn mean_row(rows: &[f64], classes: usize, columns: usize) -> Vec<f64> {
    let column = |u: usize| rows.iter().skip(u).step_by(columns).sum::<f64>() / classes as f64;
    (0..columns).map(column).collect()
}
