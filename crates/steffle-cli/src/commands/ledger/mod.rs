//! `steffle ledger init|columns|people|admit|show|verify|close|export`.

mod admit;
mod close;
mod columns;
mod date;
mod export;
mod init;
mod page;
mod paying;
mod people;
mod show;
mod verify;

use std::path::Path;

use steffle_ledger::{LedgerError, Look, book_paths, look};
use steffle_privacy::Refusal;

pub(super) use self::date::{clock, date};
pub(super) use self::paying::{boxed, paying_books, store_columns, waiting_book};
use crate::args::LedgerCommand;
use crate::failure::{Failure, Status};
use crate::ui::Output;

pub(crate) fn ledger(command: &LedgerCommand, output: Output) -> Result<(), Failure> {
    match command {
        LedgerCommand::Init(args) => init::init(args, output),
        LedgerCommand::Columns(args) => columns::columns(args, output),
        LedgerCommand::People(args) => people::people(args, output),
        LedgerCommand::Admit(args) => admit::admit(&args.path, output),
        LedgerCommand::Show(args) => show::show(args, output),
        LedgerCommand::Verify(args) => verify::verify(args, output),
        LedgerCommand::Close(args) => close::close(args, output),
        LedgerCommand::Export(args) => export::export(&args.path, output),
    }
}

/// A book or all books of a folder, with their names.
pub(super) fn books(path: &Path) -> Result<Vec<(String, Look)>, Failure> {
    let read = |path: &std::path::PathBuf| Ok((path.display().to_string(), look(path)?));
    let paths = book_paths(path)?;
    paths.iter().map(read).collect::<Result<_, LedgerError>>().map_err(Failure::from)
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        let code = error.code();
        let code = code.strip_prefix("steffle::").unwrap_or(code);
        let status = match &error {
            LedgerError::Policy(_) => Status::Usage,
            LedgerError::Refused { refusal: Refusal::Budget { .. }, .. } => Status::Budget,
            _ => Status::Data,
        };
        let failure = Self::new(status, code, error.to_string());
        match error {
            LedgerError::RolledBack { .. } | LedgerError::Swapped { .. } => failure.help(
                "find the newest copy of the book and put it back; what the missing lines paid for \
                 was sent, and cannot be unspent",
            ),
            LedgerError::Damaged { .. } => failure.help(
                "restore the newest copy that `steffle ledger verify` accepts and its second head \
                 agrees with; without one the store has to be taken as spent",
            ),
            LedgerError::Permissions { place, .. } => failure.help(format!("chmod 600 {place}")),
            LedgerError::Refused { refusal: Refusal::Columns(_), .. } => failure.help(
                "`steffle ledger show` says which columns a book names; another store has a book of its own",
            ),
            LedgerError::Busy { .. } => failure.help("wait until that run has ended"),
            _ => failure,
        }
    }
}
