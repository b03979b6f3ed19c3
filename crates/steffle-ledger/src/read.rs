//! From bytes to lines, or to what is wrong with them.
//!
//! # Claim
//! Whatever part of one append a crash leaves behind, in whichever order its sectors reached the disk,
//! is read as the book before it and a torn end. Nothing else that differs from what was written is.
//!
//! # Proof
//! Every append is one line with one line break, at its end, and is synced before the next one begins
//! (a cut is synced before anything is appended too). So after a crash the file is the whole lines
//! before, and then a mixture of the bytes of one line with holes (zeros) and old bytes of a line that
//! was cut: at most its last byte is a line break. If all of it is there it is whole, its own hash is
//! right, and it is read as written. Otherwise its hash is wrong (or SHA-256 was broken) or it does not
//! end in a line break: it is the torn end. A line that is damaged elsewhere has a line after it, with
//! a right hash of its own: that is damage, also when the line break between them is what was damaged.
//! Tests: `tests/damage.rs`, `tests/faults.rs`.

use crate::charter::{Charter, FORMAT};
use crate::page::{DIGITS, NOTHING, Page, Says, own_hash};

/// What stands in a file.
///
/// A torn end is told apart from damage.
#[derive(Debug)]
pub struct Reading {
    /// All whole lines.
    pub pages: Vec<Whole>,
    /// How many bytes they take.
    pub whole: u64,
    /// How many bytes of a torn line follow.
    pub torn: u64,
}

/// A line that is whole.
///
/// Its hash was checked.
#[derive(Debug)]
pub struct Whole {
    /// What it says.
    pub page: Page,
    /// Its hash.
    pub hash: String,
    /// Where it begins.
    pub offset: u64,
    /// Its bytes, with the line break.
    pub length: usize,
}

/// What is wrong with a file: the line, and why.
pub(crate) type Wrong = (u64, String);

/// Reads a book. The error names the line, counted from 1, and what is wrong with it.
pub fn read(bytes: &[u8]) -> Result<Reading, Wrong> {
    let mut pages: Vec<Whole> = Vec::new();
    let (mut at, mut previous) = (0, NOTHING.to_owned());
    while at < bytes.len() {
        let number = pages.len() as u64 + 1;
        let rest = &bytes[at..];
        let end = rest.iter().position(|&byte| byte == b'\n');
        let Some((json, hash)) = end.and_then(|end| own_hash(&rest[..end])) else {
            return torn(rest, number).map(|torn| Reading { pages, whole: at as u64, torn });
        };
        let page: Page = serde_json::from_slice(json)
            .map_err(|error| (number, format!("is not a line of a ledger ({error})")))?;
        if page.line != number || page.previous != previous {
            return Err((number, "does not follow the line before it".into()));
        }
        page.reply().map_err(|why| (number, why))?;
        if matches!(page.says, Says::Charter(_)) != (number == 1) {
            return Err((number, "is not the first line of a ledger, or is one too many".into()));
        }
        hash.clone_into(&mut previous);
        let (offset, length) = (at as u64, json.len() + DIGITS + 2);
        pages.push(Whole { page, hash: previous.clone(), offset, length });
        at += length;
    }
    Ok(Reading { pages, whole: at as u64, torn: 0 })
}

/// The length of a torn line; an error if it cannot be the end of a book.
fn torn(rest: &[u8], number: u64) -> Result<u64, Wrong> {
    let wrong = || (number, "is not what was written".to_owned());
    let inside = rest.len().saturating_sub(1);
    if rest[..inside].contains(&b'\n') {
        return Err(wrong());
    }
    // A line break that was damaged joins two lines: the second one is still whole.
    let body = rest.strip_suffix(b"\n").unwrap_or(rest);
    let begins = body.windows(3).enumerate().filter(|(_, three)| *three == b" {\"");
    for (space, _) in begins {
        if let Some(start) = space.checked_sub(DIGITS)
            && start > 0
            && own_hash(&body[start..]).is_some()
        {
            return Err(wrong());
        }
    }
    Ok(rest.len() as u64)
}

impl Reading {
    /// The first line; an error where there is none, or where it is of a later format.
    pub(crate) fn charter(&self) -> Result<&Charter, String> {
        match self.pages.first().map(|first| &first.page.says) {
            Some(Says::Charter(charter)) if charter.format == FORMAT => Ok(charter),
            Some(Says::Charter(charter)) => {
                Err(format!("its format is {}, and this program reads {FORMAT}", charter.format))
            }
            _ => Err("its first line is not whole, so that nothing was ever paid from it; \
                      remove it and make it again with `steffle ledger init`"
                .to_owned()),
        }
    }

    /// The number and hash of the last whole line.
    pub(crate) fn end(&self) -> (u64, &str) {
        let last = self.pages.last().map_or(NOTHING, |last| &last.hash);
        (self.pages.len() as u64, last)
    }
}
