//! Sums and scores over the rows of some records.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::model::kernel;
use crate::record::{Rows, RowsError};

/// Records that are gathered together.
const CHUNK: usize = 256;

/// Records per task. Fixed, so that the order of every addition is fixed.
const TASK: usize = 4096;

/// The rows `(x, 1)` of some records, as matrices and sums are made of them. Records that are none of
/// its members have no features.
#[derive(Debug)]
pub struct Features<'a> {
    rows: Cow<'a, Rows>,
    members: Vec<u32>,
}

impl<'a> Features<'a> {
    /// Every record's own row.
    pub fn whole(rows: &'a Rows) -> Self {
        Self { rows: Cow::Borrowed(rows), members: (0..rows.len() as u32).collect() }
    }

    /// Rows of their own, of which `members` count.
    pub(super) fn of_members(rows: Rows, members: Vec<u32>) -> Self {
        Self { rows: Cow::Owned(rows), members }
    }

    /// The same in which no record has these columns.
    pub fn without(self, columns: &[u32]) -> Result<Self, RowsError> {
        if columns.is_empty() {
            return Ok(self);
        }
        let (rows, layout) = (&self.rows, self.rows.layout());
        let mut gone = vec![false; layout.features];
        for column in columns {
            if let Some(gone) = gone.get_mut(*column as usize) {
                *gone = true;
            }
        }
        let is_gone = |column: u32| gone.get(column as usize).is_some_and(|gone| *gone);
        let mut numbers = Vec::with_capacity(rows.len() * layout.numeric);
        let mut codes = Vec::with_capacity(rows.len() * layout.categorical);
        for row in 0..rows.len() {
            let own = (0..).zip(rows.numeric(row));
            numbers.extend(own.map(|(at, &x)| if is_gone(at) { 0.0 } else { x }));
            let own = rows.codes(row);
            codes.extend(own.map(|code| if is_gone(code) { layout.absent() } else { code }));
        }
        Ok(Self::of_members(Rows::new(layout, rows.len(), numbers, codes)?, self.members))
    }

    /// How many records have each column but the bias.
    pub fn entries(&self) -> Vec<usize> {
        let mut counts = vec![0_usize; self.size() + 1];
        for &record in &self.members {
            let numbers = self.rows.numeric(record as usize);
            for (count, &x) in counts.iter_mut().zip(numbers) {
                *count += usize::from(x != 0.0);
            }
            self.rows.codes(record as usize).for_each(|code| counts[code as usize] += 1);
        }
        counts.truncate(self.size() - 1);
        counts
    }

    /// The rows.
    #[inline]
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Records, with or without features.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The records that have features.
    #[inline]
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// How many records have features.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// Numbers in `f_i`, the bias among them: p.
    #[inline]
    pub fn size(&self) -> usize {
        self.rows.layout().weights()
    }

    /// `f_i' v` of every record; 0 of a record without features.
    pub fn scores(&self, v: &[f64]) -> Vec<f64> {
        let mut scores = vec![0.0; self.len()];
        let mut padded = v.to_vec();
        padded.push(0.0);
        let parts: Vec<Vec<f64>> = self
            .members
            .par_chunks(TASK)
            .map(|task| {
                let mut rows = Rows::empty(self.rows.layout());
                let (mut all, mut chunk_scores) = (Vec::with_capacity(task.len()), Vec::new());
                for chunk in task.chunks(CHUNK) {
                    rows.gather(&self.rows, chunk);
                    kernel::dot_all(&rows, &padded, &mut chunk_scores);
                    all.extend_from_slice(&chunk_scores);
                }
                all
            })
            .collect();
        for (&record, &score) in self.members.iter().zip(parts.iter().flatten()) {
            scores[record as usize] = score;
        }
        scores
    }

    /// `sum_i coefficient_i f_i`.
    pub fn sum(&self, coefficients: &[f64]) -> Vec<f64> {
        let layout = self.rows.layout();
        let parts: Vec<Vec<f64>> = self
            .members
            .par_chunks(TASK)
            .map(|task| {
                let (mut sum, mut spare) = (vec![0.0; layout.padded()], vec![0.0; layout.padded()]);
                let (mut rows, mut own) = (Rows::empty(layout), Vec::new());
                for chunk in task.chunks(CHUNK) {
                    rows.gather(&self.rows, chunk);
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
