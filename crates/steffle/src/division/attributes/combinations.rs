//! What each class adds to the theta message, from the question.

use crate::protocol::{Form, Question};

/// Per cell and class (and for a missing class) the combination that is pulled back.
#[derive(Debug, Clone)]
pub struct Combinations {
    columns: usize,
    classes: usize,
    /// `[cell][class, then missing][column]`.
    values: Vec<f64>,
    limit: Option<f64>,
    silent: bool,
}

impl Combinations {
    /// From a question whose shape was checked.
    ///
    /// Centred: `C_r - mean C`, and 0 for a missing class. Clipped: `2 C_r - q`, and the mean of
    /// these for a missing class, which counts `1/k` in every class.
    pub fn new(question: &Question, classes: usize, columns: usize) -> Self {
        let mut values = Vec::with_capacity(question.cells.len() * (classes + 1) * columns);
        for cell in &question.cells {
            let mean: Vec<f64> = mean_row(&cell.combinations, classes, columns);
            for row in cell.combinations.chunks_exact(columns).chain([&mean[..]]) {
                match question.form {
                    Form::Centred => values.extend(row.iter().zip(&mean).map(|(c, m)| c - m)),
                    Form::Clipped { .. } => {
                        values.extend(row.iter().zip(&cell.quadratic).map(|(c, q)| 2.0 * c - q));
                    }
                }
            }
        }
        let limit = match question.form {
            Form::Centred => None,
            Form::Clipped { limit } => Some(limit),
        };
        let silent = values.iter().all(|&value| value == 0.0);
        Self { columns, classes, values, limit, silent }
    }

    /// The combination of a class (`None`: missing) in a cell.
    pub fn of(&self, cell: usize, class: Option<usize>) -> &[f64] {
        let row = cell * (self.classes + 1) + class.unwrap_or(self.classes);
        &self.values[row * self.columns..][..self.columns]
    }

    /// The per-record clipping limit, in the clipped form.
    pub fn limit(&self) -> Option<f64> {
        self.limit
    }

    /// Whether every combination is zero, so that there is no theta message at all.
    pub fn silent(&self) -> bool {
        self.silent
    }
}

/// `mean_r C_r`.
pub(crate) fn mean_row(rows: &[f64], classes: usize, columns: usize) -> Vec<f64> {
    let column = |u: usize| rows.iter().skip(u).step_by(columns).sum::<f64>() / classes as f64;
    (0..columns).map(column).collect()
}
