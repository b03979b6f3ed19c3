//! What there is to tell about predictions beside them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use steffle_data::Unmatched;
use steffle_front::Skipped;

use super::source::Source;

/// Rows that are listed at most, and shown to people; all are counted.
const LISTED: usize = 10_000;
const SHOWN: usize = 20;

/// How many records there were, and what was odd about them.
#[derive(Default)]
pub(super) struct Told {
    pub(super) records: u64,
    pub(super) unmatched: Unmatched,
    skipped: u64,
    listed: Vec<(String, Skipped)>,
}

impl Told {
    /// Adds a chunk of a file.
    pub(super) fn add(&mut self, source: &Source, records: usize, skipped: Vec<Skipped>) {
        self.records += records as u64;
        self.skipped += skipped.len() as u64;
        for row in skipped.into_iter().take(LISTED - self.listed.len()) {
            let reason = source.named(&row.reason);
            self.listed.push((source.name.clone(), Skipped { reason, ..row }));
        }
    }

    /// Adds it to the JSON of a command.
    pub(super) fn describe(&self, value: &mut Value) {
        let listed = self.listed.iter().map(
            |(file, Skipped { row, reason })| json!({"file": file, "row": row, "reason": reason}),
        );
        value["records"] = json!(self.records);
        value["unseen"] = json!(self.unmatched.unseen);
        value["missing"] = json!(self.unmatched.missing);
        value["skipped"] = json!(self.skipped);
        value["skipped_rows"] = listed.collect();
    }

    /// A sentence per kind of oddity; nothing where there is none.
    pub(super) fn text(&self) -> String {
        let list = |cells: &BTreeMap<String, u64>| {
            let columns: Vec<String> =
                cells.iter().map(|(name, n)| format!("{name}: {n}")).collect();
            columns.join(", ")
        };
        let Self { unmatched, .. } = self;
        let mut text = String::new();
        if unmatched.unseen_total() > 0 {
            let (cells, columns) = (unmatched.unseen_total(), list(&unmatched.unseen));
            text += &format!("{cells} cells hold a category that training never saw ({columns}); ");
            text += "each switched on no feature\n";
        }
        if unmatched.missing_total() > 0 {
            let (cells, columns) = (unmatched.missing_total(), list(&unmatched.missing));
            text += &format!("{cells} cells are missing ({columns}); ");
            text += "a number counted as the training mean, a category as none\n";
        }
        if self.skipped > 0 {
            text += &format!("{} rows were skipped:\n", self.skipped);
            for (_, row) in self.listed.iter().take(SHOWN) {
                text += &format!("  {}\n", row.reason);
            }
            let more = self.skipped.saturating_sub(SHOWN as u64);
            if more > 0 {
                text += &format!("  and {more} more (--json lists {LISTED})\n");
            }
        }
        text
    }
}
