//! `steffle ledger export`: a book for others.

use std::path::Path;

use serde_json::{Value, json};
use steffle_ledger::{Look, Says};
use steffle_privacy::ledger::{Charge, Line};

use super::books;
use crate::failure::Failure;
use crate::ui::Output;

pub(super) fn export(path: &Path, output: Output) -> Result<(), Failure> {
    let books = books(path)?;
    let mut values = books.iter().map(|(_, look)| value(look)).collect::<Result<Vec<_>, _>>()?;
    let value = if values.len() == 1 { values.remove(0) } else { json!({"books": values}) };
    let text = serde_json::to_string_pretty(&value).map_err(|e| Failure::bug(e.to_string()))?;
    output.result(&value, &format!("{text}\n"))
}

/// All lines with their hashes, without what is about single people.
fn value(look: &Look) -> Result<Value, Failure> {
    let lines = look.reading.pages.iter().map(|whole| {
        let says = match &whole.page.says {
            Says::Line(Line::Roll(roll)) => {
                let units = if roll.units.is_empty() { "one per record" } else { "listed" };
                json!({"roll": {"records": roll.ids.len(), "units": units}})
            }
            Says::Line(Line::Reserve { grant, noise, entry }) => {
                let mut entry = entry.clone();
                let by_unit = matches!(entry.charge, Charge::Units(_));
                // The cost of a person would tell the length of a row.
                entry.charge = Charge::All;
                json!({"reserve": {
                    "grant": grant, "noise": noise, "entry": entry, "charged_by_unit": by_unit,
                }})
            }
            Says::Line(line) => json!(line),
            Says::Charter(charter) => json!({"charter": charter}),
        };
        let page = &whole.page;
        json!({"line": page.line, "time": page.time, "previous": page.previous, "hash": whole.hash, "says": says})
    });
    let lines: Vec<Value> = lines.collect();
    let runs = serde_json::to_value(&look.runs).map_err(|e| Failure::bug(e.to_string()))?;
    Ok(
        json!({"store": look.charter.store, "policy": look.charter.policy, "columns": look.book.columns(), "runs": runs, "lines": lines}),
    )
}
