//! A book on its storage: appends lines, gives replies back.

use std::collections::HashMap;

use steffle_privacy::ledger::{Backing, Book, Bookkeeper, Line, StoreColumns};

use crate::charter::Charter;
use crate::error::LedgerError;
use crate::head;
use crate::page::{Page, Says, own_hash};
use crate::read::{Reading, Whole, read};
use crate::storage::Storage;

/// Says when a line was written.
///
/// Tests have their own.
pub type Clock = fn() -> u64;

/// Where the lines of a book are kept.
///
/// Tests put one in its place that loses what was not synced.
pub struct Shelf<S> {
    book: S,
    head: Option<S>,
    clock: Clock,
    /// The number and hash of the last line.
    lines: u64,
    last: String,
    /// Where the book ends.
    length: u64,
    /// Where the line of every kept reply begins, by reservation, and how long it is.
    replies: HashMap<u64, (u64, usize)>,
}

impl<S: Storage> Shelf<S> {
    /// An empty one.
    fn new(book: S, head: Option<S>, clock: Clock) -> Self {
        let last = crate::page::NOTHING.to_owned();
        Self { book, head, clock, lines: 0, last, length: 0, replies: HashMap::new() }
    }

    /// Begins a book: the charter, the store's columns, and the first line of the second head.
    pub(crate) fn begin(
        book: S,
        head: Option<S>,
        charter: Charter,
        columns: &StoreColumns,
        clock: Clock,
    ) -> Result<(), String> {
        let mut shelf = Self::new(book, head, clock);
        shelf.append(Says::Charter(charter), None)?;
        shelf.append(Says::Line(Line::Columns(columns.clone())), None)?;
        shelf.write_head()
    }

    /// The number of the last line, and its hash.
    pub fn end(&self) -> (u64, &str) {
        (self.lines, &self.last)
    }

    /// Goes on after these lines.
    fn take_in(&mut self, reading: Reading) -> Vec<Line> {
        let mut lines = Vec::new();
        for Whole { page, hash, offset, length } in reading.pages {
            if let Says::Line(Line::Commit { reservation, .. }) = page.says {
                self.replies.insert(reservation, (offset, length));
            }
            self.length = offset + length as u64;
            (self.lines, self.last) = (page.line, hash);
            if let Says::Line(line) = page.says {
                lines.push(line);
            }
        }
        lines
    }

    fn append(&mut self, says: Says, reply: Option<&[u8]>) -> Result<(), String> {
        let page = Page {
            line: self.lines + 1,
            previous: self.last.clone(),
            time: (self.clock)(),
            says,
            reply: reply.map(steffle_privacy::ledger::hexadecimal),
        };
        let (bytes, hash) = page.write().ok_or("cannot be written as JSON")?;
        let written = self.book.append(&bytes).and_then(|()| self.book.sync());
        written.map_err(|error| format!("cannot be written: {error}"))?;
        if let Says::Line(Line::Commit { reservation, .. }) = page.says {
            self.replies.insert(reservation, (self.length, bytes.len()));
        }
        self.length += bytes.len() as u64;
        (self.lines, self.last) = (page.line, hash);
        Ok(())
    }

    fn write_head(&mut self) -> Result<(), String> {
        let Some(head) = &mut self.head else { return Ok(()) };
        head::write(head, self.lines, &self.last)
            .map_err(|error| format!("has a second head that cannot be written: {error}"))
    }
}

/// Opens a book from what is stored: cuts a torn line off and says so, compares the book with its
/// second head, and applies every line to the rules again. `head` opens the second head that the
/// charter names; `place` is what errors call the book.
pub fn reopen<S: Storage>(
    mut storage: S,
    place: &str,
    head: impl FnOnce(&Charter) -> Result<Option<S>, LedgerError>,
    clock: Clock,
) -> Result<Bookkeeper<Shelf<S>>, LedgerError> {
    let io = |source| LedgerError::Io { place: place.to_owned(), source };
    let bytes = storage.read().map_err(io)?;
    let (reading, charter) = readable(&bytes, place)?;
    let mut head = head(&charter)?;
    let mut seen = reading.end().0;
    if let (Some(head), Some(path)) = (&mut head, &charter.head) {
        let bytes = head.read().map_err(io)?;
        let whole;
        (seen, whole) = head::compare(&bytes, &reading, [place, &path.display().to_string()])?;
        if whole < bytes.len() as u64 {
            head.cut(whole).map_err(io)?;
        }
        // As in the book below: else a crash could tear two lines at once, which looks like damage.
        head.sync().map_err(io)?;
    }
    // A line may have been read that was never synced: it is, before anybody acts on it.
    if reading.torn > 0 {
        storage.cut(reading.whole).map_err(io)?;
    }
    storage.sync().map_err(io)?;
    let stopped = |why| Refused(place, steffle_privacy::Refusal::Stopped(why));
    let torn = (reading.torn > 0).then_some(Line::Torn { bytes: reading.torn });
    let mut shelf = Shelf::new(storage, head, clock);
    let mut lines = shelf.take_in(reading);
    if let Some(line) = torn {
        shelf.append(Says::Line(line.clone()), None).map_err(stopped)?;
        lines.push(line);
    }
    // A commit may be in the book and not in its second head: it is, before its reply is sent.
    if seen < shelf.lines {
        shelf.write_head().map_err(stopped)?;
    }
    let book = Book::new(charter.policy)?;
    Bookkeeper::reopen(book, lines, shelf).map_err(|refusal| Refused(place, refusal).into())
}

/// A book that can be read, and its charter.
pub(crate) fn readable(bytes: &[u8], place: &str) -> Result<(Reading, Charter), LedgerError> {
    let place = place.to_owned();
    let reading = read(bytes).map_err(|(line, why)| LedgerError::Damaged {
        place: place.clone(),
        line,
        why,
    })?;
    let charter = reading.charter().cloned();
    let charter = charter.map_err(|why| LedgerError::NotALedger { place, why })?;
    Ok((reading, charter))
}

struct Refused<'a>(&'a str, steffle_privacy::Refusal);

impl From<Refused<'_>> for LedgerError {
    fn from(Refused(place, refusal): Refused<'_>) -> Self {
        Self::Refused { place: place.to_owned(), refusal }
    }
}

impl<S: Storage> Backing for Shelf<S> {
    const LASTS: bool = true;

    fn write(&mut self, line: &Line, reply: Option<&[u8]>) -> Result<(), String> {
        self.append(Says::Line(line.clone()), reply)?;
        // What may be sent next is what an older copy would forget.
        if let Line::Commit { .. } = line { self.write_head() } else { Ok(()) }
    }

    fn reply(&self, reservation: u64) -> Result<Option<Vec<u8>>, String> {
        let Some(&(offset, length)) = self.replies.get(&reservation) else { return Ok(None) };
        let damaged = "holds a reply that is not what was written";
        let bytes = self.book.read_at(offset, length);
        let bytes = bytes.map_err(|error| format!("cannot be read: {error}"))?;
        let line = bytes.strip_suffix(b"\n").and_then(own_hash);
        let page: Page =
            line.and_then(|(json, _)| serde_json::from_slice(json).ok()).ok_or(damaged)?;
        page.reply()
    }
}

impl<S> std::fmt::Debug for Shelf<S> {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Shelf").field("lines", &self.lines).finish_non_exhaustive()
    }
}
