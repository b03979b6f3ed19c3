//! Whether all quotes of a delimited text are closed.
//!
//! A quoted cell goes on over line breaks until its quote is closed. One that never is takes in all rows
//! that follow, so a reader that does not look would use fewer rows than the file has, without a word.

use std::{fmt, io};

/// A quote that is not closed at the end of a file.
#[derive(Debug)]
pub(super) struct Unclosed;

impl fmt::Display for Unclosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quoted cell that begins in this row goes on to the end of the file; a quote is not closed")
    }
}

impl std::error::Error for Unclosed {}

impl Unclosed {
    /// The same as reading fails with it.
    pub(super) fn error() -> io::Error {
        io::Error::other(Self)
    }

    /// Whether reading failed with it.
    pub(super) fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<Self>)
    }
}

/// Where in a cell a text is. The rules are those of the `csv` crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of a cell, where a quote opens it.
    Start,
    /// In a cell without quotes, where a quote is a character.
    Plain,
    /// In a quoted cell.
    Quoted,
    /// After a quote in a quoted cell: its end, or the first of two that mean one.
    Quote,
}

/// Follows a text, byte by byte, but only where it has quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quotes {
    delimiter: u8,
    state: State,
    begun: bool,
}

impl Quotes {
    pub(super) fn new(delimiter: u8) -> Self {
        Self { delimiter, state: State::Start, begun: false }
    }

    /// Takes in the next bytes.
    pub(super) fn follow(&mut self, bytes: &[u8]) {
        let mark = if self.begun { 0 } else { mark_of_byte_order(bytes) };
        self.begun |= !bytes.is_empty();
        let bytes = &bytes[mark..];
        let inside = matches!(self.state, State::Quoted | State::Quote);
        if !inside && !bytes.contains(&b'"') {
            if let Some(&last) = bytes.last() {
                self.state = if self.ends_cell(last) { State::Start } else { State::Plain };
            }
            return;
        }
        for &byte in bytes {
            self.state = match (self.state, byte) {
                (State::Quoted, b'"') => State::Quote,
                (State::Start | State::Quote, b'"') | (State::Quoted, _) => State::Quoted,
                (_, byte) if self.ends_cell(byte) => State::Start,
                _ => State::Plain,
            };
        }
    }

    /// Whether a quoted cell would still be open if the text ended here.
    pub(super) fn open(self) -> bool {
        self.state == State::Quoted
    }

    fn ends_cell(self, byte: u8) -> bool {
        byte == self.delimiter || byte == b'\n' || byte == b'\r'
    }
}

fn mark_of_byte_order(bytes: &[u8]) -> usize {
    if bytes.starts_with(&[0xef, 0xbb, 0xbf]) { 3 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str, piece: usize) -> bool {
        let mut quotes = Quotes::new(b',');
        text.as_bytes().chunks(piece).for_each(|piece| quotes.follow(piece));
        quotes.open()
    }

    #[test]
    fn quotes_are_followed_in_pieces_of_any_size() {
        for (text, expected) in [
            ("a,b\n1,2\n", false),
            ("a,b\n\"1\",2\n", false),
            ("a,b\n1,\"2", true),
            ("a,b\n1,\"2\n3,4\n", true),
            ("a,b\n1,\"he said \"\"no\"\"\"\n", false),
            ("a,b\n1,\"he said \"\"no\"\"\n", true),
            ("a,b\n1,5\" pipe\n", false),
            ("a,b\r\"x\",\"y\"\r", false),
            ("\"", true),
            ("\"a\" b,c\n", false),
        ] {
            for piece in [1, 2, 3, 7, 100] {
                assert_eq!(open(text, piece), expected, "{text:?} in pieces of {piece}");
            }
        }
        assert!(open("\u{feff}\"a,b\n", 100));
    }
}
