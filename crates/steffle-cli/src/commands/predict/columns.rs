//! Predictions as columns, for Parquet.

use std::path::Path;

use steffle_data::{Categories, Column, Error, write};
use steffle_front::Predicted;

/// Everything that was predicted, by column.
pub(super) struct Predictions {
    header: Vec<String>,
    /// Of several files, which one a record is from.
    files: Option<Vec<String>>,
    ids: Vec<String>,
    decisions: Vec<String>,
    probabilities: Vec<Vec<f64>>,
}

impl Predictions {
    /// Whether the name of a file asks for Parquet.
    pub(super) fn wanted(target: &Path) -> bool {
        target.extension().is_some_and(|kind| kind == "parquet" || kind == "pq")
    }

    /// Under these names; the first is that of the file, if `files`.
    pub(super) fn new(header: Vec<String>, files: bool) -> Self {
        let probabilities = vec![Vec::new(); header.len() - 2 - usize::from(files)];
        let (ids, decisions) = <_>::default();
        Self { header, files: files.then(Vec::new), ids, decisions, probabilities }
    }

    pub(super) fn push(&mut self, file: Option<&str>, row: &Predicted<'_>) {
        if let (Some(files), Some(file)) = (&mut self.files, file) {
            files.push(file.to_owned());
        }
        self.ids.push(row.id.clone());
        self.decisions.push(row.label.to_owned());
        for (column, probability) in self.probabilities.iter_mut().zip(&row.probabilities) {
            column.push(*probability);
        }
    }

    /// Writes the file, whole or not at all. Ids that are whole numbers are written as such.
    pub(super) fn write(self, target: &Path) -> Result<(), Error> {
        let whole = |id: &String| id.parse::<u32>().ok().filter(|number| number.to_string() == *id);
        let numbers: Option<Vec<f64>> =
            self.ids.iter().map(|id| whole(id).map(f64::from)).collect();
        let text = |cells: &[String]| {
            Column::Text(Categories::from_text(cells.iter().map(|cell| Some(cell.as_str()))))
        };
        let rows: Vec<u32> = (0..self.ids.len() as u32).collect();
        let mut columns: Vec<Column> = self.files.iter().map(|files| text(files)).collect();
        columns.push(numbers.map_or_else(|| text(&self.ids), Column::Numbers));
        columns.push(text(&self.decisions));
        columns.extend(self.probabilities.into_iter().map(Column::Numbers));
        let names = self.header.iter().map(String::as_str);
        write(target, &names.zip(&columns).collect::<Vec<_>>(), &rows)
    }
}
