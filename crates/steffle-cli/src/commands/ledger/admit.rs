//! `steffle ledger admit`: the owner's word for new people.

use std::path::Path;

use serde_json::json;
use steffle_ledger::{LedgerError, book_paths, open};

use super::clock;
use crate::failure::Failure;
use crate::ui::{Output, wrap};

pub(super) fn admit(path: &Path, output: Output) -> Result<(), Failure> {
    for path in book_paths(path)? {
        let place = path.display().to_string();
        let admitted = open(&path, clock)?.admit();
        admitted.map_err(|refusal| LedgerError::Refused { place, refusal })?;
    }
    let text = wrap(&format!(
        "{}: the next list of people of whom none is known is admitted, once. Each of them begins with \
         the whole budget: do this only if they are not the people who are in the book already.",
        path.display()
    ));
    output.result(&json!({"path": path, "admitted": true}), &text)
}
