//! `steffle ledger verify`: every line, every hash, every rule.

use std::path::Path;

use serde_json::{Value, json};
use steffle_ledger::Look;

use super::books;
use super::columns::in_words;
use crate::args::LedgerVerifyArgs;
use crate::commands::privacy::metrics;
use crate::failure::Failure;
use crate::ui::{Output, wrap};

pub(super) fn verify(args: &LedgerVerifyArgs, output: Output) -> Result<(), Failure> {
    // Reading a book checks it: what is not as it was written is an error.
    let books = books(&args.path)?;
    let compared = args.run.as_deref().map(|run| receipts(run, &books)).transpose()?;
    let mut values: Vec<Value> = Vec::new();
    let mut text = String::new();
    for (name, look) in &books {
        let (lines, hash) = look.end();
        let (replies, unsent) = (look.book.replies(), look.book.unsent());
        let torn = look.reading.torn;
        values.push(json!({
            "path": name,
            "valid": true,
            "columns": look.book.columns(),
            "entries": lines,
            "last_hash": hash,
            "runs": look.runs.len(),
            "replies": replies,
            "paid_and_not_sent": unsent,
            "head_entries": look.head,
            "torn_bytes": torn,
        }));
        let head = match look.head {
            Some(seen) => format!("The second head agrees up to line {seen}."),
            None => "There is no second head: an older copy would not be noticed.".to_owned(),
        };
        let torn = match torn {
            0 => String::new(),
            torn => format!(
                " The last {torn} bytes are a line that is being written, or was when its writer \
                 ended; the next run cuts it off and notes it."
            ),
        };
        text += &wrap(&format!(
            "{name}: valid. {lines} lines, each with its own hash and that of the line before; {} \
             run(s), {replies} replies, and never more spent than was allowed. {unsent} repl(ies) \
             were paid for and not sent. {head}{torn}",
            look.runs.len()
        ));
        if let Some(columns) = look.book.columns() {
            text += &wrap(&in_words(columns));
        }
        text += &format!("last hash {hash}\n");
    }
    let mut value = if values.len() == 1 { values.remove(0) } else { json!({"books": values}) };
    if let (Some(run), Some(count)) = (&args.run, compared) {
        value["receipts"] = json!(count);
        let run = run.display();
        text += &format!("{run}: its {count} receipt(s) are those of the book(s)\n");
    }
    output.result(&value, &text)
}

/// Compares the receipts of a run directory with the books; says how many there are.
fn receipts(directory: &Path, books: &[(String, Look)]) -> Result<usize, Failure> {
    let metrics = metrics(directory)?;
    let wrong = |why: &str| {
        let message = format!("{}: {why}", directory.display());
        Failure::data("ledger::receipts", message)
    };
    let ledger = &metrics["ledger"];
    let (Some(name), Some(stores)) = (ledger["run"].as_str(), ledger["stores"].as_array()) else {
        return Err(wrong("the run was not paid from a ledger, so it has no receipts"));
    };
    let mut count = 0;
    for (_, look) in books {
        let store = stores.iter().find(|store| store["store"] == look.charter.store.0.as_str());
        let store = store.ok_or_else(|| wrong("the run was not paid from this book"))?;
        let own = look.book.run(name).map(|(_, grant)| grant.receipts().to_vec());
        let own = serde_json::to_value(own.unwrap_or_default());
        let own = own.map_err(|error| Failure::bug(error.to_string()))?;
        if store["receipts"] != own {
            return Err(wrong("its receipts are not those of the book"));
        }
        count += own.as_array().map_or(0, Vec::len);
    }
    Ok(count)
}
