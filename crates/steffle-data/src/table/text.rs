//! The bytes of a text file as UTF-8: unpacked, decoded and bounded, in a stream.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::dialect::Encoding;
use super::quotes::{Quotes, Unclosed};
use super::reader::Packing;
use crate::Error;

/// Bytes of one line beyond this are no line of a table: a quote that is never closed, a binary
/// file, or an archive that was made to fill memory.
pub(super) const LONGEST_LINE: u64 = 64 << 20;

/// A text file that can be read from its beginning as often as needed.
#[derive(Debug, Clone)]
pub(super) struct TextFile {
    pub(super) path: PathBuf,
    pub(super) packing: Packing,
    pub(super) encoding: Encoding,
}

impl TextFile {
    /// Opens the file at its beginning.
    pub(super) fn open(&self) -> Result<Text, Error> {
        let file = File::open(&self.path).map_err(|source| Error::io(&self.path, source))?;
        let unpacked: Box<dyn Read + Send> = match self.packing {
            Packing::None => Box::new(file),
            Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(io::BufReader::new(file))),
            // The decoder refuses windows above 128 MiB, so memory is bounded here too.
            Packing::Zstd => Box::new(
                zstd::stream::read::Decoder::new(file)
                    .map_err(|source| Error::io(&self.path, source))?,
            ),
        };
        let source: Box<dyn Read + Send> = match self.encoding {
            Encoding::Utf8 => unpacked,
            Encoding::Latin1 => Box::new(Latin1 { source: unpacked, waiting: Vec::new(), at: 0 }),
        };
        Ok(Text { source, delivered: 0, allowed: LONGEST_LINE, quotes: None })
    }

    /// The first bytes, and whether they are all there is; refuses UTF-16 and archives by name.
    pub(super) fn sample(&self) -> Result<(Vec<u8>, bool), Error> {
        const SAMPLE: u64 = 1 << 16;
        let mut sample = Vec::new();
        let mut text = self.open()?.take(SAMPLE);
        text.read_to_end(&mut sample).map_err(|error| unreadable(&self.path, 1, &error))?;
        let refuse = |message: &str| {
            Err(Error::Csv {
                origin: self.path.display().to_string(),
                line: 1,
                message: message.to_owned(),
            })
        };
        match sample[..] {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
                refuse("the file is UTF-16 text, which is not read; save it as UTF-8")
            }
            [0x1f, 0x8b, ..] => refuse("the file is compressed by gzip; give it a name in .csv.gz"),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                refuse("the file is compressed by zstd; give it a name in .csv.zst")
            }
            [b'P', b'K', 3, 4, ..] => {
                refuse("the file is a zip archive or a spreadsheet; save the table as CSV")
            }
            _ => {
                let whole = (sample.len() as u64) < SAMPLE;
                Ok((sample, whole))
            }
        }
    }
}

/// Reading failed in the middle of a file.
pub(super) fn unreadable(path: &Path, line: u64, error: &io::Error) -> Error {
    let message = match error.kind() {
        io::ErrorKind::FileTooLarge => error.to_string(),
        _ if Unclosed::is(error) => error.to_string(),
        _ => format!("the file cannot be read on: {error}; it is damaged or cut off"),
    };
    Error::Csv { origin: path.display().to_string(), line, message }
}

/// A stream of text that stops where a line gets too long.
pub(super) struct Text {
    source: Box<dyn Read + Send>,
    delivered: u64,
    allowed: u64,
    quotes: Option<Quotes>,
}

impl Text {
    /// The same; at its end it fails where a quoted cell is still open.
    pub(super) fn closing_quotes(self, delimiter: u8) -> Self {
        Self { quotes: Some(Quotes::new(delimiter)), ..self }
    }

    /// A line starts after this many bytes.
    pub(super) fn line_starts(&mut self, at: u64) {
        self.allowed = at.saturating_add(LONGEST_LINE);
    }
}

impl Read for Text {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.delivered > self.allowed {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!(
                    "the line has more than {} MiB; a quote is not closed, or this is no table",
                    LONGEST_LINE >> 20
                ),
            ));
        }
        let read = self.source.read(buffer)?;
        self.delivered += read as u64;
        if let Some(quotes) = &mut self.quotes {
            quotes.follow(&buffer[..read]);
            if read == 0 && !buffer.is_empty() && quotes.open() {
                return Err(Unclosed::error());
            }
        }
        Ok(read)
    }
}

/// Latin-1, with the additions of Windows-1252, turned into UTF-8.
struct Latin1<R> {
    source: R,
    waiting: Vec<u8>,
    at: usize,
}

impl<R: Read> Read for Latin1<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.waiting.len() {
            let mut raw = [0; 1 << 14];
            let read = self.source.read(&mut raw)?;
            self.waiting.clear();
            self.at = 0;
            for &byte in &raw[..read] {
                let mut utf8 = [0; 4];
                self.waiting.extend_from_slice(latin1(byte).encode_utf8(&mut utf8).as_bytes());
            }
        }
        let ready = &self.waiting[self.at..];
        let read = ready.len().min(buffer.len());
        buffer[..read].copy_from_slice(&ready[..read]);
        self.at += read;
        Ok(read)
    }
}

/// The characters that Windows-1252 has where Latin-1 has none to show.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn latin1(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WINDOWS[usize::from(byte - 0x80)],
        other => char::from(other),
    }
}
