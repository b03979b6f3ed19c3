//! Books that are about to pay.

use std::collections::HashSet;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use steffle_ledger::{Books, FileLedger, LedgerError, open};
use steffle_privacy::Refusal;
use steffle_privacy::ledger::{Ledger, StoreColumns, hexadecimal};

use super::close::close_open;
use super::{books, clock};
use crate::failure::Failure;
use crate::ui::Output;

/// The columns that the owner of a store named in its book, or in all books of a folder, which have to
/// say the same.
pub(crate) fn store_columns(path: &Path) -> Result<StoreColumns, Failure> {
    let mut all = None;
    for (place, look) in books(path)? {
        let refused = |refusal| LedgerError::Refused { place: place.clone(), refusal };
        let own = look.book.columns().ok_or_else(|| refused(Refusal::NoColumns))?;
        if all.get_or_insert_with(|| own.clone()) != own {
            let why = "they are not those of the other books in its folder".to_owned();
            return Err(refused(Refusal::Columns(why)).into());
        }
    }
    all.ok_or_else(|| Failure::bug("a folder without books"))
}

/// The books of so many stores, for runs of these names about some of these lists of people. Refuses a
/// record that is in the book of another silo than `silos` say, and a list of whom a book knows none
/// unless its owner admits them: one list does not speak for another, but where a book knows nobody
/// who is not on them. Other runs that were left open by a process that ended are closed:
/// what they reserved stays spent, and what they never asked for goes back.
pub(crate) fn paying_books(
    path: &Path,
    stores: usize,
    silos: Option<&[&[u64]]>,
    runs: &[[u8; 16]],
    lists: &[&[u64]],
    output: Output,
) -> Result<Vec<FileLedger>, Failure> {
    let mut books = Books::open(path, stores, clock)?;
    if let Some(silos) = silos {
        books.check_silos(path, silos)?;
    }
    let names: Vec<String> = runs.iter().map(|run| hexadecimal(run)).collect();
    for ledger in books.ledgers() {
        let place = path.display().to_string();
        introduced(ledger, lists).map_err(|refusal| LedgerError::Refused { place, refusal })?;
        for run in close_open(ledger, |run| !names.iter().any(|name| name == run))? {
            output.note(&format!(
                "run {run} had not ended when its process did; it is closed now, and keeps what it \
                 had reserved"
            ));
        }
    }
    Ok(books.into_ledgers())
}

fn introduced(ledger: &mut FileLedger, lists: &[&[u64]]) -> Result<(), Refusal> {
    let all: HashSet<u64> = lists.iter().flat_map(|list| list.iter().copied()).collect();
    if ledger.book().ids().all(|id| all.contains(&id)) {
        return ledger.introduce(&all.into_iter().collect::<Vec<_>>());
    }
    lists.iter().try_for_each(|list| ledger.introduce(list))
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
