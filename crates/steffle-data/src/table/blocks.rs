//! Whole text files, read once, in blocks that are parsed side by side.
//!
//! Only what is usual is read here: columns of text, and of numbers as programs write them. At the
//! first thing that is not (a damaged line, a date, a comma in a number, a name after numbers) nothing
//! is returned, and the reader that goes line by line finds out what it means or says what is wrong.

use std::collections::HashMap;
use std::io::Read;

use csv::{ByteRecord, ReaderBuilder};
use rayon::prelude::*;

use super::builder::Builder;
use super::csv::LONGEST_CELL;
use super::dialect::{Decimal, Dialect, Markers};
use super::notation::{Evidence, Notation};
use super::reader::{Columns, Kind};
use super::text::{Text, TextFile};
use super::{Categories, Column, MISSING_LEVEL};

/// Bytes of a block: some thousand rows.
const BLOCK: usize = 1 << 20;

/// What a column has turned out to be; nothing as long as all its cells are missing.
type Found = Option<Kind>;

/// How a file is cut into cells, and which of them are wanted.
pub(super) struct Layout<'a> {
    pub(super) delimiter: u8,
    /// Names of all columns.
    pub(super) names: &'a [String],
    /// Which of them are sensitive.
    pub(super) sealed: &'a [bool],
    /// Which columns are wanted, in this order.
    pub(super) chosen: Vec<usize>,
    pub(super) markers: &'a Markers,
}

/// The wanted columns of a file in which nothing is unusual.
pub(super) fn read(
    file: &TextFile,
    layout: &Layout<'_>,
    columns: &Columns,
    dialect: &Dialect,
) -> Option<Vec<Column>> {
    let found = asked_for(layout, columns, dialect)?;
    let mut whole: Vec<Joined> = found.into_iter().map(Joined::new).collect();
    let text = file.open().ok()?.closing_quotes(layout.delimiter);
    let (mut blocks, mut first) = (Blocks { text, rest: Vec::new() }, true);
    loop {
        // The first block alone: it says what most columns are.
        let most = if first { 1 } else { 4 * rayon::current_num_threads() };
        let batch = blocks.next(layout.delimiter, most)?;
        if batch.is_empty() {
            break;
        }
        let header = first && dialect.columns.is_empty();
        let found: Vec<Found> = whole.iter().map(|own| own.found).collect();
        let parsed = batch.par_iter().map(|block| parse(block, header, layout, &found));
        for columns in parsed.collect::<Option<Vec<_>>>()? {
            for (whole, (found, column)) in whole.iter_mut().zip(columns) {
                whole.append(found, column)?;
            }
        }
        first = false;
    }
    Some(whole.into_iter().map(|own| own.column).collect())
}

/// The kinds that are known before the file is read; refuses what only the whole column can tell.
fn asked_for(layout: &Layout<'_>, columns: &Columns, dialect: &Dialect) -> Option<Vec<Found>> {
    let of = |&at: &usize| {
        let name = &layout.names[at];
        let comma = dialect.preferred(name).decimal == Some(Decimal::Comma);
        let kind = match columns {
            Columns::All { text } => text.contains(name).then_some(Kind::Text),
            Columns::Only(wanted) => {
                wanted.iter().find(|(own, _)| own == name).map(|(_, kind)| *kind)
            }
        };
        let numbers = kind != Some(Kind::Text);
        (!numbers || !comma && !dialect.date_columns.contains_key(name)).then_some(kind)
    };
    layout.chosen.iter().map(of).collect()
}

/// A column of all blocks so far.
struct Joined {
    found: Found,
    column: Column,
    /// Codes of its levels.
    known: HashMap<String, u32>,
}

impl Joined {
    fn new(found: Found) -> Self {
        let column = match found {
            Some(Kind::Text) => Column::Text(Categories::default()),
            _ => Column::Numbers(Vec::new()),
        };
        Self { found, column, known: HashMap::new() }
    }

