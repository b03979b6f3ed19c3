//! What each class adds to the paper's clipped theta message, from the question.

use steffle_model::model::kernel;
use steffle_wire::Question;

/// A table of the combinations that are pulled back, one row per slot.
///
/// A slot is a cell and a class; each cell has one more for a missing class, and one last slot
/// is for records that contribute nothing. Nothing is claimed about clipped messages, so that a
/// class may be an address here, and only here.
#[derive(Debug, Clone)]
pub(super) struct Combinations {
    columns: usize,
    classes: usize,
    cells: usize,
    /// `[slot][column]`.
    table: Vec<f64>,
    limit: f64,
}

impl Combinations {
    /// From a question whose shape was checked: `2 C_r - q`, and the mean of these for a missing
    /// class, which counts `1/k` in every class.
    /// The table is made in `room`.
    pub(super) fn new(question: &Question, classes: usize, limit: f64, room: Vec<f64>) -> Self {
        let (cells, columns) = (question.cells.len(), question.columns());
        let mut table = room;
        table.clear();
        table.resize((cells * (classes + 1) + 1) * columns, 0.0);
        for (at, cell) in question.cells.iter().enumerate() {
            let table = &mut table[at * (classes + 1) * columns..];
            let all = cell.combinations.iter().copied().chain(cell.means(classes));
            let terms = all.zip(cell.quadratic.iter().cycle());
            table.iter_mut().zip(terms).for_each(|(slot, (c, q))| *slot = 2.0 * c - q);
        }
        Self { columns, classes, cells, table, limit }
    }

    /// The slot of every record; any class that is not one of the k counts as missing, and any
    /// cell that is not one of the question's has the last slot.
    pub(super) fn slots(&self, cells: &[u16], classes: &[u16], slots: &mut Vec<u32>) {
        kernel::fill_slots(cells, classes, self.classes as u32 + 1, self.no_slot(), slots);
    }

    /// The slot of a record that contributes nothing.
    pub(super) fn no_slot(&self) -> u32 {
        (self.cells * (self.classes + 1)) as u32
    }

    /// How many columns a combination has.
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// `[slot][column]`.
    pub(super) fn table(&self) -> &[f64] {
        &self.table
    }

    /// Its memory, once it was used.
    pub(super) fn take_table(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.table)
    }

    /// The per-record clipping limit.
    pub(super) fn limit(&self) -> f64 {
        self.limit
    }

    /// Turns sums by slot into `k` times centred class tables, `k M_r - sum_r M_r`: a missing class
    /// adds nothing.
    pub(super) fn fold_tables(&self, sums: &[f64], tables: &mut [Vec<f64>]) {
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
