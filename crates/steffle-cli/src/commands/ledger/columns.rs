//! `steffle ledger columns`: which columns a store is about.

use serde_json::json;
use steffle_data::Silo;
use steffle_ledger::{LedgerError, book_paths, open};
use steffle_privacy::ledger::StoreColumns;

use super::clock;
use crate::args::{ColumnsArgs, LedgerColumnsArgs};
use crate::failure::Failure;
use crate::ui::{Output, wrap};

pub(super) fn columns(args: &LedgerColumnsArgs, output: Output) -> Result<(), Failure> {
    let columns = named(&args.columns)?;
    for path in book_paths(&args.path)? {
        let mut book = open(&path, clock)?;
        let place = path.display().to_string();
        book.name_columns(&columns).map_err(|refusal| LedgerError::Refused { place, refusal })?;
    }
    let text = wrap(&format!("{}: {}", args.path.display(), in_words(&columns)));
    output.result(&json!({"path": args.path, "columns": columns}), &text)
}

/// What was typed, or stands in the recipe of a `silo.toml`.
pub(super) fn named(args: &ColumnsArgs) -> Result<StoreColumns, Failure> {
    let ColumnsArgs { sensitive, classes, record_id, unit, silo } = args;
    let named = if let Some(path) = silo {
        let recipe = Silo::read(path)?.recipe;
        let record_id = recipe.record_id.unwrap_or_default();
        StoreColumns::new(recipe.sensitive, recipe.classes, record_id, recipe.unit)
    } else {
        let record_id = record_id.clone().unwrap_or_default();
        StoreColumns::new(sensitive.clone(), classes.clone(), record_id, unit.clone())
    };
    named.map_err(|refusal| Failure::usage("ledger::columns", refusal.to_string()))
}

/// The columns in one or two sentences.
pub(super) fn in_words(columns: &StoreColumns) -> String {
    let several = columns.sensitive().len() > 1;
    let unit = match columns.unit() {
        Some(unit) => format!("`{unit}` names the person"),
        None => "each row is one person".to_owned(),
    };
    format!(
        "Sensitive column{}: `{}`, with the classes {}. Record ids are in `{}`; {unit}.",
        if several { "s" } else { "" },
        columns.sensitive().join("`, `"),
        columns.classes().join(", "),
        columns.record_id(),
    )
}