    /// Adds the rows of a block; refuses a column that changes what it is.
    fn append(&mut self, found: Found, more: Column) -> Option<()> {
        if self.found.is_none() && found == Some(Kind::Text) {
            let codes = vec![MISSING_LEVEL; self.column.len()];
            self.column = Column::Text(Categories { codes, levels: Vec::new() });
        }
        self.found = self.found.or(found);
        match (&mut self.column, more) {
            (Column::Numbers(numbers), Column::Numbers(more)) => numbers.extend(more),
            (Column::Text(text), Column::Text(more)) => {
                let mut code = |level: String| {
                    let new = text.levels.len() as u32;
                    *self.known.entry(level).or_insert_with_key(|level| {
                        text.levels.push(level.clone());
                        new
                    })
                };
                let codes: Vec<u32> = more.levels.into_iter().map(&mut code).collect();
                let of = |at: &u32| codes.get(*at as usize).copied().unwrap_or(MISSING_LEVEL);
                text.codes.extend(more.codes.iter().map(of));
            }
            // Nothing but missing cells, which text can have too.
            (Column::Text(text), Column::Numbers(more)) if found.is_none() => {
                text.codes.resize(text.codes.len() + more.len(), MISSING_LEVEL);
            }
            _ => return None,
        }
        Some(())
    }
}

/// The columns of a block, each with what it turned out to be.
fn parse(
    block: &[u8],
    header: bool,
    layout: &Layout<'_>,
    found: &[Found],
) -> Option<Vec<(Found, Column)>> {
    // The mark of byte order is left to those who know where a file begins.
    let usual = |text: &&str| !text.contains('\0') && (header || !text.starts_with('\u{feff}'));
    let text = std::str::from_utf8(block).ok().filter(usual)?;
    let mut drafts: Vec<Draft> =
        found.iter().map(|kind| Draft::new(*kind, layout.markers)).collect();
    let plain = !block.contains(&b'"') && !block.contains(&b'\r');
    if plain {
        split(text, header, layout, &mut drafts)?;
    } else {
        unquote(block, header, layout, &mut drafts)?;
    }
    Some(drafts.into_iter().map(Draft::finish).collect())
}

/// Lines without quotes: what stands between delimiters are the cells.
fn split(text: &str, header: bool, layout: &Layout<'_>, drafts: &mut [Draft<'_>]) -> Option<()> {
    let mut cells: Vec<&str> = Vec::with_capacity(layout.names.len());
    for line in text.split('\n').filter(|line| !line.is_empty()).skip(usize::from(header)) {
        cells.clear();
        let mut start = 0;
        for (at, &byte) in line.as_bytes().iter().enumerate() {
            if byte == layout.delimiter {
                cells.push(&line[start..at]);
                start = at + 1;
            }
        }
        cells.push(&line[start..]);
        if cells.len() != layout.names.len() {
            return None;
        }
        for (&at, draft) in layout.chosen.iter().zip(&mut *drafts) {
            draft.push(cells[at])?;
        }
    }
    Some(())
}

/// Lines of any kind.
fn unquote(
    block: &[u8],
    header: bool,
    layout: &Layout<'_>,
    drafts: &mut [Draft<'_>],
) -> Option<()> {
    let mut reader = ReaderBuilder::new()
        .delimiter(layout.delimiter)
        .has_headers(header)
        .flexible(true)
        .from_reader(block);
    let mut record = ByteRecord::new();
    while reader.read_byte_record(&mut record).ok()? {
        let sealed = record.iter().zip(layout.sealed).filter(|(_, sealed)| **sealed);
        // Refused, by whoever knows the line.
        let broken = |(cell, _): (&[u8], _)| cell.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
        if sealed.into_iter().any(broken) || record.len() != layout.names.len() {
            return None;
        }
        for (&at, draft) in layout.chosen.iter().zip(&mut *drafts) {
            draft.push(std::str::from_utf8(record.get(at)?).ok()?)?;
        }
    }
    Some(())
}

/// A column of a block under construction.
struct Draft<'a> {
    kind: Found,
    /// Missing cells before the first one that says what the column is.
    leading: usize,
    builder: Option<Builder>,
    markers: &'a Markers,
}

