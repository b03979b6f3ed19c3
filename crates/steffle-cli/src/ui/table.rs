//! Tables of numbers.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use steffle_front::Interval;

/// Rows under a header; the first column is text, the others are numbers.
#[derive(Debug)]
pub(crate) struct Rows(Table);

impl Rows {
    pub(crate) fn new(header: &[&str]) -> Self {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(header.to_vec());
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        Self(table)
    }

    pub(crate) fn push(&mut self, row: Vec<String>) {
        self.0.add_row(row);
    }

    /// The table with a line break at its end.
    pub(crate) fn render(&self) -> String {
        let lines = self.0.lines().map(|line| format!("{}\n", line.trim_end()));
        lines.collect()
    }
}

/// A share as a percentage with two digits; a dash when there is none.
pub(crate) fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.2} %", 100.0 * share))
}

/// A number with four digits; a dash when there is none.
pub(crate) fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"))
}

/// A share and the interval around it.
pub(crate) fn with_interval(share: Option<f64>, interval: Option<Interval>) -> String {
    match interval {
        Some([low, high]) if share.is_some() => {
            format!("{} [{:.2}, {:.2}]", percent(share), 100.0 * low, 100.0 * high)
        }
        _ => percent(share),
    }
}
