//! A folder of books, one per silo, for runs that play several silos on one machine.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use steffle_privacy::ledger::{Policy, StoreColumns};

use crate::charter::{Charter, StoreId};
use crate::error::LedgerError;
use crate::file::{FileLedger, create, open};
use crate::shelf::Clock;

/// A folder has no more books than this.
const MOST_SILOS: usize = 1 << 20;

/// The books of all silos of a run.
///
/// Opened together, in the order of the silos, and locked until they are dropped.
#[derive(Debug)]
pub struct Books(Vec<FileLedger>);

impl Books {
    /// Opens a book, or all books of a folder; refuses another number of them.
    pub fn open(path: &Path, stores: usize, clock: Clock) -> Result<Self, LedgerError> {
        let paths = book_paths(path)?;
        let wrong = |why| LedgerError::Folder { place: path.display().to_string(), why };
        if paths.len() != stores {
            let why = format!(
                "has {} book(s), and the run has {stores} store(s) of attributes; every store has one \
                 book: begin a ledger with {stores} of them",
                paths.len()
            );
            return Err(wrong(why));
        }
        paths.iter().map(|path| open(path, clock)).collect::<Result<_, _>>().map(Self)
    }

    /// Refuses a record that is in the book of another silo: its budget would begin anew. `ids` are
    /// the records of every silo.
    pub fn check_silos(&self, path: &Path, ids: &[&[u64]]) -> Result<(), LedgerError> {
        let wrong = |why| LedgerError::Folder { place: path.display().to_string(), why };
        let mut silo_of = HashMap::new();
        for (silo, book) in self.0.iter().enumerate() {
            silo_of.extend(book.book().ids().map(|id| (id, silo)));
        }
        for (silo, ids) in ids.iter().enumerate() {
            let moved = ids.iter().find(|id| silo_of.get(id).is_some_and(|&own| own != silo));
            if let Some(id) = moved {
                let why = format!(
                    "record {id} is in the book of silo {}, and this run has it in silo {silo}; \
                     cut the data as before (same rows, <silos>, <heterogeneity> and <seed>)",
                    silo_of[id]
                );
                return Err(wrong(why));
            }
        }
        Ok(())
    }

    /// One per silo, in their order.
    pub fn into_ledgers(self) -> Vec<FileLedger> {
        self.0
    }

    /// The same, to look at.
    pub fn ledgers(&mut self) -> &mut [FileLedger] {
        &mut self.0
    }
}

/// Makes a folder of books with one policy and the same columns, each with a store of its own. Second
/// heads are in `heads`.
pub fn create_folder(
    path: &Path,
    silos: usize,
    policy: &Policy,
    columns: &StoreColumns,
    heads: Option<&Path>,
    clock: Clock,
) -> Result<(), LedgerError> {
    if path.exists() {
        return Err(LedgerError::Exists(path.display().to_string()));
    }
    fs::create_dir_all(path).map_err(|source| LedgerError::io(path, source))?;
    if let Some(heads) = heads {
        fs::create_dir_all(heads).map_err(|source| LedgerError::io(heads, source))?;
    }
    for silo in 0..silos {
        let store = StoreId::random().ok_or_else(no_entropy)?;
        let head = heads.map(|heads| heads.join(format!("{}.head", name(silo))));
        let charter = Charter::new(store, policy.clone(), head);
        create(&path.join(name(silo)), charter, columns, clock)?;
    }
    Ok(())
}

/// The book at a path, or all books of a folder in the order of their silos.
pub fn book_paths(path: &Path) -> Result<Vec<PathBuf>, LedgerError> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let paths: Vec<PathBuf> = (0..=MOST_SILOS)
        .map(|silo| path.join(name(silo)))
        .take_while(|path| path.exists())
        .collect();
    let entries = fs::read_dir(path).map_err(|source| LedgerError::io(path, source))?;
    let books = entries
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "ledger"));
    if paths.is_empty() || books.count() != paths.len() {
        let why = format!("is no folder of books {}, {}, ... without gaps", name(0), name(1));
        return Err(LedgerError::Folder { place: path.display().to_string(), why });
    }
    Ok(paths)
}

fn name(silo: usize) -> String {
    format!("silo-{silo:03}.ledger")
}

fn no_entropy() -> LedgerError {
    LedgerError::Folder {
        place: "the operating system".into(),
        why: "gives no random numbers, so there is no name for a store".into(),
    }
}
