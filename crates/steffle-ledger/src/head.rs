//! The second head: what was last seen of a book, kept elsewhere, so that an older copy is noticed.
//!
//! A file with a line per commit: a hash of the rest of the line, then the number and the hash of the
//! line that committed it. It is synced after the book and before the reply is sent, so it is never
//! ahead of a book that is whole, and a book that it is ahead of is an older one. A last line that is
//! not whole is a torn write, as in the book: nothing was sent after it. Whatever is read on start is
//! synced before another line follows, so that a crash never tears more than the last one.

use std::io;

use crate::error::LedgerError;
use crate::page::{hash as sum, own_hash};
use crate::read::Reading;
use crate::storage::Storage;

/// One line of it.
pub(crate) fn line(number: u64, hash: &str) -> Vec<u8> {
    let seen = format!("{number} {hash}");
    format!("{} {seen}\n", sum(seen.as_bytes())).into_bytes()
}

/// Appends a line and syncs.
pub(crate) fn write(head: &mut dyn Storage, number: u64, hash: &str) -> io::Result<()> {
    head.append(&line(number, hash))?;
    head.sync()
}

/// Compares a book with everything that its second head has seen. Returns the last line that it has
/// seen, and how many of its bytes are whole lines: nothing was sent after one that is not.
pub(crate) fn compare(
    bytes: &[u8],
    reading: &Reading,
    [place, head]: [&str; 2],
) -> Result<(u64, u64), LedgerError> {
    let wrong = |why: &str| {
        let (head, place, why) = (head.to_owned(), place.to_owned(), why.to_owned());
        LedgerError::Head { head, place, why }
    };
    let (mut at, mut last) = (0, 0);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        let Some((text, _)) = own_hash(&rest[..end]).filter(|_| end < rest.len()) else {
            if end + 1 < rest.len() {
                return Err(wrong("is damaged"));
            }
            break;
        };
        at += end + 1;
        let text = std::str::from_utf8(text).unwrap_or_default();
        let seen = text.split_once(' ').and_then(|(n, hash)| Some((n.parse::<u64>().ok()?, hash)));
        let (seen, hash) = seen.filter(|(seen, _)| *seen > 0).ok_or_else(|| wrong("is damaged"))?;
        last = seen;
        let (head, place) = (head.to_owned(), place.to_owned());
        match usize::try_from(seen - 1).ok().and_then(|at| reading.pages.get(at)) {
            None => {
                let line = reading.end().0;
                return Err(LedgerError::RolledBack { place, line, head, seen });
            }
            Some(own) if own.hash != hash => {
                return Err(LedgerError::Swapped { place, line: seen, head });
            }
            Some(_) => {}
        }
    }
    if at == 0 {
        return Err(wrong("is empty: it has a line from the first day"));
    }
    Ok((last, at as u64))
}
