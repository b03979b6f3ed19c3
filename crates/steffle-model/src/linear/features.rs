//! The features of a release: a record's row, and once more in a block of its own cell.

use rayon::prelude::*;

use crate::model::kernel;
use crate::record::Rows;

/// Records that are gathered together.
const CHUNK: usize = 256;

/// Records per task. Fixed, so that the order of every addition is fixed.
const TASK: usize = 4096;

/// `f_i = [X, 1{cell = 1} X, ..., 1{cell = C - 1} X]`, never written out: a record of cell `c` has
/// its row `(x, 1)` in block 0 and, for `c > 0`, in block `c`. Records in no cell have no features.
///
/// Everything below therefore works on rows, one cell at a time, and is put together by blocks.
#[derive(Debug)]
pub struct Features<'a> {
    rows: &'a Rows,
    /// The records of each cell.
    members: Vec<Vec<u32>>,
}

impl<'a> Features<'a> {
    /// One cell that holds every record: the features are the rows.
    pub fn whole(rows: &'a Rows) -> Self {
        Self { rows, members: vec![(0..rows.len() as u32).collect()] }
    }

    /// Records by their cell; a cell from `cells` on means none.
    pub fn by_cell(rows: &'a Rows, cell_of: &[u16], cells: usize) -> Self {
        let mut members = vec![Vec::new(); cells.max(1)];
        for (record, &cell) in (0..).zip(cell_of) {
            if usize::from(cell) < cells {
                members[usize::from(cell)].push(record);
            }
        }
        Self { rows, members }
    }

    /// The rows.
    #[inline]
    pub fn rows(&self) -> &'a Rows {
        self.rows
    }

    /// Records, with or without a cell.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Cells, which is blocks.
    #[inline]
    pub fn cells(&self) -> usize {
        self.members.len()
    }

    /// The records of a cell.
    #[inline]
    pub fn members(&self, cell: usize) -> &[u32] {
        &self.members[cell]
    }

    /// Records that are in some cell.
    pub fn count(&self) -> usize {
        self.members.iter().map(Vec::len).sum()
    }

    /// Numbers in a block: features and the bias.
    #[inline]
    pub fn width(&self) -> usize {
        self.rows.layout().weights()
    }

    /// Numbers in `f_i`: p.
    pub fn size(&self) -> usize {
        self.width() * self.cells()
    }

    /// `f_i' v` of every record; 0 of a record in no cell.
    pub fn scores(&self, v: &[f64]) -> Vec<f64> {
        let mut scores = vec![0.0; self.len()];
        for (cell, members) in self.members.iter().enumerate() {
            let mut padded = self.of_cell(v, cell);
            padded.push(0.0);
            let parts: Vec<Vec<f64>> = members
                .par_chunks(TASK)
                .map(|task| {
                    let mut rows = Rows::empty(self.rows.layout());
                    let (mut all, mut chunk_scores) = (Vec::with_capacity(task.len()), Vec::new());
                    for chunk in task.chunks(CHUNK) {
                        rows.gather(self.rows, chunk);
                        kernel::dot_all(&rows, &padded, &mut chunk_scores);
                        all.extend_from_slice(&chunk_scores);
                    }
                    all
                })
                .collect();
            for (&record, &score) in members.iter().zip(parts.iter().flatten()) {
                scores[record as usize] = score;
            }
        }
        scores
    }

    /// `sum_i coefficient_i f_i`.
    pub fn sum(&self, coefficients: &[f64]) -> Vec<f64> {
        let sums: Vec<Vec<f64>> =
            self.members.iter().map(|members| self.sum_rows(members, coefficients)).collect();
        self.by_block(&sums)
    }

    /// Sums of rows by cell, as a sum of features.
    pub fn by_block(&self, sums: &[Vec<f64>]) -> Vec<f64> {
        let mut total = vec![0.0; self.size()];
        for (cell, sum) in sums.iter().enumerate() {
            for block in blocks(cell) {
                let slots = &mut total[block * self.width()..][..self.width()];
                slots.iter_mut().zip(sum).for_each(|(slot, value)| *slot += value);
            }
        }
        total
    }

    /// What `v` means for the rows of a cell: the sum of its blocks.
    pub fn of_cell(&self, v: &[f64], cell: usize) -> Vec<f64> {
        let mut weights = vec![0.0; self.width()];
        for block in blocks(cell) {
            let slots = &v[block * self.width()..][..self.width()];
            weights.iter_mut().zip(slots).for_each(|(weight, slot)| *weight += slot);
        }
        weights
    }

    fn sum_rows(&self, members: &[u32], coefficients: &[f64]) -> Vec<f64> {
        let layout = self.rows.layout();
        let parts: Vec<Vec<f64>> = members
            .par_chunks(TASK)
            .map(|task| {
                let (mut sum, mut spare) = (vec![0.0; layout.padded()], vec![0.0; layout.padded()]);
                let (mut rows, mut own) = (Rows::empty(layout), Vec::new());
                for chunk in task.chunks(CHUNK) {
                    rows.gather(self.rows, chunk);
                    own.clear();
                    own.extend(chunk.iter().map(|&record| coefficients[record as usize]));
                    kernel::add_all(&rows, &own, &mut sum, &mut spare);
                }
                sum.iter_mut().zip(&spare).for_each(|(sum, spare)| *sum += spare);
                sum
            })
            .collect();
        let mut total = vec![0.0; layout.weights()];
        for part in &parts {
            total.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        total
    }
}

/// The blocks in which a record of `cell` has its row.
pub(super) fn blocks(cell: usize) -> impl Iterator<Item = usize> {
    [0, cell].into_iter().take(if cell == 0 { 1 } else { 2 })
}
