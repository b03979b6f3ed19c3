//! Predictions as columns, for Parquet.

use std::path::Path;

use steffle_data::{Categories, Column, Error, write};
use steffle_front::Predicted;

/// Everything that was predicted, by column.
pub(super) struct Predictions {
    ids: Vec<String>,
    labels: Vec<String>,
    decisions: Vec<String>,
    probabilities: Vec<Vec<f64>>,
}

impl Predictions {
    /// Whether the name of a file asks for Parquet.
    pub(super) fn wanted(target: &Path) -> bool {
        target.extension().is_some_and(|kind| kind == "parquet" || kind == "pq")
    }

    pub(super) fn new(labels: &[String]) -> Self {
        let probabilities = vec![Vec::new(); labels.len()];
        Self { labels: labels.to_vec(), ids: Vec::new(), decisions: Vec::new(), probabilities }
    }

    pub(super) fn push(&mut self, row: &Predicted<'_>) {
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
        let ids = numbers.map_or_else(|| text(&self.ids), Column::Numbers);
        let names: Vec<String> =
            self.labels.iter().map(|label| format!("probability_{label}")).collect();
        let rows: Vec<u32> = (0..self.ids.len() as u32).collect();
        let decided = text(&self.decisions);
        let probabilities: Vec<Column> =
            self.probabilities.into_iter().map(Column::Numbers).collect();
        let mut columns = vec![("record_id", &ids), ("label", &decided)];
        columns.extend(names.iter().map(String::as_str).zip(&probabilities));
        write(target, &columns, &rows)
    }
}
