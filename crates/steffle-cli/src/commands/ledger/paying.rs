//! Books that are about to pay.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use steffle_ledger::{Books, FileLedger, LedgerError, open};
use steffle_privacy::ledger::{Ledger, hexadecimal};

use super::clock;
use super::close::close_open;
use crate::failure::Failure;
use crate::ui::Output;

/// The books of so many stores, for runs of these names. Refuses a record that is in the book of
/// another silo than `silos` say. Other runs that were left open by a process that ended are closed:
/// what they reserved stays spent, and what they never asked for goes back.
pub(crate) fn paying_books(
    path: &Path,
    stores: usize,
    silos: Option<&[&[u64]]>,
    runs: &[[u8; 16]],
    output: Output,
) -> Result<Vec<FileLedger>, Failure> {
    let mut books = Books::open(path, stores, clock)?;
    if let Some(silos) = silos {
        books.check_silos(path, silos)?;
    }
    let names: Vec<String> = runs.iter().map(|run| hexadecimal(run)).collect();
    for ledger in books.ledgers() {
        for run in close_open(ledger, |run| !names.iter().any(|name| name == run))? {
            output.note(&format!(
                "run {run} had not ended when its process did; it is closed now, and keeps what it \
                 had reserved"
            ));
        }
    }
    Ok(books.into_ledgers())
}

/// Books as those who pay from them take them.
pub(crate) fn boxed(books: Vec<FileLedger>) -> Vec<Box<dyn Ledger>> {
    books.into_iter().map(|book| Box::new(book) as Box<dyn Ledger>).collect()
}

/// The book of a site's own store. Another process may still have it, whose run ended just now or
/// whose machine lost its server: it is waited for.
pub(crate) fn waiting_book(path: &Path, wait: Duration) -> Result<Box<dyn Ledger>, String> {
    let until = Instant::now() + wait;
    loop {
        match open(path, clock) {
            Ok(book) => return Ok(Box::new(book)),
            Err(LedgerError::Busy { .. }) if Instant::now() < until => {
                thread::sleep(Duration::from_millis(50));
            }
            Err(error @ LedgerError::Busy { .. }) => {
                return Err(format!("{error}; it was waited for {} seconds", wait.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}
