//! `steffle ledger verify`: every line, every hash, every rule.

use std::path::Path;

use serde_json::{Value, json};

use super::books;
use crate::failure::Failure;
use crate::ui::{Output, wrap};

pub(super) fn verify(path: &Path, output: Output) -> Result<(), Failure> {
    // Reading a book checks it: what is not as it was written is an error.
    let books = books(path)?;
    let mut values: Vec<Value> = Vec::new();
    let mut text = String::new();
    for (name, look) in &books {
        let (lines, hash) = look.end();
        let (replies, unsent) = (look.book.replies(), look.book.unsent());
        let torn = look.reading.torn;
        values.push(json!({
            "path": name,
            "valid": true,
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
        text += &format!("last hash {hash}\n");
    }
    let value = if values.len() == 1 { values.remove(0) } else { json!({"books": values}) };
    output.result(&value, &text)
}
