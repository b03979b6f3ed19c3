//! The budget book of one attributes store, on disk.
//!
//! The rules are those of [`steffle_privacy::ledger::Book`]; this crate keeps its lines and gives them
//! back. It knows no model, no data and nothing about `s`: the only bytes in a book that depend on `s`
//! are noisy replies and their hashes.
//!
//! **The format** is a text file, one line per event: 64 hexadecimal digits, a space, a JSON object
//! ([`Page`]), a line break. The digits are the SHA-256 of the JSON as it stands there, and every JSON
//! holds the digits of the line before. `tail -n1 BOOK | cut -c66- | tr -d '\n' | sha256sum` checks a
//! line without this program. An embedded database would be as safe, but an auditor would have to
//! trust its file format, its pages and its recovery; here a book is what one reads, every write is
//! an append of one line and one sync, and a crash can only leave part of a last line behind.
//!
//! **A reply is kept in the line that commits it**, so that one append makes both durable: there
//! is no moment in which one is there without the other, no file to clean up, and the chain covers
//! replies too.
//!
//! **Order** ([`Shelf`]): a line is appended and synced; a commit is then appended to the second head
//! file and synced; only then does the caller go on, to read `s` after a reservation, to send after a
//! commit. [`steffle_privacy::ledger::Bookkeeper`] has the proof that nothing happens that a reader of
//! the book would not see.
//!
//! **What is detected.** A last line that is not whole is a torn write: it is cut off, and a line says
//! so ([`read`]). Any other damage stops the store: a changed, missing, repeated or reordered line, a
//! line of another book, a line that breaks the rules. A book that is older than its second head (a
//! restored backup, a cloned machine) stops too; without a second head that cannot be told. Someone
//! who may write both files, and knows this format, can write another history: permissions keep others
//! out, receipts at the server and exported copies tell.

mod charter;
mod error;
mod file;
mod folder;
mod head;
mod look;
mod page;
mod read;
mod shelf;
mod storage;

pub use charter::{Charter, StoreId};
pub use error::LedgerError;
pub use file::{FileLedger, FileShelf, create, open};
pub use folder::{Books, book_paths, create_folder};
pub use look::{Event, Look, Spending, look};
pub use page::{Page, Says};
pub use read::{Reading, Whole, read};
pub use shelf::{Clock, Shelf, reopen};
pub use storage::{Disk, Storage};
