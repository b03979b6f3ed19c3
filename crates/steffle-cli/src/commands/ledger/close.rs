//! `steffle ledger close`: ends a run that nobody goes on with.

use serde_json::json;
use steffle_ledger::{FileLedger, book_paths, open};
use steffle_privacy::ledger::{GrantId, Ledger};

use super::clock;
use crate::args::LedgerCloseArgs;
use crate::failure::Failure;
use crate::ui::{Output, wrap};

pub(super) fn close(args: &LedgerCloseArgs, output: Output) -> Result<(), Failure> {
    let LedgerCloseArgs { path, run } = args;
    let mut closed = Vec::new();
    for book in book_paths(path)? {
        if !close_open(&mut open(&book, clock)?, |open| open == run)?.is_empty() {
            closed.push(book.display().to_string());
        }
    }
    if closed.is_empty() {
        let message = format!("{}: no run {run} is open", path.display());
        let help = "`steffle silo check` and `steffle ledger show` list the runs that are";
        return Err(Failure::data("ledger::run", message).help(help));
    }
    let text = wrap(&format!(
        "Run {run} is closed in {}: what it had reserved stays spent, what it never asked for is back. \
         Nobody can go on with it.",
        closed.join(", ")
    ));
    output.result(&json!({"run": run, "books": closed}), &text)
}

/// Closes the open runs of a book that are chosen; returns their names.
pub(super) fn close_open(
    ledger: &mut FileLedger,
    chosen: impl Fn(&str) -> bool,
) -> Result<Vec<String>, Failure> {
    let grants = ledger.book().grants().iter().zip(0..);
    let left = grants.filter(|(grant, _)| !grant.closed() && chosen(&grant.offer().offer().run));
    let left: Vec<(GrantId, String)> =
        left.map(|(grant, at)| (GrantId(at), grant.offer().offer().run.clone())).collect();
    for (grant, _) in &left {
        let closed = ledger.close(*grant);
        closed.map_err(|error| Failure::data("ledger::close", error.to_string()))?;
    }
    Ok(left.into_iter().map(|(_, run)| run).collect())
}