impl<'a> Draft<'a> {
    fn new(kind: Found, markers: &'a Markers) -> Self {
        let builder = kind.map(|kind| Builder::new(kind, Notation::Plain, markers));
        Self { kind, leading: 0, builder, markers }
    }

    fn push(&mut self, cell: &str) -> Option<()> {
        let cell = cell.trim_ascii();
        if cell.len() > LONGEST_CELL {
            return None;
        }
        if self.builder.is_none() {
            if self.markers.is_missing(cell) {
                self.leading += 1;
                return Some(());
            }
            let mut evidence = Evidence::default();
            evidence.see(cell);
            let kind = if evidence.is_plain_number() { Kind::Number } else { Kind::Text };
            if kind == Kind::Text && !evidence.is_text() {
                return None;
            }
            let mut builder = Builder::new(kind, Notation::Plain, self.markers);
            (0..self.leading).for_each(|_| builder.push_missing());
            (self.kind, self.builder) = (Some(kind), Some(builder));
        }
        self.builder.as_mut()?.push_text(cell).ok()
    }

    /// What it is, and its cells; a column in which nothing is present is nothing yet.
    fn finish(self) -> (Found, Column) {
        match (self.kind, self.builder) {
            (Some(kind), Some(builder)) => (Some(kind), builder.finish()),
            _ => (None, Column::Numbers(vec![f64::NAN; self.leading])),
        }
    }
}

/// A file in blocks of whole lines.
struct Blocks {
    text: Text,
    /// Bytes after the last whole line.
    rest: Vec<u8>,
}

impl Blocks {
    /// The next blocks, at most so many; none at the end. Refuses lines that are longer than a block.
    fn next(&mut self, delimiter: u8, most: usize) -> Option<Vec<Vec<u8>>> {
        let mut blocks = Vec::new();
        while blocks.len() < most {
            let mut block = std::mem::take(&mut self.rest);
            self.text.line_starts(u64::MAX);
            let wanted = (BLOCK - block.len()) as u64;
            let read = self.text.by_ref().take(wanted).read_to_end(&mut block).ok()?;
            if block.is_empty() {
                break;
            }
            if (read as u64) < wanted {
                blocks.push(block);
                break;
            }
            let end = last_line(&block, delimiter)?;
            self.rest = block.split_off(end);
            blocks.push(block);
        }
        Some(blocks)
    }
}

/// Where the last line of a block begins; none where no line ends. A line ends at a line break that
/// is in no quoted cell, and a cell is quoted that begins with a quote.
fn last_line(block: &[u8], delimiter: u8) -> Option<usize> {
    let breaks = |from: usize, to: usize| {
        block[from..to].iter().rposition(|&byte| byte == b'\n').map(|at| from + at + 1)
    };
    let (mut end, mut from) = (None, 0);
    while let Some(quote) = block[from..].iter().position(|&byte| byte == b'"').map(|at| from + at)
    {
        end = breaks(from, quote).or(end);
        from = quote + 1;
        let before = quote.checked_sub(1).map(|before| block[before]);
        if before.is_some_and(|byte| byte != delimiter && byte != b'\n' && byte != b'\r') {
            continue;
        }
        // To the quote that closes the cell; two of them are one that is meant.
        loop {
            let Some(close) = block[from..].iter().position(|&byte| byte == b'"') else {
                return end;
            };
            from += close + 1;
            match block.get(from) {
                Some(b'"') => from += 1,
                Some(_) => break,
                None => return end,
            }
        }
    }
    breaks(from, block.len()).or(end)
}

#[cfg(test)]
mod tests;
